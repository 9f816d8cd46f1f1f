//! Settings of a device's primary context: limits, the cache, how the host waits.

use super::Device;
use crate::driver::{Driver, check, missing_entry};
use crate::sys::{CUfunc_cache, CUlimit};
use core::ffi::{c_int, c_uint};
use ulib_core::Result;

/// What the primary context of a device was made with, or will be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrimaryState {
    /// Flags, as in [`CUctx_flags`](crate::sys::CUctx_flags).
    pub flags: u32,
    /// Whether anybody in this process uses it.
    pub active: bool,
}

impl Device {
    /// A limit of kernels on this device, in bytes or as a number of levels or launches.
    ///
    /// # Errors
    /// Kind `Driver` when the device has no such limit; kind `Forked` in a forked child.
    pub fn limit(&self, limit: CUlimit) -> Result<usize> {
        let _context = self.bind()?;
        let table = self.table();
        let call = table
            .cuCtxGetLimit
            .ok_or_else(|| missing_entry("cuCtxGetLimit", "3.1"))?;
        let mut value = 0;
        // SAFETY: this device's context is current, by the guard; the call writes one integer.
        let status = unsafe { call(&raw mut value, limit) };
        check(table, "cuCtxGetLimit", status)?;
        Ok(value)
    }

    /// Asks for another limit, for every user of the primary context; [`limit`](Self::limit) tells what it became.
    ///
    /// # Errors
    /// Kind `Driver` when the device has no such limit or cannot have this value; kind `Forked` in a forked child.
    pub fn set_limit(&self, limit: CUlimit, value: usize) -> Result<()> {
        let _context = self.bind()?;
        let table = self.table();
        let call = table
            .cuCtxSetLimit
            .ok_or_else(|| missing_entry("cuCtxSetLimit", "3.1"))?;
        // SAFETY: this device's context is current, by the guard.
        check(table, "cuCtxSetLimit", unsafe { call(limit, value) })
    }

    /// Whether kernels prefer cache or shared memory, where a device shares its memory between the two.
    ///
    /// # Errors
    /// Whatever the driver says; kind `Forked` in a forked child.
    pub fn cache_config(&self) -> Result<CUfunc_cache> {
        let _context = self.bind()?;
        let table = self.table();
        let call = table
            .cuCtxGetCacheConfig
            .ok_or_else(|| missing_entry("cuCtxGetCacheConfig", "3.2"))?;
        let mut config = CUfunc_cache(0);
        // SAFETY: this device's context is current, by the guard; the call writes one integer.
        let status = unsafe { call(&raw mut config) };
        check(table, "cuCtxGetCacheConfig", status)?;
        Ok(config)
    }

    /// Sets what kernels prefer that have no preference of their own.
    ///
    /// # Errors
    /// Whatever the driver says; kind `Forked` in a forked child.
    pub fn set_cache_config(&self, config: CUfunc_cache) -> Result<()> {
        let _context = self.bind()?;
        let table = self.table();
        let call = table
            .cuCtxSetCacheConfig
            .ok_or_else(|| missing_entry("cuCtxSetCacheConfig", "3.2"))?;
        // SAFETY: this device's context is current, by the guard.
        check(table, "cuCtxSetCacheConfig", unsafe { call(config) })
    }

    /// The flags of the primary context, and whether it is in use.
    ///
    /// # Errors
    /// Whatever the driver says; kind `Forked` in a forked child.
    pub fn primary_state(&self) -> Result<PrimaryState> {
        let table = Driver::ready()?.table();
        let call = table
            .cuDevicePrimaryCtxGetState
            .ok_or_else(|| missing_entry("cuDevicePrimaryCtxGetState", "7.0"))?;
        let (mut flags, mut active): (c_uint, c_int) = (0, 0);
        // SAFETY: the device handle came from the driver; the call writes two integers.
        let status = unsafe { call(self.handle(), &raw mut flags, &raw mut active) };
        check(table, "cuDevicePrimaryCtxGetState", status)?;
        Ok(PrimaryState {
            flags,
            active: active != 0,
        })
    }

    /// Sets the flags of the primary context, such as how the host waits, for every user of it.
    ///
    /// # Errors
    /// Kind `Driver` for flags that the driver does not know; kind `Forked` in a forked child.
    pub fn set_primary_flags(&self, flags: u32) -> Result<()> {
        let table = Driver::ready()?.table();
        let call = table
            .cuDevicePrimaryCtxSetFlags_v2
            .ok_or_else(|| missing_entry("cuDevicePrimaryCtxSetFlags_v2", "11.0"))?;
        // SAFETY: the device handle came from the driver.
        let status = unsafe { call(self.handle(), flags) };
        check(table, "cuDevicePrimaryCtxSetFlags_v2", status)
    }
}
