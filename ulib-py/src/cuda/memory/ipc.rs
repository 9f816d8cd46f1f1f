//! Device memory of other processes.

use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyTuple};
use ulib_device::memory::{ImportedMemory, export_memory, memory_handle};

use super::buffer::HostBytes;
use super::pointer::Pointer;
use crate::args::{Int, whole};
use crate::cuda::current;
use crate::cuda::errors::{IntoCudaResult, fitting, gone, logic};
use crate::detached::InHand;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<IPCMemoryHandle>()?;
    module.add_function(wrap_pyfunction!(mem_get_ipc_handle, module)?)
}

/// The bytes by which another process finds the allocation that starts at ``devptr``, for ``IPCMemoryHandle`` there.
#[pyfunction]
fn mem_get_ipc_handle<'py>(devptr: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyByteArray>> {
    let pointer = Pointer::of("mem_get_ipc_handle", "devptr", devptr)?;
    let export = || export_memory(&pointer.device()?, pointer.address());
    let handle = devptr.py().detach(export).cuda()?;
    Ok(PyByteArray::new(devptr.py(), &handle))
}

/// Memory of another process, by the bytes that ``mem_get_ipc_handle`` gave there. It is an integer wherever one is taken: its
/// address in this process. Unmapped with the object, by ``close()``, or at the end of ``with handle:``, as soon as no graph uses it; the
/// other process keeps the memory.
#[pyclass(frozen, weakref, module = "uLib.cuda.driver")]
pub(crate) struct IPCMemoryHandle {
    address: u64,
    memory: Mutex<Option<InHand<ImportedMemory>>>,
}

impl IPCMemoryHandle {
    /// The memory, as long as it is mapped.
    pub(super) fn memory(&self) -> Option<InHand<ImportedMemory>> {
        let memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        memory.clone()
    }

    /// The address for `op`, as long as the memory is mapped.
    pub(super) fn address_for(&self, op: &str) -> PyResult<u64> {
        match *self.memory.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(_) => Ok(self.address),
            None => Err(unmapped(op)),
        }
    }

    fn take(&self) -> Option<InHand<ImportedMemory>> {
        self.memory
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }
}

fn unmapped(op: &str) -> PyErr {
    gone(op, "IPCMemoryHandle", "unmapped")
}

#[pymethods]
impl IPCMemoryHandle {
    #[new]
    #[pyo3(signature = (handle, flags=1))]
    #[allow(unsafe_code, reason = "reads the bytes of a buffer")]
    fn new(handle: &Bound<'_, PyAny>, #[pyo3(from_py_with = whole)] flags: i128) -> PyResult<Self> {
        let flags = fitting("IPCMemoryHandle", "flags", Int(flags))?;
        let bytes = HostBytes::of("IPCMemoryHandle", "handle", handle)?;
        let read = match bytes.len() {
            // SAFETY: the buffer keeps 64 bytes there; they are read at once, attached.
            64 => unsafe { std::slice::from_raw_parts(bytes.ptr(), 64) },
            n => {
                return Err(logic(format!(
                    "IPCMemoryHandle: handle has {n} bytes, expected 64"
                )));
            }
        };
        let handle_bytes = memory_handle(read).cuda()?;
        let made = handle
            .py()
            .detach(|| ImportedMemory::open(&current::device()?, &handle_bytes, flags))
            .cuda()?;
        Ok(Self {
            address: made.ptr(),
            memory: Mutex::new(Some(InHand::new(made))),
        })
    }

    /// Unmaps the memory now. A second time is a ``LogicError``.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let memory = self
            .take()
            .ok_or_else(|| unmapped("IPCMemoryHandle.close"))?;
        memory.end(py).cuda()
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        self.take().map_or(Ok(()), |memory| memory.end(py).cuda())
    }

    fn __int__(&self) -> PyResult<u64> {
        self.address_for("IPCMemoryHandle.__int__")
    }

    fn __index__(&self) -> PyResult<u64> {
        self.address_for("IPCMemoryHandle.__index__")
    }
}
