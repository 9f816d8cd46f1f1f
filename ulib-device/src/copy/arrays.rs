//! Copies to, from and between arrays.
#![allow(unsafe_code, reason = "calls the driver's copy functions")]

use ulib_core::{Error, ErrorKind, Result};

use super::paced::in_pieces;
use super::raw::copy_3d;
use super::sides::{Side, slices};
use super::strided::{Extent, Pitch, Source, Target};
use crate::memory::Access;
use crate::sys::{CUarray, CUmemorytype};
use crate::texture::Array;
use crate::{Stream, stream};

/// Copies a block of bytes to the block of `array` that begins at `origin`: a byte of a row, a row, a slice (layer,
/// face). Ordered on `stream`; blocks until done when `src` is host memory.
///
/// # Errors
///
/// `Index` when the block reaches outside a side; `InvalidArgument` when it does not consist of whole texels, rows or planes
/// of `src` overlap each other, or the devices differ; `Overflow` when a size does not fit; `Busy` while `stream` is being
/// captured and has to be waited for; else whatever the driver says. The first four come before anything is copied.
pub fn copy_to_array(
    array: &Array,
    origin: [usize; 3],
    src: Source<'_>,
    src_pitch: Pitch,
    extent: Extent,
    stream: &Stream,
) -> Result<()> {
    const OP: &str = "copy_to_array";
    if is_empty(extent) {
        return Ok(());
    }
    let to = End::array(OP, "the destination", array, origin, extent)?;
    stream.check_device(OP, array.device())?;
    let pitch = src_pitch.normal(OP, "the source", extent, src.len())?;
    match src {
        Source::Host(bytes) => {
            stream::not_capturing(OP, stream)?;
            let from = End::linear(
                CUmemorytype::CU_MEMORYTYPE_HOST,
                bytes.as_ptr() as u64,
                pitch,
            );
            in_pieces(stream, extent.bytes(), extent.pieces(), |(at, piece)| {
                array.queue_on(stream, Access::Write, || {
                    queue(to.forward(at), from.forward(at), piece, stream)
                })
            })
        }
        Source::Device(bytes) => {
            stream.check_device(OP, bytes.device())?;
            let from = End::linear(CUmemorytype::CU_MEMORYTYPE_DEVICE, bytes.ptr(), pitch);
            let ledger = array.ledger();
            ledger.queue_from(bytes, stream, || queue(to, from, extent, stream))
        }
    }
}

/// Copies the block of `array` that begins at `origin` to a block of bytes. Ordered on `stream`; blocks until done when
/// `dst` is host memory.
///
/// # Errors
///
/// As [`copy_to_array`].
pub fn copy_from_array(
    dst: Target<'_>,
    dst_pitch: Pitch,
    array: &Array,
    origin: [usize; 3],
    extent: Extent,
    stream: &Stream,
) -> Result<()> {
    const OP: &str = "copy_from_array";
    if is_empty(extent) {
        return Ok(());
    }
    let from = End::array(OP, "the source", array, origin, extent)?;
    stream.check_device(OP, array.device())?;
    let pitch = dst_pitch.normal(OP, "the destination", extent, dst.len())?;
    match dst {
        Target::Host(bytes) => {
            stream::not_capturing(OP, stream)?;
            let start = bytes.as_mut_ptr() as u64;
            let to = End::linear(CUmemorytype::CU_MEMORYTYPE_HOST, start, pitch);
            in_pieces(stream, extent.bytes(), extent.pieces(), |(at, piece)| {
                array.queue_on(stream, Access::Read, || {
                    queue(to.forward(at), from.forward(at), piece, stream)
                })
            })
        }
        Target::Device(bytes) => {
            stream.check_device(OP, bytes.device())?;
            let to = End::linear(CUmemorytype::CU_MEMORYTYPE_DEVICE, bytes.ptr(), pitch);
            bytes.queue_from(array.ledger(), stream, || queue(to, from, extent, stream))
        }
    }
}

/// Copies a block of one array to another one, or to a block of the same that does not overlap it. Ordered on `stream`, does
/// not block.
///
/// # Errors
///
/// As [`copy_to_array`].
pub fn copy_between_arrays(
    dst: &Array,
    dst_origin: [usize; 3],
    src: &Array,
    src_origin: [usize; 3],
    extent: Extent,
    stream: &Stream,
) -> Result<()> {
    const OP: &str = "copy_between_arrays";
    if is_empty(extent) {
        return Ok(());
    }
    let to = End::array(OP, "the destination", dst, dst_origin, extent)?;
    let from = End::array(OP, "the source", src, src_origin, extent)?;
    stream.check_device(OP, dst.device())?;
    stream.check_device(OP, src.device())?;
    if dst.is(src) && overlap(dst_origin, src_origin, extent) {
        return Err(Error::invalid(
            OP,
            "dst_origin",
            format_args!("{dst_origin:?}"),
            format!("a block of the same array that does not overlap the one at {src_origin:?}"),
        ));
    }
    let ledger = dst.ledger();
    ledger.queue_from(src.ledger(), stream, || queue(to, from, extent, stream))
}

fn is_empty(extent: Extent) -> bool {
    extent.width == 0 || extent.height == 0 || extent.depth == 0
}

fn overlap(a: [usize; 3], b: [usize; 3], extent: Extent) -> bool {
    let sizes = [extent.width, extent.height, extent.depth];
    (0..3).all(|axis| a[axis].abs_diff(b[axis]) < sizes[axis])
}

/// One side of a copy, its bounds checked.
#[derive(Clone, Copy)]
enum End {
    Linear {
        kind: CUmemorytype,
        address: u64,
        row: usize,
        plane: usize,
    },
    Array {
        handle: CUarray,
        origin: [usize; 3],
    },
}

impl End {
    fn linear(kind: CUmemorytype, start: u64, pitch: Pitch) -> Self {
        Self::Linear {
            kind,
            address: start + pitch.offset as u64,
            row: pitch.row,
            plane: pitch.plane,
        }
    }

    fn array(
        op: &'static str,
        side: &'static str,
        array: &Array,
        origin: [usize; 3],
        extent: Extent,
    ) -> Result<Self> {
        array.check_lent(op)?;
        let own = array.descriptor();
        let texel = own.texel_bytes().max(1);
        for (what, bytes) in [("x", origin[0]), ("width", extent.width)] {
            if !bytes.is_multiple_of(texel) {
                let expected = format!("whole texels of {side}, of {texel} bytes each");
                return Err(Error::invalid(
                    op,
                    what,
                    format_args!("{bytes} bytes"),
                    expected,
                ));
            }
        }
        let axes = [
            ("bytes of a row", extent.width, own.row_bytes()),
            ("rows", extent.height, own.rows()),
            ("slices", extent.depth, own.slices()),
        ];
        for ((what, len, all), from) in axes.into_iter().zip(origin) {
            if from.checked_add(len).is_none_or(|end| end > all) {
                let message = format!("{len} {what} from {from} exceed the {all} of {side}");
                return Err(Error::in_op(ErrorKind::Index, op, message));
            }
        }
        Ok(Self::Array {
            handle: array.raw(),
            origin,
        })
    }

    /// The same, so many rows and slices further.
    fn forward(self, [rows, slices]: [usize; 2]) -> Self {
        match self {
            Self::Linear {
                kind,
                address,
                row,
                plane,
            } => Self::Linear {
                kind,
                address: address + (rows * row + slices * plane) as u64,
                row,
                plane,
            },
            Self::Array {
                handle,
                origin: [x, y, z],
            } => Self::Array {
                handle,
                origin: [x, y + rows, z + slices],
            },
        }
    }

    /// For a copy of that extent.
    fn side(self, extent: Extent) -> Side {
        match self {
            Self::Linear {
                kind,
                address,
                row,
                plane,
            } => {
                // Within one row or one slice the pitches mean nothing.
                let (pitch, height) = match (extent.height, extent.depth) {
                    (1, 1) => (extent.width, 1),
                    (height, 1) => (row, height),
                    _ => (row, plane / row.max(1)),
                };
                Side {
                    pitch,
                    height,
                    ..Side::at(kind, address)
                }
            }
            Self::Array { handle, origin } => Side {
                origin,
                ..Side::at(CUmemorytype::CU_MEMORYTYPE_ARRAY, handle as u64)
            },
        }
    }

    /// Whether one call of the driver can go over slices: its planes are a whole number of rows.
    fn has_whole_planes(self) -> bool {
        match self {
            Self::Linear { row, plane, .. } => plane.is_multiple_of(row),
            Self::Array { .. } => true,
        }
    }

    /// Whether one call can go over rows.
    fn has_near_rows(self) -> bool {
        match self {
            Self::Linear { row, .. } => i32::try_from(row).is_ok(),
            Self::Array { .. } => true,
        }
    }
}

/// Queues the copy of a block that is not empty. The caller has checked both sides, keeps host memory borrowed until
/// `stream` has got there, and has made the device's side remember `stream`.
fn queue(to: End, from: End, extent: Extent, stream: &Stream) -> Result<()> {
    let both = |holds: fn(End) -> bool| holds(to) && holds(from);
    let (mut rows, mut slices) = (extent.height, extent.depth);
    if !both(End::has_near_rows) {
        (rows, slices) = (1, 1);
    } else if slices > 1 && !both(End::has_whole_planes) {
        slices = 1;
    }
    let piece = Extent {
        height: rows,
        depth: slices,
        ..extent
    };
    for z in (0..extent.depth).step_by(slices) {
        for y in (0..extent.height).step_by(rows) {
            queue_block(to.forward([y, z]), from.forward([y, z]), piece, stream)?;
        }
    }
    Ok(())
}

fn queue_block(to: End, from: End, extent: Extent, stream: &Stream) -> Result<()> {
    let copy = slices(&to.side(extent), &from.side(extent), extent);
    // SAFETY: both sides are ranges that the callers of `queue` checked and keep alive.
    unsafe { copy_3d(&copy, stream) }
}
