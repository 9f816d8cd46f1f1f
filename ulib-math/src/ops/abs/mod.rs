//! [`abs()`], [`abs_into`], [`abs_in_place`]: magnitudes.

use ulib_core::Result;

use super::element::Element;
use super::elementwise::{self, Input, Inputs, Operation, operation};
use crate::view::{Array, ViewMut};

static ABS: Operation = operation!("abs", "abs.ptx");

/// The magnitudes of an input, as a new array.
///
/// # Definition
/// `out[i] = |a[i]|` for every index `i`. The smallest integer stays what it is; unsigned integers all do.
///
/// # Precision
/// Exact, -0.0 becomes 0.0. The same bits on every device, but for the payload and the sign of a NaN.
#[doc = include_str!("../elementwise/inputs.md")]
/// # Examples
/// ```
/// use ulib_device::block::Block;
/// use ulib_math::{ops, view::View};
///
/// let block = Block::from_slice(&[1_i32, -2, i32::MIN])?;
/// let magnitudes = ops::abs(&View::<i32>::flat(&block)?)?;
/// assert_eq!(magnitudes.to_array()?.as_slice(), Some(&[1, 2, i32::MIN][..]));
/// # Ok::<(), ulib_core::Error>(())
/// ```
#[doc(alias = "absolute")]
pub fn abs<'a, T: Element>(a: impl Into<Input<'a, T>>) -> Result<Array<T>> {
    elementwise::new(&ABS, &Inputs::one(a), [0; 6], T::KERNEL, |a, _, _| {
        T::magnitude(a)
    })
}

/// [`abs()`] into an output, which may be an input, too: [`Input::Output`].
///
/// # Errors
/// As [`abs()`]. The output stays as it was.
pub fn abs_into<'a, T: Element>(a: impl Into<Input<'a, T>>, out: ViewMut<'_, T>) -> Result<()> {
    elementwise::into(&ABS, &Inputs::one(a), [0; 6], out, T::KERNEL, |a, _, _| {
        T::magnitude(a)
    })
}

/// Replaces every element of `view` by its magnitude: [`abs()`] in place.
///
/// # Errors
/// As [`abs()`]. The view stays as it was.
pub fn abs_in_place<T: Element>(view: ViewMut<'_, T>) -> Result<()> {
    abs_into(Input::Output, view)
}
