//! [`power()`], [`power_into`], [`power_in_place`]: one to the power of the other.

use ulib_core::Result;

use super::element::Real;
use super::elementwise::{self, Input, Inputs, Operation, operation};
use crate::view::{Array, ViewMut};

static POWER: Operation = operation!("power", "power.ptx");

/// Powers: one input to the other, as a new array.
///
/// # Definition
/// `out[i] = a[i] ^ b[i]` for every index `i`, special values as in C's `pow`: `x ^ 0` is 1, a negative number to a power that is no
/// integer is NaN.
///
/// # Precision
/// At most 9 ulp in `f32` and 3 ulp in `f64` from the exact power, on the host and on a device. The bits may differ
/// between the two.
#[doc = include_str!("../elementwise/inputs.md")]
/// # Examples
/// ```
/// use ulib_device::block::Block;
/// use ulib_math::{ops, view::View};
///
/// let block = Block::from_slice(&[1.0_f64, 2.0, 3.0])?;
/// let squares = ops::power(&View::<f64>::flat(&block)?, 2.0)?;
/// assert_eq!(squares.to_array()?.as_slice(), Some(&[1.0, 4.0, 9.0][..]));
/// # Ok::<(), ulib_core::Error>(())
/// ```
#[doc(alias = "pow")]
pub fn power<'a, T: Real>(
    a: impl Into<Input<'a, T>>,
    b: impl Into<Input<'a, T>>,
) -> Result<Array<T>> {
    elementwise::new(&POWER, &Inputs::two(a, b), [0; 6], T::KERNEL, |a, b, _| {
        T::to_the(a, b)
    })
}

/// [`power()`] into an output, which may be an input, too: [`Input::Output`].
///
/// # Errors
/// As [`power()`]. The output stays as it was.
pub fn power_into<'a, T: Real>(
    a: impl Into<Input<'a, T>>,
    b: impl Into<Input<'a, T>>,
    out: ViewMut<'_, T>,
) -> Result<()> {
    elementwise::into(
        &POWER,
        &Inputs::two(a, b),
        [0; 6],
        out,
        T::KERNEL,
        |a, b, _| T::to_the(a, b),
    )
}

/// Raises every element of `view` to the power `b`: [`power()`] in place.
///
/// # Errors
/// As [`power()`]. The view stays as it was.
pub fn power_in_place<'a, T: Real>(view: ViewMut<'_, T>, b: impl Into<Input<'a, T>>) -> Result<()> {
    power_into(Input::Output, b, view)
}
