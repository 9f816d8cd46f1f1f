//! Making room: when memory runs out, what all pools of the device keep goes back to the driver before anybody gets an error.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use ulib_core::Result;

use super::{DeviceMemoryResource, is_out_of_memory, kept, pool_handle, scratch};
use crate::Device;
use crate::driver::forked;

/// A resource that keeps device memory that nobody uses, and can give it back.
pub trait Pool: DeviceMemoryResource {
    /// Gives back what nobody uses, after a wait for the device's work where it takes one. Answers whether there was anything.
    /// Failures are on record in [`Device::errors`].
    fn give_way(&self) -> bool;
}

static POOLS: Mutex<Vec<Weak<dyn Pool>>> = Mutex::new(Vec::new());

/// Makes `pool` one that is asked when memory runs out, as long as it lives.
pub fn register_pool(pool: Weak<dyn Pool>) {
    let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    pools.retain(|pool| pool.strong_count() > 0);
    pools.push(pool);
}

/// Gives what the pools of `device`, and operations, keep without using it back to the driver. Answers whether there was
/// anything.
pub fn release_pools(device: &Device) -> bool {
    if forked() {
        return false;
    }
    kept::retry();
    let mut some = pool_handle::release_idle(device) | scratch::clear(device);
    // Asked without the lock, and the last owner of a pool may go meanwhile.
    let pools: Vec<Arc<dyn Pool>> = {
        let pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
        pools.iter().filter_map(Weak::upgrade).collect()
    };
    for pool in pools.iter().filter(|pool| pool.device() == device) {
        some |= pool.give_way();
    }
    some
}

/// Calls `attempt`, and once more after [`release_pools`] when it finds the device full and there was something to give back. What
/// could not be given up before is tried again first.
///
/// # Errors
///
/// Those of `attempt`.
pub fn with_room<R>(device: &Device, mut attempt: impl FnMut() -> Result<R>) -> Result<R> {
    kept::retry();
    match attempt() {
        Err(error) if is_out_of_memory(&error) && release_pools(device) => attempt(),
        outcome => outcome,
    }
}
