//! `ulib_math::io`: files made by hand for every variant of every format, what is written, and files that lie.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that fails says where"
)]

mod common;

#[path = "io/atomic.rs"]
mod atomic;
#[path = "io/hostile.rs"]
mod hostile;
#[path = "io/meta_image.rs"]
mod meta_image;
#[path = "io/nifti.rs"]
mod nifti;
#[path = "io/nrrd.rs"]
mod nrrd;
#[path = "io/numpy.rs"]
mod numpy;
#[path = "io/stopped.rs"]
mod stopped;
#[path = "io/support.rs"]
mod support;
#[path = "io/tables.rs"]
mod tables;
#[path = "io/vti.rs"]
mod vti;
#[path = "io/vtk.rs"]
mod vtk;
#[path = "io/written.rs"]
mod written;
