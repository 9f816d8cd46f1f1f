//! [`Held`]: an object of the driver's that Python may free at any time, on any thread.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use ulib_core::Result;
use ulib_device::texture::{Array, MipmappedArray, SurfaceObject};

use crate::cell::drop_detached;
use crate::cuda::errors::{IntoCudaResult, logic};

/// What ends when it is freed.
pub(crate) trait Ends: Clone + Send {
    /// Ends it, unless a clone still needs it.
    fn end(self) -> Result<()> {
        drop(self);
        Ok(())
    }
}

impl Ends for Array {
    fn end(self) -> Result<()> {
        self.close()
    }
}

impl Ends for MipmappedArray {
    fn end(self) -> Result<()> {
        self.close()
    }
}

impl Ends for SurfaceObject {
    fn end(self) -> Result<()> {
        self.close()
    }
}

/// A value until it is freed. Whoever works with a clone of it at that moment keeps it until then.
pub(crate) struct Held<T: Ends>(Mutex<Option<T>>);

impl<T: Ends> Held<T> {
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
        py.detach(|| value.end()).cuda()
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
    pub(crate) fn close(&self, py: Python<'_>) -> PyResult<()> {
        let value = self.lock().take();
        py.detach(|| value.map_or(Ok(()), Ends::end)).cuda()
    }

    fn lock(&self) -> MutexGuard<'_, Option<T>> {
        // Held for a moment only, without waiting for anything.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Ends> Drop for Held<T> {
    fn drop(&mut self) {
        if let Some(value) = self.lock().take() {
            drop_detached(value);
        }
    }
}

fn freed(class: &str) -> PyErr {
    logic(format!("{class}: it has been freed"))
}
