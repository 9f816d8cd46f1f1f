//! [`clamp()`], [`clamp_into`], [`clamp_in_place`]: into a range.

use std::cmp::Ordering;

use ulib_core::{Error, Result};

use super::element::Element;
use super::elementwise::{self, Input, Inputs, Operation, operation};
use crate::view::{Array, ViewMut};

static CLAMP: Operation = operation!("clamp", "clamp.ptx");

/// An input limited to a range, as a new array.
///
/// # Definition
/// `out[i] = minimum(maximum(a[i], low[i]), high[i])` for every index `i`, with the minimum and maximum of [`minimum()`] and
/// [`maximum()`]: NaN if one of the three is NaN.
///
/// # Precision
/// Exact. The same bits on every device, but for the payload and the sign of a NaN.
#[doc = include_str!("../elementwise/inputs.md")]
/// Two limits that are numbers have to be in order: kind `InvalidArgument` when `low` is above `high`, or one is NaN.
///
/// # Examples
/// ```
/// use ulib_device::block::Block;
/// use ulib_math::{ops, view::View};
///
/// let block = Block::from_slice(&[-1.0_f32, 0.25, 7.0])?;
/// let view = View::<f32>::flat(&block)?;
/// assert_eq!(ops::clamp(&view, 0.0, 1.0)?.to_array()?.as_slice(), Some(&[0.0, 0.25, 1.0][..]));
/// assert!(ops::clamp(&view, 1.0, 0.0).is_err());
/// # Ok::<(), ulib_core::Error>(())
/// ```
///
/// [`minimum()`]: super::minimum()
/// [`maximum()`]: super::maximum()
#[doc(alias = "clip")]
pub fn clamp<'a, T: Element>(
    a: impl Into<Input<'a, T>>,
    low: impl Into<Input<'a, T>>,
    high: impl Into<Input<'a, T>>,
) -> Result<Array<T>> {
    let inputs = Inputs::three(a, low, high);
    check(&inputs)?;
    elementwise::new(&CLAMP, &inputs, [0; 6], T::KERNEL, definition)
}

/// [`clamp()`] into an output, which may be an input, too: [`Input::Output`].
///
/// # Errors
/// As [`clamp()`]. The output stays as it was.
pub fn clamp_into<'a, T: Element>(
    a: impl Into<Input<'a, T>>,
    low: impl Into<Input<'a, T>>,
    high: impl Into<Input<'a, T>>,
    out: ViewMut<'_, T>,
) -> Result<()> {
    let inputs = Inputs::three(a, low, high);
    check(&inputs)?;
    elementwise::into(&CLAMP, &inputs, [0; 6], out, T::KERNEL, definition)
}

/// Limits every element of `view` to a range: [`clamp()`] in place.
///
/// # Errors
/// As [`clamp()`]. The view stays as it was.
pub fn clamp_in_place<'a, T: Element>(
    view: ViewMut<'_, T>,
    low: impl Into<Input<'a, T>>,
    high: impl Into<Input<'a, T>>,
) -> Result<()> {
    clamp_into(Input::Output, low, high, view)
}

#[inline(always)]
fn definition<T: Element>(a: T, low: T, high: T) -> T {
    a.larger(low).smaller(high)
}

fn check<T: Element>(inputs: &Inputs<'_, T>) -> Result<()> {
    match (&inputs.b, &inputs.c) {
        // NaN is not in order with anything.
        (Input::Scalar(low), Input::Scalar(high))
            if low.partial_cmp(high).is_none_or(Ordering::is_gt) =>
        {
            Err(Error::invalid(
                "clamp",
                "range",
                format_args!("{low} to {high}"),
                "a lower limit and one that is not below it",
            ))
        }
        _ => Ok(()),
    }
}
