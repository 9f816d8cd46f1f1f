//! [`exp()`], [`exp_into`], [`exp_in_place`]: powers of e.

use ulib_core::Result;

use super::element::Real;
use super::elementwise::{self, Input, Inputs, Operation, operation};
use crate::view::{Array, ViewMut};

static EXP: Operation = operation!("exp", "exp.ptx");

/// e to the power of an input, as a new array.
///
/// # Definition
/// `out[i] = e ^ a[i]` for every index `i`.
///
/// # Precision
/// At most 3 ulp in `f32` and 2 ulp in `f64` from the exact power, on the host and on a device. The bits may differ between
/// the two.
#[doc = include_str!("../elementwise/inputs.md")]
/// # Examples
/// ```
/// use ulib_device::block::Block;
/// use ulib_math::{ops, view::View};
///
/// let block = Block::from_slice(&[0.0_f64, f64::NEG_INFINITY])?;
/// let powers = ops::exp(&View::<f64>::flat(&block)?)?;
/// assert_eq!(powers.to_array()?.as_slice(), Some(&[1.0, 0.0][..]));
/// # Ok::<(), ulib_core::Error>(())
/// ```
#[doc(alias = "exponential")]
pub fn exp<'a, T: Real>(a: impl Into<Input<'a, T>>) -> Result<Array<T>> {
    elementwise::new(&EXP, &Inputs::one(a), [0; 6], T::KERNEL, |a, _, _| {
        T::exponential(a)
    })
}

/// [`exp()`] into an output, which may be an input, too: [`Input::Output`].
///
/// # Errors
/// As [`exp()`]. The output stays as it was.
pub fn exp_into<'a, T: Real>(a: impl Into<Input<'a, T>>, out: ViewMut<'_, T>) -> Result<()> {
    elementwise::into(&EXP, &Inputs::one(a), [0; 6], out, T::KERNEL, |a, _, _| {
        T::exponential(a)
    })
}

/// Replaces every element of `view` by e to its power: [`exp()`] in place.
///
/// # Errors
/// As [`exp()`]. The view stays as it was.
pub fn exp_in_place<T: Real>(view: ViewMut<'_, T>) -> Result<()> {
    exp_into(Input::Output, view)
}
