//! [`Slot`]: the memory of an allocation that Python may free at any time, on any thread.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use ulib_core::Result;
use ulib_device::DeviceBytes;

use crate::cell::drop_detached;
use crate::cuda::errors::{IntoCudaResult, logic};

/// Device memory until it is freed. Whoever works with it at that moment keeps it until then.
pub(crate) struct Slot {
    ptr: u64,
    len: usize,
    bytes: Mutex<Option<Arc<DeviceBytes>>>,
}

impl Slot {
    /// The owner of `bytes`, of which `len` were asked for.
    pub(crate) fn new(bytes: DeviceBytes, len: usize) -> Self {
        Self {
            ptr: bytes.ptr(),
            len,
            bytes: Mutex::new(Some(Arc::new(bytes))),
        }
    }

    /// The bytes that were asked for.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The address, as long as the memory is not freed.
    pub(crate) fn ptr(&self, class: &'static str) -> PyResult<u64> {
        match *self.lock() {
            Some(_) => Ok(self.ptr),
            None => Err(freed(class)),
        }
    }

    /// The memory, as long as it is not freed.
    pub(crate) fn bytes(&self, class: &'static str) -> PyResult<Arc<DeviceBytes>> {
        self.lock().clone().ok_or_else(|| freed(class))
    }

    /// Frees the memory. Work that is already queued on it runs first.
    pub(crate) fn free(&self, py: Python<'_>, class: &'static str) -> PyResult<()> {
        let bytes = self.lock().take().ok_or_else(|| freed(class))?;
        py.detach(|| close(bytes)).cuda()
    }

    /// Frees the memory unless that has happened already.
    pub(crate) fn close(&self, py: Python<'_>) -> PyResult<()> {
        let bytes = self.lock().take();
        bytes.map_or(Ok(()), |bytes| py.detach(|| close(bytes)).cuda())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Arc<DeviceBytes>>> {
        // Held for a moment only, without waiting for anything.
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some(bytes) = self.lock().take() {
            drop_detached(bytes);
        }
    }
}

/// Frees the memory now, or when whoever uses it at this moment is done.
fn close(bytes: Arc<DeviceBytes>) -> Result<()> {
    Arc::try_unwrap(bytes).map_or(Ok(()), DeviceBytes::close)
}

fn freed(class: &'static str) -> PyErr {
    logic(format!("{class}: the memory has been freed"))
}
