//! [`fma()`], [`fma_into`], [`fma_in_place`], [`axpy`]: a product and a sum with one rounding.

use ulib_core::Result;

use super::element::Element;
use super::elementwise::{self, Input, Inputs, Operation, operation};
use crate::view::{Array, ViewMut};

static FMA: Operation = operation!("fma", "fma.ptx", signless);

/// The fused multiply-add of three inputs, as a new array.
///
/// # Definition
/// `out[i] = a[i] * b[i] + c[i]` for every index `i`. Integers wrap.
///
/// # Precision
/// One rounding of the exact result. The same bits on every device, but for the payload and the sign of a NaN.
#[doc = include_str!("../elementwise/inputs.md")]
/// # Examples
/// ```
/// use ulib_device::block::Block;
/// use ulib_math::{ops, view::View};
///
/// let block = Block::from_slice(&[1.0_f64, 2.0, 3.0])?;
/// let view = View::<f64>::flat(&block)?;
/// assert_eq!(ops::fma(&view, 10.0, &view)?.to_array()?.as_slice(), Some(&[11.0, 22.0, 33.0][..]));
/// # Ok::<(), ulib_core::Error>(())
/// ```
#[doc(alias = "multiply_add")]
pub fn fma<'a, T: Element>(
    a: impl Into<Input<'a, T>>,
    b: impl Into<Input<'a, T>>,
    c: impl Into<Input<'a, T>>,
) -> Result<Array<T>> {
    elementwise::new(
        &FMA,
        &Inputs::three(a, b, c),
        [0; 6],
        T::KERNEL,
        T::times_plus,
    )
}

/// [`fma()`] into an output, which may be an input, too: [`Input::Output`].
///
/// # Errors
/// As [`fma()`]. The output stays as it was.
pub fn fma_into<'a, T: Element>(
    a: impl Into<Input<'a, T>>,
    b: impl Into<Input<'a, T>>,
    c: impl Into<Input<'a, T>>,
    out: ViewMut<'_, T>,
) -> Result<()> {
    elementwise::into(
        &FMA,
        &Inputs::three(a, b, c),
        [0; 6],
        out,
        T::KERNEL,
        T::times_plus,
    )
}

/// Multiplies every element of `view` by `b` and adds `c`: [`fma()`] in place.
///
/// # Errors
/// As [`fma()`]. The view stays as it was.
pub fn fma_in_place<'a, T: Element>(
    view: ViewMut<'_, T>,
    b: impl Into<Input<'a, T>>,
    c: impl Into<Input<'a, T>>,
) -> Result<()> {
    fma_into(Input::Output, b, c, view)
}

/// Adds `factor * x` to `y`: [`fma()`] in place, under the name it has in BLAS.
///
/// # Definition
/// `y[i] = factor * x[i] + y[i]` for every index `i`, with one rounding. Integers wrap.
///
/// # Errors
/// As [`fma()`]. `y` stays as it was.
///
/// # Examples
/// ```
/// use ulib_device::block::Block;
/// use ulib_math::{ops, view::{View, ViewMut}};
///
/// let x = Block::from_slice(&[1.0_f32, 2.0])?;
/// let mut y = Block::from_slice(&[10.0_f32, 20.0])?;
/// ops::axpy(0.5, &View::<f32>::flat(&x)?, ViewMut::flat(&mut y)?)?;
/// assert_eq!(View::<f32>::flat(&y)?.to_array()?.as_slice(), Some(&[10.5, 21.0][..]));
/// # Ok::<(), ulib_core::Error>(())
/// ```
pub fn axpy<'a, T: Element>(
    factor: T,
    x: impl Into<Input<'a, T>>,
    y: ViewMut<'_, T>,
) -> Result<()> {
    fma_into(factor, x, Input::Output, y)
}
