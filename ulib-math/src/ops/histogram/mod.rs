//! [`histogram()`], [`histogram_axes`], [`histogram_into`]: how many elements fall into each bin.

mod bins;
mod device;
mod host;
mod value;

use ndarray::{ArrayD, IxDyn};
use ulib_core::{Error, Layout, Result};

use super::groups::{Groups, kept_axes};
use super::place::Place;
use crate::memory::zeros;
use crate::view::{View, ViewMut, elements};
pub use bins::Bins;
pub use value::{Countable, Counted};

/// How many elements of `view` fall into each bin.
///
/// # Definition
/// `count[b]` is the number of elements `x` with `edge[b] <= x < edge[b + 1]`; the last bin holds `x = edge[b + 1]` too.
/// Elements below the first edge, above the last one, and NaN are in no bin.
///
/// An element is compared as the nearest `f64`, ties to even: exactly, but for 64-bit integers beyond 2^53, which may so
/// come to lie on an edge they are beside of. The edges are those of [`Bins::as_slice`], for uniform bins given by the
/// formula of [`Bins::uniform`].
///
/// # Shapes
/// Any shape and strides, empty ones included; one count for each bin.
///
/// # Placement
/// Where the block is. The scratch on a device is 8 bytes for each count, and the edges unless they are uniform; on the host
/// 8 bytes for each count on each thread. The counts are brought to the host, which waits for the kernel.
///
/// # Precision
/// Exact: the same counts on one thread, on many, and on any device.
///
/// # Errors
/// Whatever reaching the data gives, see [`Block::read`] and [`Block::device_read`]; kind `OutOfMemory` when the counts do not
/// fit; on a device kind `InvalidArgument` for 2^32 - 2 bins or more, and kind `Layout` when more than 8 axes cannot be
/// merged.
///
/// # Panics
/// Never.
///
/// # Examples
/// ```
/// use ulib_device::block::Block;
/// use ulib_math::{ops::{self, Bins}, view::View};
///
/// let block = Block::from_slice(&[1.0_f32, 2.0, 1.0, 4.0, f32::NAN, -1.0])?;
/// let view = View::<f32>::flat(&block)?;
/// assert_eq!(ops::histogram(&view, &Bins::edges(vec![0.0, 1.0, 2.0, 4.0])?)?, [0, 2, 2]);
/// assert_eq!(ops::histogram(&view, &Bins::uniform(-1.0, 4.0, 5)?)?, [1, 0, 2, 1, 1]);
/// # Ok::<(), ulib_core::Error>(())
/// ```
///
/// [`Block::read`]: ulib_device::block::Block::read
/// [`Block::device_read`]: ulib_device::block::Block::device_read
pub fn histogram<T: Countable>(view: &View<'_, T>, bins: &Bins) -> Result<Vec<u64>> {
    let axes: Vec<usize> = (0..view.shape().len()).collect();
    counts("histogram", view, &axes, &[], bins, bins.len())
}

/// A [`histogram()`] over the axes `axes` for each index of the others.
///
/// # Shapes
/// `axes`: any of the view's axes, each at most once, in any order. The result has the shape of the other axes, and one more
/// axis, the last, of the bins.
///
/// # Errors
/// As [`histogram()`]; kind `InvalidArgument` for an axis that does not exist or is named twice.
///
/// # Examples
/// ```
/// use ulib_core::Layout;
/// use ulib_device::block::Block;
/// use ulib_math::{ops::{self, Bins}, view::View};
///
/// let block = Block::from_slice(&[0_u8, 1, 1, 2, 2, 2])?;
/// let view = View::<u8>::new(&block, Layout::contiguous(&[2, 3])?)?;
/// let bins = Bins::edges(vec![0.0, 1.0, 2.0])?;
/// let counts = ops::histogram_axes(&view, &[1], &bins)?;
/// assert_eq!(counts, ndarray::arr2(&[[1, 2], [0, 3]]).into_dyn());
/// # Ok::<(), ulib_core::Error>(())
/// ```
pub fn histogram_axes<T: Countable>(
    view: &View<'_, T>,
    axes: &[usize],
    bins: &Bins,
) -> Result<ArrayD<u64>> {
    const OP: &str = "histogram_axes";
    let kept = kept_axes(OP, view.layout(), axes)?;
    let shape = shape_of(view.shape(), &kept, bins);
    let total = Layout::contiguous(&shape)?.len();
    let values = counts(OP, view, axes, &kept, bins, total)?;
    ArrayD::from_shape_vec(IxDyn(&shape), values)
        .map_err(|error| Error::layout(OP, error.to_string()))
}

/// [`histogram_axes`] into an output of any strides. When both blocks are on one device nothing is brought to the host.
///
/// # Errors
/// As [`histogram_axes`]; kind `Shape` when `out` has not the shape of the kept axes and the bins. The output stays as it was.
pub fn histogram_into<T: Countable>(
    view: &View<'_, T>,
    axes: &[usize],
    bins: &Bins,
    mut out: ViewMut<'_, u64>,
) -> Result<()> {
    const OP: &str = "histogram_into";
    let kept = kept_axes(OP, view.layout(), axes)?;
    let shape = shape_of(view.shape(), &kept, bins);
    if out.shape() != shape {
        return Err(Error::shape(OP, &shape, out.shape()));
    }
    if out.is_empty() {
        return Ok(());
    }
    if view.is_empty() {
        return super::fill(out, 0);
    }
    let groups = Groups::new(view.layout(), axes, &kept)?;
    let mut place = Place::of_any(OP, &[("view", view.block()), ("out", out.block())]);
    let done = match place.device().cloned() {
        Some(device) => device::histogram_into(view, &groups, bins, &mut out, &device),
        None => Ok(false),
    };
    let done = match done {
        Ok(true) => Ok(()),
        // The output is opened when the counts are there.
        Ok(false) => counted(view, &groups, bins, out.len(), &mut place).and_then(|values| {
            super::copy_from_host(&values, &Layout::contiguous(&shape)?, out.reborrow())
        }),
        Err(error) => Err(error),
    };
    place.finish(&[("view", view.block()), ("out", out.block())], done)
}

fn shape_of(shape: &[usize], kept: &[usize], bins: &Bins) -> Vec<usize> {
    let kept = kept.iter().map(|&axis| shape[axis]);
    kept.chain([bins.len()]).collect()
}

/// The `total` counts in C order.
fn counts<T: Countable>(
    op: &'static str,
    view: &View<'_, T>,
    axes: &[usize],
    kept: &[usize],
    bins: &Bins,
    total: usize,
) -> Result<Vec<u64>> {
    if view.is_empty() {
        return zeros(total);
    }
    let groups = Groups::new(view.layout(), axes, kept)?;
    let mut place = Place::of_any(op, &[("view", view.block())]);
    let done = counted(view, &groups, bins, total, &mut place);
    place.finish(&[("view", view.block())], done)
}

fn counted<T: Countable>(
    view: &View<'_, T>,
    groups: &Groups,
    bins: &Bins,
    total: usize,
    place: &mut Place,
) -> Result<Vec<u64>> {
    if let Some(device) = view.block().target_device()
        && let Some(values) = device::histogram(view, groups, bins, total, &device)?
    {
        place.ran_on(Some(&device));
        return Ok(values);
    }
    place.ran_on_host();
    host::histogram(elements::<T>(&view.block().read()?)?, groups, bins, total)
}
