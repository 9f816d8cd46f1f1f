//! The software driver itself: that it faults, checks, poisons, defers and fails as its users' tests need it to.
//!
//! These tests say nothing about a card, and on a real one they are not run.
#![allow(unsafe_code, reason = "calls of driver entry points")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests"
)]

#[path = "common/mod.rs"]
mod common;

#[path = "faults/raw.rs"]
#[macro_use]
mod raw;

#[path = "faults/contexts.rs"]
mod contexts;
#[path = "faults/copies.rs"]
mod copies;
#[path = "faults/injection.rs"]
mod injection;
#[path = "faults/library.rs"]
mod library;
#[path = "faults/memory.rs"]
mod memory;
#[path = "faults/modules.rs"]
mod modules;
#[path = "faults/processes.rs"]
mod processes;
#[path = "faults/streams.rs"]
mod streams;
