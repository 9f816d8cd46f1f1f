//! The buffer protocol: `memoryview(image)` and `np.asarray(image)` see the host copy, strided and
//! read-only, without copying it.
//!
//! Each buffer holds a counted [`HostExport`], so that the memory neither moves nor goes away under
//! it: a resize meanwhile is a `BufferError`, as for a bytearray.

#![allow(
    unsafe_code,
    reason = "the buffer protocol is a C struct of raw pointers"
)]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;

use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use ulib_core::{DType, ErrorKind};
use ulib_device::block::{HostExport, HostHold};

use crate::errors::{IntoPyResult, to_python};
use crate::hooks;
use crate::source::{Desc, Source};

/// What one exported buffer points into; lives in `Py_buffer::internal` until it is released.
struct Exported {
    shape: Vec<ffi::Py_ssize_t>,
    strides: Vec<ffi::Py_ssize_t>,
    /// Keeps the memory.
    _memory: Memory,
}

/// Who keeps the memory of an exported buffer.
pub(crate) enum Memory {
    /// A counted pointer into an object's host copy.
    Counted { _export: HostExport },
    /// A writable view of it, which may have ended.
    Held { _hold: HostHold },
    /// The Python object that the buffer names as its owner.
    Owner,
}

/// The struct-module letter of a number type, which is also what NumPy reads.
pub(crate) fn format_of(dtype: DType) -> Option<&'static CStr> {
    Some(match dtype {
        DType::Bool => c"?",
        DType::I8 => c"b",
        DType::I16 => c"h",
        DType::I32 => c"i",
        DType::I64 => c"q",
        DType::U8 => c"B",
        DType::U16 => c"H",
        DType::U32 => c"I",
        DType::U64 => c"Q",
        DType::F16 => c"e",
        DType::F32 => c"f",
        DType::F64 => c"d",
        DType::Complex64 => c"Zf",
        DType::Complex128 => c"Zd",
        _ => return None,
    })
}

/// Fills `view` with the host copy of `source`, fetched first when the device has the newer one.
///
/// # Safety
/// `view` is the pointer that the interpreter passed to `__getbuffer__` of `owner`.
pub(crate) unsafe fn fill_read_only(
    owner: Bound<'_, PyAny>,
    source: &Source,
    view: *mut ffi::Py_buffer,
    flags: c_int,
) -> PyResult<()> {
    if flags & ffi::PyBUF_WRITABLE != 0 {
        // SAFETY: the caller passes the interpreter's own struct; on an error its owner is null.
        unsafe { (*view).obj = ptr::null_mut() };
        return Err(PyBufferError::new_err(
            "this view of the host copy is read-only; `with obj.HostView() as a:` gives a writable one",
        ));
    }
    let py = owner.py();
    let filled = source.read(py, |block, desc| Ok((block.export_host()?, desc)));
    let (export, desc) = match filled {
        Ok(filled) => filled,
        Err(error) => {
            // SAFETY: as above.
            unsafe { (*view).obj = ptr::null_mut() };
            let interrupted = *error.kind() == ErrorKind::Interrupted;
            let raised = to_python(error);
            if interrupted {
                hooks::remember(py, source.address(), &raised);
            }
            return Err(raised);
        }
    };
    let start = export.as_ptr().cast_mut();
    // SAFETY: `view` is the interpreter's; `start` is kept alive by the export, which moves into
    // the buffer; the description was checked against the block when it was made.
    unsafe {
        fill(
            owner,
            start.cast(),
            &desc,
            true,
            Memory::Counted { _export: export },
            view,
            flags,
        )
    }
}

/// Fills `view` with the array `desc` in the memory at `start`.
///
/// # Safety
/// `view` is the pointer passed to `__getbuffer__` of `owner`; the array that `desc` describes lies
/// inside the memory at `start`, which `memory` keeps alive and unmoved.
pub(crate) unsafe fn fill(
    owner: Bound<'_, PyAny>,
    start: *mut c_void,
    desc: &Desc,
    read_only: bool,
    memory: Memory,
    view: *mut ffi::Py_buffer,
    flags: c_int,
) -> PyResult<()> {
    let prepare = || -> PyResult<_> {
        let format = format_of(desc.dtype).ok_or_else(|| {
            PyBufferError::new_err(format!("buffer: {} has no format letter", desc.dtype))
        })?;
        let strides = desc.strides_bytes().py()?;
        let packed = desc.layout.is_contiguous();
        let fortran = packed && desc.layout.ndim() <= 1;
        let refuse = |what: &str| Err(PyBufferError::new_err(format!("buffer: {what}")));
        if flags & ffi::PyBUF_STRIDES != ffi::PyBUF_STRIDES && !packed {
            return refuse("the array has gaps, and the request does not allow strides");
        }
        if flags & ffi::PyBUF_C_CONTIGUOUS == ffi::PyBUF_C_CONTIGUOUS && !packed {
            return refuse("the array has gaps; a contiguous one was asked for");
        }
        if flags & ffi::PyBUF_F_CONTIGUOUS == ffi::PyBUF_F_CONTIGUOUS && !fortran {
            return refuse("the array is not in Fortran order");
        }
        if flags & ffi::PyBUF_ANY_CONTIGUOUS == ffi::PyBUF_ANY_CONTIGUOUS && !packed {
            return refuse("the array has gaps; a contiguous one was asked for");
        }
        Ok((
            format,
            strides,
            desc.offset_bytes().py()?,
            desc.packed_bytes().py()?,
        ))
    };
    let (format, strides, offset, len) = match prepare() {
        Ok(prepared) => prepared,
        Err(error) => {
            // SAFETY: the caller passes the interpreter's own struct; on an error its owner is null.
            unsafe { (*view).obj = ptr::null_mut() };
            return Err(error);
        }
    };
    let mut exported = Box::new(Exported {
        // Both fit: a layout counts in isize.
        shape: desc
            .layout
            .shape()
            .iter()
            .map(|&n| n as ffi::Py_ssize_t)
            .collect(),
        strides,
        _memory: memory,
    });
    let wants = |flag: c_int| flags & flag == flag;
    // SAFETY: `view` is the interpreter's struct, writable for this call. The shape and stride
    // vectors live in the box that `internal` owns until `release`, and boxes do not move their
    // content. The start of an empty array is not dereferenced, so the offset may be skipped.
    unsafe {
        (*view).buf = if desc.layout.is_empty() {
            start
        } else {
            start.cast::<u8>().add(offset).cast()
        };
        (*view).obj = owner.into_ptr();
        (*view).len = len as ffi::Py_ssize_t;
        (*view).readonly = c_int::from(read_only);
        (*view).itemsize = desc.itemsize() as ffi::Py_ssize_t;
        (*view).format = if wants(ffi::PyBUF_FORMAT) {
            format.as_ptr().cast_mut()
        } else {
            ptr::null_mut::<c_char>()
        };
        (*view).ndim = desc.layout.ndim() as c_int;
        (*view).shape = if wants(ffi::PyBUF_ND) {
            exported.shape.as_mut_ptr()
        } else {
            ptr::null_mut()
        };
        (*view).strides = if wants(ffi::PyBUF_STRIDES) {
            exported.strides.as_mut_ptr()
        } else {
            ptr::null_mut()
        };
        (*view).suboffsets = ptr::null_mut();
        (*view).internal = Box::into_raw(exported).cast();
    }
    Ok(())
}

/// Ends an exported buffer.
///
/// # Safety
/// `view` is the pointer passed to `__releasebuffer__` for a buffer that [`fill`] filled.
pub(crate) unsafe fn release(view: *mut ffi::Py_buffer) {
    // SAFETY: the interpreter releases each buffer once, with the struct that `fill` filled, whose
    // `internal` came from `Box::into_raw`.
    unsafe {
        let exported = (*view).internal.cast::<Exported>();
        if !exported.is_null() {
            (*view).internal = ptr::null_mut();
            drop(Box::from_raw(exported));
        }
    }
}
