//! Operations on strided views: on the host or on a device, wherever the data is, with the same bits.
//!
//! One operation is one folder: `mod.rs` (documentation, validation), `<op>.cu` (the kernel) and `<op>.ptx` (the kernel as
//! embedded, made by `scripts/build-kernels.py`). Elementwise operations share the rest (`elementwise`); others have a
//! `host.rs` (the definition of the result) and a `device.rs` (arguments, grid, launch), too.
//!
//! | operation | does | result |
//! |---|---|---|
//! | [`fill()`] | sets every element to a value | in place |
//! | [`cast()`], [`cast_into`] | converts to another type, as Rust's `as` does | new, or into an output |
//! | [`add()`], [`add_into`], [`add_in_place`] | `a + b` | new, into an output, in place |
//! | [`subtract()`], [`subtract_into`], [`subtract_in_place`] | `a - b` | the same |
//! | [`multiply()`], [`multiply_into`], [`multiply_in_place`], [`scale()`] | `a * b` | the same |
//! | [`divide()`], [`divide_into`], [`divide_in_place`] | `a / b` | the same |
//! | [`fma()`], [`fma_into`], [`fma_in_place`], [`axpy()`] | `a * b + c` with one rounding | the same |
//! | [`abs()`], [`abs_into`], [`abs_in_place`] | the magnitude | the same |
//! | [`negate()`], [`negate_into`], [`negate_in_place`] | the other sign | the same |
//! | [`minimum()`], [`minimum_into`], [`minimum_in_place`] | the smaller of two | the same |
//! | [`maximum()`], [`maximum_into`], [`maximum_in_place`] | the larger of two | the same |
//! | [`clamp()`], [`clamp_into`], [`clamp_in_place`] | limits to a range | the same |
//! | [`threshold()`], [`threshold_into`], [`threshold_in_place`] | one of two numbers, by a [`Predicate`] | the same |
//! | [`mask()`], [`mask_into`], [`mask_in_place`] | keeps what a mask leaves | the same |
//! | [`sqrt()`], [`sqrt_into`], [`sqrt_in_place`] | the square root | the same |
//! | [`exp()`], [`exp_into`], [`exp_in_place`] | e to a power | the same |
//! | [`log()`], [`log_into`], [`log_in_place`] | the natural logarithm | the same |
//! | [`power()`], [`power_into`], [`power_in_place`] | one to the power of the other | the same |
//! | [`histogram()`], [`histogram_axes`], [`histogram_into`] | counts elements in bins, over any set of axes | new, or into an output |
//! | [`quantile()`], [`quantile_all`], [`quantile_into`] | exact quantiles over any set of axes | new, or into an output |
//! | [`sum()`], [`sum_all`], [`sum_into`] | sums over any set of axes, by a tree of fixed shape | new, or into an output |
//! | [`mean()`], [`mean_all`], [`mean_into`] | means, over any set of axes | new, or into an output |
//! | [`variance()`], [`variance_all`], [`variance_into`] | variances in one pass, over any set of axes | new, or into an output |
//! | [`standard_deviation()`], [`standard_deviation_all`], [`standard_deviation_into`] | square roots of variances, over any set of axes | new, or into an output |
//! | [`norm()`], [`norm_all`], [`norm_into`] | Euclidean norms, over any set of axes | new, or into an output |
//! | [`dot()`], [`dot_all`], [`dot_into`] | scalar products of two views, over any set of axes | new, or into an output |
//! | [`min()`], [`min_all`], [`min_into`] | smallest elements, over any set of axes | new, or into an output |
//! | [`max()`], [`max_all`], [`max_into`] | largest elements, over any set of axes | new, or into an output |
//! | [`argmin()`], [`argmin_all`], [`argmin_into`] | where the first smallest elements are, over any set of axes | new, or into an output |
//! | [`argmax()`], [`argmax_all`], [`argmax_into`] | where the first largest elements are, over any set of axes | new, or into an output |
//! | [`count()`], [`count_all`], [`count_into`] | how many elements satisfy a [`Predicate`], over any set of axes | new, or into an output |
//! | [`copy()`], [`copy_from_host`], [`copy_to_host`], [`copy_from_device`] | copies between views, slices and foreign arrays | into an output |
//!
//! # Where an operation runs
//! An operation with one block runs on a device when the block prefers that device and can be there, else on the host.
//! Bytes of the block that the view does not reach (a voxel's `Count` beside its `Value`) keep their value.
//!
//! On a device it puts its work into [`Stream::current`](ulib_device::Stream::current): the legacy stream, or that of the
//! scope it is called in. What several streams do with one block is ordered by events.
//!
//! Operands that have to be in one place and are not are an error of kind `Residency` that names two of them.
//!
//! # The log
//! Each operation writes one record of level `debug` to the target [`PLACEMENT_LOG`] of the `log` crate when it is done:
//! where it ran, why there (in the words of [`Block::location`](ulib_device::block::Block::location)), what was
//! transferred for it, and the error if it failed.
//!
//! ```text
//! multiply: Device: NVIDIA H200; uploaded 4096 bytes
//! fill: Host (no NVIDIA driver library: libcuda.so.1)
//! copy: Host; source: Device: NVIDIA H200, target: Host; downloaded 4096 bytes
//! ```
//!
//! While nobody listens this costs a look at the log's level. Operations that have nothing to do (no elements) write nothing.
//!
//! # Precision
//! Elementwise results and sums are bit-identical on the host with any number of threads and on any device with any grid,
//! but for the payload and the sign of a NaN. Of [`exp()`], [`log()`] and [`power()`] the greatest error is stated instead.
//! `docs/arithmetic.md` of the repository has the rules, their reasons and their tests.

pub mod abs;
pub mod add;
mod axes;
pub mod cast;
pub mod clamp;
pub mod copy;
pub mod count;
pub mod divide;
pub mod dot;
mod element;
pub(crate) mod elementwise;
pub mod exp;
pub mod extremum;
pub mod fill;
pub mod fma;
mod form;
mod groups;
pub mod histogram;
mod launch;
pub mod log;
pub mod mask;
pub mod maximum;
pub mod mean;
pub mod minimum;
pub mod multiply;
pub mod negate;
pub mod norm;
pub(crate) mod parallel;
mod place;
pub mod power;
mod predicate;
pub mod quantile;
mod reduce;
mod runs;
pub mod sqrt;
pub mod subtract;
pub mod sum;
pub mod threshold;
pub mod variance;

pub use self::log::{log, log_in_place, log_into};
pub use abs::{abs, abs_in_place, abs_into};
pub use add::{add, add_in_place, add_into};
pub use cast::{Castable, cast, cast_into};
pub use clamp::{clamp, clamp_in_place, clamp_into};
pub use copy::{copy, copy_from_device, copy_from_host, copy_to_host};
pub use count::{count, count_all, count_into};
pub use divide::{divide, divide_in_place, divide_into};
pub use dot::{dot, dot_all, dot_into};
pub use element::{Accumulator, Element, Number, Real};
pub use elementwise::Input;
pub use exp::{exp, exp_in_place, exp_into};
pub use extremum::{
    argmax, argmax_all, argmax_into, argmin, argmin_all, argmin_into, max, max_all, max_into, min,
    min_all, min_into,
};
pub use fill::fill;
pub use fma::{axpy, fma, fma_in_place, fma_into};
pub use histogram::{Bins, Countable, histogram, histogram_axes, histogram_into};
#[doc(hidden)]
pub use launch::set_grid_limit;
pub use mask::{MaskOf, mask, mask_in_place, mask_into};
pub use maximum::{maximum, maximum_in_place, maximum_into};
pub use mean::{mean, mean_all, mean_into};
pub use minimum::{minimum, minimum_in_place, minimum_into};
pub use multiply::{multiply, multiply_in_place, multiply_into, scale};
pub use negate::{negate, negate_in_place, negate_into};
pub use norm::{norm, norm_all, norm_into};
pub use place::PLACEMENT_LOG;
pub use power::{power, power_in_place, power_into};
pub use predicate::Predicate;
pub use quantile::{quantile, quantile_all, quantile_into};
pub use sqrt::{sqrt, sqrt_in_place, sqrt_into};
pub use subtract::{subtract, subtract_in_place, subtract_into};
pub use sum::{sum, sum_all, sum_into};
pub use threshold::{threshold, threshold_in_place, threshold_into};
pub use variance::{
    standard_deviation, standard_deviation_all, standard_deviation_into, variance, variance_all,
    variance_into,
};
