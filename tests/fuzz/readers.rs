//! What is tried: every reader on bytes that may be anything. The targets in `fuzz/` call the same.

use ulib::core::Result;
use ulib::math::MultiVoxImage;
use ulib::math::io::{Format, ReadImage};

/// Reads bytes as a file of this format, with everything that goes with its default array.
pub(crate) fn read(format: Format, bytes: &[u8]) -> Result<MultiVoxImage> {
    ReadImage::new()
        .format(format)
        .any_orientation(true)
        .multi_image_from_bytes(bytes)
}
