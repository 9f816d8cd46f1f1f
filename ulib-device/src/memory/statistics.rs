//! Counts of what a resource was asked for.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ulib_core::Result;

use super::DeviceMemoryResource;
use crate::{Device, Stream};

/// What went through a [`Statistics`] adaptor so far. Bytes are as asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryStatistics {
    /// Allocations that succeeded.
    pub allocations: u64,
    /// Blocks taken back.
    pub deallocations: u64,
    /// Allocations that failed.
    pub failures: u64,
    /// Bytes given out and not yet taken back.
    pub current_bytes: u64,
    /// The largest value `current_bytes` ever had.
    pub peak_bytes: u64,
    /// The sum of all successful allocations.
    pub total_bytes: u64,
}

/// Passes everything on and counts it.
#[derive(Debug)]
pub struct Statistics {
    inner: Arc<dyn DeviceMemoryResource>,
    counts: Mutex<MemoryStatistics>,
}

impl Statistics {
    /// Counts what goes through to `inner`.
    #[must_use]
    pub fn new(inner: Arc<dyn DeviceMemoryResource>) -> Self {
        Self {
            inner,
            counts: Mutex::default(),
        }
    }

    /// The counts so far.
    #[must_use]
    pub fn snapshot(&self) -> MemoryStatistics {
        *self.counts()
    }

    /// Sets the peak to the bytes in use now, to measure the peak of what follows.
    pub fn reset_peak(&self) {
        let mut counts = self.counts();
        counts.peak_bytes = counts.current_bytes;
    }

    fn counts(&self) -> MutexGuard<'_, MemoryStatistics> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// SAFETY: every pointer comes from the inner resource and goes back to it with the same bytes and stream, so the inner
// resource's promises hold; the device is the inner one's.
#[allow(unsafe_code, reason = "promises what callers rely on")]
unsafe impl DeviceMemoryResource for Statistics {
    fn device(&self) -> &Device {
        self.inner.device()
    }

    fn allocate(&self, bytes: usize, stream: &Stream) -> Result<u64> {
        let outcome = self.inner.allocate(bytes, stream);
        let mut counts = self.counts();
        if outcome.is_ok() {
            counts.allocations += 1;
            counts.current_bytes += bytes as u64;
            counts.total_bytes += bytes as u64;
            counts.peak_bytes = counts.peak_bytes.max(counts.current_bytes);
        } else {
            counts.failures += 1;
        }
        outcome
    }

    #[allow(unsafe_code, reason = "passes the caller's promise on")]
    unsafe fn deallocate(&self, ptr: u64, bytes: usize, stream: &Stream) -> Result<()> {
        {
            let mut counts = self.counts();
            counts.deallocations += 1;
            counts.current_bytes = counts.current_bytes.saturating_sub(bytes as u64);
        }
        // SAFETY: the caller's promise for this resource is the one the inner resource asks for, since every
        // pointer given out here came from the inner resource unchanged.
        unsafe { self.inner.deallocate(ptr, bytes, stream) }
    }

    fn trim(&self) -> Result<()> {
        self.inner.trim()
    }

    fn name(&self) -> &'static str {
        "statistics"
    }
}
