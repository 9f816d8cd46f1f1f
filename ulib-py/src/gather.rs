//! Strided array to packed bytes and back, on the host.

use ulib_core::{Error, Layout, Result};

use crate::source::Desc;

/// Runs `$body` with `$size` bound to the item size, as a constant where it is a common one: a copy of
/// a constant number of bytes is one instruction, of any number a call.
macro_rules! by_size {
    ($itemsize:expr, $size:ident => $body:expr) => {
        match $itemsize {
            4 => {
                let $size = 4_usize;
                $body
            }
            8 => {
                let $size = 8_usize;
                $body
            }
            $size => $body,
        }
    };
}
pub(crate) use by_size;

/// Copies the elements that `desc` describes in `from` (a block's bytes) to `to`, packed in C order.
pub(crate) fn gather(from: &[u8], desc: &Desc, to: &mut [u8]) -> Result<()> {
    if check(from.len(), desc, to.len())? {
        let start = desc.offset_bytes()?;
        to.copy_from_slice(&from[start..start + to.len()]);
        return Ok(());
    }
    by_size!(desc.itemsize(), size => for_each_element(desc, |packed, strided| {
        to[packed..packed + size].copy_from_slice(&from[strided..strided + size]);
    }))
}

/// Copies packed elements in C order from `from` to where `desc` describes them in `to`.
pub(crate) fn scatter(from: &[u8], to: &mut [u8], desc: &Desc) -> Result<()> {
    if check(to.len(), desc, from.len())? {
        let start = desc.offset_bytes()?;
        to[start..start + from.len()].copy_from_slice(from);
        return Ok(());
    }
    by_size!(desc.itemsize(), size => for_each_element(desc, |packed, strided| {
        to[strided..strided + size].copy_from_slice(&from[packed..packed + size]);
    }))
}

/// Whether the array is packed and not empty, after checking that it lies inside the block and
/// that the packed side has its size.
pub(crate) fn check(block: usize, desc: &Desc, packed: usize) -> Result<bool> {
    desc.layout.check_within(block / desc.itemsize().max(1))?;
    let bytes = desc.packed_bytes()?;
    if bytes != packed {
        return Err(Error::shape("copy", &[bytes], &[packed]));
    }
    Ok(bytes > 0 && desc.layout.is_contiguous())
}

/// Calls `copy(packed, strided)` with the byte positions of every element, in C order. The layout
/// must have been checked against the block.
pub(crate) fn for_each_element(desc: &Desc, mut copy: impl FnMut(usize, usize)) -> Result<()> {
    let size = desc.itemsize();
    if desc.layout.is_empty() {
        return Ok(());
    }
    let (shape, strides) = (desc.layout.shape(), desc.layout.strides());
    let (row, step) = match (shape.last(), strides.last()) {
        (Some(&row), Some(&step)) => (row, step),
        _ => {
            copy(0, desc.offset_bytes()?);
            return Ok(());
        }
    };
    let outer = shape.len() - 1;
    let rows = Layout::new(
        shape[..outer].to_vec(),
        strides[..outer].to_vec(),
        desc.layout.offset(),
    )?;
    let mut packed = 0;
    for start in rows.offsets() {
        let mut at = start as isize;
        for _ in 0..row {
            copy(packed, at as usize * size);
            packed += size;
            at += step;
        }
    }
    Ok(())
}
