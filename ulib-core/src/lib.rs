//! The vocabulary of uLib: what an element is, how elements lie in memory, where they are
//! and what has to happen for them to be somewhere else. No CUDA, no I/O, no threads.
//!
//! | question | answer |
//! |---|---|
//! | what may a collection hold, and may its bytes go to a device? | [`Storable`], [`DeviceStorable`], [`device_storable!`] |
//! | what is one element, at run time? | [`DType`], [`RecordType`], [`Field`] |
//! | where is element `(i, j, k)`? | [`Layout`], [`MergedAxes`] |
//! | what can be seen as an array? | [`IDeviceArray`] |
//! | where does the user want it, where is it, and why? | [`PreferredDevice`], [`Placement`], [`Location`], [`Reason`] |
//! | who decides? | [`PlacementPolicy`] and the four shipped policies |
//! | which copy is the newer one, and what does an access cost? | [`Residency`], [`transition`] |
//! | what went wrong? | [`Error`], [`ErrorKind`] |
//!
//! Everything here is a pure function of its arguments, so all of it is tested without a GPU.

#![cfg_attr(
    test,
    allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        reason = "a failing test panics"
    )
)]

pub mod array;
pub mod bytes;
pub mod dtype;
pub mod error;
pub mod layout;
pub mod placement;
pub mod residency;
pub mod storable;
pub mod words;

pub use bytemuck;

pub use array::IDeviceArray;
pub use bytes::byte_count;
pub use dtype::{DType, RecordType};
pub use error::{Context, Error, ErrorKind, Result};
pub use layout::{Layout, MergedAxes};
pub use placement::{
    BestByTransferCost, Decision, DeviceFacts, DeviceIfFits, HonourPreference, HostOnly, Location,
    Placement, PlacementPolicy, PlacementRequest, PreferredDevice, Reason,
};
pub use residency::{Action, Event, Residency, Step, transition};
pub use storable::{Bool8, DeviceStorable, Field, Storable, field_of};

#[cfg(test)]
mod tests;
