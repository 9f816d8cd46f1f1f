//! Fills.
#![allow(unsafe_code, reason = "entry points")]

use super::stream;
use crate::gate::{Call, Outcome, code, entries};
use crate::state::work::{Fill, Work};
use core::ffi::{c_uchar, c_uint, c_ushort};
use ulib_device::sys::{CUdeviceptr, CUstream};

/// `count` elements of `size` bytes in each of `height` rows; on the legacy stream when none is given.
fn fill(
    call: &mut Call<'_>,
    (address, pitch): (u64, usize),
    (value, size): (u32, u64),
    (count, height): (usize, usize),
    on: Option<CUstream>,
) -> Outcome {
    if on.is_none() {
        stream::refuse(call)?;
    }
    let handle = stream::meant(call, on.unwrap_or(core::ptr::null_mut()))?;
    if count == 0 || height == 0 {
        return Ok(());
    }
    let (count, height, pitch) = (count as u64, height as u64, pitch as u64);
    let narrow = count.checked_mul(size).is_none_or(|width| width > pitch);
    if height > 1 && (narrow || !pitch.is_multiple_of(size)) {
        return Err(code::INVALID_VALUE);
    }
    let fill = Fill {
        address,
        value,
        size,
        count,
        height,
        pitch,
    };
    call.check_fill(&fill)?;
    call.enqueue(handle, Work::Fill(fill), Vec::new())
}

entries! {
    fn cuMemsetD8_v2[](address: CUdeviceptr, value: c_uchar, count: usize) Context |call| {
        fill(call, (address, 0), (value.into(), 1), (count, 1), None)
    }

    fn cuMemsetD16_v2[](address: CUdeviceptr, value: c_ushort, count: usize) Context |call| {
        fill(call, (address, 0), (value.into(), 2), (count, 1), None)
    }

    fn cuMemsetD32_v2[](address: CUdeviceptr, value: c_uint, count: usize) Context |call| {
        fill(call, (address, 0), (value, 4), (count, 1), None)
    }

    fn cuMemsetD8Async[](address: CUdeviceptr, value: c_uchar, count: usize, on: CUstream) Context |call| {
        fill(call, (address, 0), (value.into(), 1), (count, 1), Some(on))
    }

    fn cuMemsetD16Async[](address: CUdeviceptr, value: c_ushort, count: usize, on: CUstream) Context |call| {
        fill(call, (address, 0), (value.into(), 2), (count, 1), Some(on))
    }

    fn cuMemsetD32Async[](address: CUdeviceptr, value: c_uint, count: usize, on: CUstream) Context |call| {
        fill(call, (address, 0), (value, 4), (count, 1), Some(on))
    }

    fn cuMemsetD2D8_v2[](
        address: CUdeviceptr, pitch: usize, value: c_uchar, width: usize, height: usize,
    ) Context |call| {
        fill(call, (address, pitch), (value.into(), 1), (width, height), None)
    }

    fn cuMemsetD2D16_v2[](
        address: CUdeviceptr, pitch: usize, value: c_ushort, width: usize, height: usize,
    ) Context |call| {
        fill(call, (address, pitch), (value.into(), 2), (width, height), None)
    }

    fn cuMemsetD2D32_v2[](
        address: CUdeviceptr, pitch: usize, value: c_uint, width: usize, height: usize,
    ) Context |call| {
        fill(call, (address, pitch), (value, 4), (width, height), None)
    }

    fn cuMemsetD2D8Async[](
        address: CUdeviceptr, pitch: usize, value: c_uchar, width: usize, height: usize, on: CUstream,
    ) Context |call| {
        fill(call, (address, pitch), (value.into(), 1), (width, height), Some(on))
    }

    fn cuMemsetD2D16Async[](
        address: CUdeviceptr, pitch: usize, value: c_ushort, width: usize, height: usize, on: CUstream,
    ) Context |call| {
        fill(call, (address, pitch), (value.into(), 2), (width, height), Some(on))
    }

    fn cuMemsetD2D32Async[](
        address: CUdeviceptr, pitch: usize, value: c_uint, width: usize, height: usize, on: CUstream,
    ) Context |call| {
        fill(call, (address, pitch), (value, 4), (width, height), Some(on))
    }
}
