//! Lends device memory and streams of uLib to [cudarc](https://docs.rs/cudarc) and [cust](https://docs.rs/cust), and adopts theirs.
//!
//! All three use the device's primary context, so an address or a stream of one is good in the others. What has to be said is who
//! frees it, and what waits for what:
//!
//! | | `cudarc` | `cust` |
//! |---|---|---|
//! | our memory there, to read or to write | `cudarc::lend`, `cudarc::lend_mut` | `cust::lend`, `cust::lend_mut` |
//! | their memory here, freed by them | `cudarc::adopt` | `cust::adopt` |
//! | our stream there | `cudarc::lend_stream` | cust has no way to wrap one |
//! | their stream here | `cudarc::adopt_stream` | `cust::adopt_stream` |
//!
//! [`Element`] makes an element type of either side one of the others.
//!
//! # What the features need
//! Both are off unless asked for. They are for cudarc 0.19 and cust 0.3: to Rust the types of other versions are others.
//!
//! - `cudarc`: nothing to build. The program names the driver's version with one of cudarc's features `cuda-XXXXX`. cudarc opens
//!   the driver itself; without one its own functions panic, those here return an error first.
//! - `cust`: a folder with `libcuda.so` to link, from a CUDA toolkit or a driver, which `CUDA_LIBRARY_PATH` names. **A program
//!   with this feature does not start where there is no driver.**
#![cfg_attr(
    any(feature = "cudarc", feature = "cust"),
    allow(unsafe_code, reason = "addresses cross the borders of crates")
)]

#[cfg(feature = "cudarc")]
pub mod cudarc;
#[cfg(feature = "cust")]
pub mod cust;
mod element;
#[cfg(any(feature = "cudarc", feature = "cust"))]
mod kept;

pub use element::Element;
