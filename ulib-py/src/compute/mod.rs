//! The operations, for whichever number type an array has.

mod condition;
pub(crate) mod elementwise;
pub(crate) mod operand;
pub(crate) mod reductions;

use pyo3::conversion::FromPyObjectOwned;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use ulib_core::{DType, Error};
use ulib_math::ops::{self, Countable, Element};
use ulib_math::view::ViewMut;

use crate::args::number;
use crate::errors::IntoPyResult;
use crate::source::{AnyViewMut, Source};

/// A number type that arrays of objects have and operations take.
pub(crate) trait Numeric:
    Element + Countable + From<u8> + Into<f64> + for<'py> FromPyObjectOwned<'py>
{
    /// The view, if its elements are of this type.
    fn view_mut(view: AnyViewMut<'_>) -> Option<ViewMut<'_, Self>>;
}

macro_rules! numeric {
    ($($T:ty: $variant:ident),*) => {$(
        impl Numeric for $T {
            fn view_mut(view: AnyViewMut<'_>) -> Option<ViewMut<'_, Self>> {
                match view {
                    AnyViewMut::$variant(view) => Some(view),
                    _ => None,
                }
            }
        }
    )*};
}

numeric!(f32: F32, f64: F64, u32: U32);

/// Runs `$body` with `$T` as the type of `$dtype`, one of those named.
macro_rules! by_type {
    ($op:expr, $dtype:expr, $T:ident => $body:expr, $($variant:ident $type:ty),*) => {
        match $dtype {
            $(ulib_core::DType::$variant => {
                type $T = $type;
                $body
            })*
            other => Err($crate::compute::undefined($op, other)),
        }
    };
}

/// By the numbers that arrays of objects have.
macro_rules! numbers {
    ($op:expr, $dtype:expr, $T:ident => $body:expr) => {
        $crate::compute::by_type!($op, $dtype, $T => $body, F32 f32, F64 f64, U32 u32)
    };
}

/// By the floats among them.
macro_rules! reals {
    ($op:expr, $dtype:expr, $T:ident => $body:expr) => {
        $crate::compute::by_type!($op, $dtype, $T => $body, F32 f32, F64 f64)
    };
}

/// By the numbers that have arithmetic.
macro_rules! of_elements {
    ($op:expr, $dtype:expr, $T:ident => $body:expr) => {
        $crate::compute::by_type!(
            $op, $dtype, $T => $body, F32 f32, F64 f64, I32 i32, U32 u32, I64 i64, U64 u64
        )
    };
}

/// By the numbers that can be converted.
macro_rules! of_castable {
    ($op:expr, $dtype:expr, $T:ident => $body:expr) => {
        $crate::compute::by_type!(
            $op, $dtype, $T => $body, F16 half::f16, F32 f32, F64 f64, I8 i8, I16 i16, I32 i32, I64 i64, U8 u8,
            U16 u16, U32 u32, U64 u64
        )
    };
}

use {by_type, numbers, of_castable, of_elements, reals};

/// The error for an element type that an operation does not take.
fn undefined(op: &str, dtype: DType) -> PyErr {
    let hint = match dtype {
        DType::U32 => "",
        _ => "; use a view of one field",
    };
    PyTypeError::new_err(format!(
        "{op}: not defined for elements of type {dtype}{hint}"
    ))
}

/// Another thread gave the array another type between our two looks at it.
fn changed(op: &'static str) -> Error {
    Error::busy(op, "the array changed its type meanwhile")
}

/// Sets every element to `value`, where the array is.
pub(crate) fn fill(py: Python<'_>, source: &Source, value: &Bound<'_, PyAny>) -> PyResult<()> {
    const OP: &str = "Fill";
    numbers!(OP, source.dtype(py).py()?, T => {
        let value: T = number(OP, "value", value)?;
        change(py, OP, source, |view| ops::fill(view, value))
    })
}

/// Multiplies every element by `factor`, where the array is.
pub(crate) fn scale(py: Python<'_>, source: &Source, factor: &Bound<'_, PyAny>) -> PyResult<()> {
    const OP: &str = "Scale";
    numbers!(OP, source.dtype(py).py()?, T => {
        let factor: T = number(OP, "value", factor)?;
        change(py, OP, source, |view| ops::scale(view, factor))
    })
}

/// Changes the array of one object.
fn change<T: Numeric>(
    py: Python<'_>,
    op: &'static str,
    source: &Source,
    work: impl FnOnce(ViewMut<'_, T>) -> ulib_core::Result<()> + Send,
) -> PyResult<()> {
    source
        .change(py, |view| {
            work(T::view_mut(view).ok_or_else(|| changed(op))?)
        })
        .py()
}
