//! [`count()`], [`count_all`], [`count_into`]: elements that satisfy a condition, over any set of axes.

mod fold;

use ndarray::ArrayD;
use ulib_core::Result;

use super::element::Element;
use super::predicate::Predicate;
use super::reduce::{Views, reduce, reduce_all, reduce_into};
use crate::view::{View, ViewMut};
use fold::Count;

/// How many elements of `view` satisfy a condition, over the axes `axes`.
///
/// # Definition
/// `out[k] = number of r with predicate(view[k, r])`, where `r` runs over the axes in `axes` and `k` over the others, in their
/// order. The conditions are those of [`Predicate`].
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
/// let block = Block::from_slice(&[1.0_f32, f32::NAN, 3.0, 4.0, 5.0, 6.0])?;
/// let view = View::<f32>::new(&block, Layout::contiguous(&[2, 3])?)?;
/// assert_eq!(ops::count(&view, ops::Predicate::Greater(2.0), &[1])?, ndarray::arr1(&[1, 3]).into_dyn());
/// assert_eq!(ops::count(&view, ops::Predicate::IsNan, &[0])?, ndarray::arr1(&[0, 1, 0]).into_dyn());
/// # Ok::<(), ulib_core::Error>(())
/// ```
pub fn count<T: Element>(
    view: &View<'_, T>,
    predicate: Predicate<T>,
    axes: &[usize],
) -> Result<ArrayD<u64>> {
    reduce("count", &Count(predicate.range()), &Views::one(view), axes)
}

/// How many elements of `view` satisfy a condition: [`count()`] over every axis, as a number.
///
/// # Errors
/// As [`count()`].
///
/// # Examples
/// ```
/// use ulib_device::block::Block;
/// use ulib_math::{ops, view::View};
///
/// let block = Block::from_slice(&[1_u32, 7, 7, 9])?;
/// assert_eq!(ops::count_all(&View::<u32>::flat(&block)?, ops::Predicate::Equal(7))?, 2);
/// # Ok::<(), ulib_core::Error>(())
/// ```
pub fn count_all<T: Element>(view: &View<'_, T>, predicate: Predicate<T>) -> Result<u64> {
    reduce_all("count_all", &Count(predicate.range()), &Views::one(view))
}

/// [`count()`] into an output of any strides. When all blocks are on one device nothing is brought to the host, and the call
/// returns without waiting.
///
/// # Errors
/// As [`count()`]; kind `Shape` when `out` has not the shape of the kept axes. The output stays as it was.
pub fn count_into<T: Element>(
    view: &View<'_, T>,
    predicate: Predicate<T>,
    axes: &[usize],
    out: ViewMut<'_, u64>,
) -> Result<()> {
    reduce_into(
        "count_into",
        &Count(predicate.range()),
        &Views::one(view),
        axes,
        out,
    )
}
