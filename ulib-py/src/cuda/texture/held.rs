//! [`Held`]: an object of the driver's that Python may free at any time, on any thread.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;

use crate::cell::drop_detached;
use crate::cuda::errors::logic;

/// A value until it is freed. Whoever works with a clone of it at that moment keeps it until then.
pub(crate) struct Held<T: Clone + Send>(Mutex<Option<T>>);

impl<T: Clone + Send> Held<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(Mutex::new(Some(value)))
    }

    /// The value, as long as it is not freed.
    pub(crate) fn get(&self, class: &str) -> PyResult<T> {
        self.lock().clone().ok_or_else(|| freed(class))
    }

    /// Frees the value now. A second time is an error.
    pub(crate) fn free(&self, py: Python<'_>, class: &str) -> PyResult<()> {
        let value = self.lock().take().ok_or_else(|| freed(class))?;
        py.detach(|| drop(value));
        Ok(())
    }

    /// What `look` sees of the value; `None` where it is freed, or somebody has it locked. For the collector of garbage.
    pub(crate) fn peek<R>(&self, look: impl FnOnce(&T) -> R) -> Option<R> {
        self.0.try_lock().ok()?.as_ref().map(look)
    }

    /// Lets the value go, for the collector of garbage.
    pub(crate) fn clear(&self) {
        let value = self.lock().take();
        drop_detached(value);
    }

    /// Frees the value unless that has happened already.
    pub(crate) fn close(&self, py: Python<'_>) {
        let value = self.lock().take();
        py.detach(|| drop(value));
    }

    fn lock(&self) -> MutexGuard<'_, Option<T>> {
        // Held for a moment only, without waiting for anything.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Clone + Send> Drop for Held<T> {
    fn drop(&mut self) {
        if let Some(value) = self.lock().take() {
            drop_detached(value);
        }
    }
}

fn freed(class: &str) -> PyErr {
    logic(format!("{class}: it has been freed"))
}
