//! Fill, scale and sum for whichever number type an array has.

use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyByteArray;
use ulib_core::{DType, DeviceStorable, Error, bytemuck};
use ulib_math::ops;
use ulib_math::view::View;

use crate::args::number;
use crate::errors::IntoPyResult;
use crate::items::items;
use crate::source::{AnyViewMut, Desc, Source};

/// Runs `$body` with `$T` as the number type of `$dtype`.
macro_rules! dispatch {
    ($op:expr, $dtype:expr, $T:ident => $body:expr) => {
        match $dtype {
            DType::F32 => {
                type $T = f32;
                $body
            }
            DType::F64 => {
                type $T = f64;
                $body
            }
            DType::U32 => {
                type $T = u32;
                $body
            }
            other => Err(undefined($op, other)),
        }
    };
}

/// A number of the type that an array has.
enum Scalar {
    F32(f32),
    F64(f64),
    U32(u32),
}

impl Scalar {
    fn of(op: &str, dtype: DType, value: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(match dtype {
            DType::F32 => Scalar::F32(number(op, "value", value)?),
            DType::F64 => Scalar::F64(number(op, "value", value)?),
            DType::U32 => Scalar::U32(number(op, "value", value)?),
            other => return Err(undefined(op, other)),
        })
    }
}

fn undefined(op: &str, dtype: DType) -> PyErr {
    PyTypeError::new_err(format!(
        "{op}: not defined for elements of type {dtype}; use a view of one field"
    ))
}

/// Sets every element to `value`, where the array is.
pub(crate) fn fill(py: Python<'_>, source: &Source, value: &Bound<'_, PyAny>) -> PyResult<()> {
    let dtype = source.dtype(py).py()?;
    let value = Scalar::of("Fill", dtype, value)?;
    source
        .change(py, |view| match (view, value) {
            (AnyViewMut::F32(view), Scalar::F32(value)) => ops::fill(view, value),
            (AnyViewMut::F64(view), Scalar::F64(value)) => ops::fill(view, value),
            (AnyViewMut::U32(view), Scalar::U32(value)) => ops::fill(view, value),
            _ => Err(changed("Fill")),
        })
        .py()
}

/// Multiplies every element by `factor`, where the array is.
pub(crate) fn scale(py: Python<'_>, source: &Source, factor: &Bound<'_, PyAny>) -> PyResult<()> {
    let dtype = source.dtype(py).py()?;
    let factor = Scalar::of("Scale", dtype, factor)?;
    source
        .change(py, |view| match (view, factor) {
            (AnyViewMut::F32(view), Scalar::F32(factor)) => ops::scale(view, factor),
            (AnyViewMut::F64(view), Scalar::F64(factor)) => ops::scale(view, factor),
            (AnyViewMut::U32(view), Scalar::U32(factor)) => ops::scale(view, factor),
            _ => Err(changed("Scale")),
        })
        .py()
}

/// Another thread gave the array another type between our two looks at it.
fn changed(op: &'static str) -> Error {
    Error::busy(op, "the array changed its type meanwhile")
}

/// The sum of all elements, where the array is: a float, or an int for integers.
pub(crate) fn sum_all<'py>(py: Python<'py>, source: &Source) -> PyResult<Bound<'py, PyAny>> {
    let dtype = source.dtype(py).py()?;
    dispatch!("Sum", dtype, T => {
        let sum = source
            .read(py, |block, desc| ops::sum_all(&View::<T>::new(block, desc.layout)?))
            .py()?;
        Ok(sum.into_pyobject(py)?.into_any())
    })
}

/// The sums over `axes`, where the array is, as a NumPy array.
pub(crate) fn sum_axes<'py>(
    py: Python<'py>,
    source: &Source,
    axes: &[usize],
) -> PyResult<Bound<'py, PyAny>> {
    let dtype = source.dtype(py).py()?;
    dispatch!("Sum", dtype, T => {
        let sums = source
            .read(py, |block, desc| ops::sum(&View::<T>::new(block, desc.layout)?, axes))
            .py()?;
        let packed = sums.as_slice().unwrap_or_default();
        to_numpy(py, packed, sums.shape())
    })
}

/// A new NumPy array with these elements in C order.
pub(crate) fn to_numpy<'py, T: DeviceStorable>(
    py: Python<'py>,
    packed: &[T],
    shape: &[usize],
) -> PyResult<Bound<'py, PyAny>> {
    let numpy = py.import(intern!(py, "numpy"))?;
    let raw: &[u8] = bytemuck::cast_slice(packed);
    let bytes = PyByteArray::new_with(py, raw.len(), |target| {
        target.copy_from_slice(raw);
        Ok(())
    })?;
    if packed.is_empty() {
        // frombuffer refuses a buffer of no bytes.
        return numpy.call_method1(intern!(py, "zeros"), (shape.to_vec(), T::dtype().typestr()));
    }
    numpy
        .call_method1(intern!(py, "frombuffer"), (bytes, T::dtype().typestr()))?
        .call_method1(intern!(py, "reshape"), (shape.to_vec(),))
}

/// The axes that `axis` names, counted from the front: one number, or a sequence of them; negative
/// ones count from the back.
pub(crate) fn axes_of(axis: &Bound<'_, PyAny>, desc: &Desc) -> PyResult<Vec<usize>> {
    let named: Vec<isize> = match axis.extract::<isize>() {
        Ok(one) => vec![one],
        Err(error) if !error.is_instance_of::<PyTypeError>(axis.py()) => return Err(error),
        Err(_) => items("Sum", "axis", axis, desc.layout.ndim())?,
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
                _ => Err(ulib_core::Error::index("Sum axis", axis, count)).py(),
            }
        })
        .collect()
}
