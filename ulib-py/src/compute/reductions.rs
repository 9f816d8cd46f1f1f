//! The reductions: over all elements to a number, or over some axes to a NumPy array.

use ndarray::{ArrayD, Axis};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyByteArray;
use ulib_core::{DeviceStorable, Error, Result, bytemuck};
use ulib_math::ops::{self, Element};
use ulib_math::view::View;

use super::{Numeric, numbers};
use crate::errors::IntoPyResult;
use crate::items::items;
use crate::source::{Desc, Source};

/// What a reduction goes over: all elements, or the axes that Python names.
#[derive(Clone, Copy)]
pub(crate) struct Over<'a, 'py> {
    pub(crate) axis: Option<&'a Bound<'py, PyAny>>,
    /// Whether the axes stay, with length 1.
    pub(crate) keepdims: bool,
}

/// The sum of all elements, or the sums over axes, where the array is: floats, or ints of integers.
pub(crate) fn sum<'py>(
    py: Python<'py>,
    source: &Source,
    over: Over<'_, 'py>,
) -> PyResult<Bound<'py, PyAny>> {
    const OP: &str = "Sum";
    numbers!(OP, source.dtype(py).py()?, T => {
        reduce::<T, <T as Element>::Sum>(py, OP, source, over, ops::sum_all, ops::sum)
    })
}

/// Reduces the array of `source` with `all` to a number, or with `some` over axes to a NumPy array.
fn reduce<'py, T: Numeric, R: DeviceStorable + IntoPyObject<'py> + Send>(
    py: Python<'py>,
    op: &'static str,
    source: &Source,
    over: Over<'_, 'py>,
    all: impl FnOnce(&View<'_, T>) -> Result<R> + Send,
    some: impl FnOnce(&View<'_, T>, &[usize]) -> Result<ArrayD<R>> + Send,
) -> PyResult<Bound<'py, PyAny>> {
    if over.axis.is_none() && !over.keepdims {
        let number = source
            .read(py, |block, desc| all(&View::new(block, desc.layout)?))
            .py()?;
        return number.into_bound_py_any(py);
    }
    // The axes of an image are those of its grid.
    let source = source.grid_or_own(py).py()?;
    let desc = source.describe(py).py()?;
    let axes = match over.axis {
        Some(axis) => axes_of(op, axis, &desc)?,
        None => (0..desc.layout.ndim()).collect(),
    };
    let mut numbers = source
        .read(py, |block, desc| {
            some(&View::new(block, desc.layout)?, &axes)
        })
        .py()?;
    if over.keepdims {
        let mut axes = axes;
        axes.sort_unstable();
        for axis in axes {
            numbers.insert_axis_inplace(Axis(axis));
        }
    }
    to_numpy(py, &numbers)
}

/// A new NumPy array with these elements in C order.
fn to_numpy<'py, T: DeviceStorable>(
    py: Python<'py>,
    numbers: &ArrayD<T>,
) -> PyResult<Bound<'py, PyAny>> {
    let packed = numbers.as_slice().unwrap_or_default();
    let shape = numbers.shape().to_vec();
    let numpy = py.import(intern!(py, "numpy"))?;
    if packed.is_empty() {
        // frombuffer refuses a buffer of no bytes.
        return numpy.call_method1(intern!(py, "zeros"), (shape, T::dtype().typestr()));
    }
    let raw: &[u8] = bytemuck::cast_slice(packed);
    let bytes = PyByteArray::new_with(py, raw.len(), |target| {
        target.copy_from_slice(raw);
        Ok(())
    })?;
    numpy
        .call_method1(intern!(py, "frombuffer"), (bytes, T::dtype().typestr()))?
        .call_method1(intern!(py, "reshape"), (shape,))
}

/// The axes that `axis` names, counted from the front: one number, or a sequence of them; negative
/// ones count from the back.
fn axes_of(op: &str, axis: &Bound<'_, PyAny>, desc: &Desc) -> PyResult<Vec<usize>> {
    let named: Vec<isize> = match axis.extract::<isize>() {
        Ok(one) => vec![one],
        Err(error) if !error.is_instance_of::<PyTypeError>(axis.py()) => return Err(error),
        Err(_) => items(op, "axis", axis, desc.layout.ndim())?,
    };
    let count = desc.layout.ndim();
    named
        .into_iter()
        .map(|axis| {
            let from_front = if axis < 0 {
                axis + count as isize
            } else {
                axis
            };
            match usize::try_from(from_front) {
                Ok(found) if found < count => Ok(found),
                _ => Err(Error::index(format!("{op} axis"), axis, count)).py(),
            }
        })
        .collect()
}
