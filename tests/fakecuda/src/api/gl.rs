//! Objects of OpenGL, as the driver sees them: every buffer has 4096 bytes, every picture 16 by 8 texels of four bytes. Whether
//! OpenGL has them, and whether a context is current, is for the caller to know.
#![allow(unsafe_code, reason = "entry points")]

use super::{number, pointer, stream};
use crate::gate::{Call, Outcome, code, entries};
use crate::state::Tag;
use crate::state::array::{Graphics, Part, SURFACE};
use core::ffi::c_uint;
use ulib_device::sys::{
    CUDA_ARRAY3D_DESCRIPTOR, CUGLDeviceList, CUarray, CUarray_format, CUdevice, CUdeviceptr,
    CUgraphicsResource, CUresult, CUstream,
};

const BUFFER_BYTES: u64 = 4096;
const TEXTURE_2D: u32 = 0x0DE1;
const RENDERBUFFER: u32 = 0x8D41;
/// Flags are four bits.
const FLAGS: u32 = 15;

const ALREADY_MAPPED: CUresult = CUresult::CUDA_ERROR_ALREADY_MAPPED;
const NOT_MAPPED: CUresult = CUresult::CUDA_ERROR_NOT_MAPPED;

fn keep(call: &mut Call<'_>, part: Part) -> CUgraphicsResource {
    let (handle, session) = (call.new_handle(Tag::Graphics), call.session);
    let mapped = false;
    call.graphics.insert(
        handle,
        Graphics {
            part,
            mapped,
            session,
        },
    );
    pointer(handle)
}

/// Every resource named, and that each is mapped or not.
fn named(
    call: &Call<'_>,
    count: c_uint,
    resources: *mut CUgraphicsResource,
    mapped: bool,
) -> Outcome<Vec<u64>> {
    if resources.is_null() || count == 0 {
        return Err(code::INVALID_VALUE);
    }
    // SAFETY: not null, and the caller passes `count` handles.
    let handles = unsafe { core::slice::from_raw_parts(resources, count as usize) };
    let handles: Vec<u64> = handles.iter().map(|handle| number(*handle)).collect();
    for handle in &handles {
        let found = call.graphics.get(handle).ok_or(code::INVALID_HANDLE)?;
        if found.mapped != mapped {
            return Err(if mapped { NOT_MAPPED } else { ALREADY_MAPPED });
        }
    }
    Ok(handles)
}

fn mapped(call: &Call<'_>, resource: CUgraphicsResource) -> Outcome<Part> {
    let found = call
        .graphics
        .get(&number(resource))
        .ok_or(code::INVALID_HANDLE)?;
    found.mapped.then_some(found.part).ok_or(NOT_MAPPED)
}

entries! {
    fn cuGLGetDevices_v2[count](
        count: *mut c_uint, devices: *mut CUdevice, room: c_uint, _list: CUGLDeviceList,
    ) Init |_call| {
        if room > 0 && !devices.is_null() {
            // SAFETY: the caller gave room for `room` numbers.
            unsafe { devices.write(0) };
        }
        count.put(1)
    }

    fn cuGraphicsGLRegisterBuffer[resource](
        resource: *mut CUgraphicsResource, buffer: c_uint, flags: c_uint,
    ) Context |call| {
        if buffer == 0 || flags & !FLAGS != 0 {
            return Err(code::INVALID_VALUE);
        }
        let device = call.device;
        let address = call.allocate(device, BUFFER_BYTES)?;
        if let Some(made) = call.devices[device].arena.get_mut(address) {
            made.internal = true;
        }
        resource.put(keep(call, Part::Bytes(address)))
    }

    fn cuGraphicsGLRegisterImage[resource](
        resource: *mut CUgraphicsResource, image: c_uint, target: c_uint, flags: c_uint,
    ) Context |call| {
        if image == 0 || !matches!(target, TEXTURE_2D | RENDERBUFFER) || flags & !FLAGS != 0 {
            return Err(code::INVALID_VALUE);
        }
        let descriptor = CUDA_ARRAY3D_DESCRIPTOR {
            Width: 16, Height: 8, Depth: 0, Format: CUarray_format::CU_AD_FORMAT_UNSIGNED_INT8, NumChannels: 4,
            Flags: if flags & 4 == 0 { 0 } else { SURFACE },
        };
        let device = call.device;
        let array = call.new_array(device, descriptor, 0)?;
        if let Some(made) = call.arrays.get_mut(&array) {
            made.graphics = true;
        }
        resource.put(keep(call, Part::Array(array)))
    }

    fn cuGraphicsMapResources[](
        count: c_uint, resources: *mut CUgraphicsResource, on: CUstream,
    ) Context |call| {
        stream::meant(call, on)?;
        for handle in named(call, count, resources, false)? {
            if let Some(found) = call.graphics.get_mut(&handle) {
                found.mapped = true;
            }
        }
        Ok(())
    }

    /// OpenGL uses the object as soon as this returns, as if its commands were waited for.
    fn cuGraphicsUnmapResources[](
        count: c_uint, resources: *mut CUgraphicsResource, on: CUstream,
    ) Context |call| {
        let on = stream::meant(call, on)?;
        let handles = named(call, count, resources, true)?;
        call.drain_stream(on);
        for handle in handles {
            if let Some(found) = call.graphics.get_mut(&handle) {
                found.mapped = false;
            }
        }
        Ok(())
    }

    fn cuGraphicsResourceGetMappedPointer_v2[address, bytes](
        address: *mut CUdeviceptr, bytes: *mut usize, resource: CUgraphicsResource,
    ) Context |call| {
        match mapped(call, resource)? {
            Part::Bytes(found) => {
                address.put(found)?;
                bytes.put(BUFFER_BYTES as usize)
            }
            Part::Array(_) => Err(CUresult::CUDA_ERROR_NOT_MAPPED_AS_POINTER),
        }
    }

    fn cuGraphicsSubResourceGetMappedArray[array](
        array: *mut CUarray, resource: CUgraphicsResource, index: c_uint, level: c_uint,
    ) Context |call| {
        match mapped(call, resource)? {
            Part::Array(_) if index != 0 || level != 0 => Err(code::INVALID_VALUE),
            Part::Array(found) => array.put(pointer(found)),
            Part::Bytes(_) => Err(CUresult::CUDA_ERROR_NOT_MAPPED_AS_ARRAY),
        }
    }

    fn cuGraphicsUnregisterResource[](resource: CUgraphicsResource) Context |call| {
        let found = call.graphics.remove(&number(resource)).ok_or(code::INVALID_HANDLE)?;
        match found.part {
            Part::Bytes(address) => {
                let device = call.device;
                call.drain_device(device);
                call.release(address)
            }
            Part::Array(array) => call.destroy_array(array),
        }
    }
}
