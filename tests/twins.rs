//! Operations on the host against the same operations on a device, bit for bit, and both against oracles that share no
//! code with either.
//!
//! The device is the software driver's (its kernels are the project's own `.cu` files, emulated) or, with
//! `ULIB_TEST_DRIVER=real`, the machine's.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that expects fails by panicking"
)]

mod common;
#[path = "twins/elementwise.rs"]
mod elementwise;
#[path = "twins/exact.rs"]
mod exact;
#[path = "twins/support.rs"]
mod support;
#[path = "twins/wide.rs"]
mod wide;

#[path = "twins/abs.rs"]
mod abs;
#[path = "twins/add.rs"]
mod add;
#[path = "twins/arguments.rs"]
mod arguments;
#[path = "twins/calls.rs"]
mod calls;
#[path = "twins/cast.rs"]
mod cast;
#[path = "twins/clamp.rs"]
mod clamp;
#[path = "twins/copy.rs"]
mod copy;
#[path = "twins/count.rs"]
mod count;
#[path = "twins/divide.rs"]
mod divide;
#[path = "twins/dot.rs"]
mod dot;
#[path = "twins/exp.rs"]
mod exp;
#[path = "twins/extremum.rs"]
mod extremum;
#[path = "twins/failures.rs"]
mod failures;
#[path = "twins/fill.rs"]
mod fill;
#[path = "twins/fma.rs"]
mod fma;
#[path = "twins/histogram.rs"]
mod histogram;
#[path = "twins/log.rs"]
mod log;
#[path = "twins/logs.rs"]
mod logs;
#[path = "twins/mask.rs"]
mod mask;
#[path = "twins/maximum.rs"]
mod maximum;
#[path = "twins/mean.rs"]
mod mean;
#[path = "twins/minimum.rs"]
mod minimum;
#[path = "twins/multiply.rs"]
mod multiply;
#[path = "twins/negate.rs"]
mod negate;
#[path = "twins/norm.rs"]
mod norm;
#[path = "twins/places.rs"]
mod places;
#[path = "twins/power.rs"]
mod power;
#[path = "twins/quantile.rs"]
mod quantile;
#[path = "twins/random.rs"]
mod random;
#[path = "twins/reductions.rs"]
mod reductions;
#[path = "twins/resident.rs"]
mod resident;
#[path = "twins/scopes.rs"]
mod scopes;
#[path = "twins/sqrt.rs"]
mod sqrt;
#[path = "twins/streams.rs"]
mod streams;
#[path = "twins/subtract.rs"]
mod subtract;
#[path = "twins/sum.rs"]
mod sum;
#[path = "twins/threshold.rs"]
mod threshold;
#[path = "twins/variance.rs"]
mod variance;
