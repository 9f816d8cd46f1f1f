//! `.nrrd` and `.nhdr`.

use ulib::core::ErrorKind;
use ulib::math::VoxelValue;
use ulib::math::io::{Format, ReadImage};

use crate::support::{
    Folder, NUMBERS, assert_values, big, elements, hex, image, join, little, multi, read, refusal,
};

/// A header of 3 x 2 x 2 floats with these fields and the empty line.
fn header(fields: &str) -> String {
    format!(
        "NRRD0005\n# a comment\ntype: float\ndimension: 3\nsizes: 3 2 2\n{fields}key:=value\n\n"
    )
}

const PLACE: &str = "space: left-posterior-superior\nspace directions: (0.5,0,0) (0,1,0) (0, 0, 2)\nspace origin: (-1,0.25,1e2)\nkinds: domain domain domain\n";

#[test]
fn raw_of_both_byte_orders() {
    let file = join(&[
        header(&format!("{PLACE}endian: little\nencoding: raw\n")).as_bytes(),
        &little(&NUMBERS),
    ]);
    let image = read(&ReadImage::new(), &file).unwrap();
    assert_eq!(
        (image.dims(), image.grid().spacing(), image.grid().origin()),
        ([3, 2, 2], [0.5, 1.0, 2.0], [-1.0, 0.25, 100.0])
    );
    assert_values(&image, &NUMBERS);
    let spaced = header("spacings: 1 nan 3\nendian: big\nencoding: raw\nbyte skip: 2\n");
    let image = crate::support::image(
        Format::Nrrd,
        &join(&[spaced.as_bytes(), b"xx", &big(&NUMBERS)]),
    );
    assert_eq!(image.grid().spacing(), [1.0, 1.0, 3.0]);
    assert_values(&image, &NUMBERS);
    let at_end = header("endian: big\nencoding: raw\nbyte skip: -1\n");
    assert_values(
        &crate::support::image(
            Format::Nrrd,
            &join(&[at_end.as_bytes(), b"12345", &big(&NUMBERS)]),
        ),
        &NUMBERS,
    );
    let lines = header("endian: big\nencoding: raw\nline skip: 2\nbyteskip: 1\n");
    assert_values(
        &crate::support::image(
            Format::Nrrd,
            &join(&[lines.as_bytes(), b"one\ntwo\n!", &big(&NUMBERS)]),
        ),
        &NUMBERS,
    );
}

#[test]
fn gzip_and_text() {
    let file = join(&[
        header("endian: little\nencoding: gzip\n").as_bytes(),
        &hex(
            "1f8b0800000000000203636060b0676068d8cfc020e0c0c0e000c407ea1918168068207e00c40c8e40392056703cf5c9\
         b31000d2d5bad830000000",
        ),
    ]);
    assert_values(&image(Format::Nrrd, &file), &NUMBERS);
    let file = join(&[
        header("endian: little\nencoding: gz\nbyte skip: 3\n").as_bytes(),
        &hex(
            "1f8b08000000000002034b4c4a666060b0676068d8cfc020e0c0c0e000c407ea1918168068207e00c40c8e4039205670\
         3cf5c9b31000c9ee252c33000000",
        ),
    ]);
    assert_values(&image(Format::Nrrd, &file), &NUMBERS);
    let text = "NRRD0001\ntype: signed char\ndimension: 2\nsizes: 3 2\nencoding: ascii\n\n1, 2 3\n4 -5 127\n";
    let image = image(Format::Nrrd, text.as_bytes());
    assert_eq!(image.dims(), [3, 2, 1]);
    assert_values(&image, &[1.0, 2.0, 3.0, 4.0, -5.0, 127.0]);
    // The checksum of the gzip stream.
    let mut damaged = hex(
        "1f8b0800000000000203636060b0676068d8cfc020e0c0c0e000c407ea1918168068207e00c40c8e40392056703cf5c9\
         b31000d2d5bad830000000",
    );
    let crc = damaged.len() - 8;
    damaged[crc] ^= 1;
    refusal(
        Format::Nrrd,
        &join(&[
            header("endian: little\nencoding: gzip\n").as_bytes(),
            &damaged,
        ]),
    );
}

#[test]
fn a_vector_axis_is_the_first_or_the_last() {
    let base = "NRRD0004\ntype: uchar\nencoding: raw\n";
    let bytes: Vec<u8> = (0..12).collect();
    let counted: Vec<f32> = (0..12).map(|k| k as f32).collect();
    let first = [
        "dimension: 4\nsizes: 2 3 2 1\nkinds: vector domain domain domain\n\n",
        "dimension: 4\nsizes: 2 3 2 1\nspace directions: none (1,0,0) (0,1,0) (0,0,1)\n\n",
        "dimension: 4\nsizes: 2 3 2 1\nspacings: nan 1 1 1\n\n",
        "dimension: 3\nsizes: 2 3 2\nkinds: 2-vector space space\n\n",
    ];
    for rest in first {
        let image = multi(
            Format::Nrrd,
            &join(&[base.as_bytes(), rest.as_bytes(), &bytes]),
        );
        assert_eq!((image.dims(), image.components()), ([3, 2, 1], 2), "{rest}");
        assert_eq!(elements(&image), counted);
    }
    let last = "dimension: 4\nsizes: 3 2 1 2\nkinds: domain domain domain list\n\n";
    let file = join(&[base.as_bytes(), last.as_bytes(), &bytes]);
    assert_eq!(
        elements(&multi(Format::Nrrd, &file)),
        [0.0, 6.0, 1.0, 7.0, 2.0, 8.0, 3.0, 9.0, 4.0, 10.0, 5.0, 11.0]
    );
    assert_values(
        &read(&ReadImage::new().component(1), &file).unwrap(),
        &[6.0, 7.0, 8.0, 9.0, 10.0, 11.0],
    );
    for rest in [
        "dimension: 4\nsizes: 3 2 1 2\n\n",
        "dimension: 4\nsizes: 3 2 1 2\nkinds: domain vector domain domain\n\n",
        "dimension: 4\nsizes: 3 2 1 2\nkinds: vector domain domain vector\n\n",
    ] {
        assert!(
            refusal(
                Format::Nrrd,
                &join(&[base.as_bytes(), rest.as_bytes(), &bytes])
            )
            .contains("kinds is")
        );
    }
}

#[test]
fn the_data_file_is_in_the_folder_of_the_header() {
    let folder = Folder::new();
    folder.file("a.raw", little(&NUMBERS));
    let fields = "endian: little\nencoding: raw\ndata file: a.raw\n";
    let path = folder.file("a.nhdr", header(fields));
    let image: ulib::math::VoxImage = ReadImage::new().image(&path).unwrap();
    assert_values(&image, &NUMBERS);
    // Such a header may end without the empty line.
    let path = folder.file("b.nhdr", header(fields).trim_end());
    assert!(ReadImage::new().image::<VoxelValue>(&path).is_ok());
    folder.file("c.raw", join(&[b"line\n", &little(&NUMBERS)]));
    let path = folder.file(
        "c.nhdr",
        header(&fields.replace("a.raw", "c.raw\nline skip: 1")),
    );
    let image: ulib::math::VoxImage = ReadImage::new().image(&path).unwrap();
    assert_values(&image, &NUMBERS);
    let absolute = folder.join("a.raw").display().to_string();
    for name in ["../a.raw", &absolute, "LIST", "a%03d.raw 1 2 1"] {
        let path = folder.file("d.nhdr", header(&fields.replace("a.raw", name)));
        let error = ReadImage::new().image::<VoxelValue>(&path).unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::Format, "{error}");
        assert!(error.to_string().contains("nrrd: data file is"), "{error}");
    }
}

#[test]
fn what_cannot_be_read_is_named() {
    let good = header(&format!("{PLACE}endian: little\nencoding: raw\n"));
    let cases = [
        (good.replace("NRRD0005", "NRRD"), "the first line is 'NRRD'"),
        (
            good.replace("type: float", "type: block"),
            "type is 'block'",
        ),
        (good.replace("type: float\n", ""), "no field 'type'"),
        (
            good.replace("dimension: 3", "dimension: 2"),
            "dimension is '2'",
        ),
        (
            good.replace("sizes: 3 2 2", "sizes: 3 2 0"),
            "dimensions is '[3, 2, 0]'",
        ),
        (
            good.replace("sizes: 3 2 2", "sizes: 3 2 -2"),
            "sizes is '3 2 -2'",
        ),
        (
            good.replace("sizes: 3 2 2", "sizes: 1 1 3 2 2"),
            "sizes is '1 1 3 2 2'",
        ),
        (
            good.replace("sizes: 3 2 2", "sizes: 4294967296 4294967296 4294967296"),
            "dimensions is",
        ),
        (
            good.replace("(0.5,0,0)", "(-0.5,0,0)"),
            "space directions is '[[-0.5, 0.0, 0.0]",
        ),
        (
            good.replace("(0.5,0,0)", "(0.5,0.5,0)"),
            "space directions is '[[0.5, 0.0, 0.0], [0.5, 1.0, 0.0]",
        ),
        (
            good.replace("(0.5,0,0)", "(nan,0,0)"),
            "space directions is",
        ),
        (
            good.replace("(0.5,0,0)", "(1e400,0,0)"),
            "spacing is '[inf, 1.0, 2.0]'",
        ),
        (good.replace("(0.5,0,0)", ""), "space directions is"),
        (good.replace("(0.5,0,0)", "(0.5"), "space directions is"),
        (good.replace("(-1,0.25,1e2)", "(-1,0.25"), "vectors like"),
        (good.replace("(-1,0.25,1e2)", "(nan,0,0)"), "origin is"),
        (
            good.replace("endian: little", "endian: middle"),
            "endian is 'middle'",
        ),
        (
            good.replace("endian: little\n", ""),
            "endian is 'not given'",
        ),
        (
            good.replace("encoding: raw", "encoding: bzip2"),
            "encoding is 'bzip2'",
        ),
        (
            good.replace("encoding: raw", "encoding: raw\nbyte skip: -2"),
            "byte skip is '-2'",
        ),
        (
            good.replace("encoding: raw", "encoding: raw\nline skip: -1"),
            "line skip is '-1'",
        ),
        (
            good.replace("encoding: raw", "encoding: raw\nline skip: 7"),
            "line skip is '7'",
        ),
        (
            good.replace("encoding: raw", "encoding: raw\nencoding: raw"),
            "a field of the header is 'encoding'",
        ),
        (
            good.replace("key:=value", "what"),
            "a line of the header is 'what'",
        ),
        (good, "take at least 48 bytes of the file, where 0 are"),
    ];
    for (file, expected) in cases {
        let message = refusal(Format::Nrrd, file.as_bytes());
        assert!(message.contains(expected), "{file}: {message}");
    }
}
