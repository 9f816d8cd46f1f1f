//! Texture and surface objects: handles with their descriptions, which are checked as the real driver does.
#![allow(unsafe_code, reason = "entry points")]

use super::device::{TEXTURE_ALIGNMENT, TEXTURE_PITCH_ALIGNMENT};
use crate::gate::{Call, Outcome, code, entries};
use crate::state::Tag;
use crate::state::array::{LAYERED, Object, SURFACE, texel_of};
use ulib_device::sys::{
    CU_TRSF_READ_AS_INTEGER, CUDA_ARRAY3D_DESCRIPTOR, CUDA_RESOURCE_DESC, CUDA_RESOURCE_VIEW_DESC,
    CUDA_TEXTURE_DESC, CUarray_format, CUresourcetype, CUsurfObject, CUtexObject,
};

/// The memory is there and begins where a texture can.
fn memory(call: &Call<'_>, address: u64, bytes: u64) -> Outcome {
    if bytes == 0 || !address.is_multiple_of(TEXTURE_ALIGNMENT as u64) {
        return Err(code::INVALID_VALUE);
    }
    let owner = call.owner(address).ok_or(code::INVALID_VALUE)?;
    call.devices[owner]
        .arena
        .translate(address, bytes)
        .map(drop)
}

/// The format of what a resource has, if it is there.
fn check(call: &Call<'_>, resource: &CUDA_RESOURCE_DESC) -> Outcome<CUarray_format> {
    // SAFETY: `resType` says which variant the caller filled; all are plain numbers.
    unsafe {
        match resource.resType {
            CUresourcetype::CU_RESOURCE_TYPE_ARRAY => {
                let handle = super::number(resource.res.array.hArray);
                let found = call.arrays.get(&handle).ok_or(code::INVALID_HANDLE)?;
                Ok(found.descriptor.Format)
            }
            CUresourcetype::CU_RESOURCE_TYPE_MIPMAPPED_ARRAY => {
                let handle = super::number(resource.res.mipmap.hMipmappedArray);
                let found = call.mipmaps.get(&handle).ok_or(code::INVALID_HANDLE)?;
                Ok(call.arrays[&found.levels[0]].descriptor.Format)
            }
            CUresourcetype::CU_RESOURCE_TYPE_LINEAR => {
                let given = resource.res.linear;
                texel_of(given.format, given.numChannels)?;
                memory(call, given.devPtr, given.sizeInBytes as u64)?;
                Ok(given.format)
            }
            CUresourcetype::CU_RESOURCE_TYPE_PITCH2D => {
                let given = resource.res.pitch2D;
                let row = given.width as u64 * texel_of(given.format, given.numChannels)?;
                let pitch = given.pitchInBytes as u64;
                if row > pitch
                    || given.height == 0
                    || !pitch.is_multiple_of(TEXTURE_PITCH_ALIGNMENT as u64)
                {
                    return Err(code::INVALID_VALUE);
                }
                memory(call, given.devPtr, (given.height as u64 - 1) * pitch + row)?;
                Ok(given.format)
            }
            _ => Err(code::INVALID_VALUE),
        }
    }
}

/// The description of the array, or of the first level, and how many levels there are; only arrays can be viewed.
fn viewed(
    call: &Call<'_>,
    resource: &CUDA_RESOURCE_DESC,
) -> Outcome<(CUDA_ARRAY3D_DESCRIPTOR, usize)> {
    // SAFETY: as in `check`.
    let (handle, levels) = unsafe {
        match resource.resType {
            CUresourcetype::CU_RESOURCE_TYPE_ARRAY => (super::number(resource.res.array.hArray), 1),
            CUresourcetype::CU_RESOURCE_TYPE_MIPMAPPED_ARRAY => {
                let handle = super::number(resource.res.mipmap.hMipmappedArray);
                let levels = &call.mipmaps[&handle].levels;
                (levels[0], levels.len())
            }
            _ => return Err(code::INVALID_VALUE),
        }
    };
    Ok((call.arrays[&handle].descriptor, levels))
}

/// Whether a view is one of the array: the format of what it shows.
fn check_view(
    call: &Call<'_>,
    resource: &CUDA_RESOURCE_DESC,
    view: &CUDA_RESOURCE_VIEW_DESC,
) -> Outcome<CUarray_format> {
    let (own, levels) = viewed(call, resource)?;
    let number = view.format.0;
    // Numbers from 1 on are three of each: 8, 16 and 32 bits unsigned and signed, half, float; those from 25 on are blocks.
    const NUMBERS: [u32; 8] = [1, 8, 2, 9, 3, 10, 16, 32];
    let (format, scale, texel) = match number {
        1..25 => {
            let format = CUarray_format(NUMBERS[(number as usize - 1) / 3]);
            (format, 1, texel_of(format, 1 << ((number - 1) % 3))?)
        }
        25 | 28 | 29 if own.Format.0 == 3 => (CUarray_format(32), 4, 8),
        25..35 if own.Format.0 == 3 => (CUarray_format(32), 4, 16),
        _ => return Err(code::INVALID_VALUE),
    };
    let layers = if own.Flags & LAYERED != 0 {
        own.Depth
    } else {
        1
    };
    let part = |first: u32, last: u32, all: usize| first <= last && (last as usize) < all;
    if texel != texel_of(own.Format, own.NumChannels)?
        || (view.width, view.height, view.depth)
            != (own.Width * scale, own.Height * scale, own.Depth)
        || !part(view.firstMipmapLevel, view.lastMipmapLevel, levels)
        || !part(view.firstLayer, view.lastLayer, layers)
    {
        return Err(code::INVALID_VALUE);
    }
    Ok(format)
}

fn is_integer(format: CUarray_format) -> bool {
    !matches!(
        format,
        CUarray_format::CU_AD_FORMAT_HALF | CUarray_format::CU_AD_FORMAT_FLOAT
    )
}

fn is_wide(format: CUarray_format) -> bool {
    matches!(
        format,
        CUarray_format::CU_AD_FORMAT_UNSIGNED_INT32 | CUarray_format::CU_AD_FORMAT_SIGNED_INT32
    )
}

entries! {
    fn cuTexObjectCreate[object](
        object: *mut CUtexObject, resource: *const CUDA_RESOURCE_DESC, texture: *const CUDA_TEXTURE_DESC,
        view: *const CUDA_RESOURCE_VIEW_DESC,
    ) Context |call| {
        if resource.is_null() || texture.is_null() {
            return Err(code::INVALID_VALUE);
        }
        // SAFETY: not null, and the caller passes descriptions that it filled.
        let (resource, texture) = unsafe { (resource.read(), texture.read()) };
        let mut format = check(call, &resource)?;
        // SAFETY: null, or a description that the caller filled.
        let view = unsafe { view.as_ref() }.copied();
        if let Some(view) = &view {
            format = check_view(call, &resource, view)?;
        }
        let as_integer = is_wide(format) || texture.flags & CU_TRSF_READ_AS_INTEGER != 0;
        if texture.filterMode.0 == 1 && is_integer(format) && as_integer {
            return Err(code::INVALID_VALUE);
        }
        let (handle, session) = (call.new_handle(Tag::Object), call.session);
        call.objects.insert(handle, Object { resource, texture: Some(texture), view, session });
        object.put(handle)
    }

    fn cuTexObjectDestroy[](object: CUtexObject) Context |call| {
        match call.objects.get(&object) {
            Some(found) if found.texture.is_some() => call.objects.remove(&object).map(drop).ok_or(code::INVALID_VALUE),
            _ => Err(code::INVALID_VALUE),
        }
    }

    fn cuTexObjectGetResourceDesc[resource](
        resource: *mut CUDA_RESOURCE_DESC, object: CUtexObject,
    ) Context |call| {
        resource.put(call.objects.get(&object).ok_or(code::INVALID_VALUE)?.resource)
    }

    fn cuTexObjectGetTextureDesc[texture](
        texture: *mut CUDA_TEXTURE_DESC, object: CUtexObject,
    ) Context |call| {
        texture.put(call.objects.get(&object).and_then(|found| found.texture).ok_or(code::INVALID_VALUE)?)
    }

    fn cuTexObjectGetResourceViewDesc[view](
        view: *mut CUDA_RESOURCE_VIEW_DESC, object: CUtexObject,
    ) Context |call| {
        let found = call.objects.get(&object).and_then(|found| found.view);
        view.put(found.ok_or(code::INVALID_VALUE)?)
    }

    fn cuSurfObjectCreate[object](
        object: *mut CUsurfObject, resource: *const CUDA_RESOURCE_DESC,
    ) Context |call| {
        if resource.is_null() {
            return Err(code::INVALID_VALUE);
        }
        // SAFETY: not null, and the caller passes a description that it filled.
        let resource = unsafe { resource.read() };
        check(call, &resource)?;
        // SAFETY: an array, as is checked first.
        let writable = resource.resType.0 == 0 && unsafe {
            call.arrays[&super::number(resource.res.array.hArray)].descriptor.Flags & SURFACE != 0
        };
        if !writable {
            return Err(code::INVALID_VALUE);
        }
        let (handle, session) = (call.new_handle(Tag::Object), call.session);
        call.objects.insert(handle, Object { resource, texture: None, view: None, session });
        object.put(handle)
    }

    fn cuSurfObjectDestroy[](object: CUsurfObject) Context |call| {
        match call.objects.get(&object) {
            Some(found) if found.texture.is_none() => call.objects.remove(&object).map(drop).ok_or(code::INVALID_VALUE),
            _ => Err(code::INVALID_VALUE),
        }
    }
}
