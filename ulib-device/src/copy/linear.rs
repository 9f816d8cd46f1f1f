//! Contiguous blocking copies between host and device.
#![allow(unsafe_code, reason = "calls the driver's copy functions")]

use std::thread;
use std::time::Duration;

use ulib_core::{Error, ErrorKind, Result};

use super::bounds::check_range;
use super::paced::{PIECE_BYTES, in_pieces};
use super::ring;
use crate::device::ContextGuard;
use crate::driver::check;
use crate::memory::{Access, DeviceBytes};
use crate::pinned::PinnedPool;
use crate::{Stream, stream};

/// Ordinary memory is staged from this size on.
pub(crate) const STAGED_FROM_BYTES: usize = 4 << 20;

/// How often a wait that a capture forbids is tried again.
const CAPTURE_PERIOD: Duration = Duration::from_micros(200);

/// Copies `src` to the bytes of `dst` from `offset` on, ordered on `stream`. Blocks until they are there; also for the
/// length of a capture that another thread begins during the call, if it makes waiting for `stream` impossible.
///
/// # Errors
///
/// `Index` when `dst` is too short and `InvalidArgument` when `stream` is of another device, before anything is copied;
/// `Interrupted` when the watch says so, and then any part
/// of the bytes may have been copied; `Busy` while `stream` is being captured; else whatever the driver says.
pub fn upload(dst: &DeviceBytes, offset: usize, src: &[u8], stream: &Stream) -> Result<()> {
    check_range("upload", "the device memory", offset, src.len(), dst.len())?;
    if src.is_empty() {
        return Ok(());
    }
    stream.check_device("upload", dst.device())?;
    let context = stream.device().bind()?;
    stream::not_capturing_in("upload", stream, &context)?;
    let to = dst.ptr() + offset as u64;
    if src.len() >= STAGED_FROM_BYTES
        && !PinnedPool::global().owns(src)
        && !is_registered(src, stream)?
    {
        drop(context);
        // The borrow of the memory outlives the work of the ring's own streams, which is over when this returns.
        dst.use_on(stream, Access::Write)?;
        let staged = ring::upload(to, src, stream)?;
        if staged.is_done() {
            return Ok(());
        }
        return upload_direct(dst, to, src, stream, stream.device().bind()?);
    }
    upload_direct(dst, to, src, stream, context)
}

/// Copies the bytes of `src` from `offset` on to `dst`, ordered on `stream`. Blocks until they are there.
///
/// # Errors
///
/// As [`upload`].
pub fn download(src: &DeviceBytes, offset: usize, dst: &mut [u8], stream: &Stream) -> Result<()> {
    check_range(
        "download",
        "the device memory",
        offset,
        dst.len(),
        src.len(),
    )?;
    if dst.is_empty() {
        return Ok(());
    }
    stream.check_device("download", src.device())?;
    let context = stream.device().bind()?;
    stream::not_capturing_in("download", stream, &context)?;
    let from = src.ptr() + offset as u64;
    if dst.len() >= STAGED_FROM_BYTES
        && !PinnedPool::global().owns(dst)
        && !is_registered(dst, stream)?
    {
        drop(context);
        // As in `upload`.
        src.use_on(stream, Access::Read)?;
        let staged = ring::download(from, dst, stream)?;
        if staged.is_done() {
            return Ok(());
        }
        return download_direct(src, from, dst, stream, stream.device().bind()?);
    }
    download_direct(src, from, dst, stream, context)
}

/// What became of an attempt to go through the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Staged {
    Done,
    /// There is no ring to be had, or not soon: nothing was copied.
    NoRing,
}

impl Staged {
    fn is_done(self) -> bool {
        self == Self::Done
    }
}

fn upload_direct(
    dst: &DeviceBytes,
    to: u64,
    src: &[u8],
    stream: &Stream,
    context: ContextGuard,
) -> Result<()> {
    let mut used = None;
    if src.len() <= PIECE_BYTES {
        let copied = dst.queue_as(stream, Access::Write, &mut used, || {
            queue_upload(to, src.as_ptr(), src.len(), stream, &context)
        });
        settle_in(copied, stream, &context)?;
    } else {
        // The watch finds the context current that was before.
        drop(context);
        let pieces = src.chunks(PIECE_BYTES).map(|piece| (piece, piece.len()));
        let mut to = to;
        in_pieces(stream, src.len() as u64, pieces, |piece| {
            let (context, at) = (stream.device().bind()?, to);
            to += piece.len() as u64;
            dst.queue_as(stream, Access::Write, &mut used, || {
                queue_upload(at, piece.as_ptr(), piece.len(), stream, &context)
            })
        })?;
    }
    dst.waited(stream, used);
    Ok(())
}

fn download_direct(
    src: &DeviceBytes,
    from: u64,
    dst: &mut [u8],
    stream: &Stream,
    context: ContextGuard,
) -> Result<()> {
    let (mut used, total) = (None, dst.len() as u64);
    if dst.len() <= PIECE_BYTES {
        let copied = src.queue_as(stream, Access::Read, &mut used, || {
            queue_download(dst.as_mut_ptr(), from, dst.len(), stream, &context)
        });
        settle_in(copied, stream, &context)?;
    } else {
        // As in `upload_direct`.
        drop(context);
        let pieces = dst.chunks_mut(PIECE_BYTES).map(|piece| {
            let bytes = piece.len();
            (piece, bytes)
        });
        let mut from = from;
        in_pieces(stream, total, pieces, |piece| {
            let (context, at) = (stream.device().bind()?, from);
            from += piece.len() as u64;
            src.queue_as(stream, Access::Read, &mut used, || {
                queue_download(piece.as_mut_ptr(), at, piece.len(), stream, &context)
            })
        })?;
    }
    src.waited(stream, used);
    Ok(())
}

/// Whether the driver still uses host memory, after everything was done to wait for it.
pub(crate) enum Over {
    /// It does not; and what became of the work.
    Yes(Result<()>),
    /// Nobody knows: neither the stream nor the device can be waited for.
    Unknown(Error),
}

/// Waits until the driver no longer uses host memory that the work on `stream` reads or writes.
///
/// A capture that another thread began just after that work was queued can forbid every wait: then the wait is tried
/// until the capture has ended, since nothing else tells when the memory may be touched again.
pub(crate) fn until_over(stream: &Stream) -> Over {
    until_over_with(stream, || stream.synchronize())
}

fn until_over_with(stream: &Stream, synchronize: impl Fn() -> Result<()>) -> Over {
    loop {
        let Err(error) = synchronize() else {
            return Over::Yes(Ok(()));
        };
        if !is_busy(&error) {
            // The work may still run: the only other way to wait for it.
            match stream.device().synchronize() {
                Ok(()) => return Over::Yes(Err(error)),
                Err(second) if !is_busy(&second) => return Over::Unknown(error),
                Err(_) => {}
            }
        }
        thread::sleep(CAPTURE_PERIOD);
    }
}

fn is_busy(error: &Error) -> bool {
    *error.kind() == ErrorKind::Busy
}

/// Waits until the driver no longer uses borrowed host memory, whatever went wrong.
pub(super) fn settle(queued: Result<()>, stream: &Stream) -> Result<()> {
    settled(queued, until_over(stream))
}

/// [`settle`] for who has made the context of the stream's device current already.
fn settle_in(queued: Result<()>, stream: &Stream, context: &ContextGuard) -> Result<()> {
    settled(
        queued,
        until_over_with(stream, || stream.synchronize_in(context)),
    )
}

fn settled(queued: Result<()>, over: Over) -> Result<()> {
    let finished = match over {
        Over::Yes(finished) => finished,
        // The context is lost and runs nothing any more.
        Over::Unknown(error) => Err(error),
    };
    queued.and(finished)
}

/// Queues a copy from the host. The caller keeps `len` bytes at `from` alive and unchanged until `stream` has got
/// there, and has checked that the device range is within memory ordered on `stream`.
pub(super) fn queue_upload(
    to: u64,
    from: *const u8,
    len: usize,
    stream: &Stream,
    context: &ContextGuard,
) -> Result<()> {
    debug_assert_eq!(context.device(), stream.device(), "its own context");
    let _queueing = stream.queueing("upload")?;
    let table = stream.device().table();
    // SAFETY: the context of the stream's device is current, by the caller's guard; both ranges are valid, by this function's contract with
    // its callers in this module, who checked the bounds and wait before they end the borrow of the host bytes.
    let status = unsafe { (table.cuMemcpyHtoDAsync_v2)(to, from.cast(), len, stream.handle()) };
    check(table, "cuMemcpyHtoDAsync_v2", status)
}

/// Queues a copy to the host; as [`queue_upload`] in the other direction: nobody else touches the host bytes meanwhile.
pub(super) fn queue_download(
    to: *mut u8,
    from: u64,
    len: usize,
    stream: &Stream,
    context: &ContextGuard,
) -> Result<()> {
    debug_assert_eq!(context.device(), stream.device(), "its own context");
    let _queueing = stream.queueing("download")?;
    let table = stream.device().table();
    // SAFETY: the context of the stream's device is current, by the caller's guard; both ranges are valid, by this function's contract with
    // its callers in this module, who checked the bounds and wait before they end the borrow of the host bytes.
    let status = unsafe { (table.cuMemcpyDtoHAsync_v2)(to.cast(), from, len, stream.handle()) };
    check(table, "cuMemcpyDtoHAsync_v2", status)
}

/// Whether somebody else has page-locked these bytes, so that the driver copies them at full speed itself.
fn is_registered(bytes: &[u8], stream: &Stream) -> Result<bool> {
    let device = stream.device();
    let _context = device.bind()?;
    let is_host = |byte: &u8| {
        let attribute = crate::sys::CUpointer_attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
        let mut kind = 0_u32;
        let address = std::ptr::from_ref(byte) as u64;
        // SAFETY: this attribute is one 32-bit number; the driver looks the address up and does not follow it. For an
        // address it does not know it answers with an error.
        let status = unsafe {
            (device.table().cuPointerGetAttribute)((&raw mut kind).cast(), attribute, address)
        };
        status == crate::sys::CUresult::CUDA_SUCCESS
            && kind == crate::sys::CUmemorytype::CU_MEMORYTYPE_HOST.0
    };
    Ok(bytes.first().is_some_and(is_host) && bytes.last().is_some_and(is_host))
}
