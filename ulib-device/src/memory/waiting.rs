//! Memory whose deallocation the driver could not take yet.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::Stream;

/// A piece of memory that its user gave back.
#[derive(Debug)]
pub(super) struct Returned {
    pub(super) ptr: u64,
    /// What the user last queued is on it.
    pub(super) stream: Stream,
}

/// Memory given back while the driver refused to take it, such as on a stream that was being captured. A resource
/// tries again at its next call.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    some: AtomicBool,
    list: Mutex<Vec<Returned>>,
}

impl Waiting {
    pub(super) fn push(&self, returned: Returned) {
        self.list
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(returned);
        self.some.store(true, Ordering::Release);
    }

    /// Hands each piece to `free`, and keeps those for which it answers false.
    pub(super) fn retry(&self, mut free: impl FnMut(&Returned) -> bool) {
        if !self.some.swap(false, Ordering::Acquire) {
            return;
        }
        // The list is taken out, so that two threads never try the same piece.
        let list = std::mem::take(&mut *self.list.lock().unwrap_or_else(PoisonError::into_inner));
        for returned in list {
            if !free(&returned) {
                self.push(returned);
            }
        }
    }
}
