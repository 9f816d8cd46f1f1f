//! One device: its memory, its primary context, and its accounts.

use super::arena::Arena;
use super::{State, Tag, pool::Pool};
use crate::control;
use crate::gate::{Outcome, code};

/// Memory every device reports.
pub(crate) const TOTAL: u64 = 1 << 30;
/// Devices of the machine.
pub(crate) const COUNT: usize = 2;

#[derive(Debug)]
pub(crate) struct Device {
    pub(crate) arena: Arena,
    /// The primary context while anybody retains it.
    pub(crate) primary: Option<u64>,
    pub(crate) retained: u32,
    pub(crate) primary_flags: u32,
    pub(crate) default_pool: u64,
    pub(crate) current_pool: u64,
}

impl State {
    /// Makes the devices, at the first `cuInit`.
    pub(crate) fn make_devices(&mut self) -> Outcome {
        for ordinal in 0..COUNT {
            let arena = Arena::map()?;
            let pool = self.new_handle(Tag::Pool);
            self.pools
                .insert(pool, Pool::new(ordinal, true, 0, self.session));
            self.devices.push(Device {
                arena,
                primary: None,
                retained: 0,
                primary_flags: 0,
                default_pool: pool,
                current_pool: pool,
            });
        }
        Ok(())
    }

    /// Bytes a device has given out: allocations outside pools, and all that pools hold, cached bytes included.
    pub(crate) fn used(&self, device: usize) -> u64 {
        let plain: u64 = self.devices[device]
            .arena
            .live()
            .filter(|(_, made)| made.pool == 0)
            .map(|(_, made)| made.bytes)
            .sum();
        let pooled: u64 = self
            .pools
            .values()
            .filter(|pool| pool.device == device)
            .map(|pool| pool.reserved)
            .sum();
        plain + pooled
    }

    /// Free bytes of a device, a test's memory limit respected.
    pub(crate) fn free(&self, device: usize) -> u64 {
        control::memory_limit()
            .unwrap_or(TOTAL)
            .min(TOTAL)
            .saturating_sub(self.used(device))
    }

    /// Allocates outside pools.
    pub(crate) fn allocate(&mut self, device: usize, bytes: u64) -> Outcome<u64> {
        if bytes == 0 {
            return Err(code::INVALID_VALUE);
        }
        if bytes > self.free(device) {
            return Err(code::OUT_OF_MEMORY);
        }
        let session = self.session;
        self.devices[device].arena.allocate(bytes, 0, session)
    }

    /// Frees an allocation now.
    pub(crate) fn release(&mut self, address: u64) -> Outcome {
        let owner = self.owner(address).ok_or(code::INVALID_VALUE)?;
        let (gone, broken) = self.devices[owner].arena.release(address)?;
        if broken > 0 {
            let bytes = gone.bytes;
            self.faults.push(format!(
                "{broken} bytes behind an allocation of {bytes} bytes were overwritten"
            ));
        }
        if gone.pool != 0 {
            self.pool_took_back(gone.pool, gone.bytes);
        }
        Ok(())
    }
}
