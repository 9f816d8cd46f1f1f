//! A bound on the bytes in use at a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ulib_core::{Error, Result};

use super::DeviceMemoryResource;
use crate::{Device, Stream};

/// Passes allocations on as long as the bytes in use stay within a limit.
///
/// The limit counts bytes given out and not yet taken back, as asked for, not as rounded by the source below.
#[derive(Debug)]
pub struct Limiting {
    inner: Arc<dyn DeviceMemoryResource>,
    limit_bytes: u64,
    used_bytes: AtomicU64,
}

impl Limiting {
    /// Limits `inner` to `limit_bytes` in use at a time.
    #[must_use]
    pub fn new(inner: Arc<dyn DeviceMemoryResource>, limit_bytes: u64) -> Self {
        Self {
            inner,
            limit_bytes,
            used_bytes: AtomicU64::new(0),
        }
    }

    /// The limit in bytes.
    #[must_use]
    pub fn limit_bytes(&self) -> u64 {
        self.limit_bytes
    }

    /// The bytes given out and not yet taken back.
    #[must_use]
    pub fn used_bytes(&self) -> u64 {
        self.used_bytes.load(Ordering::Relaxed)
    }

    fn reserve(&self, needs: u64) -> Result<()> {
        let grown = |used: u64| {
            used.checked_add(needs)
                .filter(|&total| total <= self.limit_bytes)
        };
        self.used_bytes
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, grown)
            .map(drop)
            .map_err(|used| {
                Error::out_of_memory(needs, self.limit_bytes - used)
                    .context(format!("memory limited to {} bytes", self.limit_bytes))
            })
    }

    fn give_back(&self, bytes: u64) {
        self.used_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

// SAFETY: every pointer comes from the inner resource and goes back to it with the same bytes and stream, so the inner
// resource's promises hold; the device is the inner one's.
#[allow(unsafe_code, reason = "promises what callers rely on")]
unsafe impl DeviceMemoryResource for Limiting {
    fn device(&self) -> &Device {
        self.inner.device()
    }

    fn allocate(&self, bytes: usize, stream: &Stream) -> Result<u64> {
        let needs = bytes as u64;
        self.reserve(needs)?;
        self.inner
            .allocate(bytes, stream)
            .inspect_err(|_| self.give_back(needs))
    }

    #[allow(unsafe_code, reason = "passes the caller's promise on")]
    unsafe fn deallocate(&self, ptr: u64, bytes: usize, stream: &Stream) -> Result<()> {
        self.give_back(bytes as u64);
        // SAFETY: the caller's promise for this resource is the one the inner resource asks for, since every
        // pointer given out here came from the inner resource unchanged.
        unsafe { self.inner.deallocate(ptr, bytes, stream) }
    }

    fn trim(&self) -> Result<()> {
        self.inner.trim()
    }

    fn name(&self) -> &'static str {
        "limiting"
    }
}
