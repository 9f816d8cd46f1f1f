//! Host bytes: those of an argument, and device memory seen as a buffer.
#![allow(
    unsafe_code,
    reason = "the buffer protocol is a C struct of raw pointers"
)]

use std::ffi::{CStr, c_char, c_int};

use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::{PyTraverseError, PyVisit};
use ulib_core::{DType, Layout};
use ulib_device::DeviceBytes;

use super::query::needed;
use crate::args::{attribute, caused};
use crate::cuda::errors::{IntoCudaResult, logic};
use crate::detached::InHand;
use crate::interop::buffer::{Memory, fill, release};
use crate::items::refuse_masked;
use crate::source::Desc;

/// A buffer of an object, given back when this is dropped.
///
/// PyO3's own refuses one without axes, which an array of no dimensions and a scalar of NumPy have.
struct Buffer(Box<ffi::Py_buffer>);

// SAFETY: the struct is only looked at, and given back while the interpreter is attached, which any thread may do.
unsafe impl Send for Buffer {}
// SAFETY: as above.
unsafe impl Sync for Buffer {}

impl Buffer {
    fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let mut view = Box::new(ffi::Py_buffer::new());
        // SAFETY: attached; the struct stays where it is, in its box, until it is given back.
        match unsafe {
            ffi::PyObject_GetBuffer(object.as_ptr(), &raw mut *view, ffi::PyBUF_FULL_RO)
        } {
            0 => Ok(Self(view)),
            _ => Err(PyErr::fetch(object.py())),
        }
    }

    fn is_contiguous(&self) -> bool {
        // SAFETY: a buffer that the interpreter filled.
        unsafe { ffi::PyBuffer_IsContiguous(&raw const *self.0, b'A' as c_char) != 0 }
    }

    /// Whether the elements are references to Python objects.
    fn has_objects(&self) -> bool {
        // SAFETY: null, or a string that lives as long as the buffer.
        !self.0.format.is_null()
            && unsafe { CStr::from_ptr(self.0.format) }
                .to_bytes()
                .contains(&b'O')
    }

    /// One number for each axis, where they are told.
    fn axes(&self, numbers: *const ffi::Py_ssize_t) -> &[ffi::Py_ssize_t] {
        match usize::try_from(self.0.ndim) {
            // SAFETY: as many numbers as axes, which live as long as the buffer.
            Ok(axes) if !numbers.is_null() => unsafe { std::slice::from_raw_parts(numbers, axes) },
            _ => &[],
        }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // Once the interpreter is gone there is nobody to give it back to.
        Python::try_attach(|_| {
            // SAFETY: filled by the interpreter, and given back once.
            unsafe { ffi::PyBuffer_Release(&raw mut *self.0) }
        });
    }
}

/// The buffer of an array of NumPy whose type buffers have no letter for, such as that of dates: of its elements as bytes.
fn of_bytes(object: &Bound<'_, PyAny>, error: PyErr) -> PyResult<Buffer> {
    let py = object.py();
    if error.is_instance_of::<PyTypeError>(py) {
        return Err(error);
    }
    let itemsize = match attribute(object, intern!(py, "dtype"))? {
        Some(dtype) if !dtype.getattr(intern!(py, "hasobject"))?.is_truthy()? => {
            dtype.getattr(intern!(py, "itemsize"))?
        }
        _ => return Err(error),
    };
    let bytes = object.call_method1(intern!(py, "view"), (format!("V{itemsize}"),))?;
    Buffer::of(&bytes)
}

/// The contiguous bytes of an object with a buffer, which the buffer keeps where they are.
pub(crate) struct HostBytes {
    buffer: Buffer,
}

impl HostBytes {
    /// Those of `object`, in C or Fortran order.
    pub(crate) fn of(op: &str, what: &str, object: &Bound<'_, PyAny>) -> PyResult<Self> {
        Self::packed(op, what, object, || {
            format!("copy it first: numpy.ascontiguousarray({what})")
        })
    }

    /// Whether `object` has a buffer, whatever is in it.
    pub(crate) fn are_in(object: &Bound<'_, PyAny>) -> bool {
        // SAFETY: attached; only asks the type.
        unsafe { ffi::PyObject_CheckBuffer(object.as_ptr()) != 0 }
    }

    /// Those of `object`; where it is not contiguous, the message ends with `advice`.
    fn packed(
        op: &str,
        what: &str,
        object: &Bound<'_, PyAny>,
        advice: impl FnOnce() -> String,
    ) -> PyResult<Self> {
        refuse_masked(op, object)?;
        let buffer = Buffer::of(object).or_else(|error| of_bytes(object, error));
        let buffer = buffer.map_err(|error| {
            caused(object.py(), error, |_| {
                if let Err(ended) = needed(op, object) {
                    return ended;
                }
                let found = object.get_type();
                logic(format!(
                    "{op}: {what} is {found}, which has no buffer of bytes"
                ))
            })
        })?;
        if buffer.has_objects() {
            return Err(logic(format!(
                "{op}: {what} holds Python objects, which mean nothing on a device"
            )));
        }
        if !buffer.is_contiguous() {
            return Err(logic(format!(
                "{op}: {what} is not contiguous (shape {:?}, strides {:?}); {}",
                buffer.axes(buffer.0.shape),
                buffer.axes(buffer.0.strides),
                advice()
            )));
        }
        Ok(Self { buffer })
    }

    /// Those of `object`, to be written.
    pub(crate) fn writable(op: &str, what: &str, object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let bytes = Self::packed(op, what, object, || {
            "copy to a contiguous array, and from there to this one".to_owned()
        })?;
        if bytes.is_read_only() {
            return Err(logic(format!("{op}: {what} is read-only")));
        }
        Ok(bytes)
    }

    pub(crate) fn is_read_only(&self) -> bool {
        self.buffer.0.readonly != 0
    }

    /// Tells the garbage collector of the object that has the bytes.
    pub(crate) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        let object = &raw const self.buffer.0.obj;
        // SAFETY: a buffer that the interpreter filled owns a reference there, unless it is null, which is a pointer as in `Py`.
        let object = unsafe { object.cast::<Option<Py<PyAny>>>().as_ref() };
        object.map_or(Ok(()), |object| visit.call(object))
    }

    pub(crate) fn ptr(&self) -> *mut u8 {
        self.buffer.0.buf.cast()
    }

    pub(crate) fn len(&self) -> usize {
        usize::try_from(self.buffer.0.len).unwrap_or(0)
    }
}

/// An address that may go to another thread.
#[derive(Clone, Copy)]
pub(crate) struct HostPtr(pub(crate) *mut u8);

// SAFETY: only an address; whoever reads or writes there has its own reasons why it may.
unsafe impl Send for HostPtr {}
// SAFETY: as above.
unsafe impl Sync for HostPtr {}

impl HostPtr {
    pub(crate) fn get(self) -> *mut u8 {
        self.0
    }
}

/// Bytes of device memory with the buffer protocol, which keep the memory.
#[pyclass(frozen, module = "uLib.cuda._native")]
pub(super) struct DeviceBuffer {
    start: u64,
    len: usize,
    _bytes: InHand<DeviceBytes>,
}

impl DeviceBuffer {
    /// `len` bytes at `start`, which lie in `bytes`.
    pub(super) fn new(start: u64, len: usize, bytes: InHand<DeviceBytes>) -> Self {
        Self {
            start,
            len,
            _bytes: bytes,
        }
    }
}

#[pymethods]
impl DeviceBuffer {
    /// The buffer protocol.
    ///
    /// # Safety
    /// Called by the interpreter only.
    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        let (start, len) = (slf.get().start, slf.get().len);
        // SAFETY: the interpreter's own struct; the memory lives as long as this object, which the buffer keeps.
        unsafe { fill_bytes(slf.into_any(), start as *mut u8, len, view, flags) }
    }

    /// The end of a buffer.
    ///
    /// # Safety
    /// Called by the interpreter only.
    unsafe fn __releasebuffer__(&self, view: *mut ffi::Py_buffer) {
        // SAFETY: the interpreter passes a buffer that `__getbuffer__` filled.
        unsafe { release(view) };
    }
}

/// Fills `view` with `len` writable bytes at `start`.
///
/// # Safety
/// `view` is what the interpreter passed to `__getbuffer__` of `owner`, which keeps the bytes where they are.
pub(super) unsafe fn fill_bytes(
    owner: Bound<'_, PyAny>,
    start: *mut u8,
    len: usize,
    view: *mut ffi::Py_buffer,
    flags: c_int,
) -> PyResult<()> {
    let layout = Layout::contiguous(&[len]).cuda();
    let layout = layout.inspect_err(|_| {
        // SAFETY: the interpreter's own struct; on an error its owner is null.
        unsafe { (*view).obj = std::ptr::null_mut() };
    })?;
    let desc = Desc {
        dtype: DType::U8,
        layout,
    };
    // SAFETY: the caller's promise.
    unsafe {
        fill(
            owner,
            start.cast(),
            &desc,
            false,
            Memory::Owner,
            view,
            flags,
        )
    }
}
