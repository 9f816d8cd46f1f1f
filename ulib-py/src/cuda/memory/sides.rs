//! The two sides of a copy of rows and slices, and the driver's description of it.
#![allow(unsafe_code, reason = "describes copies to the driver")]

use std::sync::Arc;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::{PyTraverseError, PyVisit};
use ulib_core::Result;
use ulib_device::Device;
use ulib_device::sys::{
    CUDA_MEMCPY2D, CUDA_MEMCPY3D, CUDA_MEMCPY3D_PEER, CUarray, CUcontext, CUmemorytype,
};
use ulib_device::texture::Array;

use super::buffer::HostBytes;
use super::pointer::Pointer;
use crate::cuda::context::PyContext;
use crate::cuda::current;
use crate::cuda::errors::logic;
use crate::cuda::kept::{Keeper, Object};
use crate::cuda::texture::PyArray;

/// One side of a copy, as the program describes it.
#[derive(Default)]
pub(super) struct Side {
    pub(super) x: usize,
    pub(super) y: usize,
    pub(super) z: usize,
    pub(super) lod: usize,
    pub(super) pitch: usize,
    pub(super) height: usize,
    pub(super) kind: u32,
    pub(super) address: u64,
    pub(super) place: Place,
    pub(super) context: Option<Py<PyContext>>,
}

/// What one side is in, and what keeps it.
#[derive(Default)]
pub(super) enum Place {
    #[default]
    Nothing,
    Host(Arc<HostBytes>),
    Device(Pointer),
    /// The object; the array, where it is ours.
    Array(Object, Option<Array>),
}

#[derive(Default)]
pub(super) struct Description {
    pub(super) src: Side,
    pub(super) dst: Side,
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) depth: usize,
}

/// What a setter was given, looked at before the description is locked: that runs code of the program, which may use the
/// description itself.
pub(super) struct Given {
    kind: CUmemorytype,
    address: u64,
    place: Place,
}

impl Given {
    pub(super) fn host(op: &'static str, object: &Bound<'_, PyAny>, write: bool) -> PyResult<Self> {
        let bytes = match write {
            true => HostBytes::writable(op, "buffer", object)?,
            false => HostBytes::of(op, "buffer", object)?,
        };
        Ok(Self {
            kind: CUmemorytype::CU_MEMORYTYPE_HOST,
            address: bytes.ptr() as u64,
            place: Place::Host(Arc::new(bytes)),
        })
    }

    pub(super) fn device(op: &'static str, object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let pointer = Pointer::of(op, "device memory", object)?;
        Ok(Self {
            kind: CUmemorytype::CU_MEMORYTYPE_DEVICE,
            address: pointer.address(),
            place: Place::Device(pointer),
        })
    }

    /// Anything with an address that both sides know: device memory, or host memory with a buffer.
    pub(super) fn unified(
        op: &'static str,
        object: &Bound<'_, PyAny>,
        write: bool,
    ) -> PyResult<Self> {
        let given = Self::device(op, object).or_else(|_| Self::host(op, object, write))?;
        Ok(Self {
            kind: CUmemorytype::CU_MEMORYTYPE_UNIFIED,
            ..given
        })
    }

    pub(super) fn array(op: &'static str, array: &Bound<'_, PyAny>) -> PyResult<Self> {
        let handle = array
            .getattr_opt(intern!(array.py(), "handle"))?
            .ok_or_else(|| logic(format!("{op}: {} is no Array", array.get_type())))?;
        let ours = array.cast::<PyArray>().ok();
        Ok(Self {
            kind: CUmemorytype::CU_MEMORYTYPE_ARRAY,
            address: handle.extract()?,
            place: Place::Array(
                Object::new(array),
                ours.map(|ours| ours.get().array()).transpose()?,
            ),
        })
    }
}

impl Side {
    /// Takes what was given, and answers what was there, to be dropped when nothing is locked.
    pub(super) fn set(&mut self, given: Given) -> Place {
        self.address = given.address;
        self.kind = given.kind.0;
        std::mem::replace(&mut self.place, given.place)
    }

    /// Refuses what lies outside the bytes that are known to be there.
    pub(super) fn check(
        &self,
        what: &str,
        width: usize,
        height: usize,
        depth: usize,
    ) -> PyResult<()> {
        let (len, kept) = match &self.place {
            Place::Nothing => {
                return Err(logic(format!("copy: {what} has not been set")));
            }
            Place::Host(bytes) => (bytes.len(), None),
            Place::Device(pointer) => (0, Some(pointer)),
            Place::Array(..) => return Ok(()),
        };
        let span = || -> Option<usize> {
            let row = if height > 1 || depth > 1 || self.y > 0 || self.z > 0 {
                self.pitch
            } else {
                0
            };
            let rows = if self.height == 0 {
                height
            } else {
                self.height
            };
            let slices = self.z.checked_add(depth - 1)?.checked_mul(rows)?;
            let before = slices
                .checked_add(self.y)?
                .checked_add(height - 1)?
                .checked_mul(row)?;
            before.checked_add(self.x)?.checked_add(width)
        };
        let end =
            span().ok_or_else(|| logic(format!("copy: {what} reaches beyond every address")))?;
        match kept {
            Some(pointer) => pointer.check("copy", what, end),
            None if end > len => Err(logic(format!(
                "copy: {end} bytes exceed the {len} bytes of {what}"
            ))),
            None => Ok(()),
        }
    }

    pub(super) fn pointer(&self) -> Option<&Pointer> {
        match &self.place {
            Place::Device(pointer) => Some(pointer),
            _ => None,
        }
    }

    pub(super) fn host(&self) -> u64 {
        if self.kind == CUmemorytype::CU_MEMORYTYPE_HOST.0 {
            self.address
        } else {
            0
        }
    }

    pub(super) fn device(&self) -> u64 {
        let known = [
            CUmemorytype::CU_MEMORYTYPE_DEVICE.0,
            CUmemorytype::CU_MEMORYTYPE_UNIFIED.0,
        ];
        if known.contains(&self.kind) {
            self.address
        } else {
            0
        }
    }

    pub(super) fn array(&self) -> CUarray {
        if self.kind == CUmemorytype::CU_MEMORYTYPE_ARRAY.0 {
            self.address as CUarray
        } else {
            std::ptr::null_mut()
        }
    }

    /// The device on which this side is.
    pub(super) fn on(&self) -> Result<Device> {
        match (&self.context, self.pointer()) {
            (Some(context), _) => Ok(context.get().0.context.device().clone()),
            (None, Some(pointer)) => pointer.device(),
            (None, None) => current::device(),
        }
    }

    /// The array, where it is one of ours.
    pub(super) fn our_array(&self) -> Option<Array> {
        match &self.place {
            Place::Array(_, ours) => ours.clone(),
            _ => None,
        }
    }

    /// What keeps host bytes and arrays.
    pub(super) fn keepers(&self) -> Option<Keeper> {
        match &self.place {
            Place::Host(bytes) => Some(Keeper::Bytes(Arc::clone(bytes))),
            Place::Array(array, _) => Some(Keeper::Object(array.clone())),
            _ => None,
        }
    }

    /// Tells the garbage collector of the objects.
    pub(super) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.context)?;
        match &self.place {
            Place::Host(bytes) if Arc::strong_count(bytes) == 1 => bytes.traverse(visit),
            Place::Array(object, _) => object.traverse(1, visit),
            Place::Device(pointer) => pointer
                .named()
                .map_or(Ok(()), |named| named.traverse(1, visit)),
            _ => Ok(()),
        }
    }
}

/// The driver's description, which may go to another thread.
pub(super) struct Call {
    pub(super) rows: CUDA_MEMCPY2D,
    pub(super) slices: CUDA_MEMCPY3D,
    pub(super) peer: CUDA_MEMCPY3D_PEER,
}

// SAFETY: numbers for the driver, whose addresses whoever sends it keeps alive.
unsafe impl Send for Call {}
// SAFETY: as above.
unsafe impl Sync for Call {}

impl Description {
    pub(super) fn call(&self, contexts: [usize; 2]) -> Call {
        let (src, dst) = (&self.src, &self.dst);
        let rows = CUDA_MEMCPY2D {
            srcXInBytes: src.x,
            srcY: src.y,
            srcMemoryType: CUmemorytype(src.kind),
            srcHost: src.host() as *const _,
            srcDevice: src.device(),
            srcArray: src.array(),
            srcPitch: src.pitch,
            dstXInBytes: dst.x,
            dstY: dst.y,
            dstMemoryType: CUmemorytype(dst.kind),
            dstHost: dst.host() as *mut _,
            dstDevice: dst.device(),
            dstArray: dst.array(),
            dstPitch: dst.pitch,
            WidthInBytes: self.width,
            Height: self.height,
        };
        let peer = CUDA_MEMCPY3D_PEER {
            srcXInBytes: src.x,
            srcY: src.y,
            srcZ: src.z,
            srcLOD: src.lod,
            srcMemoryType: CUmemorytype(src.kind),
            srcHost: src.host() as *const _,
            srcDevice: src.device(),
            srcArray: src.array(),
            srcContext: contexts[0] as CUcontext,
            srcPitch: src.pitch,
            srcHeight: src.height,
            dstXInBytes: dst.x,
            dstY: dst.y,
            dstZ: dst.z,
            dstLOD: dst.lod,
            dstMemoryType: CUmemorytype(dst.kind),
            dstHost: dst.host() as *mut _,
            dstDevice: dst.device(),
            dstArray: dst.array(),
            dstContext: contexts[1] as CUcontext,
            dstPitch: dst.pitch,
            dstHeight: dst.height,
            WidthInBytes: self.width,
            Height: self.height,
            Depth: self.depth,
        };
        // SAFETY: all zeros are a description of nothing.
        let mut slices: CUDA_MEMCPY3D = unsafe { std::mem::zeroed() };
        slices.srcXInBytes = src.x;
        slices.srcY = src.y;
        slices.srcZ = src.z;
        slices.srcLOD = src.lod;
        slices.srcMemoryType = rows.srcMemoryType;
        slices.srcHost = rows.srcHost;
        slices.srcDevice = rows.srcDevice;
        slices.srcArray = rows.srcArray;
        slices.srcPitch = src.pitch;
        slices.srcHeight = src.height;
        slices.dstXInBytes = dst.x;
        slices.dstY = dst.y;
        slices.dstZ = dst.z;
        slices.dstLOD = dst.lod;
        slices.dstMemoryType = rows.dstMemoryType;
        slices.dstHost = rows.dstHost;
        slices.dstDevice = rows.dstDevice;
        slices.dstArray = rows.dstArray;
        slices.dstPitch = dst.pitch;
        slices.dstHeight = dst.height;
        slices.WidthInBytes = self.width;
        slices.Height = self.height;
        slices.Depth = self.depth;
        Call { rows, slices, peer }
    }
}
