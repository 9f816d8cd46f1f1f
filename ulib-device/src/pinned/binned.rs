//! A pool of page-locked memory that keeps blocks by size.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ulib_core::{Error, Result};

use super::{HostFlags, HostMemory};
use crate::Device;
use crate::driver::{Driver, forked};
use crate::memory::{Bins, PoolStatistics, bin_bytes, bin_number};

/// Keeps page-locked blocks that come back, in the bins of [`BinnedPool`](crate::memory::BinnedPool), and hands them out again.
///
/// A block is handed out again as soon as it comes back: whoever has work queued on it keeps it until that is done.
pub struct HostPool {
    flags: HostFlags,
    bins: Mutex<Bins<HostMemory>>,
}

/// A block of a [`HostPool`], which goes back to it when it is dropped. The content is whatever was last written.
#[derive(Debug)]
pub struct HostBlock {
    pool: Arc<HostPool>,
    /// `None` only while it is being dropped.
    memory: Option<HostMemory>,
    len: usize,
}

impl HostPool {
    /// A pool of memory with these flags.
    #[must_use]
    pub fn new(flags: HostFlags) -> Arc<Self> {
        Arc::new(Self {
            flags,
            bins: Mutex::default(),
        })
    }

    /// A block for `len` bytes, of which zero are one; new memory is locked through `device`.
    ///
    /// # Errors
    /// As [`HostMemory::new`].
    pub fn allocate(self: &Arc<Self>, device: &Device, len: usize) -> Result<HostBlock> {
        // Before the lock, which in a forked child may be held by a thread that does not exist there.
        Driver::ready()?;
        let bin = bin_number(len as u64);
        let kept = {
            let mut bins = self.bins();
            let kept = bins.take(bin, true, |_| false);
            if kept.is_some() {
                bins.started(len as u64, true);
            }
            kept
        };
        let memory = match kept {
            Some(memory) => memory,
            None => self.make(device, bin, len)?,
        };
        Ok(HostBlock {
            pool: Arc::clone(self),
            memory: Some(memory),
            len,
        })
    }

    /// A new block of a bin.
    fn make(&self, device: &Device, bin: u32, len: usize) -> Result<HostMemory> {
        let made = usize::try_from(bin_bytes(bin))
            .map_err(|_| Error::overflow("HostPool", format_args!("{len} bytes")))
            .and_then(|size| {
                let attempt = || HostMemory::new(device, size, self.flags);
                // What is kept may be what is missing where memory to lock is limited.
                attempt().or_else(|error| {
                    if self.give_back() {
                        attempt()
                    } else {
                        Err(error)
                    }
                })
            });
        let memory = made?;
        let mut bins = self.bins();
        bins.made(bin);
        bins.started(len as u64, false);
        Ok(memory)
    }

    /// What it has done and holds.
    #[must_use]
    pub fn statistics(&self) -> PoolStatistics {
        self.bins().counts
    }

    /// Releases all blocks that are kept.
    pub fn free_held(&self) {
        self.give_back();
    }

    /// Releases all blocks, and from now on every block as soon as it comes back. There is no way back.
    pub fn stop_holding(&self) {
        self.bins().holding = false;
        self.give_back();
    }

    fn give_back(&self) -> bool {
        let mut some = false;
        loop {
            let taken = self.bins().take_largest();
            // Unlocked without the lock.
            if taken.is_none() {
                return some;
            }
            some = true;
        }
    }

    fn bins(&self) -> MutexGuard<'_, Bins<HostMemory>> {
        self.bins.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HostBlock {
    /// The address.
    #[must_use]
    pub fn as_ptr(&self) -> *mut u8 {
        self.memory
            .as_ref()
            .map_or(std::ptr::null_mut(), HostMemory::as_ptr)
    }

    /// The bytes that were asked for.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether none were asked for.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The flags of the pool.
    #[must_use]
    pub fn flags(&self) -> HostFlags {
        self.pool.flags
    }
}

impl Drop for HostBlock {
    fn drop(&mut self) {
        let Some(memory) = self.memory.take() else {
            return;
        };
        if forked() {
            // The pool's lock may be held by a thread that does not exist here.
            std::mem::forget(memory);
            return;
        }
        let excess = {
            let mut bins = self.pool.bins();
            bins.ended(self.len as u64);
            bins.keep(bin_number(self.len as u64), memory)
        };
        // Unlocked without the lock.
        drop(excess);
    }
}

impl fmt::Debug for HostPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostPool")
            .field("flags", &self.flags)
            .finish_non_exhaustive()
    }
}
