//! The raw driver API: generated types and prototypes, and the table of entry points.
//!
//! Everything here is public, and every handle of the safe layer converts to and from its integer, so what the
//! crate does not wrap can still be called. Names are the driver's own; enums are newtypes over integers, so a value
//! that is newer than these headers is still a value.
#![allow(
    missing_docs,
    non_camel_case_types,
    non_snake_case,
    non_upper_case_globals,
    reason = "names are the driver's own"
)]
#![allow(
    missing_debug_implementations,
    clippy::all,
    clippy::undocumented_unsafe_blocks,
    reason = "generated"
)]
#![allow(
    unsafe_code,
    reason = "generated union accessors, and turning addresses into function pointers"
)]

pub mod proto;
pub mod table;
pub mod types;
pub use table::{Resolver, Table};
pub use types::*;

#[cfg(test)]
mod tests;
