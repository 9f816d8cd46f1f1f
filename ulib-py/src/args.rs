//! Arguments that several classes take in the same form.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use ulib_core::{Error, Result};

use crate::errors::IntoPyResult;
use crate::items::triple;

/// Which voxel: by its flat index or by its triple.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place {
    Flat(i64),
    Triple([i64; 3]),
}

impl Place {
    /// `(i,)`, `(x, y, z)` or `((x, y, z),)`.
    pub(crate) fn of(op: &str, arguments: &[Bound<'_, PyAny>]) -> PyResult<Place> {
        match arguments {
            [one] => match one.extract::<i64>() {
                Err(error) if error.is_instance_of::<PyTypeError>(one.py()) => {
                    Ok(Place::Triple(triple(one)?))
                }
                index => Ok(Place::Flat(index?)),
            },
            [x, y, z] => Ok(Place::Triple([x.extract()?, y.extract()?, z.extract()?])),
            _ => Err(PyTypeError::new_err(format!(
                "{op}: {} numbers are neither an index i nor a triple x, y, z",
                arguments.len()
            ))),
        }
    }

    /// The arguments of a call, of which the last is the value to set.
    pub(crate) fn and_value<'py>(
        op: &str,
        arguments: &Bound<'py, PyTuple>,
    ) -> PyResult<(Place, Bound<'py, PyAny>)> {
        let arguments: Vec<_> = arguments.iter().collect();
        match arguments.split_last() {
            Some((value, place)) if !place.is_empty() => Ok((Place::of(op, place)?, value.clone())),
            _ => Err(PyTypeError::new_err(format!(
                "{op}: takes an index i or a triple x, y, z, and a value"
            ))),
        }
    }

    /// The flat index in this grid.
    pub(crate) fn flat(self, grid: &ulib_math::Grid) -> Result<usize> {
        match self {
            Place::Flat(index) => index_in("voxel", index, grid.len()),
            Place::Triple(triple) => {
                let dims = grid.dims();
                grid.map().map([
                    index_in("voxel x", triple[0], dims[0])?,
                    index_in("voxel y", triple[1], dims[1])?,
                    index_in("voxel z", triple[2], dims[2])?,
                ])
            }
        }
    }
}

/// A Python integer as an index below `len`. Negative ones are refused, not counted from the back:
/// an index here names a voxel or a row, and is often computed.
pub(crate) fn index_in(what: &'static str, index: i64, len: usize) -> Result<usize> {
    match usize::try_from(index) {
        Ok(found) if found < len => Ok(found),
        _ => Err(Error::index(what, index, len)),
    }
}

/// A Python integer as a number of things.
pub(crate) fn count(op: &'static str, what: &'static str, number: i64) -> PyResult<usize> {
    usize::try_from(number)
        .map_err(|_| Error::invalid(op, what, number, "no negative number"))
        .py()
}
