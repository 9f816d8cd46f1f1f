//! `.mha` and `.mhd`.

use ulib::core::ErrorKind;
use ulib::math::VoxelValue;
use ulib::math::io::{Format, ReadImage};

use crate::support::{
    Folder, NUMBERS, assert_values, big, elements, hex, image, join, little, multi, read, refusal,
};

/// A header with these fields, of 3 x 2 x 2 floats.
fn header(fields: &str, file: &str) -> String {
    format!(
        "ObjectType = Image\nNDims = 3\n{fields}DimSize = 3 2 2\nElementType = MET_FLOAT\nElementDataFile = {file}\n"
    )
}

const PLACE: &str = "TransformMatrix = 1 0 0 0 1 0 0 0 1\nOffset = -1 0.5 3\nElementSpacing = 0.1 0.2 0.3\nAnatomicalOrientation = RAI\n";

#[test]
fn numbers_after_the_header() {
    let file = join(&[header(PLACE, "LOCAL").as_bytes(), &little(&NUMBERS)]);
    let image = read(&ReadImage::new(), &file).unwrap();
    assert_eq!(
        (image.dims(), image.grid().origin(), image.grid().spacing()),
        ([3, 2, 2], [-1.0, 0.5, 3.0], [0.1, 0.2, 0.3])
    );
    assert_values(&image, &NUMBERS);
    let big_endian = header("ElementByteOrderMSB = True\n", "LOCAL");
    assert_values(
        &crate::support::image(
            Format::MetaImage,
            &join(&[big_endian.as_bytes(), &big(&NUMBERS)]),
        ),
        &NUMBERS,
    );
    let skipped = header("HeaderSize = 3\n", "LOCAL");
    assert_values(
        &crate::support::image(
            Format::MetaImage,
            &join(&[skipped.as_bytes(), b"abc", &little(&NUMBERS)]),
        ),
        &NUMBERS,
    );
    let text = header("BinaryData = False\n", "LOCAL") + "0 1 2 3 4 5 6 7 8 9 10 11\n";
    assert_eq!(
        crate::support::image(Format::MetaImage, text.as_bytes())
            .to_values()
            .unwrap()[11],
        11.0
    );
}

#[test]
fn compressed_shorts_of_other_byte_order() {
    let header = "NDims = 3\nCompressedData = True\nCompressedDataSize = 30\nBinaryDataByteOrderMSB = True\nDimSize = 3 2 2\nElementType = MET_SHORT\nElementDataFile = LOCAL\n";
    let expected: Vec<f32> = (-3..9).map(|k| k as f32).collect();
    for digits in [
        "789c05c1870100200c03209cf5ff7f35426e5e82a61ba6652be7038120061c",
        "1f8b080000000000020305c1870100200c03209cf5ff7f35426e5e82a61ba6652be7030b361a3f18000000",
    ] {
        assert_values(
            &image(Format::MetaImage, &join(&[header.as_bytes(), &hex(digits)])),
            &expected,
        );
    }
    let mut damaged = hex("789c05c1870100200c03209cf5ff7f35426e5e82a61ba6652be7038120061c");
    // The checksum at the end.
    *damaged.last_mut().unwrap() ^= 1;
    let message = refusal(Format::MetaImage, &join(&[header.as_bytes(), &damaged]));
    assert!(message.contains("damaged data"), "{message}");
}

#[test]
fn channels_and_two_axes() {
    let header = "NDims = 2\nDimSize = 3 2\nElementSize = 4 5\nElementNumberOfChannels = 2\nElementType = MET_UCHAR_ARRAY\nElementDataFile = LOCAL\n";
    let file = join(&[header.as_bytes(), &(0..12).collect::<Vec<u8>>()]);
    let both = multi(Format::MetaImage, &file);
    assert_eq!(
        (both.dims(), both.components(), both.grid().spacing()),
        ([3, 2, 1], 2, [4.0, 5.0, 1.0])
    );
    assert_eq!(
        elements(&both),
        (0..12).map(|k| k as f32).collect::<Vec<_>>()
    );
    assert_values(
        &read(&ReadImage::new().component(0), &file).unwrap(),
        &[0.0, 2.0, 4.0, 6.0, 8.0, 10.0],
    );
}

#[test]
fn the_data_file_is_in_the_folder_of_the_header() {
    let folder = Folder::new();
    folder.file("a.raw", join(&[b"some header", &little(&NUMBERS)]));
    let path = folder.file("a.mhd", header("HeaderSize = -1\n", "a.raw"));
    let image: ulib::math::VoxImage = ReadImage::new().image(&path).unwrap();
    assert_values(&image, &NUMBERS);
    let path = folder.file("b.mhd", header("HeaderSize = 11\n", "./a.raw"));
    let image: ulib::math::VoxImage = ReadImage::new().image(&path).unwrap();
    assert_values(&image, &NUMBERS);

    let inner = folder.join("inner");
    std::fs::create_dir(&inner).unwrap();
    std::fs::write(inner.join("c.raw"), little(&NUMBERS)).unwrap();
    let path = folder.file("c.mhd", header("", "inner/c.raw"));
    assert!(ReadImage::new().image::<VoxelValue>(&path).is_ok());

    let absolute = folder.join("a.raw").display().to_string();
    for name in [
        "../a.raw",
        "inner/../a.raw",
        &absolute,
        "/etc/passwd",
        "..\\a.raw",
        "",
        "..",
    ] {
        let path = folder.file("d.mhd", header("", name));
        let error = ReadImage::new().image::<VoxelValue>(&path).unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::Format, "{name}: {error}");
        assert!(
            error.to_string().contains("metaimage: ElementDataFile is"),
            "{error}"
        );
        assert!(
            error
                .to_string()
                .starts_with(&format!("reading {}", path.display())),
            "{error}"
        );
    }
    // A folder, and nothing at all.
    for name in ["inner", "none.raw"] {
        let path = folder.file("e.mhd", header("", name));
        assert_eq!(
            ReadImage::new()
                .image::<VoxelValue>(&path)
                .unwrap_err()
                .kind(),
            &ErrorKind::Io
        );
    }
    assert!(
        refusal(Format::MetaImage, header("", "a.raw").as_bytes())
            .contains("data in the file itself")
    );
}

#[test]
fn what_cannot_be_read_is_named() {
    let good = header(PLACE, "LOCAL");
    let cases = [
        (good.replace("NDims = 3", "NDims = 4"), "NDims is '4'"),
        (good.replace("NDims = 3\n", ""), "no NDims"),
        (
            good.replace("DimSize = 3 2 2", "DimSize = 3 2"),
            "DimSize is '3 2'",
        ),
        (
            good.replace("DimSize = 3 2 2", "DimSize = 3 2 2 2"),
            "DimSize is '3 2 2 2'",
        ),
        (
            good.replace("DimSize = 3 2 2", "DimSize = 0 2 2"),
            "dimensions is '[0, 2, 2]'",
        ),
        (
            good.replace("DimSize = 3 2 2", "DimSize = -3 2 2"),
            "DimSize is '-3 2 2'",
        ),
        (
            good.replace(
                "DimSize = 3 2 2",
                "DimSize = 4294967296 4294967296 4294967296",
            ),
            "dimensions is",
        ),
        (good.replace("0.1 0.2 0.3", "0.1 0 0.3"), "spacing is"),
        (good.replace("0.1 0.2 0.3", "0.1 nan 0.3"), "spacing is"),
        (good.replace("-1 0.5 3", "-1 inf 3"), "origin is"),
        (
            good.replace("1 0 0 0 1 0 0 0 1", "0 1 0 1 0 0 0 0 1"),
            "TransformMatrix is '[[0.0, 1.0, 0.0]",
        ),
        (
            good.replace("1 0 0 0 1 0 0 0 1", "1 0 0 1"),
            "TransformMatrix is '1 0 0 1'",
        ),
        (
            good.replace("MET_FLOAT", "MET_STRING"),
            "ElementType is 'MET_STRING'",
        ),
        (good.replace("Image", "Mesh"), "ObjectType is 'Mesh'"),
        (
            good.replace("LOCAL", "LIST"),
            "lists of slices are not read",
        ),
        (
            good.replace("LOCAL", "slice%03d.raw 1 2 1"),
            "lists of slices are not read",
        ),
        (
            good.replace("AnatomicalOrientation = RAI", "HeaderSize = -2"),
            "HeaderSize is '-2'",
        ),
        (
            good.replace("AnatomicalOrientation = RAI", "BinaryData = Perhaps"),
            "BinaryData is 'Perhaps'",
        ),
        (
            good.replace("AnatomicalOrientation = RAI", "ElementNumberOfChannels = 0"),
            "components is '0'",
        ),
        (
            good.replace("ElementDataFile = LOCAL\n", ""),
            "no ElementDataFile",
        ),
        ("what is this".to_owned(), "a line of the header"),
        (good, "take at least 48 bytes of the file, where 0 are"),
    ];
    for (file, expected) in cases {
        let message = refusal(Format::MetaImage, file.as_bytes());
        assert!(message.contains(expected), "{file}: {message}");
    }
}
