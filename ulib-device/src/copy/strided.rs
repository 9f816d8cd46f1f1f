//! Copies of rows and planes that are not next to each other.

use ulib_core::{Error, Result};

use super::bounds::check_range;
use super::paced::{PIECE_BYTES, in_pieces};
use super::strided_calls::{End, queue};
use super::{copy_device, download, upload};
use crate::memory::{Access, DeviceBytes};
use crate::{Stream, stream};

/// Where the rows of a block of bytes are: all in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Pitch {
    /// From the start of the memory to the first byte of the block.
    pub offset: usize,
    /// From one row to the next.
    pub row: usize,
    /// From one plane to the next; not used by [`copy_2d`].
    pub plane: usize,
}

/// The size of a block of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Extent {
    /// Bytes of a row.
    pub width: usize,
    /// Rows of a plane.
    pub height: usize,
    /// Planes; not used by [`copy_2d`].
    pub depth: usize,
}

/// Where a strided copy reads.
#[derive(Clone, Copy, Debug)]
pub enum Source<'a> {
    /// Host memory.
    Host(&'a [u8]),
    /// Device memory.
    Device(&'a DeviceBytes),
}

/// Where a strided copy writes.
#[derive(Debug)]
pub enum Target<'a> {
    /// Host memory.
    Host(&'a mut [u8]),
    /// Device memory.
    Device(&'a DeviceBytes),
}

/// Copies `extent.height` rows of `extent.width` bytes, each side at its own pitch. Ordered on `stream`; blocks until
/// done when a side is host memory.
///
/// # Errors
///
/// As [`copy_3d`].
pub fn copy_2d(
    dst: Target<'_>,
    dst_pitch: Pitch,
    src: Source<'_>,
    src_pitch: Pitch,
    extent: Extent,
    stream: &Stream,
) -> Result<()> {
    copy(
        "copy_2d",
        dst,
        dst_pitch,
        src,
        src_pitch,
        Extent { depth: 1, ..extent },
        stream,
    )
}

/// Copies `extent.depth` planes of `extent.height` rows of `extent.width` bytes, each side at its own pitches. Ordered
/// on `stream`; blocks until done when a side is host memory. Between two pieces of device memory both and `stream`
/// are of one device. Where source and destination overlap the content of the destination is unspecified.
///
/// # Errors
///
/// `Index` when the block reaches outside a side; `InvalidArgument` when rows or planes of a side overlap each other,
/// or the devices differ; `Overflow` when a size does not fit; `Busy` while `stream` is being captured and has to be
/// waited for; else whatever the driver says. The first four come before anything is copied.
pub fn copy_3d(
    dst: Target<'_>,
    dst_pitch: Pitch,
    src: Source<'_>,
    src_pitch: Pitch,
    extent: Extent,
    stream: &Stream,
) -> Result<()> {
    copy("copy_3d", dst, dst_pitch, src, src_pitch, extent, stream)
}

fn copy(
    op: &'static str,
    dst: Target<'_>,
    dst_pitch: Pitch,
    src: Source<'_>,
    src_pitch: Pitch,
    extent: Extent,
    stream: &Stream,
) -> Result<()> {
    if extent.width == 0 || extent.height == 0 || extent.depth == 0 {
        return Ok(());
    }
    let to_pitch = dst_pitch.normal(op, "the destination", extent, dst.len())?;
    let from_pitch = src_pitch.normal(op, "the source", extent, src.len())?;
    for device in [dst.device(), src.device()].into_iter().flatten() {
        stream.check_device(op, device.device())?;
    }
    let (to_pitch, from_pitch, extent) = merge(to_pitch, from_pitch, extent);
    if extent.height == 1 && extent.depth == 1 {
        return copy_row(
            dst,
            to_pitch.offset,
            src,
            from_pitch.offset,
            extent.width,
            stream,
        );
    }
    match (dst, src) {
        (Target::Host(to), Source::Host(from)) => {
            copy_host(to, to_pitch, from, from_pitch, extent);
            Ok(())
        }
        (Target::Device(to), Source::Device(from)) => to.queue_from(from, stream, || {
            let (to, from) = (
                End::device(to.ptr(), to_pitch),
                End::device(from.ptr(), from_pitch),
            );
            queue(to, from, extent, stream)
        }),
        (Target::Device(to), Source::Host(from)) => {
            stream::not_capturing(op, stream)?;
            let from = End::host(from.as_ptr().cast_mut(), from_pitch);
            let end = End::device(to.ptr(), to_pitch);
            in_pieces(stream, extent.bytes(), extent.pieces(), |(at, piece)| {
                to.queue_on(stream, Access::Write, || {
                    queue(end.forward_to(at), from.forward_to(at), piece, stream)
                })
            })
        }
        (Target::Host(to), Source::Device(from)) => {
            stream::not_capturing(op, stream)?;
            let to = End::host(to.as_mut_ptr(), to_pitch);
            let end = End::device(from.ptr(), from_pitch);
            in_pieces(stream, extent.bytes(), extent.pieces(), |(at, piece)| {
                from.queue_on(stream, Access::Read, || {
                    queue(to.forward_to(at), end.forward_to(at), piece, stream)
                })
            })
        }
    }
}

impl Extent {
    /// Bytes in all.
    #[must_use]
    pub fn bytes(self) -> u64 {
        let row = self.width as u64;
        row.saturating_mul(self.height as u64)
            .saturating_mul(self.depth as u64)
    }

    /// The extent in pieces of whole rows that are not much larger than a piece of a long copy: each with the row and the slice at
    /// which it begins, and its bytes. None where there are no bytes.
    pub fn pieces(self) -> impl Iterator<Item = (([usize; 2], Self), usize)> {
        let most = (PIECE_BYTES / self.width.max(1)).max(1);
        let (rows, slices) = match self.height.max(1) {
            // Whole slices, as many as fit.
            height if height <= most => (height, most / height),
            _ => (most, 1),
        };
        let (height, depth) = match self.width {
            0 => (0, 0),
            _ => (self.height, self.depth),
        };
        (0..depth).step_by(slices).flat_map(move |z| {
            (0..height).step_by(rows).map(move |y| {
                let piece = Self {
                    width: self.width,
                    height: rows.min(height - y),
                    depth: slices.min(depth - z),
                };
                (([y, z], piece), piece.width * piece.height * piece.depth)
            })
        })
    }
}

impl Pitch {
    /// The pitches with those that only one row or plane has replaced by the least possible, after checking that
    /// rows and planes do not overlap and end within `len` bytes.
    pub(super) fn normal(
        self,
        op: &'static str,
        side: &'static str,
        extent: Extent,
        len: usize,
    ) -> Result<Self> {
        let too_large = || {
            Error::overflow(
                op,
                format_args!("the extent {extent:?} at the pitch {self:?} of {side}"),
            )
        };
        let row = if extent.height == 1 {
            extent.width
        } else {
            self.row
        };
        if row < extent.width {
            let expected = format!("at least the {} bytes of a row of {side}", extent.width);
            return Err(Error::invalid(op, "row pitch", self.row, expected));
        }
        // From the first byte of a plane to the end of its last row.
        let plane_bytes = row
            .checked_mul(extent.height - 1)
            .and_then(|n| n.checked_add(extent.width))
            .ok_or_else(too_large)?;
        let plane = if extent.depth == 1 {
            row.checked_mul(extent.height).ok_or_else(too_large)?
        } else {
            self.plane
        };
        if extent.depth > 1 && plane < plane_bytes {
            let expected = format!("at least the {plane_bytes} bytes that a plane of {side} spans");
            return Err(Error::invalid(op, "plane pitch", self.plane, expected));
        }
        let span = plane
            .checked_mul(extent.depth - 1)
            .and_then(|n| n.checked_add(plane_bytes))
            .ok_or_else(too_large)?;
        check_range(op, side, self.offset, span, len)?;
        Ok(Self {
            offset: self.offset,
            row,
            plane,
        })
    }
}

/// Joins rows, then planes, that follow each other without a gap on both sides.
fn merge(mut to: Pitch, mut from: Pitch, mut extent: Extent) -> (Pitch, Pitch, Extent) {
    let rows_join = |pitch: Pitch| pitch.row == extent.width;
    if rows_join(to) && rows_join(from) {
        // A plane becomes a row, and the planes become the rows of one plane.
        let width = extent.width * extent.height;
        let joined = |pitch: Pitch| Pitch {
            offset: pitch.offset,
            row: pitch.plane,
            plane: 0,
        };
        (to, from) = (joined(to), joined(from));
        extent = Extent {
            width,
            height: extent.depth,
            depth: 1,
        };
        if extent.height > 1 && to.row == width && from.row == width {
            extent = Extent {
                width: width * extent.height,
                height: 1,
                depth: 1,
            };
        }
    } else if extent.depth > 1
        && to.row.checked_mul(extent.height) == Some(to.plane)
        && from.row.checked_mul(extent.height) == Some(from.plane)
    {
        extent = Extent {
            width: extent.width,
            height: extent.height * extent.depth,
            depth: 1,
        };
    }
    (to, from, extent)
}

/// The whole block is one row.
fn copy_row(
    dst: Target<'_>,
    to: usize,
    src: Source<'_>,
    from: usize,
    len: usize,
    stream: &Stream,
) -> Result<()> {
    match (dst, src) {
        (Target::Host(dst), Source::Host(src)) => {
            dst[to..to + len].copy_from_slice(&src[from..from + len]);
            Ok(())
        }
        (Target::Device(dst), Source::Device(src)) => copy_device(dst, to, src, from, len, stream),
        (Target::Device(dst), Source::Host(src)) => upload(dst, to, &src[from..from + len], stream),
        (Target::Host(dst), Source::Device(src)) => {
            download(src, from, &mut dst[to..to + len], stream)
        }
    }
}

fn copy_host(dst: &mut [u8], to: Pitch, src: &[u8], from: Pitch, extent: Extent) {
    for z in 0..extent.depth {
        for y in 0..extent.height {
            let (to, from) = (
                to.offset + z * to.plane + y * to.row,
                from.offset + z * from.plane + y * from.row,
            );
            dst[to..to + extent.width].copy_from_slice(&src[from..from + extent.width]);
        }
    }
}

impl<'a> Source<'a> {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Host(bytes) => bytes.len(),
            Self::Device(bytes) => bytes.len(),
        }
    }

    fn device(&self) -> Option<&'a DeviceBytes> {
        match self {
            Self::Host(_) => None,
            Self::Device(bytes) => Some(bytes),
        }
    }
}

impl<'a> Target<'a> {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Host(bytes) => bytes.len(),
            Self::Device(bytes) => bytes.len(),
        }
    }

    fn device(&self) -> Option<&'a DeviceBytes> {
        match self {
            Self::Host(_) => None,
            Self::Device(bytes) => Some(bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_every_row_once_and_are_not_large() {
        for (width, height, depth) in [
            (1, 1, 1),
            (1000, 70_000, 3),
            (1 << 20, 5, 9),
            (1 << 20, 40, 2),
            (40 << 20, 3, 2),
            (3, 1 << 20, 20),
        ] {
            let all = Extent {
                width,
                height,
                depth,
            };
            let mut seen = vec![0_u8; height * depth];
            let mut total = 0;
            for (([y, z], piece), bytes) in all.pieces() {
                assert_eq!(piece.bytes(), bytes as u64);
                assert!(bytes <= PIECE_BYTES || (piece.height, piece.depth) == (1, 1));
                assert_eq!(piece.width, width);
                total += bytes as u64;
                for slice in z..z + piece.depth {
                    for row in y..y + piece.height {
                        seen[slice * height + row] += 1;
                    }
                }
            }
            assert!(seen.iter().all(|&times| times == 1), "{all:?}");
            assert_eq!(total, all.bytes());
        }
        for nothing in [(0, 3, 3), (3, 0, 3), (3, 3, 0)] {
            let (width, height, depth) = nothing;
            let nothing = Extent {
                width,
                height,
                depth,
            };
            assert_eq!(nothing.pieces().count(), 0);
        }
    }
}
