//! Extreme values over any set of axes.

use ndarray::ArrayD;
use ulib_core::Result;

use super::fold::Extreme;
use crate::ops::element::Element;

use crate::ops::reduce::{Views, reduce, reduce_all, reduce_into};
use crate::view::{View, ViewMut};

/// The smallest elements of `view` over the axes `axes`.
///
/// # Definition
/// `out[k] =` the smallest of `view[k, r]`, where `r` runs over the axes in `axes` and `k` over the others, in their order. As
/// `minimum` of IEEE 754-2019: NaN if an element is NaN, and -0.0 is below 0.0.
///
/// There must be at least one element for each result.
///
/// # Precision
/// Exact, but for the payload and the sign of a NaN.
#[doc = include_str!("../reduce/view.md")]
/// # Examples
/// ```
/// use ulib_core::Layout;
/// use ulib_device::block::Block;
/// use ulib_math::{ops, view::View};
///
/// let block = Block::from_slice(&[3.0_f32, 1.0, 2.0, 1.0, 3.0, 0.5])?;
/// let view = View::<f32>::new(&block, Layout::contiguous(&[2, 3])?)?;
/// assert_eq!(ops::min(&view, &[1])?, ndarray::arr1(&[1.0, 0.5]).into_dyn());
/// assert_eq!(ops::min(&view, &[0])?, ndarray::arr1(&[1.0, 1.0, 0.5]).into_dyn());
/// # Ok::<(), ulib_core::Error>(())
/// ```
pub fn min<T: Element>(view: &View<'_, T>, axes: &[usize]) -> Result<ArrayD<T>> {
    reduce("min", &Extreme::<T, false>::NEW, &Views::one(view), axes)
}

/// The smallest element of `view`: [`min()`] over every axis, as a number.
///
/// # Errors
/// As [`min()`].
///
/// # Examples
/// ```
/// use ulib_device::block::Block;
/// use ulib_math::{ops, view::View};
///
/// let block = Block::from_slice(&[4_i32, -2, 4, -2])?;
/// assert_eq!(ops::min_all(&View::<i32>::flat(&block)?)?, -2);
/// # Ok::<(), ulib_core::Error>(())
/// ```
pub fn min_all<T: Element>(view: &View<'_, T>) -> Result<T> {
    reduce_all("min_all", &Extreme::<T, false>::NEW, &Views::one(view))
}

/// [`min()`] into an output of any strides. When both blocks are on one device nothing is brought to the host, and the call
/// returns without waiting.
///
/// # Errors
/// As [`min()`]; kind `Shape` when `out` has not the shape of the kept axes. The output stays as it was.
pub fn min_into<T: Element>(view: &View<'_, T>, axes: &[usize], out: ViewMut<'_, T>) -> Result<()> {
    reduce_into(
        "min_into",
        &Extreme::<T, false>::NEW,
        &Views::one(view),
        axes,
        out,
    )
}

/// The largest elements of `view` over the axes `axes`.
///
/// # Definition
/// `out[k] =` the largest of `view[k, r]`, where `r` runs over the axes in `axes` and `k` over the others, in their order. As
/// `maximum` of IEEE 754-2019: NaN if an element is NaN, and -0.0 is below 0.0.
///
/// There must be at least one element for each result.
///
/// # Precision
/// Exact, but for the payload and the sign of a NaN.
#[doc = include_str!("../reduce/view.md")]
/// # Examples
/// ```
/// use ulib_core::Layout;
/// use ulib_device::block::Block;
/// use ulib_math::{ops, view::View};
///
/// let block = Block::from_slice(&[3.0_f32, 1.0, 2.0, 1.0, 3.0, 0.5])?;
/// let view = View::<f32>::new(&block, Layout::contiguous(&[2, 3])?)?;
/// assert_eq!(ops::max(&view, &[1])?, ndarray::arr1(&[3.0, 3.0]).into_dyn());
/// assert_eq!(ops::max(&view, &[0])?, ndarray::arr1(&[3.0, 3.0, 2.0]).into_dyn());
/// # Ok::<(), ulib_core::Error>(())
/// ```
pub fn max<T: Element>(view: &View<'_, T>, axes: &[usize]) -> Result<ArrayD<T>> {
    reduce("max", &Extreme::<T, true>::NEW, &Views::one(view), axes)
}

/// The largest element of `view`: [`max()`] over every axis, as a number.
///
/// # Errors
/// As [`max()`].
///
/// # Examples
/// ```
/// use ulib_device::block::Block;
/// use ulib_math::{ops, view::View};
///
/// let block = Block::from_slice(&[4_i32, -2, 4, -2])?;
/// assert_eq!(ops::max_all(&View::<i32>::flat(&block)?)?, 4);
/// # Ok::<(), ulib_core::Error>(())
/// ```
pub fn max_all<T: Element>(view: &View<'_, T>) -> Result<T> {
    reduce_all("max_all", &Extreme::<T, true>::NEW, &Views::one(view))
}

/// [`max()`] into an output of any strides. When both blocks are on one device nothing is brought to the host, and the call
/// returns without waiting.
///
/// # Errors
/// As [`max()`]; kind `Shape` when `out` has not the shape of the kept axes. The output stays as it was.
pub fn max_into<T: Element>(view: &View<'_, T>, axes: &[usize], out: ViewMut<'_, T>) -> Result<()> {
    reduce_into(
        "max_into",
        &Extreme::<T, true>::NEW,
        &Views::one(view),
        axes,
        out,
    )
}
