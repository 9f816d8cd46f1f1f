//! Times of every operation: on the host with one thread and with all, on a device with the data resident, and on a device
//! with the data going there and back.
//!
//! `cargo bench --bench ops` runs on the machine's own driver; without a GPU only the host is timed. Throughput is
//! in bytes of the cache lines touched: a voxel counts its 8 bytes although only its Value is used. Device times are wall
//! times after a synchronise. `ULIB_BENCH_LARGE=1` adds arrays of 2 GiB.
#![allow(
    missing_docs,
    reason = "criterion's macros make undocumented functions"
)]
#![allow(clippy::expect_used, reason = "a bench that cannot run has failed")]

use criterion::{criterion_group, criterion_main};

#[path = "ops/support.rs"]
mod support;

#[path = "ops/abs.rs"]
mod abs;
#[path = "ops/add.rs"]
mod add;
#[path = "ops/cast.rs"]
mod cast;
#[path = "ops/clamp.rs"]
mod clamp;
#[path = "ops/copy.rs"]
mod copy;
#[path = "ops/count.rs"]
mod count;
#[path = "ops/divide.rs"]
mod divide;
#[path = "ops/dot.rs"]
mod dot;
#[path = "ops/exp.rs"]
mod exp;
#[path = "ops/extremum.rs"]
mod extremum;
#[path = "ops/fill.rs"]
mod fill;
#[path = "ops/fma.rs"]
mod fma;
#[path = "ops/histogram.rs"]
mod histogram;
#[path = "ops/log.rs"]
mod log;
#[path = "ops/mask.rs"]
mod mask;
#[path = "ops/maximum.rs"]
mod maximum;
#[path = "ops/mean.rs"]
mod mean;
#[path = "ops/minimum.rs"]
mod minimum;
#[path = "ops/multiply.rs"]
mod multiply;
#[path = "ops/negate.rs"]
mod negate;
#[path = "ops/norm.rs"]
mod norm;
#[path = "ops/power.rs"]
mod power;
#[path = "ops/quantile.rs"]
mod quantile;
#[path = "ops/sqrt.rs"]
mod sqrt;
#[path = "ops/subtract.rs"]
mod subtract;
#[path = "ops/sum.rs"]
mod sum;
#[path = "ops/threshold.rs"]
mod threshold;
#[path = "ops/variance.rs"]
mod variance;

criterion_group! {
    name = benches;
    config = support::config();
    targets = cast::bench, copy::bench, count::bench, dot::bench, extremum::bench, fill::bench,
        histogram::bench, mean::bench, multiply::bench, norm::bench, quantile::bench, sum::bench,
        sum::profiles, variance::bench, abs::bench, add::bench, clamp::bench, divide::bench,
        exp::bench, fma::bench, log::bench, mask::bench, maximum::bench, minimum::bench,
        negate::bench, power::bench, sqrt::bench, subtract::bench, threshold::bench
}
criterion_main!(benches);
