//! Objects that own bulk numbers and know where they are: host memory, a GPU, or both.
//!
//! This crate only gathers the three it re-exports:
//!
//! | module | crate | what it holds |
//! |---|---|---|
//! | [`core`] | `ulib-core` | element types, layouts, placement policies, residency rules, the error type |
//! | [`device`] | `ulib-device` | the driver opened at run time, memory, streams, the coherent block |
//! | [`math`] | `ulib-math` | images, tables and collections, and the operations on them |
//!
//! No CUDA toolkit is needed to build a program that uses it, and none to run it. The driver is opened when it is first
//! needed; on a machine that has none the same program computes the same numbers on the host and says so.

pub use ulib_core as core;
pub use ulib_device as device;
pub use ulib_math as math;

/// The README's programs compile and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
