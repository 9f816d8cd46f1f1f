//! [`Proxy`]: what stands for the object that a scene has under a name, whichever that is at the moment.

#![allow(
    unsafe_code,
    reason = "passes a request for a buffer on, which is a C struct of raw pointers"
)]

use std::ffi::c_int;
use std::ptr;

use pyo3::PyTypeInfo;
use pyo3::exceptions::{PyReferenceError, PyTypeError};
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::pyclass::CompareOp;
use pyo3::types::{PyDict, PyIterator, PyList, PyString};
use ulib_core::words::with_article;

type Any<'py> = Bound<'py, PyAny>;

/// Stands for the object that a scene has under a name at the moment: attributes, methods, operators and the protocols of
/// arrays are those of the object, and so is the class that ``isinstance`` sees.
#[pyclass(frozen, weakref, mapping, module = "uLib.scene")]
pub(crate) struct Proxy {
    /// The objects of the scene, by their names.
    objects: Py<PyDict>,
    name: Py<PyString>,
}

/// The object of class `T` that `object` is, or stands for.
pub(crate) fn own<'py, T: PyTypeInfo>(
    object: &Bound<'py, PyAny>,
) -> PyResult<Option<Bound<'py, T>>> {
    if let Ok(found) = object.cast::<T>() {
        return Ok(Some(found.clone()));
    }
    match object.cast::<Proxy>() {
        Ok(proxy) => Ok(proxy.get().target(object.py())?.cast_into::<T>().ok()),
        Err(_) => Ok(None),
    }
}

/// The object that a proxy stands for; anything else as it is.
#[pyfunction]
#[pyo3(signature = (object))]
pub(crate) fn unwrap<'py>(object: &Any<'py>) -> PyResult<Any<'py>> {
    match object.cast::<Proxy>() {
        Ok(proxy) => proxy.get().target(object.py()),
        Err(_) => Ok(object.clone()),
    }
}

impl Proxy {
    fn target<'py>(&self, py: Python<'py>) -> PyResult<Any<'py>> {
        let name = self.name.bind(py);
        let Some(found) = self.objects.bind(py).get_item(name)? else {
            let message = format!("the scene has no object {} any more", name.repr()?);
            return Err(PyReferenceError::new_err(message));
        };
        // Scenes never hold one; two that stand for each other would never come to an object.
        if found.cast::<Proxy>().is_ok() {
            let message = format!("{} is a proxy itself", name.repr()?);
            return Err(PyReferenceError::new_err(message));
        }
        Ok(found)
    }

    /// Changes the object in place. Where it cannot and Python makes a new value instead, the object stays.
    fn in_place<'py>(&self, py: Python<'py>, op: &str, other: &Any<'py>) -> PyResult<()> {
        let target = self.target(py)?;
        let result = py
            .import(intern!(py, "operator"))?
            .call_method1(op, (&target, unwrap(other)?))?;
        if result.is(&target) {
            return Ok(());
        }
        let class = with_article(&target.get_type().fully_qualified_name()?.to_string());
        Err(PyTypeError::new_err(format!(
            "{op}: {class} cannot be changed in place"
        )))
    }
}

#[pymethods]
impl Proxy {
    #[new]
    #[pyo3(signature = (objects, name, /))]
    fn new(objects: Py<PyDict>, name: Py<PyString>) -> Self {
        Proxy { objects, name }
    }

    fn __getattribute__<'py>(&self, py: Python<'py>, name: &Any<'py>) -> PyResult<Any<'py>> {
        self.target(py)?.getattr(name.cast::<PyString>()?)
    }

    fn __setattr__(&self, py: Python<'_>, name: &Any<'_>, value: &Any<'_>) -> PyResult<()> {
        self.target(py)?.setattr(name.cast::<PyString>()?, value)
    }

    fn __delattr__(&self, py: Python<'_>, name: &Any<'_>) -> PyResult<()> {
        self.target(py)?.delattr(name.cast::<PyString>()?)
    }

    fn __dir__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.target(py)?.dir()
    }

    fn __repr__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        self.target(py)?.repr()
    }

    fn __str__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        self.target(py)?.str()
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        self.target(py)?.hash()
    }

    fn __richcmp__<'py>(&self, other: &Any<'py>, op: CompareOp) -> PyResult<Any<'py>> {
        self.target(other.py())?.rich_compare(unwrap(other)?, op)
    }

    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        self.target(py)?.is_truthy()
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.target(py)?.len()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        self.target(py)?.try_iter()
    }

    fn __contains__(&self, item: &Any<'_>) -> PyResult<bool> {
        self.target(item.py())?.contains(item)
    }

    fn __getitem__<'py>(&self, key: &Any<'py>) -> PyResult<Any<'py>> {
        self.target(key.py())?.get_item(key)
    }

    fn __setitem__(&self, key: &Any<'_>, value: &Any<'_>) -> PyResult<()> {
        self.target(key.py())?.set_item(key, value)
    }

    fn __delitem__(&self, key: &Any<'_>) -> PyResult<()> {
        self.target(key.py())?.del_item(key)
    }

    fn __copy__<'py>(&self, py: Python<'py>) -> PyResult<Any<'py>> {
        self.target(py)?.call_method0(intern!(py, "__copy__"))
    }

    #[pyo3(signature = (memo, /))]
    fn __deepcopy__<'py>(&self, py: Python<'py>, memo: &Any<'py>) -> PyResult<Any<'py>> {
        self.target(py)?
            .call_method1(intern!(py, "__deepcopy__"), (memo,))
    }

    fn __neg__<'py>(&self, py: Python<'py>) -> PyResult<Any<'py>> {
        self.target(py)?.neg()
    }

    fn __abs__<'py>(&self, py: Python<'py>) -> PyResult<Any<'py>> {
        self.target(py)?.abs()
    }

    fn __add__<'py>(&self, other: &Any<'py>) -> PyResult<Any<'py>> {
        self.target(other.py())?.add(unwrap(other)?)
    }

    fn __radd__<'py>(&self, other: &Any<'py>) -> PyResult<Any<'py>> {
        other.add(self.target(other.py())?)
    }

    fn __iadd__(&self, other: &Any<'_>) -> PyResult<()> {
        self.in_place(other.py(), "iadd", other)
    }

    fn __sub__<'py>(&self, other: &Any<'py>) -> PyResult<Any<'py>> {
        self.target(other.py())?.sub(unwrap(other)?)
    }

    fn __rsub__<'py>(&self, other: &Any<'py>) -> PyResult<Any<'py>> {
        other.sub(self.target(other.py())?)
    }

    fn __isub__(&self, other: &Any<'_>) -> PyResult<()> {
        self.in_place(other.py(), "isub", other)
    }

    fn __mul__<'py>(&self, other: &Any<'py>) -> PyResult<Any<'py>> {
        self.target(other.py())?.mul(unwrap(other)?)
    }

    fn __rmul__<'py>(&self, other: &Any<'py>) -> PyResult<Any<'py>> {
        other.mul(self.target(other.py())?)
    }

    fn __imul__(&self, other: &Any<'_>) -> PyResult<()> {
        self.in_place(other.py(), "imul", other)
    }

    fn __truediv__<'py>(&self, other: &Any<'py>) -> PyResult<Any<'py>> {
        self.target(other.py())?.div(unwrap(other)?)
    }

    fn __rtruediv__<'py>(&self, other: &Any<'py>) -> PyResult<Any<'py>> {
        other.div(self.target(other.py())?)
    }

    fn __itruediv__(&self, other: &Any<'_>) -> PyResult<()> {
        self.in_place(other.py(), "itruediv", other)
    }

    fn __pow__<'py>(&self, other: &Any<'py>, modulo: &Any<'py>) -> PyResult<Any<'py>> {
        self.target(other.py())?.pow(unwrap(other)?, modulo)
    }

    fn __rpow__<'py>(&self, other: &Any<'py>, modulo: &Any<'py>) -> PyResult<Any<'py>> {
        other.pow(self.target(other.py())?, modulo)
    }

    fn __ipow__(&self, other: &Any<'_>, _modulo: &Any<'_>) -> PyResult<()> {
        self.in_place(other.py(), "ipow", other)
    }

    /// The buffer of the object, whose end is told to the object.
    ///
    /// # Safety
    /// Called by the interpreter only.
    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        let py = slf.py();
        // SAFETY: `view` is the interpreter's own struct; on an error its owner is null.
        unsafe { (*view).obj = ptr::null_mut() };
        let target = slf.get().target(py)?;
        // SAFETY: as above; `target` is alive, and the buffer keeps it: its owner is the target, not the proxy.
        match unsafe { ffi::PyObject_GetBuffer(target.as_ptr(), view, flags) } {
            0 => Ok(()),
            _ => Err(PyErr::fetch(py)),
        }
    }
}
