//! Arrays and the objects that read and write them. An array's texels are device memory, row after row; nothing is
//! interpolated here.
#![allow(unsafe_code, reason = "unions and handles of the driver API")]

use super::{State, Tag};
use crate::gate::{Outcome, code};
use ulib_device::sys::{
    CUDA_ARRAY3D_DESCRIPTOR, CUDA_RESOURCE_DESC, CUDA_RESOURCE_VIEW_DESC, CUDA_TEXTURE_DESC,
    CUarray_format,
};

pub(crate) const LAYERED: u32 = 1;
pub(crate) const SURFACE: u32 = 2;
pub(crate) const CUBEMAP: u32 = 4;

/// An array, or one level of a mipmapped one.
#[derive(Clone)]
pub(crate) struct Array {
    pub(crate) descriptor: CUDA_ARRAY3D_DESCRIPTOR,
    /// Of its texels.
    pub(crate) address: u64,
    /// The mipmapped array it is a level of; 0 for none.
    pub(crate) whole: u64,
    /// Belongs to a graphics library.
    pub(crate) graphics: bool,
    pub(crate) session: u64,
}

pub(crate) struct Mipmaps {
    pub(crate) levels: Vec<u64>,
    pub(crate) session: u64,
}

/// A registered object of OpenGL.
pub(crate) struct Graphics {
    pub(crate) part: Part,
    pub(crate) mapped: bool,
    pub(crate) session: u64,
}

/// What is mapped of it.
#[derive(Clone, Copy)]
pub(crate) enum Part {
    Bytes(u64),
    Array(u64),
}

/// A texture or a surface object; a surface has no way of reading.
pub(crate) struct Object {
    pub(crate) resource: CUDA_RESOURCE_DESC,
    pub(crate) texture: Option<CUDA_TEXTURE_DESC>,
    pub(crate) view: Option<CUDA_RESOURCE_VIEW_DESC>,
    pub(crate) session: u64,
}

// SAFETY: the pointers in the descriptions are handles, which nobody follows.
unsafe impl Send for Object {}

impl Array {
    pub(crate) fn row(&self) -> u64 {
        self.descriptor.Width as u64 * texel(&self.descriptor).unwrap_or(0)
    }

    pub(crate) fn rows(&self) -> u64 {
        self.descriptor.Height.max(1) as u64
    }

    pub(crate) fn slices(&self) -> u64 {
        self.descriptor.Depth.max(1) as u64
    }
}

/// Bytes of a texel.
pub(crate) fn texel(descriptor: &CUDA_ARRAY3D_DESCRIPTOR) -> Outcome<u64> {
    texel_of(descriptor.Format, descriptor.NumChannels)
}

pub(crate) fn texel_of(format: CUarray_format, channels: u32) -> Outcome<u64> {
    let number = match format {
        CUarray_format::CU_AD_FORMAT_UNSIGNED_INT8 | CUarray_format::CU_AD_FORMAT_SIGNED_INT8 => 1,
        CUarray_format::CU_AD_FORMAT_UNSIGNED_INT16
        | CUarray_format::CU_AD_FORMAT_SIGNED_INT16
        | CUarray_format::CU_AD_FORMAT_HALF => 2,
        CUarray_format::CU_AD_FORMAT_UNSIGNED_INT32
        | CUarray_format::CU_AD_FORMAT_SIGNED_INT32
        | CUarray_format::CU_AD_FORMAT_FLOAT => 4,
        _ => return Err(code::INVALID_VALUE),
    };
    match channels {
        1 | 2 | 4 => Ok(number * u64::from(channels)),
        _ => Err(code::INVALID_VALUE),
    }
}

/// Whether there can be such an array.
pub(crate) fn check(descriptor: &CUDA_ARRAY3D_DESCRIPTOR) -> Outcome {
    let (width, height, depth) = (descriptor.Width, descriptor.Height, descriptor.Depth);
    let flags = descriptor.Flags;
    texel(descriptor)?;
    let cube = flags & CUBEMAP != 0;
    let layered = flags & LAYERED != 0;
    let faces = if layered {
        depth > 0 && depth.is_multiple_of(6)
    } else {
        depth == 6
    };
    if width == 0
        || (cube && (width != height || !faces))
        || (layered && depth == 0)
        || (!layered && !cube && depth > 0 && height == 0)
    {
        return Err(code::INVALID_VALUE);
    }
    Ok(())
}

impl State {
    /// Makes an array on a device.
    pub(crate) fn new_array(
        &mut self,
        device: usize,
        descriptor: CUDA_ARRAY3D_DESCRIPTOR,
        whole: u64,
    ) -> Outcome<u64> {
        check(&descriptor)?;
        let sizes = [
            descriptor.Width,
            descriptor.Height.max(1),
            descriptor.Depth.max(1),
        ];
        let bytes = sizes
            .into_iter()
            .try_fold(texel(&descriptor)?, |bytes, size| {
                bytes.checked_mul(size as u64)
            });
        let address = self.allocate(device, bytes.ok_or(code::OUT_OF_MEMORY)?)?;
        if let Some(made) = self.devices[device].arena.get_mut(address) {
            made.internal = true;
        }
        let (handle, session) = (self.new_handle(Tag::Array), self.session);
        let array = Array {
            descriptor,
            address,
            whole,
            graphics: false,
            session,
        };
        self.arrays.insert(handle, array);
        Ok(handle)
    }

    /// Destroys an array. What still reads it is a mistake that is noted.
    pub(crate) fn destroy_array(&mut self, handle: u64) -> Outcome {
        let array = self.arrays.remove(&handle).ok_or(code::INVALID_HANDLE)?;
        self.note_readers(|resource| {
            // SAFETY: every variant of the union begins with the handle or the address, of 8 bytes.
            let held = unsafe { resource.res.array.hArray }.addr() as u64;
            resource.resType.0 == 0 && held == handle
        });
        if let Some(owner) = self.owner(array.address) {
            self.drain_device(owner);
            self.release(array.address)?;
        }
        Ok(())
    }

    /// Notes a mistake when a texture or surface reads what is about to go.
    pub(crate) fn note_readers(&mut self, reads: impl Fn(&CUDA_RESOURCE_DESC) -> bool) {
        let readers = self
            .objects
            .values()
            .filter(|object| reads(&object.resource));
        let count = readers.count();
        if count > 0 {
            self.faults.push(format!(
                "an array was destroyed that {count} texture or surface objects use"
            ));
        }
    }
}
