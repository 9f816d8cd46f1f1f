//! [`Slot`]: the memory of an allocation that Python may free at any time, on any thread.

use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use ulib_device::DeviceBytes;

use crate::cuda::errors::{IntoCudaResult, gone};
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

    /// The address, where the memory is not freed.
    pub(crate) fn ptr(&self) -> Option<u64> {
        self.lock().as_ref().map(|_| self.ptr)
    }

    /// The address for a method of the class, as long as the memory is not freed.
    pub(crate) fn ptr_in(&self, method: &str) -> PyResult<u64> {
        self.ptr().ok_or_else(|| self.freed_in(method))
    }

    /// The memory for `op`, as long as it is not freed.
    pub(crate) fn bytes_for(&self, op: &str) -> PyResult<InHand<DeviceBytes>> {
        self.there().ok_or_else(|| gone(op, self.class, "freed"))
    }

    /// The memory for a method of the class, as long as it is not freed.
    pub(crate) fn bytes_in(&self, method: &str) -> PyResult<InHand<DeviceBytes>> {
        self.there().ok_or_else(|| self.freed_in(method))
    }

    /// Frees the memory. Work that is already queued on it runs first.
    pub(crate) fn free(&self, py: Python<'_>) -> PyResult<()> {
        let bytes = self.lock().take().ok_or_else(|| self.freed_in("free"))?;
        bytes.end(py).cuda()
    }

    /// Frees the memory unless that has happened already.
    pub(crate) fn close(&self, py: Python<'_>) -> PyResult<()> {
        let bytes = self.lock().take();
        bytes.map_or(Ok(()), |bytes| bytes.end(py).cuda())
    }

    /// The memory, where it is not freed.
    pub(crate) fn there(&self) -> Option<InHand<DeviceBytes>> {
        self.lock().clone()
    }

    /// The error of a method of the class that needs the memory.
    pub(crate) fn freed_in(&self, method: &str) -> PyErr {
        gone(&format!("{}.{method}", self.class), self.class, "freed")
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<InHand<DeviceBytes>>> {
        // Held for a moment only, without waiting for anything.
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
