//! `DeviceAllocation`, and where it comes from.

use pyo3::prelude::*;
use pyo3::types::{PyMemoryView, PyTuple};
use ulib_core::{ErrorKind, Result};
use ulib_device::memory::DriverResource;

use super::buffer::DeviceBuffer;
use super::slot::Slot;
use crate::args::{Int, whole};
use crate::cuda::arguments::Whole;
use crate::cuda::current;
use crate::cuda::errors::{IntoCudaResult, fitting, logic, to_cuda};

pub(super) const CLASS: &str = "DeviceAllocation";

/// Linear memory of a device. It is an integer wherever one is taken (``int(allocation)``): its address.
///
/// Freed with the object, by ``free()``, or at the end of ``with allocation:``; on any thread, and after the work that is
/// queued on it.
#[pyclass(frozen, subclass, weakref, module = "uLib.cuda.driver")]
pub(crate) struct DeviceAllocation {
    pub(super) slot: Slot,
}

#[pymethods]
impl DeviceAllocation {
    /// Frees the memory now. A second time is a ``LogicError``.
    fn free(&self, py: Python<'_>) -> PyResult<()> {
        self.slot.free(py)
    }

    /// Frees the memory unless that has happened already.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.slot.close(py)
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        self.slot.close(py)
    }

    fn __int__(&self) -> PyResult<u64> {
        self.slot.ptr_in("__int__")
    }

    fn __index__(&self) -> PyResult<u64> {
        self.slot.ptr_in("__index__")
    }

    /// The bytes that were asked for.
    #[getter]
    fn size(&self) -> usize {
        self.slot.len()
    }

    /// ``size`` bytes from ``offset`` on as a memoryview, which keeps the memory. The host may touch them only where it
    /// reaches the device's memory, as it does managed memory; elsewhere the view is for those who want an address.
    #[pyo3(signature = (size, offset=0))]
    fn as_buffer<'py>(
        slf: &Bound<'py, Self>,
        size: Whole,
        #[pyo3(from_py_with = whole)] offset: i128,
    ) -> PyResult<Bound<'py, PyMemoryView>> {
        const OP: &str = "DeviceAllocation.as_buffer";
        let slot = &slf.get().slot;
        let (size, offset) = (
            size_of(OP, "size", size)?,
            size_of(OP, "offset", Int(offset))?,
        );
        let bytes = slot.bytes_in("as_buffer")?;
        if offset.checked_add(size).is_none_or(|end| end > slot.len()) {
            return Err(logic(format!(
                "{OP}: {size} bytes at offset {offset} exceed the {} bytes of the allocation",
                slot.len()
            )));
        }
        let start = bytes.ptr() + offset as u64;
        let buffer = Bound::new(slf.py(), DeviceBuffer::new(start, size, bytes))?;
        PyMemoryView::from(&buffer)
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let (name, slot) = (slf.get_type().qualname()?, &slf.get().slot);
        Ok(match slot.ptr() {
            Some(ptr) => format!(
                "<uLib.cuda.driver.{name} of {} bytes at {ptr:#x}>",
                slot.len()
            ),
            None => format!("<uLib.cuda.driver.{name} of {} bytes, freed>", slot.len()),
        })
    }
}

/// A number of bytes.
pub(super) fn size_of(op: &'static str, what: &str, bytes: impl Into<Whole>) -> PyResult<usize> {
    let bytes = bytes.into().of(op, what)?;
    usize::try_from(bytes.0)
        .ok()
        .filter(|&bytes| isize::try_from(bytes).is_ok())
        .ok_or_else(|| logic(format!("{op}: {bytes} is no number of bytes")))
}

/// Calls `attempt`; where there is no room, collects Python's garbage, in which allocations may be, and tries again.
pub(crate) fn after_collecting<R: Send>(
    py: Python<'_>,
    attempt: impl Fn() -> Result<R> + Send + Sync,
) -> PyResult<R> {
    match py.detach(&attempt) {
        Err(error) if matches!(error.kind(), ErrorKind::OutOfMemory { .. }) => {
            py.import("gc")?.call_method0("collect")?;
            py.detach(&attempt).cuda()
        }
        outcome => outcome.map_err(to_cuda),
    }
}

/// ``bytes`` bytes of the device's memory with unspecified content, to be used on every stream.
///
/// When the device is full, garbage is collected and all pools of the device give back what they hold, before it is a
/// ``MemoryError``. No bytes are a ``LogicError``.
#[pyfunction]
pub(super) fn mem_alloc(py: Python<'_>, bytes: Whole) -> PyResult<DeviceAllocation> {
    let bytes = size_of("mem_alloc", "bytes", bytes)?;
    if bytes == 0 {
        return Err(logic("mem_alloc: bytes is 0, expected at least 1"));
    }
    let made = after_collecting(py, || {
        DriverResource::shared(&current::device()?).allocate_bytes(bytes)
    })?;
    Ok(DeviceAllocation {
        slot: Slot::new(CLASS, made, bytes),
    })
}

/// ``height`` rows of ``width`` bytes, each starting at a multiple of a pitch that suits accesses of ``access_size`` bytes (4, 8
/// or 16): the allocation and the pitch in bytes.
#[pyfunction]
pub(super) fn mem_alloc_pitch(
    py: Python<'_>,
    width: Whole,
    height: Whole,
    access_size: Whole,
) -> PyResult<(DeviceAllocation, usize)> {
    const OP: &str = "mem_alloc_pitch";
    let (width, height) = (fitting(OP, "width", width)?, fitting(OP, "height", height)?);
    let access_size = fitting(OP, "access_size", access_size)?;
    if !matches!(access_size, 4 | 8 | 16) {
        return Err(logic(format!(
            "{OP}: access_size is {access_size}, expected 4, 8 or 16"
        )));
    }
    let (made, pitch) = after_collecting(py, || {
        DriverResource::shared(&current::device()?).allocate_pitched(width, height, access_size)
    })?;
    let len = made.len();
    let slot = Slot::new(CLASS, made, len);
    Ok((DeviceAllocation { slot }, pitch))
}
