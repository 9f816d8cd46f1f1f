//! What is tried: every reader on bytes that may be anything. The targets in `fuzz/` call the same.
#![allow(dead_code, reason = "every target uses its own part")]

use std::path::Path;

use ulib::core::Result;
use ulib::math::io::{Format, ReadImage, read_table};
use ulib::math::scene::Scene;
use ulib::math::{EventTable, MultiVoxImage};

/// Reads bytes as a file of this format, with everything that goes with its default array.
pub(crate) fn read(format: Format, bytes: &[u8]) -> Result<MultiVoxImage> {
    ReadImage::new()
        .format(format)
        .any_orientation(true)
        .multi_image_from_bytes(bytes)
}

/// Reads bytes as a document, by way of the file at `path`.
pub(crate) fn read_document(path: &Path, bytes: &[u8]) -> Result<Scene> {
    std::fs::write(path, bytes).map_err(|error| ulib::core::Error::io("write", error))?;
    Scene::load(path)
}

/// Reads bytes as a table of the format that the end of `path` stands for, by way of the file there.
pub(crate) fn read_rows(path: &Path, bytes: &[u8]) -> Result<EventTable> {
    std::fs::write(path, bytes).map_err(|error| ulib::core::Error::io("write", error))?;
    read_table(path)
}
