//! [`norm()`], [`norm_all`], [`norm_into`]: Euclidean norms over any set of axes.

mod fold;

use ndarray::ArrayD;
use ulib_core::Result;

use super::element::Element;
use super::reduce::{Views, reduce, reduce_all, reduce_into};
use crate::view::{View, ViewMut};
use fold::Norm;

/// The Euclidean norms of `view` over the axes `axes`.
///
/// # Definition
/// `out[k] = sqrt(sum over r of view[k, r]^2)`, where `r` runs over the axes in `axes` and `k` over the others, in their order.
/// Elements are converted to `f64` and squared; the squares are added as [`sum()`](super::sum()) adds. The norm of no elements is 0.
///
/// # Precision
/// Everything in `f64`: the relative error is below 1e-14, unless squares overflow (elements above 1e154) or fall below the
/// normal numbers (below 1e-154). The same bits on one thread, on many, and on any device, but for the payload and the sign of
/// a NaN.
#[doc = include_str!("../reduce/view.md")]
/// # Examples
/// ```
/// use ulib_core::Layout;
/// use ulib_device::block::Block;
/// use ulib_math::{ops, view::View};
///
/// let block = Block::from_slice(&[3.0_f32, 4.0, 5.0, 12.0])?;
/// let view = View::<f32>::new(&block, Layout::contiguous(&[2, 2])?)?;
/// assert_eq!(ops::norm(&view, &[1])?, ndarray::arr1(&[5.0, 13.0]).into_dyn());
/// # Ok::<(), ulib_core::Error>(())
/// ```
pub fn norm<T: Element>(view: &View<'_, T>, axes: &[usize]) -> Result<ArrayD<f64>> {
    reduce("norm", &Norm::NEW, &Views::one(view), axes)
}

/// The Euclidean norm of all elements of `view`: [`norm()`] over every axis, as a number.
///
/// # Errors
/// As [`norm()`].
///
/// # Examples
/// ```
/// use ulib_device::block::Block;
/// use ulib_math::{ops, view::View};
///
/// let block = Block::from_slice(&[2_i64, -3, 6])?;
/// assert_eq!(ops::norm_all(&View::<i64>::flat(&block)?)?, 7.0);
/// # Ok::<(), ulib_core::Error>(())
/// ```
pub fn norm_all<T: Element>(view: &View<'_, T>) -> Result<f64> {
    reduce_all("norm_all", &Norm::NEW, &Views::one(view))
}

/// [`norm()`] into an output of any strides. When all blocks are on one device nothing is brought to the host, and the call
/// returns without waiting.
///
/// # Errors
/// As [`norm()`]; kind `Shape` when `out` has not the shape of the kept axes. The output stays as it was.
pub fn norm_into<T: Element>(
    view: &View<'_, T>,
    axes: &[usize],
    out: ViewMut<'_, f64>,
) -> Result<()> {
    reduce_into("norm_into", &Norm::NEW, &Views::one(view), axes, out)
}
