//! [`maximum()`], [`maximum_into`], [`maximum_in_place`]: the larger of two.

use ulib_core::Result;

use super::element::Element;
use super::elementwise::{self, Input, Inputs, Operation, operation};
use crate::view::{Array, ViewMut};

static MAXIMUM: Operation = operation!("maximum", "maximum.ptx");

/// The larger of two inputs for each index, as a new array.
///
/// # Definition
/// `out[i] = maximum(a[i], b[i])` for every index `i`, of floats the `maximum` of IEEE 754-2019: NaN if one of the two is, and -0.0
/// is below 0.0.
///
/// # Precision
/// Exact. The same bits on every device, but for the payload and the sign of a NaN.
#[doc = include_str!("../elementwise/inputs.md")]
/// # Examples
/// ```
/// use ulib_device::block::Block;
/// use ulib_math::{ops, view::View};
///
/// let block = Block::from_slice(&[1_i64, -5, 3])?;
/// let most = ops::maximum(&View::<i64>::flat(&block)?, 0)?;
/// assert_eq!(most.to_array()?.as_slice(), Some(&[1, 0, 3][..]));
/// # Ok::<(), ulib_core::Error>(())
/// ```
#[doc(alias = "max")]
pub fn maximum<'a, T: Element>(
    a: impl Into<Input<'a, T>>,
    b: impl Into<Input<'a, T>>,
) -> Result<Array<T>> {
    elementwise::new(
        &MAXIMUM,
        &Inputs::two(a, b),
        [0; 6],
        T::KERNEL,
        |a, b, _| T::larger(a, b),
    )
}

/// [`maximum()`] into an output, which may be an input, too: [`Input::Output`].
///
/// # Errors
/// As [`maximum()`]. The output stays as it was.
pub fn maximum_into<'a, T: Element>(
    a: impl Into<Input<'a, T>>,
    b: impl Into<Input<'a, T>>,
    out: ViewMut<'_, T>,
) -> Result<()> {
    elementwise::into(
        &MAXIMUM,
        &Inputs::two(a, b),
        [0; 6],
        out,
        T::KERNEL,
        |a, b, _| T::larger(a, b),
    )
}

/// Replaces every element of `view` that `b` is above: [`maximum()`] in place.
///
/// # Errors
/// As [`maximum()`]. The view stays as it was.
pub fn maximum_in_place<'a, T: Element>(
    view: ViewMut<'_, T>,
    b: impl Into<Input<'a, T>>,
) -> Result<()> {
    maximum_into(Input::Output, b, view)
}
