//! The driver's descriptions of copies of rows and slices. Their two sides are alike, but that every field has a name for each.
#![allow(unsafe_code, reason = "a description of nothing is all zeros")]

use core::ffi::c_void;

use super::strided::Extent;
use crate::sys::{
    CUDA_MEMCPY2D, CUDA_MEMCPY3D, CUDA_MEMCPY3D_PEER, CUarray, CUcontext, CUmemorytype,
};

/// One side of a copy as the driver is told of it.
#[derive(Clone, Copy, Debug)]
pub struct Side {
    /// What the address is, as the driver numbers it in [`CUmemorytype`].
    pub kind: u32,
    /// That of host or device memory, or the handle of an array.
    pub address: u64,
    /// Where the copy begins: a byte of a row, a row, a slice.
    pub origin: [usize; 3],
    /// A level, where there are some.
    pub level: usize,
    /// Bytes from one row to the next.
    pub pitch: usize,
    /// Rows from one slice to the next.
    pub height: usize,
}

impl Side {
    /// What begins at an address, or the array with that handle.
    #[must_use]
    pub fn at(kind: CUmemorytype, address: u64) -> Self {
        Self {
            kind: kind.0,
            address,
            origin: [0; 3],
            level: 0,
            pitch: 0,
            height: 0,
        }
    }

    fn host(&self) -> *mut c_void {
        match CUmemorytype(self.kind) {
            CUmemorytype::CU_MEMORYTYPE_HOST => self.address as *mut c_void,
            _ => std::ptr::null_mut(),
        }
    }

    /// The address in device memory, or one that the driver knows; 0 where there is none.
    #[must_use]
    pub fn device(&self) -> u64 {
        match CUmemorytype(self.kind) {
            CUmemorytype::CU_MEMORYTYPE_DEVICE | CUmemorytype::CU_MEMORYTYPE_UNIFIED => {
                self.address
            }
            _ => 0,
        }
    }

    fn array(&self) -> CUarray {
        match CUmemorytype(self.kind) {
            CUmemorytype::CU_MEMORYTYPE_ARRAY => self.address as CUarray,
            _ => std::ptr::null_mut(),
        }
    }
}

/// Fills the fields of one side, by their names.
macro_rules! fill {
    ($copy:ident, $side:expr; $x:ident $y:ident $kind:ident $host:ident $device:ident $array:ident $pitch:ident) => {
        [$copy.$x, $copy.$y, _] = $side.origin;
        $copy.$kind = CUmemorytype($side.kind);
        $copy.$host = $side.host();
        $copy.$device = $side.device();
        $copy.$array = $side.array();
        $copy.$pitch = $side.pitch;
    };
    ($copy:ident, $side:expr; $($row:ident)*; $z:ident $level:ident $height:ident) => {
        fill!($copy, $side; $($row)*);
        $copy.$z = $side.origin[2];
        $copy.$level = $side.level;
        $copy.$height = $side.height;
    };
}

/// Both sides and the extent of a description with slices.
macro_rules! fill_slices {
    ($copy:ident, $to:expr, $from:expr, $extent:expr) => {
        fill!($copy, $to; dstXInBytes dstY dstMemoryType dstHost dstDevice dstArray dstPitch; dstZ dstLOD dstHeight);
        fill!($copy, $from; srcXInBytes srcY srcMemoryType srcHost srcDevice srcArray srcPitch; srcZ srcLOD srcHeight);
        $copy.WidthInBytes = $extent.width;
        $copy.Height = $extent.height;
        $copy.Depth = $extent.depth;
    };
}

/// A copy of rows, for [`copy_2d`](super::raw::copy_2d).
#[must_use]
pub fn rows(to: &Side, from: &Side, extent: Extent) -> CUDA_MEMCPY2D {
    // SAFETY: integers and pointers, which may be zero.
    let mut copy: CUDA_MEMCPY2D = unsafe { std::mem::zeroed() };
    fill!(copy, to; dstXInBytes dstY dstMemoryType dstHost dstDevice dstArray dstPitch);
    fill!(copy, from; srcXInBytes srcY srcMemoryType srcHost srcDevice srcArray srcPitch);
    copy.WidthInBytes = extent.width;
    copy.Height = extent.height;
    copy
}

/// A copy of slices, for [`copy_3d`](super::raw::copy_3d).
#[must_use]
pub fn slices(to: &Side, from: &Side, extent: Extent) -> CUDA_MEMCPY3D {
    // SAFETY: as in `rows`.
    let mut copy: CUDA_MEMCPY3D = unsafe { std::mem::zeroed() };
    fill_slices!(copy, to, from, extent);
    copy
}

/// A copy of slices between two contexts, for [`copy_3d_peer`](super::raw::copy_3d_peer).
#[must_use]
pub fn slices_of_peers(
    (to, to_context): (&Side, usize),
    (from, from_context): (&Side, usize),
    extent: Extent,
) -> CUDA_MEMCPY3D_PEER {
    // SAFETY: as in `rows`.
    let mut copy: CUDA_MEMCPY3D_PEER = unsafe { std::mem::zeroed() };
    fill_slices!(copy, to, from, extent);
    copy.dstContext = to_context as CUcontext;
    copy.srcContext = from_context as CUcontext;
    copy
}
