//! [`variance()`], [`standard_deviation()`] and their `_all` and `_into`: how far elements are spread, over any set of axes.

mod fold;

use ndarray::ArrayD;
use ulib_core::Result;

use super::element::Element;
use super::reduce::{Views, reduce, reduce_all, reduce_into};
use crate::view::{View, ViewMut};
use fold::Variance;

/// The variance of `view` over the axes `axes`, in one pass.
///
/// # Definition
/// `out[k] = (sum over r of (view[k, r] - mean[k])^2) / (n - ddof)`, where `r` runs over the axes in `axes`, `n` is how many
/// values it takes, and `k` runs over the others, in their order. NaN when `n <= ddof`. `ddof` 0 is the variance of the
/// elements themselves, 1 the unbiased estimate from a sample.
///
/// Elements go to chunks and lanes as in [`sum()`](super::sum()). A lane of `n` elements `x`, the first of which is `K`, gives in
/// `f64` `s = sum(x - K)` and `q = sum((x - K)^2)`, then `(n, mean, m2) = (n, K + s / n, q - s * (s / n))`. Two such, `a` before
/// `b`, are joined, with `r = nb / (na + nb)` and `d = mean_b - mean_a`, to `(na + nb, mean_a + d * r, (m2_a + m2_b) + d * d * na * r)`;
/// the result is `m2 / (n - ddof)`.
///
/// # Precision
/// Accumulated in `f64` for every type. The same bits on one thread, on many, and on any device, but for the payload and the sign of
/// a NaN. With `u = 2^-53` and `k = sqrt(1 + mean^2 / variance)` the relative error
/// is at most about `1000 u + 100 k u`: a lane's differences are taken from one of its own elements, so that what cancels within
/// it loses at most a factor of 16, whatever the mean; what is joined after that are sums of squares, which do not cancel, and
/// differences of means, which are known to `k u`.
#[doc = include_str!("../reduce/view.md")]
/// # Examples
/// ```
/// use ulib_core::Layout;
/// use ulib_device::block::Block;
/// use ulib_math::{ops, view::View};
///
/// let block = Block::from_slice(&[1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
/// let view = View::<f32>::new(&block, Layout::contiguous(&[2, 3])?)?;
/// assert_eq!(ops::variance(&view, 0, &[0])?, ndarray::arr1(&[2.25; 3]).into_dyn());
/// assert_eq!(ops::variance(&view, 1, &[1])?, ndarray::arr1(&[1.0, 1.0]).into_dyn());
/// # Ok::<(), ulib_core::Error>(())
/// ```
#[doc(alias = "var")]
pub fn variance<T: Element>(
    view: &View<'_, T>,
    ddof: usize,
    axes: &[usize],
) -> Result<ArrayD<f64>> {
    reduce(
        "variance",
        &Variance::new(ddof, false),
        &Views::one(view),
        axes,
    )
}

/// The variance of all elements of `view`: [`variance()`] over every axis, as a number.
///
/// # Errors
/// As [`variance()`].
///
/// # Examples
/// ```
/// use ulib_device::block::Block;
/// use ulib_math::{ops, view::View};
///
/// let block = Block::from_slice(&[1_i32, 3, 5, 7])?;
/// assert_eq!(ops::variance_all(&View::<i32>::flat(&block)?, 0)?, 5.0);
/// assert!(ops::variance_all(&View::<i32>::flat(&block)?, 4)?.is_nan());
/// # Ok::<(), ulib_core::Error>(())
/// ```
pub fn variance_all<T: Element>(view: &View<'_, T>, ddof: usize) -> Result<f64> {
    reduce_all(
        "variance_all",
        &Variance::new(ddof, false),
        &Views::one(view),
    )
}

/// [`variance()`] into an output of any strides. When all blocks are on one device nothing is brought to the host, and the call
/// returns without waiting.
///
/// # Errors
/// As [`variance()`]; kind `Shape` when `out` has not the shape of the kept axes. The output stays as it was.
pub fn variance_into<T: Element>(
    view: &View<'_, T>,
    ddof: usize,
    axes: &[usize],
    out: ViewMut<'_, f64>,
) -> Result<()> {
    reduce_into(
        "variance_into",
        &Variance::new(ddof, false),
        &Views::one(view),
        axes,
        out,
    )
}

/// The standard deviation of `view` over the axes `axes`, in one pass.
///
/// # Definition
/// `out[k] = sqrt(variance[k])`, with [`variance()`] over the same axes and with the same `ddof`.
///
/// # Precision
/// As [`variance()`], and one rounding. The same bits on one thread, on many, and on any device, but for the payload and the sign of
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
/// assert_eq!(ops::standard_deviation(&view, 0, &[0])?, ndarray::arr1(&[1.5; 3]).into_dyn());
/// assert_eq!(ops::standard_deviation(&view, 1, &[1])?, ndarray::arr1(&[1.0, 1.0]).into_dyn());
/// # Ok::<(), ulib_core::Error>(())
/// ```
#[doc(alias = "std")]
#[doc(alias = "sigma")]
pub fn standard_deviation<T: Element>(
    view: &View<'_, T>,
    ddof: usize,
    axes: &[usize],
) -> Result<ArrayD<f64>> {
    reduce(
        "standard_deviation",
        &Variance::new(ddof, true),
        &Views::one(view),
        axes,
    )
}

/// The standard deviation of all elements of `view`: [`standard_deviation()`] over every axis, as a number.
///
/// # Errors
/// As [`standard_deviation()`].
///
/// # Examples
/// ```
/// use ulib_device::block::Block;
/// use ulib_math::{ops, view::View};
///
/// let block = Block::from_slice(&[1_i32, 3, 5, 7])?;
/// assert_eq!(ops::standard_deviation_all(&View::<i32>::flat(&block)?, 0)?, 5.0_f64.sqrt());
/// assert!(ops::standard_deviation_all(&View::<i32>::flat(&block)?, 4)?.is_nan());
/// # Ok::<(), ulib_core::Error>(())
/// ```
pub fn standard_deviation_all<T: Element>(view: &View<'_, T>, ddof: usize) -> Result<f64> {
    reduce_all(
        "standard_deviation_all",
        &Variance::new(ddof, true),
        &Views::one(view),
    )
}

/// [`standard_deviation()`] into an output of any strides. When all blocks are on one device nothing is brought to the host, and the call
/// returns without waiting.
///
/// # Errors
/// As [`standard_deviation()`]; kind `Shape` when `out` has not the shape of the kept axes. The output stays as it was.
pub fn standard_deviation_into<T: Element>(
    view: &View<'_, T>,
    ddof: usize,
    axes: &[usize],
    out: ViewMut<'_, f64>,
) -> Result<()> {
    reduce_into(
        "standard_deviation_into",
        &Variance::new(ddof, true),
        &Views::one(view),
        axes,
        out,
    )
}
