//! The places of extreme values over any set of axes.

use ndarray::ArrayD;
use ulib_core::Result;

use super::fold::Place;
use crate::ops::element::Element;
use crate::ops::reduce::{Views, reduce, reduce_all, reduce_into};
use crate::view::{View, ViewMut};

/// Where the first of the smallest elements of `view` is, over the axes `axes`.
///
/// # Definition
/// `out[k] =` the smallest `i` such that element `i` of `view[k, r]` is the smallest. Elements are numbered from 0 in the C order of
/// the axes in `axes`, which are taken in the order that the view has them in, whatever their strides: over one axis `i` is the
/// index on it, over all axes the index in the flattened array.
///
/// Smallest is as in [`min()`](super::min()): a NaN wins over every number, and of several the first is meant; -0.0 is below 0.0.
///
/// There must be at least one element for each result.
///
/// # Precision
/// Exact.
#[doc = include_str!("../reduce/view.md")]
/// # Examples
/// ```
/// use ulib_core::Layout;
/// use ulib_device::block::Block;
/// use ulib_math::{ops, view::View};
///
/// let block = Block::from_slice(&[3.0_f32, 1.0, 2.0, 1.0, 3.0, 0.5])?;
/// let view = View::<f32>::new(&block, Layout::contiguous(&[2, 3])?)?;
/// assert_eq!(ops::argmin(&view, &[1])?, ndarray::arr1(&[1, 2]).into_dyn());
/// assert_eq!(ops::argmin(&view, &[0])?, ndarray::arr1(&[1, 0, 1]).into_dyn());
/// # Ok::<(), ulib_core::Error>(())
/// ```
pub fn argmin<T: Element>(view: &View<'_, T>, axes: &[usize]) -> Result<ArrayD<u64>> {
    reduce("argmin", &Place::<T, false>::NEW, &Views::one(view), axes)
}

/// Where the first of the smallest elements of `view` is in C order: [`argmin()`] over every axis, as a number.
///
/// # Errors
/// As [`argmin()`].
///
/// # Examples
/// ```
/// use ulib_device::block::Block;
/// use ulib_math::{ops, view::View};
///
/// let block = Block::from_slice(&[4_i32, -2, 4, -2])?;
/// assert_eq!(ops::argmin_all(&View::<i32>::flat(&block)?)?, 1);
/// # Ok::<(), ulib_core::Error>(())
/// ```
pub fn argmin_all<T: Element>(view: &View<'_, T>) -> Result<u64> {
    reduce_all("argmin_all", &Place::<T, false>::NEW, &Views::one(view))
}

/// [`argmin()`] into an output of any strides. When both blocks are on one device nothing is brought to the host, and the call
/// returns without waiting.
///
/// # Errors
/// As [`argmin()`]; kind `Shape` when `out` has not the shape of the kept axes. The output stays as it was.
pub fn argmin_into<T: Element>(
    view: &View<'_, T>,
    axes: &[usize],
    out: ViewMut<'_, u64>,
) -> Result<()> {
    reduce_into(
        "argmin_into",
        &Place::<T, false>::NEW,
        &Views::one(view),
        axes,
        out,
    )
}

/// Where the first of the largest elements of `view` is, over the axes `axes`.
///
/// # Definition
/// `out[k] =` the smallest `i` such that element `i` of `view[k, r]` is the largest. Elements are numbered from 0 in the C order of
/// the axes in `axes`, which are taken in the order that the view has them in, whatever their strides: over one axis `i` is the
/// index on it, over all axes the index in the flattened array.
///
/// Largest is as in [`max()`](super::max()): a NaN wins over every number, and of several the first is meant; -0.0 is below 0.0.
///
/// There must be at least one element for each result.
///
/// # Precision
/// Exact.
#[doc = include_str!("../reduce/view.md")]
/// # Examples
/// ```
/// use ulib_core::Layout;
/// use ulib_device::block::Block;
/// use ulib_math::{ops, view::View};
///
/// let block = Block::from_slice(&[3.0_f32, 1.0, 2.0, 1.0, 3.0, 0.5])?;
/// let view = View::<f32>::new(&block, Layout::contiguous(&[2, 3])?)?;
/// assert_eq!(ops::argmax(&view, &[1])?, ndarray::arr1(&[0, 1]).into_dyn());
/// assert_eq!(ops::argmax(&view, &[0])?, ndarray::arr1(&[0, 1, 0]).into_dyn());
/// # Ok::<(), ulib_core::Error>(())
/// ```
pub fn argmax<T: Element>(view: &View<'_, T>, axes: &[usize]) -> Result<ArrayD<u64>> {
    reduce("argmax", &Place::<T, true>::NEW, &Views::one(view), axes)
}

/// Where the first of the largest elements of `view` is in C order: [`argmax()`] over every axis, as a number.
///
/// # Errors
/// As [`argmax()`].
///
/// # Examples
/// ```
/// use ulib_device::block::Block;
/// use ulib_math::{ops, view::View};
///
/// let block = Block::from_slice(&[4_i32, -2, 4, -2])?;
/// assert_eq!(ops::argmax_all(&View::<i32>::flat(&block)?)?, 0);
/// # Ok::<(), ulib_core::Error>(())
/// ```
pub fn argmax_all<T: Element>(view: &View<'_, T>) -> Result<u64> {
    reduce_all("argmax_all", &Place::<T, true>::NEW, &Views::one(view))
}

/// [`argmax()`] into an output of any strides. When both blocks are on one device nothing is brought to the host, and the call
/// returns without waiting.
///
/// # Errors
/// As [`argmax()`]; kind `Shape` when `out` has not the shape of the kept axes. The output stays as it was.
pub fn argmax_into<T: Element>(
    view: &View<'_, T>,
    axes: &[usize],
    out: ViewMut<'_, u64>,
) -> Result<()> {
    reduce_into(
        "argmax_into",
        &Place::<T, true>::NEW,
        &Views::one(view),
        axes,
        out,
    )
}
