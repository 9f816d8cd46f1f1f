//! Host memory of a size that a view decides: one of stride 0 has more elements than any memory.

use bytemuck::{Zeroable, allocation};
use ulib_core::Result;
use ulib_device::block::out_of_host_memory;

/// `len` zeros.
///
/// # Errors
/// Kind `OutOfMemory` when the allocator has not that much.
pub(crate) fn zeros<T: Zeroable>(len: usize) -> Result<Vec<T>> {
    allocation::try_zeroed_vec(len).map_err(|()| out_of_host_memory(bytes::<T>(len)))
}

/// Room for `len` elements.
///
/// # Errors
/// As [`zeros`].
pub(crate) fn room<T>(len: usize) -> Result<Vec<T>> {
    let mut room = Vec::new();
    room.try_reserve_exact(len)
        .map_err(|_| out_of_host_memory(bytes::<T>(len)))?;
    Ok(room)
}

fn bytes<T>(len: usize) -> u64 {
    (len as u64).saturating_mul(size_of::<T>() as u64)
}
