//! [`add()`], [`add_into`], [`add_in_place`]: the sum of two.

use ulib_core::Result;

use super::element::Element;
use super::elementwise::{self, Input, Inputs, Operation, operation};
use crate::view::{Array, ViewMut};

static ADD: Operation = operation!("add", "add.ptx", signless);

/// The sums of two inputs, as a new array.
///
/// # Definition
/// `out[i] = a[i] + b[i]` for every index `i`. Integers wrap.
///
/// # Precision
/// One rounding. The same bits on every device, but for the payload and the sign of a NaN.
#[doc = include_str!("../elementwise/inputs.md")]
/// # Examples
/// ```
/// use ulib_device::block::Block;
/// use ulib_math::{ops, view::View};
///
/// let block = Block::from_slice(&[1.0_f32, 2.0, 3.0])?;
/// let view = View::<f32>::flat(&block)?;
/// let sum = ops::add(&view, 0.5)?;
/// assert_eq!(sum.to_array()?.as_slice(), Some(&[1.5, 2.5, 3.5][..]));
/// assert_eq!(ops::add(&sum, &view)?.to_array()?.as_slice(), Some(&[2.5, 4.5, 6.5][..]));
/// # Ok::<(), ulib_core::Error>(())
/// ```
#[doc(alias = "plus")]
pub fn add<'a, T: Element>(
    a: impl Into<Input<'a, T>>,
    b: impl Into<Input<'a, T>>,
) -> Result<Array<T>> {
    elementwise::new(&ADD, &Inputs::two(a, b), [0; 6], T::KERNEL, |a, b, _| {
        T::plus(a, b)
    })
}

/// [`add()`] into an output, which may be an input, too: [`Input::Output`].
///
/// # Errors
/// As [`add()`]. The output stays as it was.
pub fn add_into<'a, T: Element>(
    a: impl Into<Input<'a, T>>,
    b: impl Into<Input<'a, T>>,
    out: ViewMut<'_, T>,
) -> Result<()> {
    elementwise::into(
        &ADD,
        &Inputs::two(a, b),
        [0; 6],
        out,
        T::KERNEL,
        |a, b, _| T::plus(a, b),
    )
}

/// Adds `b` to every element of `view`: [`add()`] in place.
///
/// # Errors
/// As [`add()`]. The view stays as it was.
pub fn add_in_place<'a, T: Element>(
    view: ViewMut<'_, T>,
    b: impl Into<Input<'a, T>>,
) -> Result<()> {
    add_into(Input::Output, b, view)
}
