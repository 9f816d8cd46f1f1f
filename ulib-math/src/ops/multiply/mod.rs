//! [`multiply()`], [`multiply_into`], [`multiply_in_place`]: the product of two.

use ulib_core::Result;

use super::element::Element;
use super::elementwise::{self, Input, Inputs, Operation, operation};
use crate::view::{Array, ViewMut};

static MULTIPLY: Operation = operation!("multiply", "multiply.ptx", signless);

/// The products of two inputs, as a new array.
///
/// # Definition
/// `out[i] = a[i] * b[i]` for every index `i`. Integers wrap.
///
/// # Precision
/// One rounding. The same bits on every device, but for the payload and the sign of a NaN.
#[doc = include_str!("../elementwise/inputs.md")]
/// # Examples
/// ```
/// use ulib_device::block::Block;
/// use ulib_math::{ops, view::View};
///
/// let block = Block::from_slice(&[1.0_f64, 2.0, 3.0])?;
/// let view = View::<f64>::flat(&block)?;
/// assert_eq!(ops::multiply(&view, &view)?.to_array()?.as_slice(), Some(&[1.0, 4.0, 9.0][..]));
/// # Ok::<(), ulib_core::Error>(())
/// ```
#[doc(alias = "times")]
pub fn multiply<'a, T: Element>(
    a: impl Into<Input<'a, T>>,
    b: impl Into<Input<'a, T>>,
) -> Result<Array<T>> {
    elementwise::new(
        &MULTIPLY,
        &Inputs::two(a, b),
        [0; 6],
        T::KERNEL,
        |a, b, _| T::times(a, b),
    )
}

/// [`multiply()`] into an output, which may be an input, too: [`Input::Output`].
///
/// # Errors
/// As [`multiply()`]. The output stays as it was.
pub fn multiply_into<'a, T: Element>(
    a: impl Into<Input<'a, T>>,
    b: impl Into<Input<'a, T>>,
    out: ViewMut<'_, T>,
) -> Result<()> {
    elementwise::into(
        &MULTIPLY,
        &Inputs::two(a, b),
        [0; 6],
        out,
        T::KERNEL,
        |a, b, _| T::times(a, b),
    )
}

/// Multiplies every element of `view` by `b`: [`multiply()`] in place.
///
/// # Errors
/// As [`multiply()`]. The view stays as it was.
pub fn multiply_in_place<'a, T: Element>(
    view: ViewMut<'_, T>,
    b: impl Into<Input<'a, T>>,
) -> Result<()> {
    multiply_into(Input::Output, b, view)
}

/// Multiplies every element of `view` by `factor`: [`multiply()`] in place by a number, under the name it has in BLAS.
///
/// # Errors
/// As [`multiply()`]. The view stays as it was.
///
/// # Examples
/// ```
/// use ulib_core::Layout;
/// use ulib_device::block::Block;
/// use ulib_math::{ops, view::{View, ViewMut}};
///
/// // Four voxels of a value and a count: scale the values.
/// let mut block = Block::from_slice(&[1_u32, 10, 2, 20, 3, 30, 4, 40])?;
/// ops::scale(ViewMut::<u32>::new(&mut block, Layout::new(vec![4], vec![2], 0)?)?, 3)?;
/// assert_eq!(View::<u32>::flat(&block)?.to_array()?.as_slice(), Some(&[3, 10, 6, 20, 9, 30, 12, 40][..]));
/// # Ok::<(), ulib_core::Error>(())
/// ```
pub fn scale<T: Element>(view: ViewMut<'_, T>, factor: T) -> Result<()> {
    multiply_in_place(view, factor)
}
