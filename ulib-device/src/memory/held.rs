//! How much device memory is in use, per device.

use std::sync::atomic::{AtomicU64, Ordering};

/// Device memory in use by this process through this crate: blocks that somebody owns, not memory a pool has cached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Bytes, as asked for.
    pub bytes: u64,
    /// Blocks of more than zero bytes.
    pub allocations: u64,
}

/// What is in use on one device.
#[derive(Debug, Default)]
pub(crate) struct HeldCounts {
    bytes: AtomicU64,
    allocations: AtomicU64,
}

impl HeldCounts {
    /// What is in use now.
    pub(crate) fn get(&self) -> Held {
        Held {
            bytes: self.bytes.load(Ordering::Relaxed),
            allocations: self.allocations.load(Ordering::SeqCst),
        }
    }

    pub(super) fn add(&self, bytes: usize) {
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        self.allocations.fetch_add(1, Ordering::Relaxed);
    }

    /// Answers whether it was the last one.
    pub(super) fn remove(&self, bytes: usize) -> bool {
        self.bytes.fetch_sub(bytes as u64, Ordering::Relaxed);
        self.allocations.fetch_sub(1, Ordering::SeqCst) == 1
    }
}
