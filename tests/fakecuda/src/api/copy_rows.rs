//! Copies of rows and of slices of rows, in memory and in arrays.
#![allow(unsafe_code, reason = "entry points")]

use super::copy::{Mode, device, perform, unified};
use crate::gate::{Call, Outcome, code, entries};
use crate::state::array::texel;
use crate::state::work::{Place, Side, Transfer};
use core::ffi::c_void;
use ulib_device::sys::{
    CUDA_MEMCPY2D, CUDA_MEMCPY3D, CUDA_MEMCPY3D_PEER, CUarray, CUmemorytype, CUstream,
};

/// One side as the descriptors give it.
struct Given {
    kind: CUmemorytype,
    host: *const c_void,
    device: u64,
    array: CUarray,
    x: usize,
    y: usize,
    z: usize,
    pitch: usize,
    height: usize,
}

fn side(
    call: &Call<'_>,
    given: &Given,
    width: usize,
    height: usize,
    depth: usize,
) -> Outcome<Side> {
    if given.kind == CUmemorytype::CU_MEMORYTYPE_ARRAY {
        return array_side(call, given, width, height, depth);
    }
    let pitch = if given.pitch == 0 && height <= 1 && depth <= 1 {
        width
    } else {
        given.pitch
    };
    let pitch = if pitch == 0 { width } else { pitch };
    let rows = if given.height == 0 {
        height
    } else {
        given.height
    };
    let too_narrow = given.x.checked_add(width).is_none_or(|end| end > pitch);
    let too_low = depth > 1 && given.y.checked_add(height).is_none_or(|end| end > rows);
    if too_narrow || too_low {
        return Err(code::INVALID_VALUE);
    }
    let slice = pitch.checked_mul(rows).ok_or(code::INVALID_VALUE)?;
    let start = given.z.checked_mul(slice).zip(given.y.checked_mul(pitch));
    let offset = start
        .and_then(|(z, y)| z.checked_add(y)?.checked_add(given.x))
        .ok_or(code::INVALID_VALUE)? as u64;
    let moved = |address: u64| address.checked_add(offset).ok_or(code::INVALID_VALUE);
    let place = match given.kind {
        CUmemorytype::CU_MEMORYTYPE_HOST => Place::Host(moved(given.host.addr() as u64)?),
        CUmemorytype::CU_MEMORYTYPE_DEVICE => device(call, moved(given.device)?)?,
        CUmemorytype::CU_MEMORYTYPE_UNIFIED => unified(call, moved(given.device)?),
        _ => return Err(code::INVALID_VALUE),
    };
    Ok(Side {
        place,
        pitch: pitch as u64,
        slice: slice as u64,
    })
}

/// A block of an array: whole texels within its sizes. Its pitches are its own.
fn array_side(
    call: &Call<'_>,
    given: &Given,
    width: usize,
    height: usize,
    depth: usize,
) -> Outcome<Side> {
    let handle = super::number(given.array);
    let array = call.arrays.get(&handle).ok_or(code::INVALID_HANDLE)?;
    let texel = texel(&array.descriptor)?;
    let within = |from: usize, len: usize, all: u64| {
        from.checked_add(len).is_some_and(|end| end as u64 <= all)
    };
    if !(given.x as u64).is_multiple_of(texel)
        || !(width as u64).is_multiple_of(texel)
        || !within(given.x, width, array.row())
        || !within(given.y, height, array.rows())
        || !within(given.z, depth, array.slices())
    {
        return Err(code::INVALID_VALUE);
    }
    let (pitch, slice) = (array.row(), array.row() * array.rows());
    let offset = given.z as u64 * slice + given.y as u64 * pitch + given.x as u64;
    Ok(Side {
        place: Place::Device(array.address + offset),
        pitch,
        slice,
    })
}

fn rows(call: &mut Call<'_>, copy: *const CUDA_MEMCPY2D, mode: Mode) -> Outcome {
    if copy.is_null() {
        return Err(code::INVALID_VALUE);
    }
    // SAFETY: not null, and the caller passes a descriptor it filled.
    let c = unsafe { copy.read() };
    if c.WidthInBytes == 0 || c.Height == 0 {
        return Ok(());
    }
    let from = Given {
        kind: c.srcMemoryType,
        host: c.srcHost,
        device: c.srcDevice,
        array: c.srcArray,
        x: c.srcXInBytes,
        y: c.srcY,
        z: 0,
        pitch: c.srcPitch,
        height: 0,
    };
    let to = Given {
        kind: c.dstMemoryType,
        host: c.dstHost,
        device: c.dstDevice,
        array: c.dstArray,
        x: c.dstXInBytes,
        y: c.dstY,
        z: 0,
        pitch: c.dstPitch,
        height: 0,
    };
    let from = side(call, &from, c.WidthInBytes, c.Height, 1)?;
    let to = side(call, &to, c.WidthInBytes, c.Height, 1)?;
    let (width, height, depth) = (c.WidthInBytes as u64, c.Height as u64, 1);
    perform(
        call,
        Transfer {
            to,
            from,
            width,
            height,
            depth,
        },
        mode,
    )
}

macro_rules! slices {
    ($call:ident, $copy:ident, $mode:expr) => {{
        if $copy.is_null() {
            return Err(code::INVALID_VALUE);
        }
        // SAFETY: not null, and the caller passes a descriptor it filled.
        let c = unsafe { $copy.read() };
        if c.WidthInBytes == 0 || c.Height == 0 || c.Depth == 0 {
            return Ok(());
        }
        if c.srcLOD != 0 || c.dstLOD != 0 {
            return Err(code::INVALID_VALUE);
        }
        let from = Given {
            kind: c.srcMemoryType,
            host: c.srcHost,
            device: c.srcDevice,
            array: c.srcArray.cast(),
            x: c.srcXInBytes,
            y: c.srcY,
            z: c.srcZ,
            pitch: c.srcPitch,
            height: c.srcHeight,
        };
        let to = Given {
            kind: c.dstMemoryType,
            host: c.dstHost,
            device: c.dstDevice,
            array: c.dstArray.cast(),
            x: c.dstXInBytes,
            y: c.dstY,
            z: c.dstZ,
            pitch: c.dstPitch,
            height: c.dstHeight,
        };
        let from = side($call, &from, c.WidthInBytes, c.Height, c.Depth)?;
        let to = side($call, &to, c.WidthInBytes, c.Height, c.Depth)?;
        let (width, height, depth) = (c.WidthInBytes as u64, c.Height as u64, c.Depth as u64);
        perform(
            $call,
            Transfer {
                to,
                from,
                width,
                height,
                depth,
            },
            $mode,
        )
    }};
}

entries! {
    fn cuMemcpy2D_v2[](copy: *const CUDA_MEMCPY2D) Context |call| {
        rows(call, copy, Mode::Blocking)
    }

    fn cuMemcpy2DUnaligned_v2[](copy: *const CUDA_MEMCPY2D) Context |call| {
        rows(call, copy, Mode::Blocking)
    }

    fn cuMemcpy2DAsync_v2[](copy: *const CUDA_MEMCPY2D, on: CUstream) Context |call| {
        rows(call, copy, Mode::On(on))
    }

    fn cuMemcpy3D_v2[](copy: *const CUDA_MEMCPY3D) Context |call| {
        slices!(call, copy, Mode::Blocking)
    }

    fn cuMemcpy3DAsync_v2[](copy: *const CUDA_MEMCPY3D, on: CUstream) Context |call| {
        slices!(call, copy, Mode::On(on))
    }

    fn cuMemcpy3DPeer[](copy: *const CUDA_MEMCPY3D_PEER) Context |call| {
        slices!(call, copy, Mode::Blocking)
    }

    fn cuMemcpy3DPeerAsync[](copy: *const CUDA_MEMCPY3D_PEER, on: CUstream) Context |call| {
        slices!(call, copy, Mode::On(on))
    }
}
