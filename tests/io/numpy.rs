//! `.npy` and `.npz`.

use ulib::core::{DType, ErrorKind};
use ulib::math::io::{Format, ReadImage};

use crate::support::{
    NUMBERS, assert_values, big, elements, hex, image, join, little, multi, read, refusal,
};

/// A file of version 1 whose header is this dictionary.
fn npy(dictionary: &str, data: &[u8]) -> Vec<u8> {
    let length = (dictionary.len() as u16).to_le_bytes();
    join(&[b"\x93NUMPY\x01\x00", &length, dictionary.as_bytes(), data])
}

fn simple(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    npy(
        &format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n"),
        data,
    )
}

#[test]
fn c_order_is_x_fastest() {
    let image = image(Format::Npy, &simple("<f4", "(2, 2, 3)", &little(&NUMBERS)));
    assert_eq!(image.dims(), [3, 2, 2]);
    assert_values(&image, &NUMBERS);
    assert_eq!(
        (image.grid().spacing(), image.grid().origin()),
        ([1.0; 3], [0.0; 3])
    );
    assert_eq!(image.value_at([2, 1, 0]).unwrap(), 5.0);
}

#[test]
fn fewer_sides_are_those_of_x_and_y() {
    assert_eq!(
        image(Format::Npy, &simple(">f4", "(2, 6)", &big(&NUMBERS))).dims(),
        [6, 2, 1]
    );
    assert_eq!(
        image(Format::Npy, &simple(">f4", "(12,)", &big(&NUMBERS))).dims(),
        [12, 1, 1]
    );
    // Python 2 wrote long integers so.
    assert_eq!(
        image(Format::Npy, &simple(">f4", "(2L, 6L)", &big(&NUMBERS))).dims(),
        [6, 2, 1]
    );
}

#[test]
fn fortran_order_is_turned() {
    let bytes: Vec<u8> = (0..12_i16).flat_map(i16::to_be_bytes).collect();
    let dictionary = "{\"shape\": (2, 2, 3), \"fortran_order\": True, \"descr\": \">i2\"}";
    // z fastest, then y, then x: number k is voxel [k / 4, k / 2 % 2, k % 2].
    let expected = [0.0, 4.0, 8.0, 2.0, 6.0, 10.0, 1.0, 5.0, 9.0, 3.0, 7.0, 11.0];
    assert_values(&image(Format::Npy, &npy(dictionary, &bytes)), &expected);
    let plane = "{'descr': '>i2', 'fortran_order': True, 'shape': (3, 4)}";
    let expected = [0.0, 3.0, 6.0, 9.0, 1.0, 4.0, 7.0, 10.0, 2.0, 5.0, 8.0, 11.0];
    assert_values(&image(Format::Npy, &npy(plane, &bytes)), &expected);
    let line = "{'descr': '>i2', 'fortran_order': True, 'shape': (12,)}";
    assert_eq!(
        image(Format::Npy, &npy(line, &bytes)).to_values().unwrap()[11],
        11.0
    );
}

#[test]
fn components_are_the_fourth_side() {
    let bytes: Vec<u8> = (0..12_u8).collect();
    let file = simple("|u1", "(1, 2, 3, 2)", &bytes);
    let whole = multi(Format::Npy, &file);
    assert_eq!(
        (whole.dims(), whole.channels(), whole.components()),
        ([3, 2, 1], 1, 2)
    );
    assert_eq!(
        elements(&whole),
        (0..12).map(|k| k as f32).collect::<Vec<_>>()
    );
    let second = ReadImage::new().component(1);
    assert_values(
        &read(&second, &file).unwrap(),
        &[1.0, 3.0, 5.0, 7.0, 9.0, 11.0],
    );

    let dictionary = "{'descr': '|u1', 'fortran_order': True, 'shape': (1, 2, 3, 2)}";
    let file = npy(dictionary, &bytes);
    // y fastest, then x, then the components, all voxels of one after the other.
    assert_values(
        &read(&second, &file).unwrap(),
        &[6.0, 8.0, 10.0, 7.0, 9.0, 11.0],
    );
    assert_eq!(
        elements(&multi(Format::Npy, &file)),
        [0.0, 6.0, 2.0, 8.0, 4.0, 10.0, 1.0, 7.0, 3.0, 9.0, 5.0, 11.0]
    );

    let error = read(&ReadImage::new(), &file).unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::InvalidArgument);
    assert!(
        error.to_string().contains("is 2, expected one component"),
        "{error}"
    );
    let error = read(&ReadImage::new().component(2), &file).unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::Index);
}

#[test]
fn every_type_in_both_byte_orders() {
    let cases: [(&str, &str, &[f32]); 21] = [
        ("|i1", "80 ff 7f", &[-128.0, -1.0, 127.0]),
        ("|u1", "00 80 ff", &[0.0, 128.0, 255.0]),
        ("|b1", "00 01 01", &[0.0, 1.0, 1.0]),
        ("<i2", "0080 ffff 0102", &[-32768.0, -1.0, 513.0]),
        (">i2", "8000 ffff 0201", &[-32768.0, -1.0, 513.0]),
        ("<u2", "0000 ffff 0102", &[0.0, 65535.0, 513.0]),
        (">u2", "0000 ffff 0201", &[0.0, 65535.0, 513.0]),
        (
            "<i4",
            "00000080 ffffffff 04030201",
            &[-2147483648.0, -1.0, 16909060.0],
        ),
        (
            ">i4",
            "80000000 ffffffff 01020304",
            &[-2147483648.0, -1.0, 16909060.0],
        ),
        (
            "<u4",
            "00000000 ffffffff 04030201",
            &[0.0, 4294967296.0, 16909060.0],
        ),
        (
            ">u4",
            "00000000 ffffffff 01020304",
            &[0.0, 4294967296.0, 16909060.0],
        ),
        (
            "<i8",
            "0000000000000080 ffffffffffffffff 0200000000000000",
            &[-9223372036854775808.0, -1.0, 2.0],
        ),
        (
            ">i8",
            "8000000000000000 ffffffffffffffff 0000000000000002",
            &[-9223372036854775808.0, -1.0, 2.0],
        ),
        (
            "<u8",
            "0000000000000080 ffffffffffffffff 0200000000000000",
            &[9223372036854775808.0, 18446744073709551616.0, 2.0],
        ),
        (
            ">u8",
            "8000000000000000 ffffffffffffffff 0000000000000002",
            &[9223372036854775808.0, 18446744073709551616.0, 2.0],
        ),
        ("<f2", "003c 00c0 007c", &[1.0, -2.0, f32::INFINITY]),
        (">f2", "3c00 c000 7c00", &[1.0, -2.0, f32::INFINITY]),
        (
            "<f4",
            "0000c03f 00000080 0100c07f",
            &[1.5, -0.0, f32::from_bits(0x7fc0_0001)],
        ),
        (
            ">f4",
            "3fc00000 80000000 7fc00001",
            &[1.5, -0.0, f32::from_bits(0x7fc0_0001)],
        ),
        (
            "<f8",
            "000000000000f83f 9a9999999999b93f 000000000000f07f",
            &[1.5, 0.1, f32::INFINITY],
        ),
        (
            ">f8",
            "3ff8000000000000 3fb999999999999a 7ff0000000000000",
            &[1.5, 0.1, f32::INFINITY],
        ),
    ];
    for (descr, digits, expected) in cases {
        let file = simple(descr, "(3,)", &hex(digits));
        assert_values(&image(Format::Npy, &file), expected);
        // Scaled numbers go by another way.
        let halves: Vec<f32> = expected.iter().map(|value| value * 0.5).collect();
        let image = read(&ReadImage::new().scale(0.5), &file).unwrap();
        assert_eq!(
            image.to_values().unwrap().map_nan(),
            halves.map_nan(),
            "{descr}"
        );
    }
}

/// Numbers of which all NaN are one.
trait MapNan {
    fn map_nan(&self) -> Vec<Option<f32>>;
}

impl MapNan for Vec<f32> {
    fn map_nan(&self) -> Vec<Option<f32>> {
        self.iter()
            .map(|&value| (!value.is_nan()).then_some(value))
            .collect()
    }
}

#[test]
fn numbers_too_large_for_voxels_are_refused() {
    let file = simple(
        "<f8",
        "(2,)",
        &[1.5_f64, -1e300].map(f64::to_le_bytes).concat(),
    );
    let message = refusal(Format::Npy, &file);
    assert!(
        message.contains("npy: -1e300 is too large for f32"),
        "{message}"
    );
    let smaller = read(&ReadImage::new().scale(1e-290), &file).unwrap();
    assert_values(&smaller, &[1.5e-290_f64 as f32, -1e10]);
    let file = simple("<f4", "(2,)", &little(&[1e30, -0.0]));
    let error = read(&ReadImage::new().scale(1e10), &file).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("npy: 1.0000000150474662e40 is too large"),
        "{error}"
    );
    // Zeros keep their sign, infinite numbers stay.
    assert_values(
        &read(&ReadImage::new().scale(2.0), &file).unwrap(),
        &[2e30, -0.0],
    );
    let file = simple("<f8", "(1,)", &f64::NEG_INFINITY.to_le_bytes());
    assert_values(&image(Format::Npy, &file), &[f32::NEG_INFINITY]);
}

#[test]
fn longer_headers_have_other_versions() {
    for version in [2, 3] {
        let dictionary = "{'descr': '<f4', 'fortran_order': False, 'shape': (12,)}";
        let length = (dictionary.len() as u32).to_le_bytes();
        let file = join(&[
            b"\x93NUMPY",
            &[version, 0],
            &length,
            dictionary.as_bytes(),
            &little(&NUMBERS),
        ]);
        assert_values(&image(Format::Npy, &file), &NUMBERS);
    }
}

#[test]
fn what_is_no_volume_is_refused() {
    let data = [0; 64];
    let cases = [
        (
            "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}",
            "npy: descr",
        ),
        (
            "{'descr': '<c8', 'fortran_order': False, 'shape': (2,)}",
            "npy: descr is '<c8'",
        ),
        (
            "{'descr': '|O', 'fortran_order': False, 'shape': (2,)}",
            "npy: descr is '|O'",
        ),
        (
            "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (2,)}",
            "npy: fortran_order",
        ),
        (
            "{'descr': '<f4', 'fortran_order': False, 'shape': ()}",
            "npy: shape is '[]'",
        ),
        (
            "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 0)}",
            "npy: dimensions",
        ),
        (
            "{'descr': '<f4', 'fortran_order': False, 'shape': (2, -1)}",
            "npy: shape",
        ),
        (
            "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 1, 1, 1)}",
            "npy: shape is '[1, 1, 1, 1, 1]'",
        ),
        (
            "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296, 2)}",
            "npy: dimensions",
        ),
        (
            "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 1, 0)}",
            "npy: components is '0'",
        ),
        (
            "{'descr': '<f4', 'fortran_order': False, 'shape': (17,)}",
            "take at least 68 bytes of the file, where 64 are",
        ),
        ("{'descr': '<f4', 'fortran_order': False}", "npy: header"),
        ("nothing", "npy: header"),
    ];
    for (dictionary, expected) in cases {
        let message = refusal(Format::Npy, &npy(dictionary, &data));
        assert!(message.contains(expected), "{dictionary}: {message}");
    }
    assert!(refusal(Format::Npy, b"\x93NUMPY\x09\x00").contains("version is '9'"));
    assert!(
        refusal(Format::Npy, b"\x93NUMPY\x02\x00\xff\xff\xff\xff").contains("length of the header")
    );
    assert!(refusal(Format::Npy, b"no array").contains("the first bytes"));
}

#[test]
fn archives_hold_stored_and_deflated_arrays() {
    let archive = hex(
        "504b03041400000000000000210023ed6a6f6800000068000000070000006f6e652e6e7079934e554d5059010046007b\
         276465736372273a20273c6932272c2027666f727472616e5f6f72646572273a2046616c73652c20277368617065273a\
         2028322c20322c2033292c207d202020202020200a00000100020003000400050006000700080009000a000b00504b03\
         041400000008000000210063f945e15f000000680000000700000074776f2e6e70799bec17ea1b10c9c8e0c650ad9e92\
         5a9c5ca46ea5a06e9369a4aea3a09e965f54529498179f5f94920a12774bcc294e058a17672416a402f91a463a0a4064\
         aca9a350ab00015c290ca90c690ce90c190c990c590cd90c390cb90c790cf90c00504b03041400000000000000210086\
         a6103605000000050000000a000000726561646d652e74787468656c6c6f504b010214031400000000000000210023ed\
         6a6f68000000680000000700000000000000000000008001000000006f6e652e6e7079504b0102140314000000080000\
         00210063f945e15f0000006800000007000000000000000000000080018d00000074776f2e6e7079504b010214031400\
         000000000000210086a6103605000000050000000a0000000000000000000000800111010000726561646d652e747874\
         504b05060000000003000300a20000003e0100000000",
    );
    let reader = ReadImage::new();
    let first: Vec<f32> = (0..12).map(|k| k as f32).collect();
    let second: Vec<f32> = (100..112).map(|k| k as f32).collect();
    assert_values(&read(&reader, &archive).unwrap(), &first);
    assert_values(
        &read(&reader.clone().array("two"), &archive).unwrap(),
        &second,
    );
    let both = multi(Format::Npz, &archive);
    assert_eq!((both.channels(), both.components()), (2, 1));
    let pairs: Vec<f32> = first
        .iter()
        .zip(&second)
        .flat_map(|(&a, &b)| [a, b])
        .collect();
    assert_eq!(elements(&both), pairs);
    let turned = reader
        .clone()
        .array("two")
        .array("one")
        .multi_image_from_bytes(&archive)
        .unwrap();
    assert_eq!(turned.value_of(0, 0, 0).unwrap(), 100.0);
    let error = read(&reader.array("three"), &archive).unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::Index);
    assert!(
        error
            .to_string()
            .contains("no array 'three', only 'one', 'two'"),
        "{error}"
    );

    // The checksum of the deflated array, in the directory.
    let mut damaged = archive.clone();
    let crc = hex("63f945e1");
    let place = damaged
        .windows(4)
        .rposition(|window| window == crc)
        .unwrap();
    damaged[place] ^= 1;
    assert!(refusal(Format::Npz, &damaged).contains("checksum"));
}

#[test]
fn information_does_not_need_the_numbers() {
    let folder = crate::support::Folder::new();
    let path = folder.file("a.npy", simple("<u2", "(2, 3, 4, 5)", &[]));
    let info = ReadImage::new().info(&path).unwrap();
    let array = info.array();
    assert_eq!(
        (info.format, array.dims, array.components, array.dtype),
        (Format::Npy, [4, 3, 2], 5, DType::U16)
    );
    let error = ReadImage::new()
        .component(0)
        .image::<ulib::math::VoxelValue>(&path)
        .unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with(&format!("reading {}: npy: array ''", path.display())),
        "{error}"
    );
}
