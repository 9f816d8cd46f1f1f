//! What the driver knows about addresses.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use ulib_device::memory::{PointerInfo, PointerKind, address_range};

use super::buffer::HostBytes;
use super::host::HostPointer;
use super::pointer::{Pointer, allocation_for, ours};
use crate::cuda::errors::{IntoCudaResult, logic};
use crate::cuda::texture::PyArray;
use crate::interop::described::{Described, Reader, Row};
use crate::items;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(described, module)?)?;
    module.add_function(wrap_pyfunction!(gpudata_address, module)?)?;
    module.add_function(wrap_pyfunction!(check_written, module)?)?;
    module.add_function(wrap_pyfunction!(needed, module)?)?;
    module.add_function(wrap_pyfunction!(refuse_masked, module)?)?;
    module.add_function(wrap_pyfunction!(mem_get_address_range, module)?)?;
    module.add_function(wrap_pyfunction!(mem_get_pointer_attributes, module)?)
}

/// What the ``__cuda_array_interface__`` of ``object`` says, if it has one.
#[pyfunction]
fn described<'py>(op: &str, object: &Bound<'py, PyAny>) -> PyResult<Option<Row<'py>>> {
    let reader = Reader {
        place: &|| op.to_owned(),
        wrong: logic,
    };
    let found = Described::of(reader, object)?;
    found.map(|found| found.row(object.py())).transpose()
}

/// The address that the ``gpudata`` of a ``GPUArray`` stands for, and the stream on which its producer works, where it says so.
#[pyfunction]
fn gpudata_address(gpudata: &Bound<'_, PyAny>) -> PyResult<(u64, Option<usize>)> {
    let pointer = Pointer::to_write("GPUArray", "gpudata", gpudata)?;
    Ok((pointer.address(), pointer.after()))
}

/// Refuses an array of the host to which nothing can be copied, as a copy would.
#[pyfunction]
fn check_written(op: &str, what: &str, object: &Bound<'_, PyAny>) -> PyResult<()> {
    HostBytes::writable(op, what, object).map(drop)
}

/// Refuses, for ``op``, an object of this package that has been freed, or an array in memory that has.
#[pyfunction]
pub(super) fn needed(op: &str, object: &Bound<'_, PyAny>) -> PyResult<()> {
    if let Some(slot) = ours(object) {
        return slot.bytes_for(op).map(drop);
    }
    if let Ok(array) = object.cast::<PyArray>() {
        return array.get().array(op).map(drop);
    }
    if let Ok(memory) = object.cast::<HostPointer>() {
        return memory.get().check(op);
    }
    allocation_for(op, object).map(drop)
}

/// Refuses an array of which some elements are masked.
#[pyfunction]
fn refuse_masked(op: &str, object: &Bound<'_, PyAny>) -> PyResult<()> {
    items::refuse_masked(op, object)
}

/// Start and length in bytes of the allocation in which ``ptr`` lies.
#[pyfunction]
fn mem_get_address_range(ptr: &Bound<'_, PyAny>) -> PyResult<(u64, usize)> {
    let pointer = Pointer::of("mem_get_address_range", "ptr", ptr)?;
    let ask = || address_range(&pointer.device()?, pointer.address());
    ptr.py().detach(ask).cuda()
}

/// What the driver knows about the memory at ``ptr``, as a dictionary: ``memory_type`` ("device", "host" or "managed"),
/// ``device`` (the ordinal), ``base`` and ``size`` of the allocation, ``host_pointer`` and ``device_pointer`` (``None`` where it
/// cannot be reached), and ``buffer_id``, which no other allocation of the process ever has. ``None`` for ordinary host memory.
#[pyfunction]
fn mem_get_pointer_attributes<'py>(
    ptr: &Bound<'py, PyAny>,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    let py = ptr.py();
    let pointer = Pointer::of("mem_get_pointer_attributes", "ptr", ptr)?;
    let Some(info) = py.detach(|| PointerInfo::of(pointer.address())).cuda()? else {
        return Ok(None);
    };
    let dict = PyDict::new(py);
    let kind = match info.kind {
        PointerKind::Host => "host",
        PointerKind::Managed => "managed",
        _ => "device",
    };
    dict.set_item("memory_type", kind)?;
    dict.set_item("device", info.ordinal)?;
    dict.set_item("base", info.start)?;
    dict.set_item("size", info.len)?;
    dict.set_item("host_pointer", info.host)?;
    dict.set_item("device_pointer", info.device)?;
    dict.set_item("buffer_id", info.id)?;
    Ok(Some(dict))
}
