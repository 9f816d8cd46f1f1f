//! [`Held`]: an object of the driver's that Python may free at any time, on any thread.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;

use crate::cuda::errors::{IntoCudaResult, gone};
use crate::detached::{Ends, InHand};

/// A value until it is freed. Whoever works with a clone of it at that moment keeps it until then.
pub(crate) struct Held<T: Ends + Sync>(Mutex<Option<InHand<T>>>);

impl<T: Ends + Sync> Held<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(Mutex::new(Some(InHand::new(value))))
    }

    /// The value for `op`, as long as it is not freed.
    pub(crate) fn get(&self, op: &str, class: &str) -> PyResult<InHand<T>> {
        self.there().ok_or_else(|| gone(op, class, "freed"))
    }

    /// The value, where it is not freed.
    pub(crate) fn there(&self) -> Option<InHand<T>> {
        self.lock().clone()
    }

    /// Frees the value now. A second time is an error.
    pub(crate) fn free(&self, py: Python<'_>, class: &str) -> PyResult<()> {
        let value = self.lock().take();
        let value = value.ok_or_else(|| gone(&format!("{class}.free"), class, "freed"))?;
        value.end(py).cuda()
    }

    /// What `look` sees of the value; `None` where it is freed, or somebody has it locked. For the collector of garbage.
    pub(crate) fn peek<R>(&self, look: impl FnOnce(&T) -> R) -> Option<R> {
        self.0.try_lock().ok()?.as_deref().map(look)
    }

    /// Lets the value go, for the collector of garbage.
    pub(crate) fn clear(&self) {
        let value = self.lock().take();
        drop(value);
    }

    /// Frees the value unless that has happened already.
    pub(crate) fn close(&self, py: Python<'_>) -> PyResult<()> {
        let value = self.lock().take();
        value.map_or(Ok(()), |value| value.end(py)).cuda()
    }

    fn lock(&self) -> MutexGuard<'_, Option<InHand<T>>> {
        // Held for a moment only, without waiting for anything.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
