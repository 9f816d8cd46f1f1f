//! Stream-ordered pools, as accounts: how much a pool holds from the driver, and how much of it is in use.

use super::State;
use crate::gate::{Outcome, code};

#[derive(Debug)]
pub(crate) struct Pool {
    pub(crate) device: usize,
    /// The device's own pool, which cannot be destroyed.
    pub(crate) default: bool,
    /// Bytes it may keep cached at a synchronise.
    pub(crate) threshold: u64,
    /// Most bytes it may hold; 0 for no bound.
    pub(crate) most: u64,
    pub(crate) used: u64,
    pub(crate) used_high: u64,
    pub(crate) reserved: u64,
    pub(crate) reserved_high: u64,
    /// The three reuse switches.
    pub(crate) reuse: [i32; 3],
    pub(crate) destroyed: bool,
    pub(crate) session: u64,
}

impl Pool {
    pub(crate) fn new(device: usize, default: bool, most: u64, session: u64) -> Self {
        Self {
            device,
            default,
            threshold: 0,
            most,
            used: 0,
            used_high: 0,
            reserved: 0,
            reserved_high: 0,
            reuse: [1; 3],
            destroyed: false,
            session,
        }
    }

    /// Whether it is somebody's: one that is empty and keeps nothing may have been put aside for later.
    pub(crate) fn is_owned(&self) -> bool {
        !self.default && !self.destroyed && (self.threshold > 0 || self.reserved > 0)
    }

    /// Gives cached bytes beyond `keep` back to the driver.
    pub(crate) fn trim(&mut self, keep: u64) {
        self.reserved = self.reserved.min(self.used.max(keep));
    }
}

impl State {
    /// Allocates from a pool: cached bytes first, then from the driver.
    pub(crate) fn allocate_from(&mut self, handle: u64, bytes: u64) -> Outcome<u64> {
        if bytes == 0 {
            return Err(code::INVALID_VALUE);
        }
        let pool = self
            .pools
            .get(&handle)
            .filter(|pool| !pool.destroyed)
            .ok_or(code::INVALID_VALUE)?;
        let device = pool.device;
        let used = pool.used.checked_add(bytes).ok_or(code::OUT_OF_MEMORY)?;
        let fresh = used.saturating_sub(pool.reserved);
        let bounded = pool.most != 0 && used > pool.most;
        if bounded || fresh > self.free(device) {
            return Err(code::OUT_OF_MEMORY);
        }
        let session = self.session;
        let address = self.devices[device]
            .arena
            .allocate(bytes, handle, session)?;
        if let Some(pool) = self.pools.get_mut(&handle) {
            pool.used = used;
            pool.reserved += fresh;
            pool.used_high = pool.used_high.max(pool.used);
            pool.reserved_high = pool.reserved_high.max(pool.reserved);
        }
        Ok(address)
    }

    /// Accounts for a freed allocation; its bytes stay cached.
    pub(crate) fn pool_took_back(&mut self, handle: u64, bytes: u64) {
        let Some(pool) = self.pools.get_mut(&handle) else {
            return;
        };
        pool.used -= bytes;
        if pool.destroyed && pool.used == 0 {
            self.pools.remove(&handle);
        }
    }

    /// What a synchronise does to pools: cached bytes beyond the threshold go back to the driver.
    pub(crate) fn trim_pools(&mut self, device: usize) {
        for pool in self.pools.values_mut().filter(|pool| pool.device == device) {
            pool.trim(pool.threshold);
        }
    }
}
