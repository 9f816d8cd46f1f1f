//! [`log()`], [`log_into`], [`log_in_place`]: natural logarithms.

use ulib_core::Result;

use super::element::Real;
use super::elementwise::{self, Input, Inputs, Operation, operation};
use crate::view::{Array, ViewMut};

static LOG: Operation = operation!("log", "log.ptx");

/// The natural logarithms of an input, as a new array.
///
/// # Definition
/// `out[i] = ln a[i]` for every index `i`; of zero minus infinity, of numbers below zero NaN.
///
/// # Precision
/// At most 2 ulp from the exact logarithm, on the host and on a device. The bits may differ between the two.
#[doc = include_str!("../elementwise/inputs.md")]
/// # Examples
/// ```
/// use ulib_device::block::Block;
/// use ulib_math::{ops, view::View};
///
/// let block = Block::from_slice(&[1.0_f64, 0.0])?;
/// let logarithms = ops::log(&View::<f64>::flat(&block)?)?;
/// assert_eq!(logarithms.to_array()?.as_slice(), Some(&[0.0, f64::NEG_INFINITY][..]));
/// # Ok::<(), ulib_core::Error>(())
/// ```
#[doc(alias = "ln")]
pub fn log<'a, T: Real>(a: impl Into<Input<'a, T>>) -> Result<Array<T>> {
    elementwise::new(&LOG, &Inputs::one(a), [0; 6], T::KERNEL, |a, _, _| {
        T::logarithm(a)
    })
}

/// [`log()`] into an output, which may be an input, too: [`Input::Output`].
///
/// # Errors
/// As [`log()`]. The output stays as it was.
pub fn log_into<'a, T: Real>(a: impl Into<Input<'a, T>>, out: ViewMut<'_, T>) -> Result<()> {
    elementwise::into(&LOG, &Inputs::one(a), [0; 6], out, T::KERNEL, |a, _, _| {
        T::logarithm(a)
    })
}

/// Replaces every element of `view` by its natural logarithm: [`log()`] in place.
///
/// # Errors
/// As [`log()`]. The view stays as it was.
pub fn log_in_place<T: Real>(view: ViewMut<'_, T>) -> Result<()> {
    log_into(Input::Output, view)
}
