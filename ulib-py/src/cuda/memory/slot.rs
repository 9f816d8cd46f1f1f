//! [`Slot`]: the memory of an allocation that Python may free at any time, on any thread.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use ulib_core::Result;
use ulib_device::DeviceBytes;

use crate::cell::drop_detached;
use crate::cuda::errors::{IntoCudaResult, logic};

/// Device memory until it is freed. Whoever works with it at that moment keeps it until then.
pub(crate) struct Slot {
    /// The name of the allocation's class, for messages.
    class: &'static str,
    ptr: u64,
    len: usize,
    bytes: Mutex<Option<Arc<DeviceBytes>>>,
}

impl Slot {
    /// The owner of `bytes`, of which `len` were asked for, in an object of the class.
    pub(crate) fn new(class: &'static str, bytes: DeviceBytes, len: usize) -> Self {
        Self {
            class,
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
    pub(crate) fn ptr(&self) -> PyResult<u64> {
        match *self.lock() {
            Some(_) => Ok(self.ptr),
            None => Err(self.freed()),
        }
    }

    /// The memory, as long as it is not freed.
    pub(crate) fn bytes(&self) -> PyResult<Arc<DeviceBytes>> {
        self.lock().clone().ok_or_else(|| self.freed())
    }

    /// Frees the memory. Work that is already queued on it runs first.
    pub(crate) fn free(&self, py: Python<'_>) -> PyResult<()> {
        let bytes = self.lock().take().ok_or_else(|| self.freed())?;
        close(py, bytes).cuda()
    }

    /// Frees the memory unless that has happened already.
    pub(crate) fn close(&self, py: Python<'_>) -> PyResult<()> {
        let bytes = self.lock().take();
        bytes.map_or(Ok(()), |bytes| close(py, bytes).cuda())
    }

    fn freed(&self) -> PyErr {
        logic(format!("{}: the memory has been freed", self.class))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Arc<DeviceBytes>>> {
        // Held for a moment only, without waiting for anything.
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let bytes = self.bytes.get_mut().unwrap_or_else(PoisonError::into_inner);
        // Whoever else still uses it frees it later.
        let Some(mut bytes) = bytes.take().and_then(Arc::into_inner) else {
            return;
        };
        // Where nobody is waited for, going out of the interpreter and back would cost more than the rest.
        if bytes.goes_without_waiting() {
            drop(bytes);
        } else {
            drop_detached(bytes);
        }
    }
}

/// Frees the memory now, or when whoever uses it at this moment is done.
fn close(py: Python<'_>, bytes: Arc<DeviceBytes>) -> Result<()> {
    let Some(mut bytes) = Arc::into_inner(bytes) else {
        return Ok(());
    };
    if bytes.goes_without_waiting() {
        bytes.close()
    } else {
        py.detach(|| bytes.close())
    }
}
