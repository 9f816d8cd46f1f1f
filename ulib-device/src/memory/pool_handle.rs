//! The driver's stream-ordered pools by their handles, which are used again and never destroyed.
//!
//! A wait for a stream, an event or a context goes through every pool of the device, and a driver that does so while
//! another thread calls `cuMemPoolDestroy` reads the pool after its end: the process dies inside the wait. Nobody can hold
//! up the waits of all libraries of a process, so a pool that nobody owns any more is emptied and put aside for the next one.
#![allow(unsafe_code, reason = "calls the driver's pool functions")]

use std::mem::ManuallyDrop;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ulib_core::{Error, Result};

use super::is_shutdown;
use crate::Device;
use crate::driver::{Driver, check, forked, missing_entry, relaxed_capture};
use crate::sys::{self, CUmemPool_attribute, Table};

/// Pools that nobody owns, the one that was put aside first in front.
static IDLE: Mutex<Vec<ManuallyDrop<PoolHandle>>> = Mutex::new(Vec::new());

/// A pool that belongs to one owner, which sees to it that nothing of it is in use when it goes.
pub(super) struct PoolHandle {
    device: Device,
    pub(super) raw: RawPool,
    pub(super) calls: PoolCalls,
}

#[derive(Clone, Copy)]
pub(super) struct RawPool(pub(super) sys::CUmemoryPool);

// SAFETY: a handle of the driver, whose functions may be called with it from any thread.
unsafe impl Send for RawPool {}
// SAFETY: as above; the driver serialises calls on one pool itself.
unsafe impl Sync for RawPool {}

/// The entry points of CUDA 11.2 that a pool needs.
#[derive(Clone, Copy)]
pub(super) struct PoolCalls {
    create: sys::proto::cuMemPoolCreate,
    set_attribute: sys::proto::cuMemPoolSetAttribute,
    get_attribute: sys::proto::cuMemPoolGetAttribute,
    trim_to: sys::proto::cuMemPoolTrimTo,
    pub(super) allocate: sys::proto::cuMemAllocFromPoolAsync,
    pub(super) free: sys::proto::cuMemFreeAsync,
}

impl PoolCalls {
    fn of(table: &Table) -> Result<Self> {
        let missing = |call| missing_entry(call, "11.2");
        Ok(Self {
            create: table
                .cuMemPoolCreate
                .ok_or_else(|| missing("cuMemPoolCreate"))?,
            set_attribute: table
                .cuMemPoolSetAttribute
                .ok_or_else(|| missing("cuMemPoolSetAttribute"))?,
            get_attribute: table
                .cuMemPoolGetAttribute
                .ok_or_else(|| missing("cuMemPoolGetAttribute"))?,
            trim_to: table
                .cuMemPoolTrimTo
                .ok_or_else(|| missing("cuMemPoolTrimTo"))?,
            allocate: table
                .cuMemAllocFromPoolAsync
                .ok_or_else(|| missing("cuMemAllocFromPoolAsync"))?,
            free: table
                .cuMemFreeAsync
                .ok_or_else(|| missing("cuMemFreeAsync"))?,
        })
    }
}

impl PoolHandle {
    /// An empty pool that keeps up to `threshold_bytes` of unused memory: one that was put aside, or a new one.
    pub(super) fn take(device: &Device, threshold_bytes: u64) -> Result<Self> {
        let table = Driver::ready()?.table();
        let calls = PoolCalls::of(table)?;
        let supported = sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED;
        if device.attribute(supported)? == 0 {
            return Err(Error::unavailable(format!(
                "{} has no stream-ordered memory pools",
                device.name()
            )));
        }
        let pool = match take_idle(device) {
            Some(pool) => pool,
            None => Self {
                device: device.clone(),
                raw: relaxed_capture(|| create(device, calls, table))?,
                calls,
            },
        };
        pool.set_release_threshold(threshold_bytes)?;
        Ok(pool)
    }

    fn set_release_threshold(&self, mut bytes: u64) -> Result<()> {
        let table = Driver::ready()?.table();
        let attribute = CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
        // SAFETY: the pool is live, and this attribute is one 64-bit unsigned integer.
        let status = relaxed_capture(|| unsafe {
            (self.calls.set_attribute)(self.raw.0, attribute, (&raw mut bytes).cast())
        });
        check(table, "cuMemPoolSetAttribute", status)
    }

    fn counter(&self, attribute: CUmemPool_attribute) -> Result<u64> {
        let table = Driver::ready()?.table();
        let _context = self.device.bind()?;
        let mut bytes = 0_u64;
        // SAFETY: the pool is live, and the counters asked for here are 64-bit unsigned integers.
        let status = relaxed_capture(|| unsafe {
            (self.calls.get_attribute)(self.raw.0, attribute, (&raw mut bytes).cast())
        });
        check(table, "cuMemPoolGetAttribute", status)?;
        Ok(bytes)
    }

    /// Bytes that are allocated, or freed by work that is not done.
    pub(super) fn used_bytes(&self) -> Result<u64> {
        self.counter(CUmemPool_attribute::CU_MEMPOOL_ATTR_USED_MEM_CURRENT)
    }

    /// Bytes the pool has from the driver, used or not.
    pub(super) fn reserved_bytes(&self) -> Result<u64> {
        self.counter(CUmemPool_attribute::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT)
    }

    /// Gives what nobody uses and no stream still works on back to the driver.
    pub(super) fn release_unused(&self) -> Result<()> {
        let table = Driver::ready()?.table();
        let _context = self.device.bind_to_end()?;
        // SAFETY: the pool is live and its device's context current.
        let status = relaxed_capture(|| unsafe { (self.calls.trim_to)(self.raw.0, 0) });
        check(table, "cuMemPoolTrimTo", status)
    }
}

impl Drop for PoolHandle {
    fn drop(&mut self) {
        if forked() {
            return;
        }
        // What streams still work on goes back to the driver when that is done, as nothing is to be kept.
        for emptied in [self.set_release_threshold(0), self.release_unused()] {
            if let Err(error) = emptied
                && !is_shutdown(&error)
            {
                self.device.record_drop_error(error);
            }
        }
        idle().push(ManuallyDrop::new(Self {
            device: self.device.clone(),
            ..*self
        }));
    }
}

fn idle() -> MutexGuard<'static, Vec<ManuallyDrop<PoolHandle>>> {
    IDLE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The pool of `device` that was put aside first, unless something of it is still in use.
fn take_idle(device: &Device) -> Option<PoolHandle> {
    let pool = {
        let mut idle = idle();
        let first = idle.iter().position(|pool| pool.device == *device)?;
        ManuallyDrop::into_inner(idle.remove(first))
    };
    // Else it is put aside again.
    pool.used_bytes()
        .is_ok_and(|used| used == 0)
        .then_some(pool)
}

/// Gives what pools of `device` that nobody owns still hold back to the driver, after a wait for the work that uses it.
/// Answers whether there was anything.
pub(super) fn release_idle(device: &Device) -> bool {
    let pools: Vec<PoolHandle> = idle()
        .extract_if(.., |pool| pool.device == *device)
        .map(ManuallyDrop::into_inner)
        .collect();
    let some = pools
        .iter()
        .any(|pool| pool.reserved_bytes().is_ok_and(|bytes| bytes > 0));
    // They are emptied as they are put aside again.
    some && device.synchronize().is_ok()
}

fn create(device: &Device, calls: PoolCalls, table: &Table) -> Result<RawPool> {
    let ordinal = device.ordinal();
    let id = i32::try_from(ordinal).map_err(|_| {
        Error::overflow(
            "PoolResource::new",
            format_args!("device ordinal {ordinal}"),
        )
    })?;
    let _context = device.bind()?;
    // SAFETY: an all-zero structure is a valid value of it: no handle types, no maximal size, reserved bytes zero as
    // the driver demands.
    let mut properties: sys::CUmemPoolProps = unsafe { std::mem::zeroed() };
    properties.allocType = sys::CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type_ = sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE;
    properties.location.id = id;
    let mut pool = std::ptr::null_mut();
    // SAFETY: both pointers are valid for the call, and the driver is initialised.
    let status = unsafe { (calls.create)(&raw mut pool, &raw const properties) };
    check(table, "cuMemPoolCreate", status)?;
    Ok(RawPool(pool))
}
