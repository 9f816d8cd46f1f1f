//! Host access to whole arrays: one guard, then ordinary slices and iterators.
//!
//! Taking a guard settles once where the current numbers are (and brings them home when that is the
//! device); the loop under the guard is then plain memory access. Reading 32768 voxels through
//! a guard costs one check, not 32768.

mod slice;
mod values;

pub use slice::{HostSlice, HostSliceMut};
pub use values::{Values, ValuesMut};
