//! Checked byte counts.

use crate::error::{Error, Result};

/// The bytes that `count` elements of `item_size` bytes take.
///
/// ```
/// assert_eq!(ulib_core::byte_count(1000, 8)?, 8000);
/// let error = ulib_core::byte_count(usize::MAX, 8).unwrap_err();
/// assert_eq!(error.kind(), &ulib_core::ErrorKind::Overflow);
/// # Ok::<(), ulib_core::Error>(())
/// ```
///
/// # Errors
/// Kind [`Overflow`](crate::ErrorKind::Overflow) when the product is larger than `isize::MAX`, the
/// largest size that one allocation may have.
pub fn byte_count(count: usize, item_size: usize) -> Result<usize> {
    count
        .checked_mul(item_size)
        .filter(|&bytes| isize::try_from(bytes).is_ok())
        .ok_or_else(|| {
            Error::overflow(
                "byte count",
                format!("{count} elements of {item_size} bytes"),
            )
        })
}
