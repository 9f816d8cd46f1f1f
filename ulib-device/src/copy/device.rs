//! Copies between pieces of device memory.
#![allow(unsafe_code, reason = "calls the driver's copy functions")]

use ulib_core::{Error, Result};

use super::bounds::check_range;
use crate::driver::check;
use crate::memory::DeviceBytes;
use crate::sys::CUcontext;
use crate::{Device, Stream};

/// Copies `len` bytes of `src` from `src_offset` on to `dst` from `dst_offset` on. Ordered on `stream`, does not block.
///
/// The two may be on different devices; `stream` belongs to one of them. Both may be the same memory as long as the
/// ranges do not overlap.
///
/// # Errors
///
/// `Index` when a range is outside its memory; `InvalidArgument` when ranges of the same memory overlap, or `stream`
/// is of neither device; else whatever the driver says.
pub fn copy_device(
    dst: &DeviceBytes,
    dst_offset: usize,
    src: &DeviceBytes,
    src_offset: usize,
    len: usize,
    stream: &Stream,
) -> Result<()> {
    const OP: &str = "copy_device";
    check_range(OP, "the destination", dst_offset, len, dst.len())?;
    check_range(OP, "the source", src_offset, len, src.len())?;
    let (to_device, from_device, here) = (dst.device(), src.device(), stream.device());
    if here.ordinal() != to_device.ordinal() && here.ordinal() != from_device.ordinal() {
        return Err(Error::invalid(
            OP,
            "stream",
            format_args!("one of device {}", here.ordinal()),
            format!(
                "a stream of device {} or {}",
                to_device.ordinal(),
                from_device.ordinal()
            ),
        ));
    }
    if len == 0 {
        return Ok(());
    }
    let (to, from) = (dst.ptr() + dst_offset as u64, src.ptr() + src_offset as u64);
    let same_device = to_device.ordinal() == from_device.ordinal();
    if same_device && to.abs_diff(from) < len as u64 {
        return Err(Error::invalid(
            OP,
            "dst_offset",
            dst_offset,
            format!(
                "a range that does not overlap the {len} bytes copied from offset {src_offset}"
            ),
        ));
    }
    dst.queue_from(src, stream, || {
        if same_device {
            queue_within(to, from, len, stream)
        } else {
            queue_between((to, to_device), (from, from_device), len, stream)
        }
    })
}

/// The caller has checked both ranges and has made the memory remember the stream.
pub(super) fn queue_within(to: u64, from: u64, len: usize, stream: &Stream) -> Result<()> {
    let (_context, table) = (stream.device().bind()?, stream.device().table());
    let _queueing = stream.queueing("copy")?;
    // SAFETY: both ranges were checked by the caller to lie in live memory of this device, whose context is current;
    // the memory remembers the stream, so it is not freed before the copy has run.
    let status = unsafe { (table.cuMemcpyDtoDAsync_v2)(to, from, len, stream.handle()) };
    check(table, "cuMemcpyDtoDAsync_v2", status)
}

/// As [`queue_within`], each address with its device.
pub(super) fn queue_between(
    to: (u64, &Device),
    from: (u64, &Device),
    len: usize,
    stream: &Stream,
) -> Result<()> {
    let (_context, table) = (stream.device().bind()?, stream.device().table());
    let _queueing = stream.queueing("copy")?;
    let (to_context, from_context) = (
        to.1.primary_context()? as CUcontext,
        from.1.primary_context()? as CUcontext,
    );
    // SAFETY: as in `queue_within`, with the primary contexts of both devices, which are never released.
    let status = unsafe {
        (table.cuMemcpyPeerAsync)(to.0, to_context, from.0, from_context, len, stream.handle())
    };
    check(table, "cuMemcpyPeerAsync", status)
}
