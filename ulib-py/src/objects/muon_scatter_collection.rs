//! `MuonScatterCollection`: muon tracks before and after a volume.

use std::sync::Arc;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple, PyType};
use ulib_math::{Line, MuonScatter, MuonScatterCollection as Items};

use super::collection::{Triple, repr};
use super::line_collection::parts;
use crate::args::{self, Int, index_in, number, whole};
use crate::bulk::BulkArray;
use crate::cell::Shared;
use crate::errors::IntoPyResult;
use crate::items::line;
use crate::persist;
use crate::source::{Holder, Which};
use crate::view::ArrayView;

/// Muons, one after the other, 144 bytes each. As an array they are those bytes, ``(144 n,)``; the
/// numbers are reached by field: ``Momentum``, ``LineInOrigin``, or ``Field('ErrorIn.position')``.
#[pyclass(frozen, extends = BulkArray, module = "uLib")]
pub(crate) struct MuonScatterCollection {
    shared: Arc<Shared<Items>>,
}

/// Origin and direction of a line.
type LineParts = (Triple, Triple);

fn momentum(object: &Bound<'_, PyAny>) -> PyResult<f32> {
    number("Append", "momentum", object)
}

fn momentum_prime(object: &Bound<'_, PyAny>) -> PyResult<f32> {
    number("Append", "momentum_prime", object)
}

impl MuonScatterCollection {
    pub(crate) fn init(items: Items) -> PyClassInitializer<Self> {
        let shared = Arc::new(Shared::new(items));
        BulkArray::bases(shared.clone(), Which::Own).add_subclass(MuonScatterCollection { shared })
    }

    fn holder(&self) -> Arc<dyn Holder> {
        self.shared.clone()
    }

    fn field<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, ArrayView>> {
        ArrayView::of(py, self.holder(), Which::Field(name.to_owned()))
    }
}

#[pymethods]
#[allow(non_snake_case)]
impl MuonScatterCollection {
    #[new]
    #[pyo3(signature = (count=0))]
    fn new(
        py: Python<'_>,
        #[pyo3(from_py_with = whole)] count: i128,
    ) -> PyResult<PyClassInitializer<Self>> {
        let count = args::count("MuonScatterCollection", "count", Int(count))?;
        let mut items = Items::new().py()?;
        py.detach(|| items.resize(count)).py()?;
        Ok(MuonScatterCollection::init(items))
    }

    /// Adds a muon at the end. A line is a pair of origin and direction, in cm; momenta in GeV.
    #[pyo3(signature = (line_in, line_out, momentum=0.0, momentum_prime=0.0))]
    fn Append(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = line)] line_in: LineParts,
        #[pyo3(from_py_with = line)] line_out: LineParts,
        #[pyo3(from_py_with = momentum)] momentum: f32,
        #[pyo3(from_py_with = momentum_prime)] momentum_prime: f32,
    ) -> PyResult<()> {
        let made = |(origin, direction): LineParts| Line::new(origin, direction);
        let muon = MuonScatter {
            Momentum: momentum,
            MomentumPrime: momentum_prime,
            ..MuonScatter::new(made(line_in), made(line_out))
        };
        self.shared.tiny_mut(py, |items| items.push(muon)).py()
    }

    /// The muon at ``index``: ``LineIn``, ``LineOut``, ``Momentum``, ``MomentumPrime``.
    #[pyo3(signature = (index))]
    fn GetMuon<'py>(&self, py: Python<'py>, index: Int) -> PyResult<Bound<'py, PyDict>> {
        let muon = self
            .shared
            .tiny(py, |items| items.get(index_in("muon", index, items.len())?))
            .py()?;
        let line = |line: &Line| -> PyResult<_> {
            let (origin, direction) = parts(line);
            Ok((PyTuple::new(py, origin)?, PyTuple::new(py, direction)?))
        };
        let dict = PyDict::new(py);
        dict.set_item("LineIn", line(&muon.LineIn)?)?;
        dict.set_item("LineOut", line(&muon.LineOut)?)?;
        dict.set_item("Momentum", muon.Momentum)?;
        dict.set_item("MomentumPrime", muon.MomentumPrime)?;
        Ok(dict)
    }

    /// The points of the lines before the volume, as an array of its own over the same memory: float32, shape ``(n, 4)``.
    #[getter]
    fn LineInOrigin<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, ArrayView>> {
        self.field(py, "LineIn.origin")
    }

    #[setter(LineInOrigin)]
    fn put_line_in_origin(&self, view: &Bound<'_, PyAny>) -> PyResult<()> {
        ArrayView::put_back(self.holder(), "LineIn.origin", view)
    }

    /// The directions before the volume, as an array of its own over the same memory: float32, shape ``(n, 4)``.
    #[getter]
    fn LineInDirection<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, ArrayView>> {
        self.field(py, "LineIn.direction")
    }

    #[setter(LineInDirection)]
    fn put_line_in_direction(&self, view: &Bound<'_, PyAny>) -> PyResult<()> {
        ArrayView::put_back(self.holder(), "LineIn.direction", view)
    }

    /// The points of the lines behind the volume, as an array of its own over the same memory: float32, shape ``(n, 4)``.
    #[getter]
    fn LineOutOrigin<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, ArrayView>> {
        self.field(py, "LineOut.origin")
    }

    #[setter(LineOutOrigin)]
    fn put_line_out_origin(&self, view: &Bound<'_, PyAny>) -> PyResult<()> {
        ArrayView::put_back(self.holder(), "LineOut.origin", view)
    }

    /// The directions behind the volume, as an array of its own over the same memory: float32, shape ``(n, 4)``.
    #[getter]
    fn LineOutDirection<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, ArrayView>> {
        self.field(py, "LineOut.direction")
    }

    #[setter(LineOutDirection)]
    fn put_line_out_direction(&self, view: &Bound<'_, PyAny>) -> PyResult<()> {
        ArrayView::put_back(self.holder(), "LineOut.direction", view)
    }

    /// The momenta in GeV, as an array of its own over the same memory: float32, shape ``(n,)``.
    #[getter]
    fn Momentum<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, ArrayView>> {
        self.field(py, "Momentum")
    }

    #[setter(Momentum)]
    fn put_momentum(&self, view: &Bound<'_, PyAny>) -> PyResult<()> {
        ArrayView::put_back(self.holder(), "Momentum", view)
    }

    /// The momenta behind the volume in GeV, as an array of its own over the same memory: float32, shape ``(n,)``.
    #[getter]
    fn MomentumPrime<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, ArrayView>> {
        self.field(py, "MomentumPrime")
    }

    #[setter(MomentumPrime)]
    fn put_momentum_prime(&self, view: &Bound<'_, PyAny>) -> PyResult<()> {
        ArrayView::put_back(self.holder(), "MomentumPrime", view)
    }

    /// Makes the collection ``count`` muons long: the first ones are kept, new ones are zero.
    #[pyo3(signature = (count))]
    fn Resize(&self, py: Python<'_>, count: Int) -> PyResult<()> {
        let count = args::count("Resize", "count", count)?;
        self.shared.write(py, |items| items.resize(count)).py()
    }

    /// Removes all muons.
    fn Clear(&self, py: Python<'_>) -> PyResult<()> {
        self.shared.write(py, Items::clear).py()
    }

    /// The number of muons (the array has 144 elements for each).
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.shared.peek(py, |items| Ok(items.len())).py()
    }

    fn __iter__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "MuonScatterCollection: iterate over a field, such as Momentum, or over GetMuon(i)",
        ))
    }

    fn __copy__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, Self>> {
        let copy = self.shared.read(py, Items::try_clone).py()?;
        Bound::new(py, MuonScatterCollection::init(copy))
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
        repr(py, &self.shared, "MuonScatterCollection", "muons")
    }
}
