//! [`HostView`]: the host copy of an object, writable, with nobody else in between.

#![allow(
    unsafe_code,
    reason = "the buffer protocol is a C struct of raw pointers"
)]

use std::ffi::c_int;
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::{PyBufferError, PyValueError};
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMemoryView, PyTuple, PyWeakrefMethods, PyWeakrefReference};

use crate::detached::drop_detached;
use crate::errors::IntoPyResult;
use crate::interop::buffer::{self, Memory};
use crate::source::{Desc, Source, block};

/// A writable view of the host copy: ``with image.HostView() as a:`` gives a NumPy array.
///
/// While it is open, every other use of the object's data, on the host or a device and by whatever thread, is a
/// ``BufferError``; questions about its shape and place are answered. When it closes, the host copy counts as the newer
/// one. An array that is kept longer stays valid but is not the object's memory any more. ``Array`` itself becomes
/// read-only then, to show that; NumPy does not tell slices of it, which stay writable.
#[pyclass(frozen, weakref, module = "uLib")]
pub(crate) struct HostView {
    source: Source,
    desc: Desc,
    state: Mutex<State>,
}

struct State {
    open: Option<ulib_device::block::HostView>,
    /// The array given out, to be made read-only when the view closes. Weak: the array holds a
    /// buffer of the view, and two that hold each other would never end.
    array: Option<Py<PyWeakrefReference>>,
}

impl Drop for HostView {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        drop_detached(state.open.take());
    }
}

impl HostView {
    /// Opens the host copy of `source` for writing.
    pub(crate) fn of(py: Python<'_>, source: &Source) -> PyResult<Self> {
        let (view, desc) = source
            .holder
            .read(py, |object| {
                let desc = source.which.of(object)?;
                Ok((block(object)?.host_view()?, desc))
            })
            .py()?;
        Ok(HostView {
            source: source.clone(),
            desc,
            state: Mutex::new(State {
                open: Some(view),
                array: None,
            }),
        })
    }

    /// Held only for a few instructions, never while Python code runs.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
#[allow(non_snake_case)]
impl HostView {
    /// The NumPy array of the view.
    #[getter]
    fn Array<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let this = slf.get();
        let given = this.state().array.as_ref().map(|array| array.clone_ref(py));
        if let Some(array) = given.and_then(|array| array.bind(py).upgrade()) {
            return Ok(array);
        }
        let numpy = py.import(intern!(py, "numpy"))?;
        let array = numpy.call_method1(intern!(py, "asarray"), (PyMemoryView::from(slf)?,))?;
        let weak = PyWeakrefReference::new(&array)?.unbind();
        this.state().array = Some(weak);
        Ok(array)
    }

    /// Whether the view has ended.
    #[getter]
    fn Closed(&self) -> bool {
        self.state().open.is_none()
    }

    /// Ends the view; the host copy counts as the newer one.
    fn Close(&self, py: Python<'_>) -> PyResult<()> {
        let (open, array) = {
            let mut state = self.state();
            (state.open.take(), state.array.take())
        };
        let Some(open) = open else {
            return Ok(());
        };
        if let Some(array) = array.and_then(|array| array.bind(py).upgrade()) {
            // Whoever still has the array keeps its memory, which the object leaves to it.
            let keywords = PyDict::new(py);
            keywords.set_item(intern!(py, "write"), false)?;
            array.call_method(intern!(py, "setflags"), (), Some(&keywords))?;
        }
        self.source.holder.write(py, |_object| open.close()).py()
    }

    fn __enter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        if slf.get().Closed() {
            return Err(PyValueError::new_err("HostView: the view is closed"));
        }
        HostView::Array(slf)
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        self.Close(py)
    }

    fn __len__(&self) -> usize {
        self.desc.layout.shape().first().copied().unwrap_or(0)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let shape = PyTuple::new(py, self.desc.layout.shape())?.repr()?;
        let closed = if self.Closed() { ", closed" } else { "" };
        Ok(format!(
            "<uLib.HostView {} {shape}{closed}>",
            self.desc.dtype.typestr()
        ))
    }

    /// The buffer protocol, writable.
    ///
    /// # Safety
    /// Called by the interpreter only.
    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        let hold = slf.get().state().open.as_ref().map(|open| open.hold());
        let Some(hold) = hold else {
            // SAFETY: the interpreter's own struct; on an error its owner is null.
            unsafe { (*view).obj = std::ptr::null_mut() };
            return Err(PyBufferError::new_err("HostView: the view is closed"));
        };
        let desc = slf.get().desc.clone();
        let start = hold.as_ptr();
        // SAFETY: `view` is the interpreter's; the hold, which moves into the buffer, keeps the memory
        // also after the view has closed.
        unsafe {
            buffer::fill(
                slf.into_any(),
                start.cast(),
                &desc,
                false,
                Memory::Held { _hold: hold },
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
