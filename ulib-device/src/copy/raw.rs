//! Copies and fills of plain addresses: for code that knows about its memory what this crate cannot know, such as a program
//! that keeps pointers as numbers.
//!
//! Nothing is remembered about the memory and nothing waits: each function puts one piece of work into the stream. The driver
//! itself refuses addresses that it does not know.
#![allow(unsafe_code, reason = "calls the driver's copy functions")]

use ulib_core::Result;

pub use super::paced::in_pieces;
pub use super::sides::{Side, rows, slices, slices_of_peers};

use super::device::{queue_between, queue_within};
use super::linear::{queue_download, queue_upload};
use crate::driver::{check, missing_entry};
use crate::memory::guard;
use crate::sys::{CUDA_MEMCPY2D, CUDA_MEMCPY3D, CUDA_MEMCPY3D_PEER};
use crate::{Device, Stream};

/// Copies `len` bytes from the host to the device address `to`.
///
/// # Errors
/// Whatever the driver says; kind `Forked` in a forked child.
///
/// # Safety
/// Both ranges are valid until the copy has run, and nothing accesses them in conflict with it.
pub unsafe fn upload(to: u64, from: *const u8, len: usize, stream: &Stream) -> Result<()> {
    if len == 0 {
        return Ok(());
    }
    queue_upload(to, from, len, stream, &stream.device().bind()?)
}

/// Copies `len` bytes from the device address `from` to the host.
///
/// # Errors
/// Whatever the driver says; kind `Forked` in a forked child.
///
/// # Safety
/// As [`upload`].
pub unsafe fn download(to: *mut u8, from: u64, len: usize, stream: &Stream) -> Result<()> {
    if len == 0 {
        return Ok(());
    }
    queue_download(to, from, len, stream, &stream.device().bind()?)
}

/// Copies `len` bytes between two device addresses, also of two devices that reach each other.
///
/// # Errors
/// Whatever the driver says; kind `Forked` in a forked child.
///
/// # Safety
/// As [`upload`]; the ranges do not overlap.
pub unsafe fn copy(to: u64, from: u64, len: usize, stream: &Stream) -> Result<()> {
    if len == 0 {
        return Ok(());
    }
    queue_within(to, from, len, stream)
}

/// Copies `len` bytes between addresses of two devices, which need not reach each other.
///
/// # Errors
/// Whatever the driver says; kind `Forked` in a forked child.
///
/// # Safety
/// As [`copy`]; each address is one of its device.
pub unsafe fn copy_peer(
    to: (u64, &Device),
    from: (u64, &Device),
    len: usize,
    stream: &Stream,
) -> Result<()> {
    if len == 0 {
        return Ok(());
    }
    queue_between(to, from, len, stream)
}

/// One element of a fill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Element {
    /// One byte.
    D8(u8),
    /// Two bytes.
    D16(u16),
    /// Four bytes.
    D32(u32),
}

impl Element {
    /// Its size in bytes.
    #[must_use]
    pub fn size(self) -> usize {
        match self {
            Self::D8(_) => 1,
            Self::D16(_) => 2,
            Self::D32(_) => 4,
        }
    }
}

/// Repeats `element` `count` times from the address `to` on.
///
/// # Errors
/// Whatever the driver says, such as of an address that is not aligned to the element; kind `Forked` in a forked child.
///
/// # Safety
/// The range is valid until the fill has run, and nothing accesses it in conflict.
pub unsafe fn fill(to: u64, element: Element, count: usize, stream: &Stream) -> Result<()> {
    if count == 0 {
        return Ok(());
    }
    let _context = stream.device().bind()?;
    let _queueing = stream.queueing("fill")?;
    let (table, on) = (stream.device().table(), stream.handle());
    // SAFETY: the range is valid and nobody else's, by the caller's promise; the context of the stream's device is current.
    let (call, status) = unsafe {
        match element {
            Element::D8(value) => (
                "cuMemsetD8Async",
                (table.cuMemsetD8Async)(to, value, count, on),
            ),
            Element::D16(value) => (
                "cuMemsetD16Async",
                (table.cuMemsetD16Async)(to, value, count, on),
            ),
            Element::D32(value) => (
                "cuMemsetD32Async",
                (table.cuMemsetD32Async)(to, value, count, on),
            ),
        }
    };
    check(table, call, status)
}

/// Repeats `element` `width` times in each of `height` rows, which start `pitch` bytes apart from the address `to` on.
///
/// # Errors
/// As [`fill`].
///
/// # Safety
/// As [`fill`], of every row.
pub unsafe fn fill_2d(
    to: u64,
    pitch: usize,
    element: Element,
    (width, height): (usize, usize),
    stream: &Stream,
) -> Result<()> {
    if width == 0 || height == 0 {
        return Ok(());
    }
    let _context = stream.device().bind()?;
    let _queueing = stream.queueing("fill")?;
    let (table, on) = (stream.device().table(), stream.handle());
    let missing = |call| missing_entry(call, "3.2");
    // SAFETY: as in `fill`, of every row.
    let (call, status) = unsafe {
        match element {
            Element::D8(value) => {
                let name = "cuMemsetD2D8Async";
                let call = table.cuMemsetD2D8Async.ok_or_else(|| missing(name))?;
                (name, call(to, pitch, value, width, height, on))
            }
            Element::D16(value) => {
                let name = "cuMemsetD2D16Async";
                let call = table.cuMemsetD2D16Async.ok_or_else(|| missing(name))?;
                (name, call(to, pitch, value, width, height, on))
            }
            Element::D32(value) => {
                let name = "cuMemsetD2D32Async";
                let call = table.cuMemsetD2D32Async.ok_or_else(|| missing(name))?;
                (name, call(to, pitch, value, width, height, on))
            }
        }
    };
    check(table, call, status)
}

/// Copies rows as the driver's own description says, also from and to arrays.
///
/// # Errors
/// Whatever the driver says; kind `Forked` in a forked child.
///
/// # Safety
/// As [`upload`], of both sides as `description` has them.
pub unsafe fn copy_2d(description: &CUDA_MEMCPY2D, stream: &Stream) -> Result<()> {
    let _context = stream.device().bind()?;
    let _queueing = stream.queueing("copy")?;
    let table = stream.device().table();
    // SAFETY: the caller's promise; the context of the stream's device is current.
    let status = unsafe { (table.cuMemcpy2DAsync_v2)(description, stream.handle()) };
    check(table, "cuMemcpy2DAsync_v2", status)
}

/// Copies rows at pitches that the driver's usual copy may refuse, on the default stream. Slower, and waits for copies in which
/// the host takes part.
///
/// # Errors
/// Whatever the driver says; kind `Forked` in a forked child.
///
/// # Safety
/// As [`copy_2d`].
pub unsafe fn copy_2d_unaligned(description: &CUDA_MEMCPY2D, device: &Device) -> Result<()> {
    let table = device.table();
    let call = table
        .cuMemcpy2DUnaligned_v2
        .ok_or_else(|| missing_entry("cuMemcpy2DUnaligned_v2", "3.2"))?;
    let _context = device.bind()?;
    // Not for the time of the call, which waits.
    drop(Stream::legacy(device).queueing("copy")?);
    // SAFETY: the caller's promise; the context of the device is current.
    let status = unsafe { call(description) };
    check(table, "cuMemcpy2DUnaligned_v2", status)?;
    guard::waited();
    Ok(())
}

/// Copies slices of rows as the driver's own description says, also from and to arrays.
///
/// # Errors
/// Whatever the driver says; kind `Forked` in a forked child.
///
/// # Safety
/// As [`copy_2d`].
pub unsafe fn copy_3d(description: &CUDA_MEMCPY3D, stream: &Stream) -> Result<()> {
    let _context = stream.device().bind()?;
    let _queueing = stream.queueing("copy")?;
    let table = stream.device().table();
    // SAFETY: as in `copy_2d`.
    let status = unsafe { (table.cuMemcpy3DAsync_v2)(description, stream.handle()) };
    check(table, "cuMemcpy3DAsync_v2", status)
}

/// As [`copy_3d`], between the contexts that the description names.
///
/// # Errors
/// Whatever the driver says; kind `Forked` in a forked child.
///
/// # Safety
/// As [`copy_2d`]; both contexts are alive.
pub unsafe fn copy_3d_peer(description: &CUDA_MEMCPY3D_PEER, stream: &Stream) -> Result<()> {
    let table = stream.device().table();
    let call = table
        .cuMemcpy3DPeerAsync
        .ok_or_else(|| missing_entry("cuMemcpy3DPeerAsync", "4.0"))?;
    let _context = stream.device().bind()?;
    let _queueing = stream.queueing("copy")?;
    // SAFETY: as in `copy_2d`.
    let status = unsafe { call(description, stream.handle()) };
    check(table, "cuMemcpy3DPeerAsync", status)
}
