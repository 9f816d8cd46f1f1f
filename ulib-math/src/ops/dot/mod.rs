//! [`dot()`], [`dot_all`], [`dot_into`]: scalar products over any set of axes.

mod fold;

use ndarray::ArrayD;
use ulib_core::Result;

use super::element::Element;
use super::reduce::{Views, reduce, reduce_all, reduce_into};
use crate::view::{View, ViewMut};
use fold::Dot;

/// The scalar products of `a` and `b` over the axes `axes`.
///
/// # Definition
/// `out[k] = sum over r of a[k, r] * b[k, r]`, where `r` runs over the axes in `axes` and `k` over the others, in their order.
/// Elements are widened first, to what their sums are accumulated in; the products are added as [`sum()`](super::sum()) adds, in the
/// memory order of `a`. The product of no elements is 0.
///
/// # Shapes
/// `a` and `b`: the same shape, any strides; they may be one view. `axes`: any of the axes, each at most once, in any order; none takes every element by itself. The result has the
/// shape of the other axes.
///
/// # Placement
/// Where the blocks are, which must be one place. The scratch is 8 bytes for each chunk (of 4096 elements) of each result, and 8 for each result; on a device
/// the results are brought to the host, which waits for the kernels.
///
/// # Precision
/// Floats are multiplied and added in `f64`, signed integers in `i64`, unsigned ones in `u64` (wrapping). The same bits on one thread, on many, and on any device, but for the payload and the sign of
/// a NaN. Products of
/// `f32` are exact; the error is below 1e-14 times the sum of the products' magnitudes.
///
/// # Errors
/// Kind `Shape` when the views have different shapes, kind `Residency` when they are to be used in different places; else as
/// [`sum()`](super::sum()).
///
/// # Panics
/// Never.
///
/// # Examples
/// ```
/// use ulib_device::block::Block;
/// use ulib_math::{ops, view::View};
///
/// let a = Block::from_slice(&[1.0_f32, 2.0, 3.0])?;
/// let b = Block::from_slice(&[4.0_f32, -5.0, 6.0])?;
/// let (a, b) = (View::<f32>::flat(&a)?, View::<f32>::flat(&b)?);
/// assert_eq!(ops::dot(&a, &b, &[])?, ndarray::arr1(&[4.0, -10.0, 18.0]).into_dyn());
/// assert_eq!(ops::dot(&a, &b, &[0])?, ndarray::arr0(12.0).into_dyn());
/// # Ok::<(), ulib_core::Error>(())
/// ```
#[doc(alias = "inner_product")]
pub fn dot<T: Element>(a: &View<'_, T>, b: &View<'_, T>, axes: &[usize]) -> Result<ArrayD<T::Sum>> {
    reduce("dot", &Dot::NEW, &Views::two("dot", a, b)?, axes)
}

/// The scalar product of all elements of `a` and `b`: [`dot()`] over every axis, as a number.
///
/// # Errors
/// As [`dot()`].
///
/// # Examples
/// ```
/// use ulib_device::block::Block;
/// use ulib_math::{ops, view::View};
///
/// let block = Block::from_slice(&[i32::MAX, 2])?;
/// let view = View::<i32>::flat(&block)?;
/// assert_eq!(ops::dot_all(&view, &view)?, i64::from(i32::MAX).pow(2) + 4);
/// # Ok::<(), ulib_core::Error>(())
/// ```
pub fn dot_all<T: Element>(a: &View<'_, T>, b: &View<'_, T>) -> Result<T::Sum> {
    reduce_all("dot_all", &Dot::NEW, &Views::two("dot_all", a, b)?)
}

/// [`dot()`] into an output of any strides. When all blocks are on one device nothing is brought to the host, and the call
/// returns without waiting.
///
/// # Errors
/// As [`dot()`]; kind `Shape` when `out` has not the shape of the kept axes. The output stays as it was.
pub fn dot_into<T: Element>(
    a: &View<'_, T>,
    b: &View<'_, T>,
    axes: &[usize],
    out: ViewMut<'_, T::Sum>,
) -> Result<()> {
    reduce_into(
        "dot_into",
        &Dot::NEW,
        &Views::two("dot_into", a, b)?,
        axes,
        out,
    )
}
