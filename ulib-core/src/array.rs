//! [`IDeviceArray`]: what anything that can be seen as an array answers.

use crate::bytes::byte_count;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::layout::Layout;
use crate::placement::Placement;

/// Something that can be seen as a strided array, on the host or on a device.
///
/// The contract, which implementers keep and consumers may rely on:
///
/// 1. Every element that [`layout`](Self::layout) reaches exists in the memory that starts at
///    [`pointer`](Self::pointer): element number `e` (the layout counts in elements) occupies the bytes
///    `pointer + e * dtype.size() ..  pointer + (e + 1) * dtype.size()`.
/// 2. `pointer` is an address of the memory named by [`placement`](Self::placement): of this process for
///    [`Placement::Host`], of that device for [`Placement::Device`]. It may be 0 when the layout is empty.
/// 3. If [`read_only`](Self::read_only) is false, no two indices of the layout reach the same element.
/// 4. The answers do not change while the value is borrowed.
///
/// An answer gives no right to dereference: who reads through the pointer must know for how long
/// the memory lives and who else writes to it, which the owning type documents.
///
/// ```
/// use ulib_core::{DType, IDeviceArray, Layout, Placement};
///
/// struct Column { base: u64, layout: Layout }
/// impl IDeviceArray for Column {
///     fn dtype(&self) -> DType { DType::F32 }
///     fn layout(&self) -> &Layout { &self.layout }
///     fn read_only(&self) -> bool { false }
///     fn placement(&self) -> Placement { Placement::Device(0) }
///     fn pointer(&self) -> u64 { self.base }
/// }
///
/// // The second of two interleaved channels.
/// let column = Column { base: 0x1000, layout: Layout::new(vec![4], vec![2], 1)? };
/// assert_eq!(column.first_element()?, 0x1004);
/// assert_eq!(column.strides_bytes()?, [8]);
/// # Ok::<(), ulib_core::Error>(())
/// ```
pub trait IDeviceArray {
    /// The type of one element.
    fn dtype(&self) -> DType;

    /// Shape, strides and offset, in elements of [`dtype`](Self::dtype).
    fn layout(&self) -> &Layout;

    /// True when consumers must not write.
    fn read_only(&self) -> bool;

    /// Where the memory is.
    fn placement(&self) -> Placement;

    /// The address of element number 0 of the memory (not of the layout's first element:
    /// see [`first_element`](Self::first_element)).
    fn pointer(&self) -> u64;

    /// The address of the element whose indices are all zero; 0 when the layout is empty.
    ///
    /// # Errors
    /// Kind `Overflow` when the address does not fit 64 bits.
    fn first_element(&self) -> Result<u64> {
        if self.layout().is_empty() {
            return Ok(0);
        }
        let skipped = byte_count(self.layout().offset(), self.dtype().size())?;
        self.pointer().checked_add(skipped as u64).ok_or_else(|| {
            Error::overflow(
                "first element",
                format!("address {} plus {skipped} bytes", self.pointer()),
            )
        })
    }

    /// The strides in bytes, as the Python protocols want them.
    ///
    /// # Errors
    /// Kind `Overflow` when a stride does not fit `isize`.
    fn strides_bytes(&self) -> Result<Vec<isize>> {
        self.layout().strides_bytes(self.dtype().size())
    }

    /// The bytes of all elements together, gaps not counted.
    ///
    /// # Errors
    /// Kind `Overflow` when the count does not fit `isize`.
    fn payload_bytes(&self) -> Result<usize> {
        byte_count(self.layout().len(), self.dtype().size())
    }
}
