//! [`minimum()`], [`minimum_into`], [`minimum_in_place`]: the smaller of two.

use ulib_core::Result;

use super::element::Element;
use super::elementwise::{self, Input, Inputs, Operation, operation};
use crate::view::{Array, ViewMut};

static MINIMUM: Operation = operation!("minimum", "minimum.ptx");

/// The smaller of two inputs for each index, as a new array.
///
/// # Definition
/// `out[i] = minimum(a[i], b[i])` for every index `i`, of floats the `minimum` of IEEE 754-2019: NaN if one of the two is, and -0.0
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
/// let block = Block::from_slice(&[1.0_f32, f32::NAN, 3.0])?;
/// let least = ops::minimum(&View::<f32>::flat(&block)?, 2.0)?.to_array()?;
/// assert!(least[0] == 1.0 && least[1].is_nan() && least[2] == 2.0);
/// # Ok::<(), ulib_core::Error>(())
/// ```
#[doc(alias = "min")]
pub fn minimum<'a, T: Element>(
    a: impl Into<Input<'a, T>>,
    b: impl Into<Input<'a, T>>,
) -> Result<Array<T>> {
    elementwise::new(
        &MINIMUM,
        &Inputs::two(a, b),
        [0; 6],
        T::KERNEL,
        |a, b, _| T::smaller(a, b),
    )
}

/// [`minimum()`] into an output, which may be an input, too: [`Input::Output`].
///
/// # Errors
/// As [`minimum()`]. The output stays as it was.
pub fn minimum_into<'a, T: Element>(
    a: impl Into<Input<'a, T>>,
    b: impl Into<Input<'a, T>>,
    out: ViewMut<'_, T>,
) -> Result<()> {
    elementwise::into(
        &MINIMUM,
        &Inputs::two(a, b),
        [0; 6],
        out,
        T::KERNEL,
        |a, b, _| T::smaller(a, b),
    )
}

/// Replaces every element of `view` that `b` is below: [`minimum()`] in place.
///
/// # Errors
/// As [`minimum()`]. The view stays as it was.
pub fn minimum_in_place<'a, T: Element>(
    view: ViewMut<'_, T>,
    b: impl Into<Input<'a, T>>,
) -> Result<()> {
    minimum_into(Input::Output, b, view)
}
