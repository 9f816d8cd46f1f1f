//! `SurfaceObject`.

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use ulib_device::texture::SurfaceObject;

use super::array::PyArray;
use super::held::Held;
use crate::cuda::arguments::instance;
use crate::cuda::errors::IntoCudaResult;

/// A surface over an ``Array`` that was made with ``array3d_flags.SURFACE_LDST``, through which kernels read and write it: an
/// argument for a parameter of type ``cudaSurfaceObject_t``, an integer of 64 bits.
///
/// It keeps the array, and is destroyed after the kernels, and with the graphs, that use it.
#[pyclass(frozen, weakref, name = "SurfaceObject", module = "uLib.cuda.driver")]
pub(crate) struct PySurface(Held<SurfaceObject>);

const CLASS: &str = "SurfaceObject";

impl PySurface {
    /// The surface as an argument of a kernel, as long as it is not freed.
    pub(crate) fn surface(&self) -> Option<SurfaceObject> {
        Some(SurfaceObject::clone(&*self.0.there()?))
    }

    fn handle_in(&self, op: &str) -> PyResult<u64> {
        Ok(self.0.get(op, CLASS)?.handle())
    }
}

#[pymethods]
impl PySurface {
    #[new]
    fn new(py: Python<'_>, array: &Bound<'_, PyAny>) -> PyResult<Self> {
        let array = instance::<PyArray>(CLASS, "array", array)?.get();
        let array = array.array(CLASS)?;
        let made = py.detach(|| SurfaceObject::new(&array));
        Ok(Self(Held::new(made.cuda()?)))
    }

    /// Destroys the object, as soon as no graph uses it. A second time is a ``LogicError``.
    fn free(&self, py: Python<'_>) -> PyResult<()> {
        self.0.free(py, CLASS)
    }

    /// As ``free``, and nothing where that has happened already.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.0.close(py)
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        self.0.close(py)
    }

    /// What kernels are given.
    #[getter]
    fn handle(&self) -> PyResult<u64> {
        self.handle_in("SurfaceObject.handle")
    }

    fn __int__(&self) -> PyResult<u64> {
        self.handle_in("SurfaceObject.__int__")
    }

    fn __index__(&self) -> PyResult<u64> {
        self.handle_in("SurfaceObject.__index__")
    }

    /// The array that it writes.
    #[getter]
    fn array(&self) -> PyResult<PyArray> {
        let surface = self.0.get("SurfaceObject.array", CLASS)?;
        Ok(PyArray::of(surface.array().clone()))
    }
}
