//! Device memory.
#![allow(unsafe_code, reason = "entry points")]

use super::stream;
use crate::gate::{code, entries};
use crate::state::device::TOTAL;
use core::ffi::c_uint;
use ulib_device::sys::CUdeviceptr;

/// Rows of pitched memory start at multiples of this.
const PITCH: usize = 512;

entries! {
    fn cuMemAlloc_v2[address](address: *mut CUdeviceptr, bytes: usize) Context |call| {
        stream::refuse(call)?;
        let device = call.device;
        let made = call.allocate(device, bytes as u64)?;
        address.put(made)
    }

    fn cuMemAllocPitch_v2[address, pitch](
        address: *mut CUdeviceptr, pitch: *mut usize, width: usize, height: usize, element: c_uint,
    ) Context |call| {
        stream::refuse(call)?;
        if !matches!(element, 4 | 8 | 16) {
            return Err(code::INVALID_VALUE);
        }
        let rounded = width.checked_next_multiple_of(PITCH).ok_or(code::INVALID_VALUE)?;
        let bytes = rounded.checked_mul(height).ok_or(code::OUT_OF_MEMORY)?;
        let device = call.device;
        let made = call.allocate(device, bytes as u64)?;
        address.put(made)?;
        pitch.put(rounded)
    }

    /// Waits for all work of the device first, as the real one does.
    fn cuMemFree_v2[](address: CUdeviceptr) Context |call| {
        if address == 0 {
            return Ok(());
        }
        stream::refuse(call)?;
        if let Some((base, found)) = call.pinned_at(address, 1) {
            if base != address || !found.managed {
                return Err(code::INVALID_VALUE);
            }
            return super::host::free(call, address);
        }
        let owner = call.owner(address).ok_or(code::INVALID_VALUE)?;
        match call.devices[owner].arena.get(address) {
            Some(made) if !made.freeing && !made.internal => {}
            _ => return Err(code::INVALID_VALUE),
        }
        call.drain_device(owner);
        call.release(address)
    }

    fn cuMemGetInfo_v2[free, total](free: *mut usize, total: *mut usize) Context |call| {
        let left = call.free(call.device);
        free.put_if_wanted(left as usize)?;
        total.put_if_wanted(TOTAL as usize)
    }

    fn cuMemGetAddressRange_v2[base, size](
        base: *mut CUdeviceptr, size: *mut usize, address: CUdeviceptr,
    ) Context |call| {
        let (start, bytes) = match call.owner(address) {
            Some(owner) => {
                let (start, found) = call.devices[owner].arena.containing(address).ok_or(code::INVALID_VALUE)?;
                (start, found.bytes)
            }
            None => {
                let (start, found) = call.pinned_at(address, 1).ok_or(code::NOT_FOUND)?;
                (start, found.bytes)
            }
        };
        base.put_if_wanted(start)?;
        size.put_if_wanted(bytes as usize)
    }
}
