//! The raw driver API: generated types and prototypes.
#![allow(missing_docs, non_camel_case_types, non_snake_case, non_upper_case_globals, reason = "names are the driver's own")]
#![allow(missing_debug_implementations, clippy::all, clippy::undocumented_unsafe_blocks, reason = "generated")]
#![allow(unsafe_code, reason = "generated union and bit-field accessors")]

pub mod proto;
pub mod types;
pub use types::*;
