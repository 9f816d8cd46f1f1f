//! [`negate()`], [`negate_into`], [`negate_in_place`]: the other sign.

use ulib_core::Result;

use super::element::Element;
use super::elementwise::{self, Input, Inputs, Operation, operation};
use crate::view::{Array, ViewMut};

static NEGATE: Operation = operation!("negate", "negate.ptx", signless);

/// An input with the other sign, as a new array.
///
/// # Definition
/// `out[i] = -a[i]` for every index `i`. Integers wrap.
///
/// # Precision
/// Exact, 0.0 becomes -0.0. The same bits on every device, but for the payload and the sign of a NaN.
#[doc = include_str!("../elementwise/inputs.md")]
/// # Examples
/// ```
/// use ulib_device::block::Block;
/// use ulib_math::{ops, view::View};
///
/// let block = Block::from_slice(&[1.5_f32, -2.0])?;
/// let negated = ops::negate(&View::<f32>::flat(&block)?)?;
/// assert_eq!(negated.to_array()?.as_slice(), Some(&[-1.5, 2.0][..]));
/// # Ok::<(), ulib_core::Error>(())
/// ```
#[doc(alias = "neg")]
pub fn negate<'a, T: Element>(a: impl Into<Input<'a, T>>) -> Result<Array<T>> {
    elementwise::new(&NEGATE, &Inputs::one(a), [0; 6], T::KERNEL, |a, _, _| {
        T::negated(a)
    })
}

/// [`negate()`] into an output, which may be an input, too: [`Input::Output`].
///
/// # Errors
/// As [`negate()`]. The output stays as it was.
pub fn negate_into<'a, T: Element>(a: impl Into<Input<'a, T>>, out: ViewMut<'_, T>) -> Result<()> {
    elementwise::into(
        &NEGATE,
        &Inputs::one(a),
        [0; 6],
        out,
        T::KERNEL,
        |a, _, _| T::negated(a),
    )
}

/// Gives every element of `view` the other sign: [`negate()`] in place.
///
/// # Errors
/// As [`negate()`]. The view stays as it was.
pub fn negate_in_place<T: Element>(view: ViewMut<'_, T>) -> Result<()> {
    negate_into(Input::Output, view)
}
