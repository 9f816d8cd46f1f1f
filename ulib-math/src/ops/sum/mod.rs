//! [`sum()`], [`sum_all`], [`sum_into`]: sums over any set of axes.

mod fold;

use ndarray::ArrayD;
use ulib_core::Result;

use super::element::Element;
use super::reduce::{Views, reduce, reduce_all, reduce_into};
use crate::view::{View, ViewMut};
pub(crate) use fold::Sum;

/// The sums of `view` over the axes `axes`.
///
/// # Definition
/// `out[k] = sum over r of view[k, r]`, where `r` runs over the axes in `axes` and `k` over the others, in their order.
///
/// The additions form a tree whose shape depends on the number `n` of elements of one sum alone. The elements come in
/// memory order: the axes in `axes` merged where they continue each other and sorted by the size of their stride, the
/// largest the slowest. Chunk `c` is elements `4096 c .. 4096 (c + 1)`. In a chunk, lane `l` (of 256) adds elements `l`, `l +
/// 256`, `l + 512`, ... in that order, starting from the identity (-0.0 for floating point); the lanes are joined by
/// the adjacent pairwise tree `((0 + 1) + (2 + 3)) + ...`; the chunks' results are the elements of the next level, until one is
/// left. The sum of no elements is 0 (+0.0).
///
/// # Precision
/// `f32` and `f64` are accumulated in `f64`, signed integers in `i64`, unsigned ones in `u64` (wrapping). The same bits on one
/// thread, on many, and on any device, but for the payload and the sign of a NaN. The error of a floating-point sum is
/// at most about (16 + 8 + 24 levels of 4096) roundings of `f64` for each element: below 1e-14 times the sum of the magnitudes
/// for every array that fits a machine.
#[doc = include_str!("../reduce/view.md")]
/// # Examples
/// ```
/// use ulib_core::Layout;
/// use ulib_device::block::Block;
/// use ulib_math::{ops, view::View};
///
/// let block = Block::from_slice(&[1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
/// let view = View::<f32>::new(&block, Layout::contiguous(&[2, 3])?)?;
/// assert_eq!(ops::sum(&view, &[0])?, ndarray::arr1(&[5.0, 7.0, 9.0]).into_dyn());
/// assert_eq!(ops::sum(&view, &[1])?, ndarray::arr1(&[6.0, 15.0]).into_dyn());
/// assert_eq!(ops::sum(&view, &[1, 0])?, ndarray::arr0(21.0).into_dyn());
/// assert!(ops::sum(&view, &[2]).is_err());
/// # Ok::<(), ulib_core::Error>(())
/// ```
#[doc(alias = "profile")]
pub fn sum<T: Element>(view: &View<'_, T>, axes: &[usize]) -> Result<ArrayD<T::Sum>> {
    reduce("sum", &Sum::NEW, &Views::one(view), axes)
}

/// The sum of all elements of `view`: [`sum()`] over every axis, as a number.
///
/// # Errors
/// As [`sum()`].
///
/// # Examples
/// ```
/// use ulib_device::block::Block;
/// use ulib_math::{ops, view::View};
///
/// let block = Block::from_slice(&[i32::MAX, i32::MAX, 1])?;
/// assert_eq!(ops::sum_all(&View::<i32>::flat(&block)?)?, 4_294_967_295_i64);
/// # Ok::<(), ulib_core::Error>(())
/// ```
pub fn sum_all<T: Element>(view: &View<'_, T>) -> Result<T::Sum> {
    reduce_all("sum_all", &Sum::NEW, &Views::one(view))
}

/// [`sum()`] into an output of any strides. When both blocks are on one device nothing is brought to the host, and the call
/// returns without waiting.
///
/// # Errors
/// As [`sum()`]; kind `Shape` when `out` has not the shape of the kept axes. The output stays as it was.
pub fn sum_into<T: Element>(
    view: &View<'_, T>,
    axes: &[usize],
    out: ViewMut<'_, T::Sum>,
) -> Result<()> {
    reduce_into("sum_into", &Sum::NEW, &Views::one(view), axes, out)
}
