//! [`mean()`], [`mean_all`], [`mean_into`]: means over any set of axes.

mod fold;

use ndarray::ArrayD;
use ulib_core::Result;

use super::element::Element;
use super::reduce::{Views, reduce, reduce_all, reduce_into};
use crate::view::{View, ViewMut};
use fold::Mean;

/// The means of `view` over the axes `axes`.
///
/// # Definition
/// `out[k] = (sum over r of view[k, r]) / n`, where `r` runs over the axes in `axes`, `n` is how many values it takes, and `k`
/// runs over the others, in their order. The sum is that of [`sum()`](super::sum()), converted to `f64` before the division. The
/// mean of no elements is NaN.
///
/// # Precision
/// Floats are summed in `f64`, signed integers in `i64`, unsigned ones in `u64` (wrapping): see [`sum()`](super::sum()). Beyond the
/// error of the sum there is one rounding, two for integers. The same bits on one thread, on many, and on any device, but for the payload and the sign of
/// a NaN.
#[doc = include_str!("../reduce/view.md")]
/// # Examples
/// ```
/// use ulib_core::Layout;
/// use ulib_device::block::Block;
/// use ulib_math::{ops, view::View};
///
/// let block = Block::from_slice(&[1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
/// let view = View::<f32>::new(&block, Layout::contiguous(&[2, 3])?)?;
/// assert_eq!(ops::mean(&view, &[0])?, ndarray::arr1(&[2.5, 3.5, 4.5]).into_dyn());
/// assert_eq!(ops::mean(&view, &[1])?, ndarray::arr1(&[2.0, 5.0]).into_dyn());
/// # Ok::<(), ulib_core::Error>(())
/// ```
#[doc(alias = "average")]
pub fn mean<T: Element>(view: &View<'_, T>, axes: &[usize]) -> Result<ArrayD<f64>> {
    reduce(
        "mean",
        &Mean::of(count(view, axes)),
        &Views::one(view),
        axes,
    )
}

/// The mean of all elements of `view`: [`mean()`] over every axis, as a number.
///
/// # Errors
/// As [`mean()`].
///
/// # Examples
/// ```
/// use ulib_device::block::Block;
/// use ulib_math::{ops, view::View};
///
/// let block = Block::from_slice(&[i32::MAX, i32::MAX, 1, -1])?;
/// assert_eq!(ops::mean_all(&View::<i32>::flat(&block)?)?, 1_073_741_823.5);
/// # Ok::<(), ulib_core::Error>(())
/// ```
pub fn mean_all<T: Element>(view: &View<'_, T>) -> Result<f64> {
    reduce_all("mean_all", &Mean::of(view.len()), &Views::one(view))
}

/// [`mean()`] into an output of any strides. When all blocks are on one device nothing is brought to the host, and the call
/// returns without waiting.
///
/// # Errors
/// As [`mean()`]; kind `Shape` when `out` has not the shape of the kept axes. The output stays as it was.
pub fn mean_into<T: Element>(
    view: &View<'_, T>,
    axes: &[usize],
    out: ViewMut<'_, f64>,
) -> Result<()> {
    reduce_into(
        "mean_into",
        &Mean::of(count(view, axes)),
        &Views::one(view),
        axes,
        out,
    )
}

/// The elements of one result; an axis that does not exist is found later.
fn count<T: Element>(view: &View<'_, T>, axes: &[usize]) -> usize {
    axes.iter()
        .filter_map(|&axis| view.shape().get(axis))
        .product()
}
