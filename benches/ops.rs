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

#[path = "ops/cast.rs"]
mod cast;
#[path = "ops/copy.rs"]
mod copy;
#[path = "ops/count.rs"]
mod count;
#[path = "ops/dot.rs"]
mod dot;
#[path = "ops/extremum.rs"]
mod extremum;
#[path = "ops/fill.rs"]
mod fill;
#[path = "ops/histogram.rs"]
mod histogram;
#[path = "ops/mean.rs"]
mod mean;
#[path = "ops/multiply.rs"]
mod multiply;
#[path = "ops/norm.rs"]
mod norm;
#[path = "ops/quantile.rs"]
mod quantile;
#[path = "ops/sum.rs"]
mod sum;
#[path = "ops/variance.rs"]
mod variance;

criterion_group! {
    name = benches;
    config = support::config();
    targets = cast::bench, copy::bench, count::bench, dot::bench, extremum::bench, fill::bench, histogram::bench, mean::bench, multiply::bench, norm::bench, quantile::bench, sum::bench, sum::profiles, variance::bench
}
criterion_main!(benches);
