//! Arrays and mipmapped arrays.
#![allow(unsafe_code, reason = "entry points")]

use super::{number, pointer, stream};
use crate::gate::{Call, Outcome, code, entries};
use crate::state::Tag;
use crate::state::array::{LAYERED, Mipmaps, check};
use core::ffi::c_uint;
use ulib_device::sys::{CUDA_ARRAY_DESCRIPTOR, CUDA_ARRAY3D_DESCRIPTOR, CUarray, CUmipmappedArray};

/// What is at a pointer to a description.
fn read<T>(from: *const T) -> Outcome<T> {
    if from.is_null() {
        return Err(code::INVALID_VALUE);
    }
    // SAFETY: not null, and the caller of an entry point passes a description that it filled.
    Ok(unsafe { from.read() })
}

fn create(call: &mut Call<'_>, wanted: CUDA_ARRAY3D_DESCRIPTOR) -> Outcome<CUarray> {
    stream::refuse(call)?;
    let device = call.device;
    Ok(pointer(call.new_array(device, wanted, 0)?))
}

/// Sizes of one level.
fn level(whole: &CUDA_ARRAY3D_DESCRIPTOR, level: u32) -> CUDA_ARRAY3D_DESCRIPTOR {
    let half = |size: usize| {
        if size == 0 { 0 } else { (size >> level).max(1) }
    };
    let keeps_depth = whole.Flags & (LAYERED | crate::state::array::CUBEMAP) != 0;
    CUDA_ARRAY3D_DESCRIPTOR {
        Width: half(whole.Width),
        Height: half(whole.Height),
        Depth: if keeps_depth {
            whole.Depth
        } else {
            half(whole.Depth)
        },
        ..*whole
    }
}

fn create_levels(
    call: &mut Call<'_>,
    wanted: CUDA_ARRAY3D_DESCRIPTOR,
    count: u32,
) -> Outcome<CUmipmappedArray> {
    stream::refuse(call)?;
    check(&wanted)?;
    let longest = wanted.Width.max(wanted.Height).max(1);
    let longest = if wanted.Flags & LAYERED == 0 {
        longest.max(wanted.Depth)
    } else {
        longest
    };
    if count == 0 || count > longest.ilog2() + 1 {
        return Err(code::INVALID_VALUE);
    }
    let (handle, device) = (call.new_handle(Tag::Mipmaps), call.device);
    let mut levels = Vec::new();
    for index in 0..count {
        match call.new_array(device, level(&wanted, index), handle) {
            Ok(made) => levels.push(made),
            Err(failed) => {
                for made in levels {
                    call.destroy_array(made)?;
                }
                return Err(failed);
            }
        }
    }
    let session = call.session;
    call.mipmaps.insert(handle, Mipmaps { levels, session });
    Ok(pointer(handle))
}

entries! {
    fn cuArrayCreate_v2[array](
        array: *mut CUarray, wanted: *const CUDA_ARRAY_DESCRIPTOR,
    ) Context |call| {
        let flat = read(wanted)?;
        let wanted = CUDA_ARRAY3D_DESCRIPTOR {
            Width: flat.Width, Height: flat.Height, Depth: 0, Format: flat.Format, NumChannels: flat.NumChannels, Flags: 0,
        };
        array.put(create(call, wanted)?)
    }

    fn cuArray3DCreate_v2[array](
        array: *mut CUarray, wanted: *const CUDA_ARRAY3D_DESCRIPTOR,
    ) Context |call| {
        array.put(create(call, read(wanted)?)?)
    }

    fn cuArrayDestroy[](array: CUarray) Context |call| {
        stream::refuse(call)?;
        let found = call.arrays.get(&number(array)).ok_or(code::INVALID_HANDLE)?;
        if found.whole != 0 || found.graphics {
            return Err(code::INVALID_HANDLE);
        }
        call.destroy_array(number(array))
    }

    fn cuArrayGetDescriptor_v2[found](found: *mut CUDA_ARRAY_DESCRIPTOR, array: CUarray) Context |call| {
        let own = call.arrays.get(&number(array)).ok_or(code::INVALID_HANDLE)?.descriptor;
        found.put(CUDA_ARRAY_DESCRIPTOR {
            Width: own.Width, Height: own.Height, Format: own.Format, NumChannels: own.NumChannels,
        })
    }

    fn cuArray3DGetDescriptor_v2[found](found: *mut CUDA_ARRAY3D_DESCRIPTOR, array: CUarray) Context |call| {
        found.put(call.arrays.get(&number(array)).ok_or(code::INVALID_HANDLE)?.descriptor)
    }

    fn cuMipmappedArrayCreate[array](
        array: *mut CUmipmappedArray, wanted: *const CUDA_ARRAY3D_DESCRIPTOR, levels: c_uint,
    ) Context |call| {
        array.put(create_levels(call, read(wanted)?, levels)?)
    }

    fn cuMipmappedArrayGetLevel[level](
        level: *mut CUarray, array: CUmipmappedArray, index: c_uint,
    ) Context |call| {
        let whole = call.mipmaps.get(&number(array)).ok_or(code::INVALID_HANDLE)?;
        let found = whole.levels.get(index as usize).copied();
        level.put(pointer(found.ok_or(code::INVALID_VALUE)?))
    }

    fn cuMipmappedArrayDestroy[](array: CUmipmappedArray) Context |call| {
        stream::refuse(call)?;
        let whole = call.mipmaps.remove(&number(array)).ok_or(code::INVALID_HANDLE)?;
        let handle = number(array);
        call.note_readers(|resource| {
            // SAFETY: every variant of the union begins with the handle or the address, of 8 bytes.
            let held = unsafe { resource.res.mipmap.hMipmappedArray }.addr() as u64;
            resource.resType.0 == 1 && held == handle
        });
        whole.levels.into_iter().try_for_each(|level| call.destroy_array(level))
    }
}
