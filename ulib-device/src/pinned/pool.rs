//! The pool of pinned buffers.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ulib_core::{Error, Result};

use super::PinnedBytes;
use super::classes::class_of;
use super::region::Region;
use crate::Device;
use crate::driver::Driver;

/// Unused buffers kept by default, in bytes.
const CACHE_LIMIT_BYTES: usize = 64 << 20;

/// Hands out page-locked host memory and keeps what comes back, up to a bound, because registering memory with the
/// driver takes much longer than copying to it.
#[derive(Debug)]
pub struct PinnedPool {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// Unused buffers by size.
    cached: BTreeMap<usize, Vec<Region>>,
    cached_bytes: usize,
    limit_bytes: usize,
    /// Start and size of the buffers in use.
    in_use: BTreeMap<usize, usize>,
    in_use_bytes: usize,
}

/// What a [`PinnedPool`] holds, in bytes of whole buffers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PinnedUse {
    /// Bytes somebody uses.
    pub in_use_bytes: usize,
    /// Bytes kept for later.
    pub cached_bytes: usize,
}

static GLOBAL: PinnedPool = PinnedPool {
    state: Mutex::new(State {
        cached: BTreeMap::new(),
        cached_bytes: 0,
        limit_bytes: CACHE_LIMIT_BYTES,
        in_use: BTreeMap::new(),
        in_use_bytes: 0,
    }),
};

impl PinnedPool {
    /// The pool of this process. It keeps at most 64 MiB unused until [`set_cache_limit`](Self::set_cache_limit) says
    /// otherwise.
    #[must_use]
    pub fn global() -> &'static Self {
        &GLOBAL
    }

    /// `len` bytes of page-locked memory with unspecified content, usable with every device.
    ///
    /// # Errors
    ///
    /// `Unavailable` with the reason when there is no driver or device, `Forked` in a forked child, `Overflow` for
    /// more bytes than can exist, else whatever the driver says about pinning.
    pub fn acquire(&'static self, len: usize) -> Result<PinnedBytes> {
        Driver::ready()?;
        self.acquire_for(&Device::new(0)?, len)
    }

    /// As [`acquire`](Self::acquire); new memory is registered through `device`, so that no other device's context
    /// is made for it.
    ///
    /// # Errors
    ///
    /// As [`acquire`](Self::acquire).
    pub fn acquire_for(&'static self, device: &Device, len: usize) -> Result<PinnedBytes> {
        Driver::ready()?;
        let size = class_of(len)
            .ok_or_else(|| Error::overflow("pinned memory", format_args!("{len} bytes")))?;
        let cached = self.state().take(size);
        let region = match cached {
            Some(region) => region,
            None => self.register(device, size)?,
        };
        self.state().started(&region);
        Ok(PinnedBytes::new(self, region, len))
    }

    /// Unused buffers of other sizes can stand in the way when memory that may be locked is limited.
    fn register(&self, device: &Device, size: usize) -> Result<Region> {
        Region::new(device, size).or_else(|error| {
            if self.held().cached_bytes == 0 {
                return Err(error);
            }
            self.trim();
            Region::new(device, size)
        })
    }

    /// Takes a buffer back.
    pub(super) fn release(&self, region: Region) {
        let excess = {
            let mut state = self.state();
            state.ended(&region);
            state.keep(region)
        };
        // Unregistered outside the lock.
        drop(excess);
    }

    /// Sets how many unused bytes are kept, and releases what is more.
    pub fn set_cache_limit(&self, limit_bytes: usize) {
        let excess = {
            let mut state = self.state();
            state.limit_bytes = limit_bytes;
            state.shrink_to(limit_bytes)
        };
        drop(excess);
    }

    /// Releases all unused buffers.
    pub fn trim(&self) {
        let excess = self.state().shrink_to(0);
        drop(excess);
    }

    /// What the pool holds now.
    #[must_use]
    pub fn held(&self) -> PinnedUse {
        let state = self.state();
        PinnedUse {
            in_use_bytes: state.in_use_bytes,
            cached_bytes: state.cached_bytes,
        }
    }

    /// Whether all of `bytes` lies in one buffer this pool has given out.
    #[must_use]
    pub fn owns(&self, bytes: &[u8]) -> bool {
        let start = bytes.as_ptr() as usize;
        let state = self.state();
        state
            .in_use
            .range(..=start)
            .next_back()
            .is_some_and(|(&from, &size)| {
                start - from <= size && bytes.len() <= size - (start - from)
            })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn take(&mut self, size: usize) -> Option<Region> {
        let list = self.cached.get_mut(&size)?;
        let region = list.pop()?;
        if list.is_empty() {
            self.cached.remove(&size);
        }
        self.cached_bytes -= size;
        Some(region)
    }

    fn started(&mut self, region: &Region) {
        self.in_use.insert(region.start(), region.bytes());
        self.in_use_bytes += region.bytes();
    }

    fn ended(&mut self, region: &Region) {
        if self.in_use.remove(&region.start()).is_some() {
            self.in_use_bytes -= region.bytes();
        }
    }

    /// Keeps a buffer if the bound allows, or hands it back to be dropped.
    fn keep(&mut self, region: Region) -> Option<Region> {
        if self.cached_bytes.saturating_add(region.bytes()) > self.limit_bytes {
            return Some(region);
        }
        self.cached_bytes += region.bytes();
        self.cached.entry(region.bytes()).or_default().push(region);
        None
    }

    /// Takes out buffers, the largest first, until at most `limit` bytes are kept.
    fn shrink_to(&mut self, limit: usize) -> Vec<Region> {
        let mut excess = Vec::new();
        while self.cached_bytes > limit {
            let Some(size) = self.cached.last_key_value().map(|(&size, _)| size) else {
                break;
            };
            excess.extend(self.take(size));
        }
        excess
    }
}
