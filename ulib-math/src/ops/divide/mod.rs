//! [`divide()`], [`divide_into`], [`divide_in_place`]: the quotient of two.

use ulib_core::Result;

use super::element::Element;
use super::elementwise::{self, Input, Inputs, Operation, operation};
use crate::view::{Array, ViewMut};

static DIVIDE: Operation = operation!("divide", "divide.ptx");

/// The quotients of two inputs, as a new array.
///
/// # Definition
/// `out[i] = a[i] / b[i]` for every index `i`. Floats follow IEEE 754. Integers truncate towards zero; `x / 0` is 0, and the
/// smallest integer by -1 is itself.
///
/// # Precision
/// One rounding. The same bits on every device, but for the payload and the sign of a NaN.
#[doc = include_str!("../elementwise/inputs.md")]
/// # Examples
/// ```
/// use ulib_device::block::Block;
/// use ulib_math::{ops, view::View};
///
/// let block = Block::from_slice(&[7_i32, -7, 0])?;
/// let view = View::<i32>::flat(&block)?;
/// assert_eq!(ops::divide(&view, 2)?.to_array()?.as_slice(), Some(&[3, -3, 0][..]));
/// assert_eq!(ops::divide(5, &view)?.to_array()?.as_slice(), Some(&[0, 0, 0][..]));
/// # Ok::<(), ulib_core::Error>(())
/// ```
#[doc(alias = "over")]
pub fn divide<'a, T: Element>(
    a: impl Into<Input<'a, T>>,
    b: impl Into<Input<'a, T>>,
) -> Result<Array<T>> {
    elementwise::new(&DIVIDE, &Inputs::two(a, b), [0; 6], T::KERNEL, |a, b, _| {
        T::over(a, b)
    })
}

/// [`divide()`] into an output, which may be an input, too: [`Input::Output`].
///
/// # Errors
/// As [`divide()`]. The output stays as it was.
pub fn divide_into<'a, T: Element>(
    a: impl Into<Input<'a, T>>,
    b: impl Into<Input<'a, T>>,
    out: ViewMut<'_, T>,
) -> Result<()> {
    elementwise::into(
        &DIVIDE,
        &Inputs::two(a, b),
        [0; 6],
        out,
        T::KERNEL,
        |a, b, _| T::over(a, b),
    )
}

/// Divides every element of `view` by `b`: [`divide()`] in place.
///
/// # Errors
/// As [`divide()`]. The view stays as it was.
pub fn divide_in_place<'a, T: Element>(
    view: ViewMut<'_, T>,
    b: impl Into<Input<'a, T>>,
) -> Result<()> {
    divide_into(Input::Output, b, view)
}
