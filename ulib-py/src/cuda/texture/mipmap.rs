//! `MipmappedArray`.

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use ulib_device::texture::MipmappedArray;

use super::array::PyArray;
use super::given::{count, described, descriptor, small};
use super::held::Held;
use crate::cuda::arguments::Whole;
use crate::cuda::current;
use crate::cuda::errors::IntoCudaResult;
use crate::cuda::memory::device::after_collecting;
use crate::detached::InHand;

/// An array at several resolutions, made from an ``ArrayDescriptor3D`` of the largest: each level is an ``Array`` half as large as the
/// one before, to be filled one by one.
#[pyclass(frozen, weakref, name = "MipmappedArray", module = "uLib.cuda.driver")]
pub(super) struct PyMipmappedArray(Held<MipmappedArray>);

const CLASS: &str = "MipmappedArray";

impl PyMipmappedArray {
    /// The array for `op`, as long as it is not freed.
    pub(super) fn array(&self, op: &str) -> PyResult<InHand<MipmappedArray>> {
        self.0.get(op, CLASS)
    }
}

#[pymethods]
impl PyMipmappedArray {
    #[new]
    fn new(py: Python<'_>, descr: &Bound<'_, PyAny>, levels: Whole) -> PyResult<Self> {
        let wanted = descriptor(CLASS, descr)?;
        let levels = small(CLASS, "levels", count(CLASS, "levels", levels)?)?;
        let made = after_collecting(py, || {
            MipmappedArray::new(&current::device()?, wanted, levels)
        })?;
        Ok(Self(Held::new(made)))
    }

    /// Frees it as soon as no level and no texture needs it. A second time is a ``LogicError``.
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

    fn __len__(&self) -> PyResult<usize> {
        Ok(self.array("MipmappedArray.__len__")?.levels().len())
    }

    /// One level; 0 is the largest.
    fn level(&self, index: Whole) -> PyResult<PyArray> {
        const OP: &str = "MipmappedArray.level";
        let index = count(OP, "index", index)?;
        Ok(PyArray::of(self.array(OP)?.level(index).cuda()?.clone()))
    }

    /// What the largest level looks like.
    fn get_descriptor_3d<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let array = self.array("MipmappedArray.get_descriptor_3d")?;
        described(py, array.descriptor(), true)
    }

    /// The driver's ``CUmipmappedArray``, as an integer.
    #[getter]
    fn handle(&self) -> PyResult<usize> {
        Ok(self.array("MipmappedArray.handle")?.handle() as usize)
    }
}
