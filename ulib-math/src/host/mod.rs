//! Host access to whole arrays: one guard, then ordinary slices and iterators.
//!
//! Taking a guard settles once where the current numbers are (and brings them home when that is the
//! device); the loop under the guard is then plain memory access. Reading 32768 voxels through
//! a guard costs one check, not 32768.

mod slice;
mod values;

pub use slice::{HostSlice, HostSliceMut};
pub use values::{Values, ValuesMut};

use ulib_core::{Error, Result};

/// `len` zero bytes, or an error where the host has no memory for them.
pub(crate) fn zeroed_bytes(len: usize) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    bytes
        .try_reserve_exact(len)
        .map_err(|_| Error::overflow("host memory", format_args!("{len} bytes")))?;
    bytes.resize(len, 0);
    Ok(bytes)
}
