//! [`Slot`]: the memory of an allocation that Python may free at any time, on any thread.

use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use ulib_device::DeviceBytes;

use crate::cuda::errors::{IntoCudaResult, logic};
use crate::detached::InHand;

/// Device memory until it is freed. Whoever works with it at that moment keeps it until then.
pub(crate) struct Slot {
    /// The name of the allocation's class, for messages.
    class: &'static str,
    ptr: u64,
    len: usize,
    bytes: Mutex<Option<InHand<DeviceBytes>>>,
}

impl Slot {
    /// The owner of `bytes`, of which `len` were asked for, in an object of the class.
    pub(crate) fn new(class: &'static str, bytes: DeviceBytes, len: usize) -> Self {
        Self {
            class,
            ptr: bytes.ptr(),
            len,
            bytes: Mutex::new(Some(InHand::new(bytes))),
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
    pub(crate) fn bytes(&self) -> PyResult<InHand<DeviceBytes>> {
        self.lock().clone().ok_or_else(|| self.freed())
    }

    /// Frees the memory. Work that is already queued on it runs first.
    pub(crate) fn free(&self, py: Python<'_>) -> PyResult<()> {
        let bytes = self.lock().take().ok_or_else(|| self.freed())?;
        bytes.end(py).cuda()
    }

    /// Frees the memory unless that has happened already.
    pub(crate) fn close(&self, py: Python<'_>) -> PyResult<()> {
        let bytes = self.lock().take();
        bytes.map_or(Ok(()), |bytes| bytes.end(py).cuda())
    }

    fn freed(&self) -> PyErr {
        logic(format!("{}: the memory has been freed", self.class))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<InHand<DeviceBytes>>> {
        // Held for a moment only, without waiting for anything.
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
