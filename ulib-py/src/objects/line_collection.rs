//! `LineCollection`: lines, one after the other.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple, PyType};
use ulib_math::{Line, LineCollection as Items};

use super::collection::{Triple, repr};
use crate::args::{self, Int, index_in, whole};
use crate::bulk::BulkArray;
use crate::cell::Shared;
use crate::errors::IntoPyResult;
use crate::items::triple;
use crate::persist;
use crate::source::{Holder, Which};

/// Lines in space, one after the other. As an array they are ``(n, 2, 4)`` float32: origin (x, y, z,
/// 1) and direction (x, y, z, 0).
#[pyclass(frozen, extends = BulkArray, module = "uLib")]
pub(crate) struct LineCollection {
    shared: Arc<Shared<Items>>,
}

impl LineCollection {
    pub(crate) fn init(items: Items) -> PyClassInitializer<Self> {
        let shared = Arc::new(Shared::new(items));
        BulkArray::bases(shared.clone(), Which::Own).add_subclass(LineCollection { shared })
    }

    fn holder(&self) -> Arc<dyn Holder> {
        self.shared.clone()
    }
}

/// Origin and direction of a line, without the fourth coordinates.
pub(crate) fn parts(line: &Line) -> (Triple, Triple) {
    let three = |v: &ulib_math::Vector4| [v.x, v.y, v.z];
    (three(&line.origin), three(&line.direction))
}

#[pymethods]
#[allow(non_snake_case)]
impl LineCollection {
    #[new]
    #[pyo3(signature = (count=0))]
    fn new(
        py: Python<'_>,
        #[pyo3(from_py_with = whole)] count: i128,
    ) -> PyResult<PyClassInitializer<Self>> {
        let count = args::count("LineCollection", "count", Int(count))?;
        let mut items = Items::new().py()?;
        py.detach(|| items.resize(count)).py()?;
        Ok(LineCollection::init(items))
    }

    /// Adds the line through ``origin`` along ``direction`` at the end.
    #[pyo3(signature = (origin, direction))]
    fn Append(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = triple)] origin: Triple,
        #[pyo3(from_py_with = triple)] direction: Triple,
    ) -> PyResult<()> {
        self.shared
            .tiny_mut(py, |items| items.push(Line::new(origin, direction)))
            .py()
    }

    /// Origin and direction of the line at ``index``.
    #[pyo3(signature = (index))]
    fn GetLine<'py>(
        &self,
        py: Python<'py>,
        index: Int,
    ) -> PyResult<(Bound<'py, PyTuple>, Bound<'py, PyTuple>)> {
        let line = self
            .shared
            .tiny(py, |items| items.get(index_in("line", index, items.len())?))
            .py()?;
        let (origin, direction) = parts(&line);
        Ok((PyTuple::new(py, origin)?, PyTuple::new(py, direction)?))
    }

    /// Replaces the line at ``index``.
    #[pyo3(signature = (index, origin, direction))]
    fn SetLine(
        &self,
        py: Python<'_>,
        index: Int,
        #[pyo3(from_py_with = triple)] origin: Triple,
        #[pyo3(from_py_with = triple)] direction: Triple,
    ) -> PyResult<()> {
        self.shared
            .tiny_mut(py, |items| {
                let index = index_in("line", index, items.len())?;
                items.set(index, Line::new(origin, direction))
            })
            .py()
    }

    /// Makes the collection ``count`` lines long: the first ones are kept, new ones are zero.
    #[pyo3(signature = (count))]
    fn Resize(&self, py: Python<'_>, count: Int) -> PyResult<()> {
        let count = args::count("Resize", "count", count)?;
        self.shared.write(py, |items| items.resize(count)).py()
    }

    /// Removes all lines.
    fn Clear(&self, py: Python<'_>) -> PyResult<()> {
        self.shared.write(py, Items::clear).py()
    }

    fn __copy__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, Self>> {
        let copy = self.shared.read(py, Items::try_clone).py()?;
        Bound::new(py, LineCollection::init(copy))
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
        repr(py, &self.shared, "LineCollection", "lines")
    }
}
