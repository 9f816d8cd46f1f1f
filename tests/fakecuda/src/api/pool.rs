//! Stream-ordered memory and its pools.
//!
//! A pool is an account here: memory it holds but nobody uses counts as used in `cuMemGetInfo`, goes back to the driver at a
//! synchronise when it exceeds the release threshold, and with `cuMemPoolTrimTo`. A freed block is handed out again only
//! after its free has run.
#![allow(unsafe_code, reason = "entry points")]

use super::{number, pointer, stream};
use crate::gate::{Call, Outcome, code, entries};
use crate::state::Tag;
use crate::state::pool::Pool;
use crate::state::work::Work;
use core::ffi::c_void;
use ulib_device::sys::{
    CUdevice, CUdeviceptr, CUmemAccess_flags, CUmemAccessDesc, CUmemLocation, CUmemLocationType,
    CUmemPool_attribute as Attribute, CUmemPoolProps, CUmemoryPool, CUstream,
};

fn known(call: &Call<'_>, pool: CUmemoryPool) -> Outcome<u64> {
    let handle = number(pool);
    call.pools
        .get(&handle)
        .filter(|pool| !pool.destroyed)
        .map(|_| handle)
        .ok_or(code::INVALID_VALUE)
}

fn index(call: &Call<'_>, device: CUdevice) -> Outcome<usize> {
    call.device(device).map(|_| device as usize)
}

entries! {
    fn cuMemAllocAsync[address](address: *mut CUdeviceptr, bytes: usize, on: CUstream) Context |call| {
        let handle = stream::meant(call, on)?;
        let home = call.streams[&handle].context;
        let device = call.contexts.get(&home).ok_or(code::CONTEXT_IS_DESTROYED)?.device;
        let pool = call.devices[device].current_pool;
        let made = call.allocate_from(pool, bytes as u64)?;
        address.put(made)
    }

    fn cuMemAllocFromPoolAsync[address](
        address: *mut CUdeviceptr, bytes: usize, pool: CUmemoryPool, on: CUstream,
    ) Context |call| {
        stream::meant(call, on)?;
        let pool = known(call, pool)?;
        let made = call.allocate_from(pool, bytes as u64)?;
        address.put(made)
    }

    fn cuMemFreeAsync[](address: CUdeviceptr, on: CUstream) Context |call| {
        let handle = stream::meant(call, on)?;
        let owner = call.owner(address).ok_or(code::INVALID_VALUE)?;
        match call.devices[owner].arena.get_mut(address) {
            Some(made) if !made.freeing && !made.internal => made.freeing = true,
            _ => return Err(code::INVALID_VALUE),
        }
        call.enqueue(handle, Work::Free(address), Vec::new())
    }

    fn cuDeviceGetDefaultMemPool[pool](pool: *mut CUmemoryPool, device: CUdevice) Init |call| {
        let device = index(call, device)?;
        pool.put(pointer(call.devices[device].default_pool))
    }

    fn cuDeviceGetMemPool[pool](pool: *mut CUmemoryPool, device: CUdevice) Init |call| {
        let device = index(call, device)?;
        pool.put(pointer(call.devices[device].current_pool))
    }

    fn cuDeviceSetMemPool[](device: CUdevice, pool: CUmemoryPool) Init |call| {
        let (device, pool) = (index(call, device)?, known(call, pool)?);
        if call.pools[&pool].device != device {
            return Err(code::INVALID_VALUE);
        }
        call.devices[device].current_pool = pool;
        Ok(())
    }

    fn cuMemPoolCreate[pool](pool: *mut CUmemoryPool, properties: *const CUmemPoolProps) Init |call| {
        if properties.is_null() {
            return Err(code::INVALID_VALUE);
        }
        // SAFETY: not null, and the caller passes properties it filled.
        let properties = unsafe { properties.read() };
        if properties.location.type_ != CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE {
            return Err(code::INVALID_VALUE);
        }
        let device = index(call, properties.location.id)?;
        let handle = call.new_handle(Tag::Pool);
        let session = call.session;
        call.pools.insert(handle, Pool::new(device, false, properties.maxSize as u64, session));
        pool.put(pointer(handle))
    }

    fn cuMemPoolDestroy[](pool: CUmemoryPool) Init |call| {
        let handle = known(call, pool)?;
        if call.pools[&handle].default {
            return Err(code::INVALID_VALUE);
        }
        for device in &mut call.devices {
            if device.current_pool == handle {
                device.current_pool = device.default_pool;
            }
        }
        if let Some(pool) = call.pools.get_mut(&handle) {
            pool.trim(0);
            pool.destroyed = true;
            if pool.used == 0 {
                call.pools.remove(&handle);
            }
        }
        Ok(())
    }

    fn cuMemPoolSetAttribute[](pool: CUmemoryPool, which: Attribute, value: *mut c_void) Init |call| {
        let handle = known(call, pool)?;
        let pool = call.pools.get_mut(&handle).ok_or(code::INVALID_VALUE)?;
        if value.is_null() {
            return Err(code::INVALID_VALUE);
        }
        // SAFETY: not null, and the caller passes a value of the attribute's type: an int for the first three, else a u64.
        let (switch, number) = unsafe {
            if which.0 <= 3 { (value.cast::<i32>().read(), 0) } else { (0, value.cast::<u64>().read()) }
        };
        match which {
            Attribute::CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES => pool.reuse[0] = switch,
            Attribute::CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC => pool.reuse[1] = switch,
            Attribute::CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES => pool.reuse[2] = switch,
            Attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD => pool.threshold = number,
            Attribute::CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH if number == 0 => pool.reserved_high = pool.reserved,
            Attribute::CU_MEMPOOL_ATTR_USED_MEM_HIGH if number == 0 => pool.used_high = pool.used,
            _ => return Err(code::INVALID_VALUE),
        }
        Ok(())
    }

    fn cuMemPoolGetAttribute[](pool: CUmemoryPool, which: Attribute, value: *mut c_void) Init |call| {
        let pool = &call.pools[&known(call, pool)?];
        if value.is_null() {
            return Err(code::INVALID_VALUE);
        }
        let answer = match which {
            Attribute::CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES => pool.reuse[0] as u64,
            Attribute::CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC => pool.reuse[1] as u64,
            Attribute::CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES => pool.reuse[2] as u64,
            Attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD => pool.threshold,
            Attribute::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT => pool.reserved,
            Attribute::CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH => pool.reserved_high,
            Attribute::CU_MEMPOOL_ATTR_USED_MEM_CURRENT => pool.used,
            Attribute::CU_MEMPOOL_ATTR_USED_MEM_HIGH => pool.used_high,
            _ => return Err(code::INVALID_VALUE),
        };
        // SAFETY: not null, and the caller passes room for the attribute's type: an int for the first three, else a u64.
        unsafe {
            if which.0 <= 3 { value.cast::<i32>().write(answer as i32) } else { value.cast::<u64>().write(answer) }
        }
        Ok(())
    }

    fn cuMemPoolTrimTo[](pool: CUmemoryPool, keep: usize) Init |call| {
        let handle = known(call, pool)?;
        if let Some(pool) = call.pools.get_mut(&handle) {
            pool.trim(keep as u64);
        }
        Ok(())
    }

    fn cuMemPoolSetAccess[](pool: CUmemoryPool, map: *const CUmemAccessDesc, count: usize) Init |call| {
        known(call, pool)?;
        if map.is_null() && count > 0 { Err(code::INVALID_VALUE) } else { Ok(()) }
    }

    fn cuMemPoolGetAccess[flags](
        flags: *mut CUmemAccess_flags, pool: CUmemoryPool, location: *mut CUmemLocation,
    ) Init |call| {
        let device = call.pools[&known(call, pool)?].device;
        if location.is_null() {
            return Err(code::INVALID_VALUE);
        }
        // SAFETY: not null, and the caller passes a location it filled.
        let own = unsafe { (*location).id } == device as i32;
        flags.put(if own {
            CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE
        } else {
            CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_NONE
        })
    }
}
