//! An allocation that fails on purpose.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ulib_core::{Error, Result};

use super::DeviceMemoryResource;
use crate::{Device, Stream};

/// Passes everything on, except that the n-th allocation fails as if the device were full. For tests of code that
/// must survive that.
#[derive(Debug)]
pub struct Failing {
    inner: Arc<dyn DeviceMemoryResource>,
    /// Allocations still to come up to and including the failing one; 0 when none will fail.
    remaining: AtomicU64,
}

impl Failing {
    /// Makes the `nth` allocation from now fail, counted from 1; 0 makes none fail.
    #[must_use]
    pub fn nth(inner: Arc<dyn DeviceMemoryResource>, nth: u64) -> Self {
        Self {
            inner,
            remaining: AtomicU64::new(nth),
        }
    }

    /// Makes the `nth` allocation from now fail, counted from 1; 0 makes none fail.
    pub fn arm(&self, nth: u64) {
        self.remaining.store(nth, Ordering::Relaxed);
    }

    fn is_the_one(&self) -> bool {
        let counted = |left: u64| left.checked_sub(1);
        self.remaining
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, counted)
            == Ok(1)
    }
}

// SAFETY: every pointer comes from the inner resource and goes back to it with the same bytes and stream, so the inner
// resource's promises hold; the device is the inner one's.
#[allow(unsafe_code, reason = "promises what callers rely on")]
unsafe impl DeviceMemoryResource for Failing {
    fn device(&self) -> &Device {
        self.inner.device()
    }

    fn allocate(&self, bytes: usize, stream: &Stream) -> Result<u64> {
        if bytes > 0 && self.is_the_one() {
            return Err(Error::out_of_memory(bytes as u64, 0).context("allocation set to fail"));
        }
        self.inner.allocate(bytes, stream)
    }

    #[allow(unsafe_code, reason = "passes the caller's promise on")]
    unsafe fn deallocate(&self, ptr: u64, bytes: usize, stream: &Stream) -> Result<()> {
        // SAFETY: the caller's promise for this resource is the one the inner resource asks for, since every
        // pointer given out here came from the inner resource unchanged.
        unsafe { self.inner.deallocate(ptr, bytes, stream) }
    }

    fn trim(&self) -> Result<()> {
        self.inner.trim()
    }

    fn name(&self) -> &'static str {
        "failing"
    }
}
