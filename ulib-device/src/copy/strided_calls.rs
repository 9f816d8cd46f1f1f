//! The driver's strided copies.
#![allow(unsafe_code, reason = "calls the driver's copy functions")]

use ulib_core::Result;

use super::raw::copy_3d;
use super::sides::{Side, rows, slices};
use super::strided::{Extent, Pitch};
use crate::Stream;
use crate::driver::check;
use crate::sys::{CUmemorytype, CUresult};

/// The largest row pitch the driver's 2-D and 3-D copies take.
const MOST_PITCH_BYTES: usize = i32::MAX as usize;

/// One side of a copy, its bounds checked.
#[derive(Clone, Copy)]
pub(super) struct End {
    kind: CUmemorytype,
    /// Of the first byte of the block.
    address: u64,
    row: usize,
    plane: usize,
}

impl End {
    pub(super) fn host(start: *mut u8, pitch: Pitch) -> Self {
        Self::at(CUmemorytype::CU_MEMORYTYPE_HOST, start as u64, pitch)
    }

    pub(super) fn device(start: u64, pitch: Pitch) -> Self {
        Self::at(CUmemorytype::CU_MEMORYTYPE_DEVICE, start, pitch)
    }

    fn at(kind: CUmemorytype, start: u64, pitch: Pitch) -> Self {
        Self {
            kind,
            address: start + pitch.offset as u64,
            row: pitch.row,
            plane: pitch.plane,
        }
    }

    fn forward(self, bytes: usize) -> Self {
        Self {
            address: self.address + bytes as u64,
            ..self
        }
    }

    /// The row and the slice further.
    pub(super) fn forward_to(self, [row, slice]: [usize; 2]) -> Self {
        self.forward(row * self.row + slice * self.plane)
    }

    fn side(self) -> Side {
        Side {
            pitch: self.row,
            height: self.plane / self.row.max(1),
            ..Side::at(self.kind, self.address)
        }
    }

    fn is_device(self) -> bool {
        self.kind == CUmemorytype::CU_MEMORYTYPE_DEVICE
    }

    /// Whether the plane pitch is a whole number of rows, as the driver's 3-D copies want it.
    fn has_whole_planes(self) -> bool {
        self.plane.is_multiple_of(self.row)
    }
}

/// Queues the copy of a block of more than one row. The caller has checked both sides, keeps host memory borrowed
/// until `stream` has got there, and has made the device memory remember `stream`.
pub(super) fn queue(to: End, from: End, extent: Extent, stream: &Stream) -> Result<()> {
    let _context = stream.device().bind()?;
    if to.row > MOST_PITCH_BYTES || from.row > MOST_PITCH_BYTES {
        return each(extent.depth, to.plane, from.plane, |z_to, z_from| {
            each(extent.height, to.row, from.row, |y_to, y_from| {
                queue_row(
                    to.forward(z_to + y_to),
                    from.forward(z_from + y_from),
                    extent.width,
                    stream,
                )
            })
        });
    }
    if extent.depth == 1 {
        return queue_2d(to, from, extent, stream);
    }
    if to.has_whole_planes() && from.has_whole_planes() {
        return queue_3d(to, from, extent, stream);
    }
    let plane = Extent { depth: 1, ..extent };
    each(extent.depth, to.plane, from.plane, |z_to, z_from| {
        queue_2d(to.forward(z_to), from.forward(z_from), plane, stream)
    })
}

fn each(
    count: usize,
    to: usize,
    from: usize,
    mut one: impl FnMut(usize, usize) -> Result<()>,
) -> Result<()> {
    (0..count).try_for_each(|index| one(index * to, index * from))
}

fn queue_row(to: End, from: End, len: usize, stream: &Stream) -> Result<()> {
    let _queueing = stream.queueing("copy")?;
    let table = stream.device().table();
    // SAFETY: host and device addresses are one space, so both name the rows that the callers of `queue` checked and
    // keep alive; the context of the stream's device is current.
    let status = unsafe { (table.cuMemcpyAsync)(to.address, from.address, len, stream.handle()) };
    check(table, "cuMemcpyAsync", status)
}

fn queue_2d(to: End, from: End, extent: Extent, stream: &Stream) -> Result<()> {
    let copy = rows(&to.side(), &from.side(), extent);
    let table = stream.device().table();
    let queueing = stream.queueing("copy")?;
    // SAFETY: the structure is valid for the call and describes ranges that the callers of `queue` checked and keep
    // alive; the context of the stream's device is current.
    let status = unsafe { (table.cuMemcpy2DAsync_v2)(&raw const copy, stream.handle()) };
    drop(queueing);
    let unaligned = table
        .cuMemcpy2DUnaligned_v2
        .filter(|_| to.is_device() && from.is_device());
    if let (CUresult::CUDA_ERROR_INVALID_VALUE, Some(unaligned)) = (status, unaligned) {
        // Within a device the asynchronous copy may refuse a pitch that did not come from `cuMemAllocPitch`. The
        // call that takes any pitch has no stream, so the stream is waited for on both sides of it.
        stream.synchronize()?;
        // SAFETY: as above.
        let status = unsafe { unaligned(&raw const copy) };
        check(table, "cuMemcpy2DUnaligned_v2", status)?;
        return stream.device().synchronize();
    }
    check(table, "cuMemcpy2DAsync_v2", status)
}

fn queue_3d(to: End, from: End, extent: Extent, stream: &Stream) -> Result<()> {
    // SAFETY: both sides are ranges that the callers of `queue` checked and keep alive.
    unsafe { copy_3d(&slices(&to.side(), &from.side(), extent), stream) }
}
