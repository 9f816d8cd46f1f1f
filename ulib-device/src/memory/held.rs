//! How much device memory is in use, per device.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Device memory in use by this process through this crate: blocks that somebody owns, not memory a pool has cached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Bytes, as asked for.
    pub bytes: u64,
    /// Blocks of more than zero bytes.
    pub allocations: u64,
}

static HELD: Mutex<Vec<Held>> = Mutex::new(Vec::new());

fn with<R>(ordinal: u32, change: impl FnOnce(&mut Held) -> R) -> R {
    let mut all: MutexGuard<'_, Vec<Held>> = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    let index = ordinal as usize;
    if all.len() <= index {
        all.resize(index + 1, Held::default());
    }
    change(&mut all[index])
}

/// What is in use on the device `ordinal` now.
pub(crate) fn held(ordinal: u32) -> Held {
    with(ordinal, |held| *held)
}

pub(super) fn add(ordinal: u32, bytes: usize) {
    with(ordinal, |held| {
        held.bytes += bytes as u64;
        held.allocations += 1;
    });
}

pub(super) fn remove(ordinal: u32, bytes: usize) {
    with(ordinal, |held| {
        held.bytes = held.bytes.saturating_sub(bytes as u64);
        held.allocations = held.allocations.saturating_sub(1);
    });
}
