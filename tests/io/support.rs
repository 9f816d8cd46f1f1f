//! What the tests of files share: bytes by hand, images as lists.

pub(crate) use crate::common::folder::Folder;
use ulib::core::{Error, ErrorKind};
use ulib::math::io::{Format, ReadImage};
use ulib::math::{MultiVoxImage, Placed, VoxImage, VoxelValueCount};

/// Twelve numbers of a volume of 3 x 2 x 2, x fastest, one of them NaN.
pub(crate) const NUMBERS: [f32; 12] = [
    0.5,
    -1.0,
    2.25,
    3.0,
    f32::NAN,
    5.0,
    6.0,
    7.0,
    8.0,
    9.0,
    10.0,
    1e30,
];

/// The image in these bytes, whose counts are zero.
pub(crate) fn image(format: Format, bytes: &[u8]) -> VoxImage {
    read(&ReadImage::new().format(format), bytes).unwrap()
}

pub(crate) fn read(reader: &ReadImage, bytes: &[u8]) -> Result<VoxImage, Error> {
    let image: VoxImage<VoxelValueCount> = reader.image_from_bytes(bytes)?;
    assert!(image.voxels()?.iter().all(|voxel| voxel.Count == 0));
    assert_eq!(image.order().name(), "XYZ");
    assert_eq!(image.location().to_string(), "Host");
    Ok(image)
}

pub(crate) fn multi(format: Format, bytes: &[u8]) -> MultiVoxImage {
    ReadImage::new()
        .format(format)
        .multi_image_from_bytes(bytes)
        .unwrap()
}

/// All numbers of a multi-image, voxel after voxel.
pub(crate) fn elements(image: &MultiVoxImage) -> Vec<f32> {
    image.elements().unwrap().to_vec()
}

/// What is wrong with these bytes: of kind `Format`, as it is read from a file.
pub(crate) fn refusal(format: Format, bytes: &[u8]) -> String {
    let error = ReadImage::new()
        .format(format)
        .multi_image_from_bytes(bytes)
        .unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::Format, "{error}");
    error.to_string()
}

/// Bit for bit, so that NaN is NaN.
#[track_caller]
pub(crate) fn assert_values(image: &VoxImage, expected: &[f32]) {
    let bits = |values: &[f32]| {
        values
            .iter()
            .map(|value| value.to_bits())
            .collect::<Vec<_>>()
    };
    let found = image.to_values().unwrap();
    assert_eq!(bits(&found), bits(expected), "{found:?}");
}

pub(crate) fn little(values: &[f32]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect()
}

pub(crate) fn big(values: &[f32]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.to_be_bytes())
        .collect()
}

/// Bytes written as hexadecimal digits.
pub(crate) fn hex(digits: &str) -> Vec<u8> {
    let digits: Vec<u8> = digits.bytes().filter(u8::is_ascii_hexdigit).collect();
    assert_eq!(digits.len() % 2, 0);
    digits
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

pub(crate) fn join(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}
