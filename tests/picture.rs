//! `ulib_math::picture`: pixels worked out by hand, read back from PNG files.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that fails says where"
)]

mod common;

#[path = "picture/plots.rs"]
mod plots;
#[path = "picture/resident.rs"]
mod resident;
#[path = "picture/slices.rs"]
mod slices;
#[path = "picture/support.rs"]
mod support;
