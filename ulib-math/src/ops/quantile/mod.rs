//! [`quantile()`], [`quantile_all`], [`quantile_into`]: exact quantiles over any set of axes.

mod device;
mod host;
mod key;
mod rank;

use ndarray::{ArrayD, IxDyn};
use ulib_core::{Error, Layout, Result};

use super::element::Element;
use super::groups::{Groups, kept_axes};
use super::place::Place;
use crate::memory::room;
use crate::view::{View, ViewMut, elements};
use rank::Rank;

/// The quantile `q` of `view` over the axes `axes`.
///
/// # Definition
/// With `x` the `n` elements of a result in ascending order (-0.0 before 0.0), each as the nearest `f64`, `h = (n - 1) q` in
/// `f64`, `k` the integer part of `h` and `frac = h - k`, the result is
/// `x[k] + (x[k + 1] - x[k]) * frac`, every operation rounded; `x[k]` where both are equal or `frac` is 0. It is NaN where an
/// element is NaN.
///
/// # Shapes
/// `view`: any shape and strides. `axes`: any of its axes, each at most once, in any order; none gives every element as a
/// result of its own. The result has the shape of the other axes.
///
/// # Placement
/// Where the block is. On a device the elements are read 3 times (32-bit numbers) or 6 times (64-bit ones), by the whole
/// device for few large results, else by one block for each result; the scratch is 33 KB and 8 bytes for each
/// result. The results are brought to the host, which waits for the kernels.
///
/// # Precision
/// The order statistics are exact, and the results have the same bits on one thread, on many, and on any device, but for
/// the payload and the sign of a NaN.
///
/// # Errors
/// Kind `InvalidArgument` for `q` outside of 0 to 1 or NaN, for an axis that does not exist or is named twice, and for results
/// of no elements; whatever reaching the data gives, see [`Block::read`] and [`Block::device_read`]; kind `OutOfMemory` when the
/// results or the scratch do not fit; kind `Layout` on a device when more than 8 axes cannot be merged.
///
/// # Panics
/// Never.
///
/// # Examples
/// ```
/// use ulib_core::Layout;
/// use ulib_device::block::Block;
/// use ulib_math::{ops, view::View};
///
/// let block = Block::from_slice(&[10.0_f32, 7.0, 4.0, 3.0, 2.0, 1.0])?;
/// let view = View::<f32>::new(&block, Layout::contiguous(&[2, 3])?)?;
/// assert_eq!(ops::quantile(&view, &[0], 0.5)?, ndarray::arr1(&[6.5, 4.5, 2.5]).into_dyn());
/// assert_eq!(ops::quantile(&view, &[1], 0.5)?, ndarray::arr1(&[7.0, 2.0]).into_dyn());
/// assert_eq!(ops::quantile_all(&view, &[0.0, 0.5, 1.0])?, [1.0, 3.5, 10.0]);
/// assert!(ops::quantile(&view, &[0], 1.5).is_err());
/// # Ok::<(), ulib_core::Error>(())
/// ```
///
/// [`Block::read`]: ulib_device::block::Block::read
/// [`Block::device_read`]: ulib_device::block::Block::device_read
#[doc(alias = "percentile")]
#[doc(alias = "median")]
pub fn quantile<T: Element>(view: &View<'_, T>, axes: &[usize], q: f64) -> Result<ArrayD<f64>> {
    const OP: &str = "quantile";
    let kept = kept_axes(OP, view.layout(), axes)?;
    let shape: Vec<usize> = kept.iter().map(|&axis| view.shape()[axis]).collect();
    let groups = Groups::new(view.layout(), axes, &kept)?;
    let ranks = ranks(OP, &groups, &[q])?;
    let values = values(OP, view, &groups, &ranks)?;
    ArrayD::from_shape_vec(IxDyn(&shape), values)
        .map_err(|error| Error::layout(OP, error.to_string()))
}

/// Several quantiles of all elements of `view`: [`quantile()`] over every axis, for each of `qs`.
///
/// # Errors
/// As [`quantile()`].
pub fn quantile_all<T: Element>(view: &View<'_, T>, qs: &[f64]) -> Result<Vec<f64>> {
    const OP: &str = "quantile_all";
    let axes: Vec<usize> = (0..view.shape().len()).collect();
    let groups = Groups::new(view.layout(), &axes, &[])?;
    let ranks = ranks(OP, &groups, qs)?;
    values(OP, view, &groups, &ranks)
}

/// [`quantile()`] into an output of any strides. When both blocks are on one device nothing is brought to the host, and the call
/// returns without waiting.
///
/// # Errors
/// As [`quantile()`]; kind `Shape` when `out` has not the shape of the kept axes. The output stays as it was.
pub fn quantile_into<T: Element>(
    view: &View<'_, T>,
    axes: &[usize],
    q: f64,
    mut out: ViewMut<'_, f64>,
) -> Result<()> {
    const OP: &str = "quantile_into";
    let kept = kept_axes(OP, view.layout(), axes)?;
    let shape: Vec<usize> = kept.iter().map(|&axis| view.shape()[axis]).collect();
    if out.shape() != shape {
        return Err(Error::shape(OP, &shape, out.shape()));
    }
    let groups = Groups::new(view.layout(), axes, &kept)?;
    let ranks = ranks(OP, &groups, &[q])?;
    if out.is_empty() {
        return Ok(());
    }
    let mut place = Place::of_any(OP, &[("view", view.block()), ("out", out.block())]);
    let done = match (place.device().cloned(), ranks.as_slice()) {
        (Some(device), &[rank]) => device::quantile_into(view, &groups, rank, &mut out, &device),
        _ => Ok(false),
    };
    let done = match done {
        Ok(true) => Ok(()),
        // The output is opened when the results are there.
        Ok(false) => found(view, &groups, &ranks, &mut place).and_then(|values| {
            super::copy_from_host(&values, &Layout::contiguous(&shape)?, out.reborrow())
        }),
        Err(error) => Err(error),
    };
    place.finish(&[("view", view.block()), ("out", out.block())], done)
}

fn ranks(op: &'static str, groups: &Groups, qs: &[f64]) -> Result<Vec<Rank>> {
    if let Some(q) = qs.iter().find(|q| !(0.0..=1.0).contains(*q)) {
        return Err(Error::invalid(
            op,
            "q",
            format_args!("{q:?}"),
            "from 0 to 1",
        ));
    }
    if groups.size == 0 {
        return Err(Error::invalid(
            op,
            "view",
            "empty along the axes",
            "at least one element for each result",
        ));
    }
    let mut ranks = room(qs.len())?;
    ranks.extend(qs.iter().map(|&q| Rank::new(groups.size, q)));
    Ok(ranks)
}

fn values<T: Element>(
    op: &'static str,
    view: &View<'_, T>,
    groups: &Groups,
    ranks: &[Rank],
) -> Result<Vec<f64>> {
    if groups.count == 0 || ranks.is_empty() {
        return Ok(Vec::new());
    }
    let mut place = Place::of_any(op, &[("view", view.block())]);
    let done = found(view, groups, ranks, &mut place);
    place.finish(&[("view", view.block())], done)
}

/// The results: one rank of several groups, or several ranks of one.
fn found<T: Element>(
    view: &View<'_, T>,
    groups: &Groups,
    ranks: &[Rank],
    place: &mut Place,
) -> Result<Vec<f64>> {
    if let Some(device) = view.block().target_device()
        && let Some(values) = device::quantiles(view, groups, ranks, &device)?
    {
        place.ran_on(Some(&device));
        return Ok(values);
    }
    place.ran_on_host();
    host::quantiles(elements::<T>(&view.block().read()?)?, groups, ranks)
}
