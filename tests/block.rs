//! The coherent block: where it says it is, what every access moves, who may look at it meanwhile, and what is left
//! when something fails.
//!
//! Runs on the software driver and, with `ULIB_TEST_DRIVER=real`, on the machine's own. What only the software driver
//! can show (faults, a second device, deferred streams) runs there only.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that expects fails by panicking"
)]

mod common;
#[path = "block/program.rs"]
mod program;
#[path = "block/support.rs"]
mod support;

#[path = "block/at_hand.rs"]
mod at_hand;
#[path = "block/busy.rs"]
mod busy;
#[path = "block/copies_kept.rs"]
mod copies_kept;
#[path = "block/events.rs"]
mod events;
#[path = "block/exports.rs"]
mod exports;
#[path = "block/faults.rs"]
mod faults;
#[path = "block/forks.rs"]
mod forks;
#[path = "block/graphs.rs"]
mod graphs;
#[path = "block/kernels.rs"]
mod kernels;
#[path = "block/placement.rs"]
mod placement;
#[path = "block/random.rs"]
mod random;
#[path = "block/resizing.rs"]
mod resizing;
#[path = "block/shared.rs"]
mod shared;
#[path = "block/threads.rs"]
mod threads;
#[path = "block/truth.rs"]
mod truth;
