//! `__array_interface__` and `__array__`: the host copy for NumPy.
//!
//! NumPy asks for a buffer first. When that fails it forgets why and goes on to these two, which
//! therefore raise what went wrong: a broken device is reported, not swallowed.

#![allow(
    unsafe_code,
    reason = "the buffer protocol is a C struct of raw pointers"
)]

use std::ffi::c_int;

use pyo3::exceptions::PyValueError;
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMemoryView, PyTuple};
use ulib_core::{DType, Layout};
use ulib_device::block::HostExport;

use super::buffer::{self, Memory};
use super::cuda_array_interface::strides;
use crate::errors::IntoPyResult;
use crate::hooks;
use crate::source::{Desc, Source};

/// The bytes of a host copy. It is what `__array_interface__` names as the owner of the data, so
/// that the memory stays while an array uses it.
#[pyclass(frozen, module = "uLib._ulib")]
pub(crate) struct HostBytes {
    export: HostExport,
}

#[pymethods]
impl HostBytes {
    /// The buffer protocol.
    ///
    /// # Safety
    /// Called by the interpreter only.
    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        if flags & ffi::PyBUF_WRITABLE != 0 {
            // SAFETY: the interpreter's own struct; on an error its owner is null.
            unsafe { (*view).obj = std::ptr::null_mut() };
            return Err(pyo3::exceptions::PyBufferError::new_err(
                "these bytes are read-only",
            ));
        }
        let export = &slf.get().export;
        let start = export.as_ptr().cast_mut();
        let desc = Desc {
            dtype: DType::U8,
            layout: Layout::contiguous(&[export.len()]).py()?,
        };
        // SAFETY: `view` is the interpreter's; the export in `slf` keeps the memory, and the
        // buffer keeps `slf`.
        unsafe {
            buffer::fill(
                slf.clone().into_any(),
                start.cast(),
                &desc,
                true,
                Memory::Owner,
                view,
                flags,
            )
        }
    }

    /// The end of a buffer.
    ///
    /// # Safety
    /// Called by the interpreter only.
    unsafe fn __releasebuffer__(&self, view: *mut ffi::Py_buffer) {
        // SAFETY: the interpreter passes a buffer that `__getbuffer__` filled.
        unsafe { buffer::release(view) };
    }
}

/// The dictionary of `__array_interface__`, version 3.
pub(crate) fn dictionary<'py>(py: Python<'py>, source: &Source) -> PyResult<Bound<'py, PyDict>> {
    if let Some(swallowed) = hooks::recall(py, source.address()) {
        return Err(swallowed);
    }
    let (export, desc) = source
        .read(py, |block, desc| Ok((block.export_host()?, desc)))
        .py()?;
    let dict = PyDict::new(py);
    dict.set_item(intern!(py, "shape"), PyTuple::new(py, desc.layout.shape())?)?;
    dict.set_item(intern!(py, "typestr"), desc.dtype.typestr())?;
    dict.set_item(intern!(py, "strides"), strides(py, &desc)?)?;
    dict.set_item(intern!(py, "offset"), desc.offset_bytes().py()?)?;
    dict.set_item(intern!(py, "data"), Bound::new(py, HostBytes { export })?)?;
    dict.set_item(intern!(py, "version"), 3)?;
    Ok(dict)
}

/// `__array__(dtype, copy)` of an object with a buffer.
pub(crate) fn array<'py>(
    object: &Bound<'py, PyAny>,
    dtype: Option<Bound<'py, PyAny>>,
    copy: Option<bool>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = object.py();
    let numpy = py.import(intern!(py, "numpy"))?;
    // A memoryview raises what the buffer protocol raised.
    let view = PyMemoryView::from(object)?;
    let array = numpy.call_method1(intern!(py, "asarray"), (view,))?;
    let wanted = match dtype {
        Some(dtype) if !dtype.is_none() => {
            let wanted = numpy.call_method1(intern!(py, "dtype"), (dtype,))?;
            (!wanted.eq(array.getattr(intern!(py, "dtype"))?)?).then_some(wanted)
        }
        _ => None,
    };
    match (wanted, copy) {
        (Some(wanted), Some(false)) => Err(PyValueError::new_err(format!(
            "__array__: {} cannot become {wanted} without a copy",
            array.getattr(intern!(py, "dtype"))?
        ))),
        (Some(wanted), _) => array.call_method1(intern!(py, "astype"), (wanted,)),
        (None, Some(true)) => array.call_method0(intern!(py, "copy")),
        (None, _) => Ok(array),
    }
}
