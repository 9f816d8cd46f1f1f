//! [`sqrt()`], [`sqrt_into`], [`sqrt_in_place`]: square roots.

use ulib_core::Result;

use super::element::Real;
use super::elementwise::{self, Input, Inputs, Operation, operation};
use crate::view::{Array, ViewMut};

static SQRT: Operation = operation!("sqrt", "sqrt.ptx");

/// The square roots of an input, as a new array.
///
/// # Definition
/// `out[i] = sqrt(a[i])` for every index `i`; of numbers below zero NaN, of -0.0 itself.
///
/// # Precision
/// Correctly rounded. The same bits on every device, but for the payload and the sign of a NaN.
#[doc = include_str!("../elementwise/inputs.md")]
/// # Examples
/// ```
/// use ulib_device::block::Block;
/// use ulib_math::{ops, view::View};
///
/// let block = Block::from_slice(&[4.0_f32, 2.25])?;
/// let roots = ops::sqrt(&View::<f32>::flat(&block)?)?;
/// assert_eq!(roots.to_array()?.as_slice(), Some(&[2.0, 1.5][..]));
/// # Ok::<(), ulib_core::Error>(())
/// ```
#[doc(alias = "square_root")]
pub fn sqrt<'a, T: Real>(a: impl Into<Input<'a, T>>) -> Result<Array<T>> {
    elementwise::new(&SQRT, &Inputs::one(a), [0; 6], T::KERNEL, |a, _, _| {
        T::square_root(a)
    })
}

/// [`sqrt()`] into an output, which may be an input, too: [`Input::Output`].
///
/// # Errors
/// As [`sqrt()`]. The output stays as it was.
pub fn sqrt_into<'a, T: Real>(a: impl Into<Input<'a, T>>, out: ViewMut<'_, T>) -> Result<()> {
    elementwise::into(&SQRT, &Inputs::one(a), [0; 6], out, T::KERNEL, |a, _, _| {
        T::square_root(a)
    })
}

/// Replaces every element of `view` by its square root: [`sqrt()`] in place.
///
/// # Errors
/// As [`sqrt()`]. The view stays as it was.
pub fn sqrt_in_place<T: Real>(view: ViewMut<'_, T>) -> Result<()> {
    sqrt_into(Input::Output, view)
}
