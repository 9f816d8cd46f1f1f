//! Scenes: documents that are written and read, old ones, damaged ones, and recipes written in Rust.
//!
//! Placement runs on the driver that [`common::driver`] gives: the software one, or the machine's.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that fails says where"
)]

mod common;

#[path = "scene/damaged.rs"]
mod damaged;
#[path = "scene/documents.rs"]
mod documents;
#[path = "scene/example.rs"]
mod example;
#[path = "scene/files.rs"]
mod files;
#[path = "scene/hostile.rs"]
mod hostile;
#[path = "scene/old.rs"]
mod old;
#[path = "scene/placement.rs"]
mod placement;
#[path = "scene/replaced.rs"]
mod replaced;
#[path = "scene/report.rs"]
mod report;
#[path = "scene/runs.rs"]
mod runs;

use common::folder::Folder;
