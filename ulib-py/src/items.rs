//! Arguments of several items: any iterable, read one item at a time. And memory whose size the caller decides.
//!
//! The interpreter's own word for how long something is may be a lie or a number no memory holds, so nothing is allocated
//! on it that cannot fail, and what has a known length is read no further than that.

use bytemuck::Zeroable;
use bytemuck::allocation::try_zeroed_vec;
use pyo3::conversion::FromPyObjectOwned;
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyString};
use ulib_core::Error;
use ulib_core::words::{counted, with_article};
use ulib_device::block::out_of_host_memory;

use crate::args::{attribute, extracted};
use crate::errors::IntoPyResult;

/// How many items are read between two looks for signals.
const SIGNALS: usize = 1 << 16;

/// Appends to a vector, with an error instead of an end of the process when there is no memory.
pub(crate) fn push<T>(items: &mut Vec<T>, item: T) -> ulib_core::Result<()> {
    reserve(items, 1)?;
    items.push(item);
    Ok(())
}

/// Room for `more` items.
pub(crate) fn reserve<T>(items: &mut Vec<T>, more: usize) -> ulib_core::Result<()> {
    items.try_reserve(more).map_err(|_| no_memory::<T>(more))
}

/// `len` zeros.
pub(crate) fn zeros<T: Zeroable>(len: usize) -> ulib_core::Result<Vec<T>> {
    try_zeroed_vec(len).map_err(|()| no_memory::<T>(len))
}

fn no_memory<T>(items: usize) -> Error {
    out_of_host_memory((items as u64).saturating_mul(size_of::<T>() as u64))
}

/// The items of the iterable `object`, each as `read` makes it, and no more than `most` of them.
///
/// Errors name `op` and `what`, which is the argument. Text and bytes are refused: they iterate, but as
/// letters and small numbers, which nobody means.
pub(crate) fn items_by<T>(
    op: &str,
    what: &str,
    object: &Bound<'_, PyAny>,
    most: usize,
    read: impl Fn(&Bound<'_, PyAny>) -> PyResult<T>,
) -> PyResult<Vec<T>> {
    let py = object.py();
    let refuse = || {
        let found = with_article(&object.get_type().name()?.to_string());
        Err(PyTypeError::new_err(format!(
            "{op}: {what} is {found}, not several items"
        )))
    };
    if is_text(object) {
        return refuse();
    }
    refuse_masked(op, object)?;
    let iterator = match object.try_iter() {
        Err(error) if error.is_instance_of::<PyTypeError>(py) => return refuse(),
        other => other?,
    };
    let mut items = Vec::new();
    for item in iterator {
        if items.len() == most {
            return Err(PyValueError::new_err(format!(
                "{op}: {what} has more than {}",
                counted(most, "item")
            )));
        }
        let item = read(&item?).map_err(|error| named(py, op, what, items.len(), error))?;
        if items.is_empty() && most > SIGNALS {
            // Not before an item is known to be good. Refused here, at once, if there is no such memory.
            reserve(&mut items, object.len().unwrap_or(1).min(most)).py()?;
        }
        push(&mut items, item).py()?;
        if items.len() % SIGNALS == 0 {
            py.check_signals()?;
        }
    }
    Ok(items)
}

/// Whether `object` iterates as letters and small numbers, which nobody means.
pub(crate) fn is_text(object: &Bound<'_, PyAny>) -> bool {
    object.is_instance_of::<PyString>()
        || object.is_instance_of::<PyBytes>()
        || object.is_instance_of::<PyByteArray>()
}

/// Refuses a NumPy array of which some elements are masked: what lies behind the mask is no number of the caller's.
pub(crate) fn refuse_masked(op: &str, object: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = object.py();
    let has = |name| attribute(object, name).map(|found| found.is_some());
    if !has(intern!(py, "mask"))? || !has(intern!(py, "filled"))? {
        return Ok(());
    }
    let masked = py
        .import(intern!(py, "numpy.ma"))?
        .call_method1(intern!(py, "is_masked"), (object,))?;
    if masked.is_truthy()? {
        return Err(PyValueError::new_err(format!(
            "{op}: the array has masked elements; filled() gives them a value"
        )));
    }
    Ok(())
}

/// [`items_by`] for a type that converts by itself.
pub(crate) fn items<T: for<'py> FromPyObjectOwned<'py> + 'static>(
    op: &str,
    what: &str,
    object: &Bound<'_, PyAny>,
    most: usize,
) -> PyResult<Vec<T>> {
    items_by(op, what, object, most, extracted)
}

/// Three numbers: a point, a direction, an index.
pub(crate) fn triple<T: for<'py> FromPyObjectOwned<'py> + 'static>(
    object: &Bound<'_, PyAny>,
) -> PyResult<[T; 3]> {
    exactly(object, extracted)
}

/// Origin and direction of a line: two triples.
pub(crate) fn line(object: &Bound<'_, PyAny>) -> PyResult<([f32; 3], [f32; 3])> {
    exactly(object, triple).map(|[origin, direction]| (origin, direction))
}

/// The `N` items of an iterable.
fn exactly<T, const N: usize>(
    object: &Bound<'_, PyAny>,
    read: impl Fn(&Bound<'_, PyAny>) -> PyResult<T>,
) -> PyResult<[T; N]> {
    items_by("argument", "a group", object, N, read)?
        .try_into()
        .map_err(|items: Vec<T>| {
            PyValueError::new_err(format!(
                "{} for a group of {N}",
                counted(items.len(), "item")
            ))
        })
}

/// An error about one item, with the operation it was for. Only what says that the item is of the wrong kind
/// or too large is worded anew; what the item's own methods raised stays.
fn named(py: Python<'_>, op: &str, what: &str, index: usize, error: PyErr) -> PyErr {
    let kind = error.get_type(py);
    let message = format!("{op}: item {index} of {what}: {}", error.value(py));
    if kind.is(py.get_type::<PyTypeError>()) {
        PyTypeError::new_err(message)
    } else if kind.is(py.get_type::<PyOverflowError>()) {
        PyOverflowError::new_err(message)
    } else {
        error
    }
}
