//! `FloatCollection`: numbers, one after the other.

use std::sync::Arc;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyType};
use ulib_core::DType;
use ulib_math::FloatCollection as Items;

use super::collection::repr;
use crate::args::{self, Int, index_in, number};
use crate::bulk::BulkArray;
use crate::cell::Shared;
use crate::errors::IntoPyResult;
use crate::incoming;
use crate::interop::import::Incoming;
use crate::items::items;
use crate::persist;
use crate::source::{Holder, Source, Which};

/// Numbers (float32), one after the other: ``FloatCollection(n)`` zeros, or those of an array.
#[pyclass(frozen, extends = BulkArray, module = "uLib")]
pub(crate) struct FloatCollection {
    shared: Arc<Shared<Items>>,
}

impl FloatCollection {
    pub(crate) fn init(items: Items) -> PyClassInitializer<Self> {
        let shared = Arc::new(Shared::new(items));
        BulkArray::bases(shared.clone(), Which::Own).add_subclass(FloatCollection { shared })
    }

    fn holder(&self) -> Arc<dyn Holder> {
        self.shared.clone()
    }
}

#[pymethods]
#[allow(non_snake_case)]
impl FloatCollection {
    #[new]
    #[pyo3(signature = (values=None))]
    fn new(
        py: Python<'_>,
        values: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyClassInitializer<Self>> {
        const CLASS: &str = "FloatCollection";
        let mut items = Items::new().py()?;
        let Some(values) = values else {
            return Ok(FloatCollection::init(items));
        };
        match values.extract::<Int>() {
            Ok(count) => {
                let count = args::count(CLASS, "count", count)?;
                py.detach(|| items.resize(count)).py()?;
                return Ok(FloatCollection::init(items));
            }
            // No integer, then. What an integer raises by itself is the caller's to see.
            Err(error) if error.is_instance_of::<PyTypeError>(py) => {}
            Err(error) => return Err(error),
        }
        let values = Incoming::of(values, DType::F32, CLASS)?;
        let count = values.shape().iter().product();
        py.detach(|| items.resize(count)).py()?;
        let shared = Arc::new(Shared::new(items));
        incoming::assign(py, &Source::own(shared.clone()), values, CLASS)?;
        Ok(BulkArray::bases(shared.clone(), Which::Own).add_subclass(FloatCollection { shared }))
    }

    /// The number at ``index``.
    #[pyo3(signature = (index))]
    fn GetValue(&self, py: Python<'_>, index: Int) -> PyResult<f32> {
        let at = |items: &Items| index_in("element", index, items.len());
        self.shared
            .glance(
                |items| items.get_at_hand(at(items)?),
                || self.shared.read(py, |items| items.get(at(items)?)),
            )
            .py()
    }

    /// Replaces the number at ``index``.
    #[pyo3(signature = (index, value))]
    fn SetValue(&self, py: Python<'_>, index: Int, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let value: f32 = number("SetValue", "value", value)?;
        let at = |items: &Items| index_in("element", index, items.len());
        self.shared
            .glance(
                |items| Ok(items.set_at_hand(at(items)?, value)?.then_some(())),
                || self.shared.write(py, |items| items.set(at(items)?, value)),
            )
            .py()
    }

    /// Adds a number at the end.
    #[pyo3(signature = (value))]
    fn Append(&self, py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let value: f32 = number("Append", "value", value)?;
        self.shared.tiny_mut(py, |items| items.push(value)).py()
    }

    /// Adds numbers at the end.
    #[pyo3(signature = (values))]
    fn Extend(&self, py: Python<'_>, values: &Bound<'_, PyAny>) -> PyResult<()> {
        let values = items::<f32>("Extend", "values", values, usize::MAX)?;
        self.shared
            .write(py, |items| items.extend_from_slice(&values))
            .py()
    }

    /// Makes the collection ``count`` floats long: the first ones are kept, new ones are zero.
    #[pyo3(signature = (count))]
    fn Resize(&self, py: Python<'_>, count: Int) -> PyResult<()> {
        let count = args::count("Resize", "count", count)?;
        self.shared.write(py, |items| items.resize(count)).py()
    }

    /// Removes all floats.
    fn Clear(&self, py: Python<'_>) -> PyResult<()> {
        self.shared.write(py, Items::clear).py()
    }

    fn __copy__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, Self>> {
        let copy = self.shared.read(py, Items::try_clone).py()?;
        Bound::new(py, FloatCollection::init(copy))
    }

    #[pyo3(signature = (_memo, /))]
    fn __deepcopy__<'py>(
        &self,
        py: Python<'py>,
        _memo: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, Self>> {
        self.__copy__(py)
    }

    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyType>, (usize,), persist::State<'py>)> {
        let (len, state) = persist::save(py, &self.shared, |items| items.len())?;
        Ok((py.get_type::<Self>(), (len,), state))
    }

    #[pyo3(signature = (state, /))]
    fn __setstate__(&self, py: Python<'_>, state: (Bound<'_, PyBytes>, String)) -> PyResult<()> {
        persist::load(py, &self.holder(), state.0.as_bytes(), &state.1)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        repr(py, &self.shared, "FloatCollection", "floats")
    }
}
