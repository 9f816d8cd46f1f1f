//! [`subtract()`], [`subtract_into`], [`subtract_in_place`]: the difference of two.

use ulib_core::Result;

use super::element::Element;
use super::elementwise::{self, Input, Inputs, Operation, operation};
use crate::view::{Array, ViewMut};

static SUBTRACT: Operation = operation!("subtract", "subtract.ptx", signless);

/// The differences of two inputs, as a new array.
///
/// # Definition
/// `out[i] = a[i] - b[i]` for every index `i`. Integers wrap.
///
/// # Precision
/// One rounding. The same bits on every device, but for the payload and the sign of a NaN.
#[doc = include_str!("../elementwise/inputs.md")]
/// # Examples
/// ```
/// use ulib_device::block::Block;
/// use ulib_math::{ops, view::View};
///
/// let block = Block::from_slice(&[1_u32, 2, 3])?;
/// let view = View::<u32>::flat(&block)?;
/// assert_eq!(ops::subtract(2, &view)?.to_array()?.as_slice(), Some(&[1, 0, u32::MAX][..]));
/// # Ok::<(), ulib_core::Error>(())
/// ```
#[doc(alias = "minus")]
pub fn subtract<'a, T: Element>(
    a: impl Into<Input<'a, T>>,
    b: impl Into<Input<'a, T>>,
) -> Result<Array<T>> {
    elementwise::new(
        &SUBTRACT,
        &Inputs::two(a, b),
        [0; 6],
        T::KERNEL,
        |a, b, _| T::minus(a, b),
    )
}

/// [`subtract()`] into an output, which may be an input, too: [`Input::Output`].
///
/// # Errors
/// As [`subtract()`]. The output stays as it was.
pub fn subtract_into<'a, T: Element>(
    a: impl Into<Input<'a, T>>,
    b: impl Into<Input<'a, T>>,
    out: ViewMut<'_, T>,
) -> Result<()> {
    elementwise::into(
        &SUBTRACT,
        &Inputs::two(a, b),
        [0; 6],
        out,
        T::KERNEL,
        |a, b, _| T::minus(a, b),
    )
}

/// Subtracts `b` from every element of `view`: [`subtract()`] in place.
///
/// # Errors
/// As [`subtract()`]. The view stays as it was.
pub fn subtract_in_place<'a, T: Element>(
    view: ViewMut<'_, T>,
    b: impl Into<Input<'a, T>>,
) -> Result<()> {
    subtract_into(Input::Output, b, view)
}
