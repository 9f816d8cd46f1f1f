//! Fills with a repeated pattern.
#![allow(unsafe_code, reason = "fills memory whose bounds it has checked")]

use ulib_core::{Error, Result};

use super::bounds::check_range;
use super::raw::{self, Element};
use crate::Stream;
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
    let element = match *pattern {
        [a, b] => Element::D16(u16::from_ne_bytes([a, b])),
        [a, b, c, d] => Element::D32(u32::from_ne_bytes([a, b, c, d])),
        _ => Element::D8(pattern[0]),
    };
    stream.check_device(OP, dst.device())?;
    dst.queue_on(stream, Access::Write, || {
        // SAFETY: the range was checked above to lie in `dst`, which remembers the stream, so that it is not freed before the
        // fill has run, and has ordered the stream after conflicting work.
        unsafe { raw::fill(to, element, len / width, stream) }
    })
}
