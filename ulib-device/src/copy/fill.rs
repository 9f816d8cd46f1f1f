//! Fills with a repeated pattern.
#![allow(unsafe_code, reason = "calls the driver's memset functions")]

use ulib_core::{Error, Result};

use super::bounds::check_range;
use crate::Stream;
use crate::driver::check;
use crate::memory::{Access, DeviceBytes};

/// Repeats `pattern`, of 1, 2 or 4 bytes, over the `len` bytes of `dst` from `offset` on. Ordered on `stream`, does
/// not block.
///
/// # Errors
///
/// `Index` when the range is outside the memory; `InvalidArgument` when the pattern has another length, `len` is not
/// a multiple of it, the first byte is not aligned to it, or `stream` is of another device; else whatever the driver says.
pub fn fill(
    dst: &DeviceBytes,
    offset: usize,
    len: usize,
    pattern: &[u8],
    stream: &Stream,
) -> Result<()> {
    const OP: &str = "fill";
    check_range(OP, "the device memory", offset, len, dst.len())?;
    let width = pattern.len();
    if !matches!(width, 1 | 2 | 4) {
        return Err(Error::invalid(
            OP,
            "pattern",
            format_args!("{width} bytes long"),
            "1, 2 or 4 bytes",
        ));
    }
    if !len.is_multiple_of(width) {
        return Err(Error::invalid(
            OP,
            "len",
            len,
            format!("a multiple of the pattern's {width} bytes"),
        ));
    }
    if len == 0 {
        return Ok(());
    }
    let to = dst.ptr() + offset as u64;
    if !to.is_multiple_of(width as u64) {
        return Err(Error::invalid(
            OP,
            "offset",
            offset,
            format!("aligned to the pattern's {width} bytes"),
        ));
    }
    stream.check_device(OP, dst.device())?;
    dst.queue_on(stream, Access::Write, || {
        queue_fill(to, len, pattern, stream)
    })
}

/// The caller has checked range, alignment and pattern, and has made the memory remember the stream.
fn queue_fill(to: u64, len: usize, pattern: &[u8], stream: &Stream) -> Result<()> {
    let (_context, table, handle) = (
        stream.device().bind()?,
        stream.device().table(),
        stream.handle(),
    );
    // SAFETY: the range was checked by the caller to lie in live memory of the device whose context is current, and
    // to be aligned; the memory remembers the stream, so it is not freed before the fill has run.
    let (call, status) = unsafe {
        match *pattern {
            [a] => (
                "cuMemsetD8Async",
                (table.cuMemsetD8Async)(to, a, len, handle),
            ),
            [a, b] => {
                let value = u16::from_ne_bytes([a, b]);
                (
                    "cuMemsetD16Async",
                    (table.cuMemsetD16Async)(to, value, len / 2, handle),
                )
            }
            [a, b, c, d] => {
                let value = u32::from_ne_bytes([a, b, c, d]);
                (
                    "cuMemsetD32Async",
                    (table.cuMemsetD32Async)(to, value, len / 4, handle),
                )
            }
            // Refused above.
            _ => return Ok(()),
        }
    };
    check(table, call, status)
}
