//! Device memory, pinned memory and copies: on the software driver, or on a card with `ULIB_TEST_DRIVER=real`.
#![allow(
    unsafe_code,
    unreachable_pub,
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests call contracts directly and fail by panicking"
)]

mod common;

#[path = "memory/adaptors.rs"]
mod adaptors;
#[path = "memory/arrays.rs"]
mod arrays;
#[path = "memory/binned.rs"]
mod binned;
#[path = "memory/borrowed.rs"]
mod borrowed;
#[path = "memory/capture.rs"]
mod capture;
#[path = "memory/contract.rs"]
mod contract;
#[path = "memory/device_copies.rs"]
mod device_copies;
#[path = "memory/faults.rs"]
mod faults;
#[path = "memory/fills.rs"]
mod fills;
#[path = "memory/forks.rs"]
mod forks;
#[path = "memory/host.rs"]
mod host;
#[path = "memory/kept.rs"]
mod kept;
#[path = "memory/linear.rs"]
mod linear;
#[path = "memory/mailbox.rs"]
mod mailbox;
#[path = "memory/managed.rs"]
mod managed;
#[path = "memory/owners.rs"]
mod owners;
#[path = "memory/pending.rs"]
mod pending;
#[path = "memory/pinned.rs"]
mod pinned;
#[path = "memory/pools.rs"]
mod pools;
#[path = "memory/races.rs"]
mod races;
#[path = "memory/raw.rs"]
mod raw;
#[path = "memory/scratch.rs"]
mod scratch;
#[path = "memory/setup.rs"]
mod setup;
#[path = "memory/streams.rs"]
mod streams;
#[path = "memory/strided.rs"]
mod strided;
#[path = "memory/textures.rs"]
mod textures;
#[path = "memory/views.rs"]
mod views;
#[path = "memory/watch.rs"]
mod watch;
