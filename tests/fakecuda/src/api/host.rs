//! Page-locked and managed host memory. Its device pointer is its host pointer.
#![allow(unsafe_code, reason = "entry points, mmap")]

use super::stream;
use crate::gate::{Call, Outcome, code, entries};
use crate::state::Pinned;
use core::ffi::{c_int, c_uint, c_void};
use ulib_device::sys::{
    CU_MEMHOSTREGISTER_DEVICEMAP, CUdeviceptr, CUmem_advise, CUmem_range_attribute, CUmemLocation,
    CUstream,
};

/// Makes page-aligned host memory that the driver owns.
fn make(call: &mut Call<'_>, bytes: usize, flags: u32, managed: bool) -> Outcome<u64> {
    if bytes == 0 {
        return Err(code::INVALID_VALUE);
    }
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a fresh anonymous mapping, checked for failure.
    let made = unsafe { libc::mmap(core::ptr::null_mut(), bytes, access, kind, -1, 0) };
    if made == libc::MAP_FAILED {
        return Err(code::OUT_OF_MEMORY);
    }
    let address = made.addr() as u64;
    let (context, session) = (call.context, call.session);
    let bytes = bytes as u64;
    call.pinned.insert(
        address,
        Pinned {
            bytes,
            flags,
            owned: true,
            managed,
            context,
            session,
        },
    );
    Ok(address)
}

/// Frees memory that `make` made, after all work that may use it.
pub(crate) fn free(call: &mut Call<'_>, address: u64) -> Outcome {
    let found = call
        .pinned
        .get(&address)
        .filter(|found| found.owned)
        .ok_or(code::INVALID_VALUE)?;
    let bytes = found.bytes as usize;
    for device in 0..call.devices.len() {
        call.drain_device(device);
    }
    call.pinned.remove(&address);
    // SAFETY: a mapping of exactly this length made by `make`, removed from the table just now.
    unsafe { libc::munmap(address as *mut c_void, bytes) };
    Ok(())
}

fn managed(call: &Call<'_>, address: u64, bytes: usize) -> Outcome {
    call.pinned_at(address, bytes as u64)
        .filter(|(_, found)| found.managed)
        .map(drop)
        .ok_or(code::INVALID_VALUE)
}

entries! {
    fn cuMemHostAlloc[address](address: *mut *mut c_void, bytes: usize, flags: c_uint) Context |call| {
        stream::refuse(call)?;
        let made = make(call, bytes, flags, false)?;
        address.put(made as *mut c_void)
    }

    fn cuMemAllocHost_v2[address](address: *mut *mut c_void, bytes: usize) Context |call| {
        stream::refuse(call)?;
        let made = make(call, bytes, 0, false)?;
        address.put(made as *mut c_void)
    }

    fn cuMemFreeHost[](address: *mut c_void) Context |call| {
        stream::refuse(call)?;
        free(call, address.addr() as u64)
    }

    fn cuMemHostRegister_v2[](address: *mut c_void, bytes: usize, flags: c_uint) Context |call| {
        stream::refuse(call)?;
        let start = address.addr() as u64;
        let bytes = bytes as u64;
        let end = start.checked_add(bytes).ok_or(code::INVALID_VALUE)?;
        if start == 0 || bytes == 0 || call.owner(start).is_some() {
            return Err(code::INVALID_VALUE);
        }
        if call.pinned.range(..end).next_back().is_some_and(|(base, found)| base + found.bytes > start) {
            return Err(code::HOST_MEMORY_ALREADY_REGISTERED);
        }
        let (context, session) = (call.context, call.session);
        call.pinned.insert(start, Pinned { bytes, flags, owned: false, managed: false, context, session });
        Ok(())
    }

    fn cuMemHostUnregister[](address: *mut c_void) Context |call| {
        stream::refuse(call)?;
        let start = address.addr() as u64;
        call.pinned.get(&start).filter(|found| !found.owned).ok_or(code::HOST_MEMORY_NOT_REGISTERED)?;
        for device in 0..call.devices.len() {
            call.drain_device(device);
        }
        call.pinned.remove(&start);
        Ok(())
    }

    fn cuMemHostGetDevicePointer_v2[device](
        device: *mut CUdeviceptr, address: *mut c_void, flags: c_uint,
    ) Context |call| {
        let start = address.addr() as u64;
        if flags != 0 {
            return Err(code::INVALID_VALUE);
        }
        let (_, found) = call.pinned_at(start, 1).ok_or(code::INVALID_VALUE)?;
        if !found.owned && found.flags & CU_MEMHOSTREGISTER_DEVICEMAP == 0 {
            return Err(code::INVALID_VALUE);
        }
        device.put(start)
    }

    fn cuMemHostGetFlags[flags](flags: *mut c_uint, address: *mut c_void) Context |call| {
        let (_, found) = call.pinned_at(address.addr() as u64, 1).ok_or(code::INVALID_VALUE)?;
        flags.put(found.flags)
    }

    fn cuMemAllocManaged[address](address: *mut CUdeviceptr, bytes: usize, flags: c_uint) Context |call| {
        stream::refuse(call)?;
        if !matches!(flags, 1 | 2) {
            return Err(code::INVALID_VALUE);
        }
        let made = make(call, bytes, flags, true)?;
        address.put(made)
    }

    fn cuMemPrefetchAsync[](address: CUdeviceptr, bytes: usize, _device: c_int, on: CUstream) Context |call| {
        stream::meant(call, on)?;
        managed(call, address, bytes)
    }

    fn cuMemPrefetchAsync_v2[](
        address: CUdeviceptr, bytes: usize, _location: CUmemLocation, _flags: c_uint, on: CUstream,
    ) Context |call| {
        stream::meant(call, on)?;
        managed(call, address, bytes)
    }

    fn cuMemAdvise[](
        address: CUdeviceptr, bytes: usize, _advice: CUmem_advise, _device: c_int,
    ) Context |call| {
        managed(call, address, bytes)
    }

    fn cuMemAdvise_v2[](
        address: CUdeviceptr, bytes: usize, _advice: CUmem_advise, _location: CUmemLocation,
    ) Context |call| {
        managed(call, address, bytes)
    }

    fn cuMemRangeGetAttribute[](
        data: *mut c_void, size: usize, _which: CUmem_range_attribute, address: CUdeviceptr, bytes: usize,
    ) Context |call| {
        managed(call, address, bytes)?;
        if data.is_null() || size != 4 {
            return Err(code::INVALID_VALUE);
        }
        // SAFETY: not null, and the caller passes room for `size` bytes, which are four.
        unsafe { data.cast::<i32>().write(-1) };
        Ok(())
    }
}
