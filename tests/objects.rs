//! The objects of `ulib-math`: geometry, access, resizing, tables, bad input, and placement.
//!
//! Placement runs on the driver that [`common::driver`] gives: the software one, or the machine's.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that fails says where"
)]

mod common;

#[path = "objects/bad_input.rs"]
mod bad_input;
#[path = "objects/collections.rs"]
mod collections;
#[path = "objects/event_table.rs"]
mod event_table;
#[path = "objects/geometry.rs"]
mod geometry;
#[path = "objects/index_map.rs"]
mod index_map;
#[path = "objects/multi_vox_image.rs"]
mod multi_vox_image;
#[path = "objects/placement.rs"]
mod placement;
#[path = "objects/sharing.rs"]
mod sharing;
#[path = "objects/threads.rs"]
mod threads;
#[path = "objects/vox_image.rs"]
mod vox_image;

/// How the property tests run: a failing case is printed in full and not kept in a file.
fn cases() -> proptest::test_runner::Config {
    proptest::test_runner::Config {
        failure_persistence: None,
        ..proptest::test_runner::Config::default()
    }
}
