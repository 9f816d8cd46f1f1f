//! One pinned buffer.

use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};

use ulib_core::Result;

use super::PinnedPool;
use super::region::Region;
use crate::Device;
use crate::driver::forked;

/// Page-locked host memory from a [`PinnedPool`], to which it returns when dropped. It is a slice of bytes.
pub struct PinnedBytes {
    pool: &'static PinnedPool,
    region: ManuallyDrop<Region>,
    len: usize,
}

impl PinnedBytes {
    pub(super) fn new(pool: &'static PinnedPool, region: Region, len: usize) -> Self {
        Self {
            pool,
            region: ManuallyDrop::new(region),
            len,
        }
    }

    /// The bytes of the buffer this is a part of.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.region.bytes()
    }

    /// Where kernels of `device` reach the first byte; `None` where they cannot.
    pub(super) fn device_ptr(&self, device: &Device) -> Result<Option<u64>> {
        self.region.device_ptr(device)
    }
}

impl Deref for PinnedBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.region.as_slice()[..self.len]
    }
}

impl DerefMut for PinnedBytes {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.region.as_mut_slice()[..self.len]
    }
}

impl Drop for PinnedBytes {
    fn drop(&mut self) {
        // SAFETY: the region is taken once, here, and the value is not used afterwards.
        #[allow(unsafe_code, reason = "moves a field out of a value being dropped")]
        let region = unsafe { ManuallyDrop::take(&mut self.region) };
        if forked() {
            // The pool's lock may have been held by a thread that does not exist here.
            drop(region);
        } else {
            self.pool.release(region);
        }
    }
}

impl fmt::Debug for PinnedBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PinnedBytes")
            .field("len", &self.len)
            .field("capacity", &self.capacity())
            .finish()
    }
}
