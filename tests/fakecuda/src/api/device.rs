//! Devices and what they say about themselves.
#![allow(unsafe_code, reason = "entry points")]

use crate::control;
use crate::gate::{Outcome, code, entries};
use crate::state::State;
use crate::state::device::TOTAL;
use core::ffi::{CStr, c_char, c_int};
use ulib_device::sys::{CUdevice, CUdevice_P2PAttribute, CUdevice_attribute as Attribute, CUuuid};

/// Architecture of the devices: compute capability 8.6.
pub(crate) const ARCHITECTURE: u32 = 86;

/// Where memory that is read as a texture begins; no more than what allocations begin at.
pub(crate) const TEXTURE_ALIGNMENT: c_int = 256;
/// What pitches of such memory are multiples of.
pub(crate) const TEXTURE_PITCH_ALIGNMENT: c_int = 32;

/// Multiprocessors of a device; few, so that kernels must loop.
pub(crate) const MULTIPROCESSORS: c_int = 2;

fn known(state: &State, device: CUdevice) -> Outcome {
    state.device(device)?;
    if device as usize >= control::devices() {
        Err(code::INVALID_DEVICE)
    } else {
        Ok(())
    }
}

fn attribute(which: Attribute, device: CUdevice) -> c_int {
    match which {
        Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK
        | Attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X
        | Attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y => 1024,
        Attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z => 64,
        Attribute::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X => c_int::MAX,
        Attribute::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y
        | Attribute::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z => 65_535,
        Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK => 48 << 10,
        Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN => 99 << 10,
        Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR => 100 << 10,
        Attribute::CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY => 64 << 10,
        Attribute::CU_DEVICE_ATTRIBUTE_WARP_SIZE => 32,
        Attribute::CU_DEVICE_ATTRIBUTE_MAX_PITCH => c_int::MAX,
        Attribute::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK
        | Attribute::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR => 65_536,
        Attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE => 1_000_000,
        Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE => 5_000_000,
        Attribute::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH => 128,
        Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE => 1 << 20,
        Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR => 1536,
        Attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR => 16,
        Attribute::CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT => TEXTURE_ALIGNMENT,
        Attribute::CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT => 512,
        Attribute::CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT => TEXTURE_PITCH_ALIGNMENT,
        Attribute::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH => 1 << 28,
        Attribute::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_WIDTH
        | Attribute::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_WIDTH
        | Attribute::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_WIDTH
        | Attribute::CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_WIDTH => 1 << 17,
        Attribute::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_HEIGHT
        | Attribute::CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_HEIGHT => 1 << 16,
        Attribute::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_HEIGHT => 65_000,
        Attribute::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_PITCH => 2_097_120,
        Attribute::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH
        | Attribute::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT
        | Attribute::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH
        | Attribute::CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_WIDTH
        | Attribute::CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_HEIGHT
        | Attribute::CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_DEPTH => 1 << 14,
        Attribute::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE
        | Attribute::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE => 1 << 13,
        Attribute::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE => 1 << 15,
        Attribute::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_WIDTH
        | Attribute::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_WIDTH
        | Attribute::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_HEIGHT
        | Attribute::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_GATHER_WIDTH
        | Attribute::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_GATHER_HEIGHT
        | Attribute::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_WIDTH
        | Attribute::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH
        | Attribute::CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_WIDTH
        | Attribute::CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_LAYERED_WIDTH
        | Attribute::CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_WIDTH
        | Attribute::CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_HEIGHT
        | Attribute::CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_WIDTH
        | Attribute::CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH => 1 << 15,
        Attribute::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_LAYERS
        | Attribute::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_LAYERS
        | Attribute::CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_LAYERED_LAYERS
        | Attribute::CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_LAYERS => 2048,
        Attribute::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS
        | Attribute::CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS => 2046,
        Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT => MULTIPROCESSORS,
        Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR => (ARCHITECTURE / 10) as c_int,
        Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR => (ARCHITECTURE % 10) as c_int,
        Attribute::CU_DEVICE_ATTRIBUTE_PCI_BUS_ID => device + 1,
        Attribute::CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT => 2,
        Attribute::CU_DEVICE_ATTRIBUTE_GPU_OVERLAP
        | Attribute::CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY
        | Attribute::CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS
        | Attribute::CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING
        | Attribute::CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED
        | Attribute::CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED
        | Attribute::CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED
        | Attribute::CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED
        | Attribute::CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH
        | Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED
        | Attribute::CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY => 1,
        // The second device wants to be asked for the address.
        Attribute::CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM => {
            c_int::from(device == 0)
        }
        _ => 0,
    }
}

fn bus_id(device: CUdevice) -> String {
    format!("0000:{:02X}:00.0", device + 1)
}

/// Stores a text with its final zero, cut to `length` bytes.
fn put_text(text: &str, target: *mut c_char, length: c_int) -> Outcome {
    let room = usize::try_from(length)
        .ok()
        .filter(|room| *room > 0)
        .ok_or(code::INVALID_VALUE)?;
    if target.is_null() {
        return Err(code::INVALID_VALUE);
    }
    let kept = &text.as_bytes()[..text.len().min(room - 1)];
    // SAFETY: the caller of the entry point gave `length` bytes at a pointer that is not null; one more than is kept.
    unsafe {
        core::ptr::copy_nonoverlapping(kept.as_ptr(), target.cast(), kept.len());
        target.add(kept.len()).write(0);
    }
    Ok(())
}

fn uuid(device: CUdevice) -> CUuuid {
    let mut bytes = *b"fakecuda device "
        .map(|byte| byte as c_char)
        .as_slice()
        .first_chunk::<16>()
        .unwrap_or(&[0; 16]);
    bytes[15] = device as c_char;
    CUuuid { bytes }
}

entries! {
    fn cuDeviceGetCount[count](count: *mut c_int) Init |_call| {
        count.put(control::devices() as c_int)
    }

    fn cuDeviceGet[device](device: *mut CUdevice, ordinal: c_int) Init |call| {
        known(call, ordinal)?;
        device.put(ordinal)
    }

    fn cuDeviceGetName[](name: *mut c_char, length: c_int, device: CUdevice) Init |call| {
        known(call, device)?;
        put_text(&format!("Fake GPU {device}"), name, length)
    }

    fn cuDeviceGetAttribute[value](value: *mut c_int, which: Attribute, device: CUdevice) Init |call| {
        known(call, device)?;
        if which.0 == 0 || which.0 >= Attribute::CU_DEVICE_ATTRIBUTE_MAX.0 {
            return Err(code::INVALID_VALUE);
        }
        value.put(attribute(which, device))
    }

    fn cuDeviceComputeCapability[major, minor](
        major: *mut c_int, minor: *mut c_int, device: CUdevice,
    ) Init |call| {
        known(call, device)?;
        major.put((ARCHITECTURE / 10) as c_int)?;
        minor.put((ARCHITECTURE % 10) as c_int)
    }

    fn cuDeviceTotalMem_v2[bytes](bytes: *mut usize, device: CUdevice) Init |call| {
        known(call, device)?;
        bytes.put(TOTAL as usize)
    }

    fn cuDeviceGetUuid[id](id: *mut CUuuid, device: CUdevice) Init |call| {
        known(call, device)?;
        id.put(uuid(device))
    }

    fn cuDeviceGetUuid_v2[id](id: *mut CUuuid, device: CUdevice) Init |call| {
        known(call, device)?;
        id.put(uuid(device))
    }

    fn cuDeviceGetPCIBusId[](text: *mut c_char, length: c_int, device: CUdevice) Init |call| {
        known(call, device)?;
        put_text(&bus_id(device), text, length)
    }

    fn cuDeviceGetByPCIBusId[device](device: *mut CUdevice, text: *const c_char) Init |_call| {
        if text.is_null() {
            return Err(code::INVALID_VALUE);
        }
        // SAFETY: not null, and the caller passes a string that ends with a zero byte.
        let wanted = unsafe { CStr::from_ptr(text) }.to_string_lossy().to_ascii_uppercase();
        let found = (0..control::devices() as c_int).find(|ordinal| bus_id(*ordinal) == wanted);
        device.put(found.ok_or(code::INVALID_DEVICE)?)
    }

    fn cuDeviceCanAccessPeer[can](can: *mut c_int, device: CUdevice, peer: CUdevice) Init |call| {
        known(call, device)?;
        known(call, peer)?;
        can.put(c_int::from(device != peer && control::peers()))
    }

    fn cuDeviceGetP2PAttribute[value](
        value: *mut c_int, _which: CUdevice_P2PAttribute, device: CUdevice, peer: CUdevice,
    ) Init |call| {
        known(call, device)?;
        known(call, peer)?;
        value.put(c_int::from(device != peer && control::peers()))
    }

    fn cuDevicePrimaryCtxRetain[context](
        context: *mut ulib_device::sys::CUcontext, device: CUdevice,
    ) Init |call| {
        known(call, device)?;
        let index = device as usize;
        let handle = match call.devices[index].primary {
            Some(handle) => handle,
            None => {
                let flags = call.devices[index].primary_flags;
                let made = call.new_context(index, true, flags);
                call.devices[index].primary = Some(made);
                made
            }
        };
        call.devices[index].retained += 1;
        context.put(super::pointer(handle))
    }

    fn cuDevicePrimaryCtxRelease_v2[](device: CUdevice) Init |call| {
        known(call, device)?;
        let index = device as usize;
        let handle = call.devices[index].primary.ok_or(code::INVALID_CONTEXT)?;
        call.devices[index].retained -= 1;
        if call.devices[index].retained == 0 {
            call.devices[index].primary = None;
            call.destroy_context(handle);
        }
        Ok(())
    }

    fn cuDevicePrimaryCtxReset_v2[](device: CUdevice) Init |call| {
        known(call, device)?;
        let index = device as usize;
        if let Some(handle) = call.devices[index].primary {
            call.drain_context(handle);
            if let Some(context) = call.contexts.get_mut(&handle) {
                context.broken = None;
            }
            let memory: Vec<u64> = call.devices[index].arena.live().map(|(address, _)| address).collect();
            for address in memory {
                call.release(address)?;
            }
        }
        Ok(())
    }

    fn cuDevicePrimaryCtxGetState[flags, active](
        device: CUdevice, flags: *mut core::ffi::c_uint, active: *mut c_int,
    ) Init |call| {
        known(call, device)?;
        let found = call.device(device)?;
        flags.put(found.primary_flags)?;
        active.put(c_int::from(found.primary.is_some()))
    }

    fn cuDevicePrimaryCtxSetFlags_v2[](device: CUdevice, flags: core::ffi::c_uint) Init |call| {
        known(call, device)?;
        call.devices[device as usize].primary_flags = flags;
        Ok(())
    }
}
