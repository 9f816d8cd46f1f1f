//! `.nii` and `.nii.gz`.

use std::io::Write;

use ulib::math::io::{Format, ReadImage};

use crate::support::{
    NUMBERS, assert_values, big, elements, image, join, little, multi, read, refusal,
};

/// A header of version 1, little endian, of 3 x 2 x 2 numbers of this type, with 4 bytes after it.
fn first(dims: &[i16], kind: i16) -> Vec<u8> {
    let mut bytes = vec![0; 352];
    bytes[..4].copy_from_slice(&348_i32.to_le_bytes());
    for (axis, side) in dims.iter().enumerate() {
        put(&mut bytes, 40 + 2 * axis, &side.to_le_bytes());
    }
    put(&mut bytes, 70, &kind.to_le_bytes());
    for (axis, size) in [1.0_f32, 0.5, 1.5, 2.5].iter().enumerate() {
        put(&mut bytes, 76 + 4 * axis, &size.to_le_bytes());
    }
    put(&mut bytes, 108, &352_f32.to_le_bytes());
    put(&mut bytes, 344, b"n+1\0");
    bytes
}

fn put(bytes: &mut [u8], at: usize, what: &[u8]) {
    bytes[at..at + what.len()].copy_from_slice(what);
}

const SIDES: [i16; 4] = [3, 3, 2, 2];

/// Writes a row of the sform.
fn sform(bytes: &mut [u8], rows: [[f32; 4]; 3]) {
    put(bytes, 254, &1_i16.to_le_bytes());
    for (row, numbers) in rows.iter().enumerate() {
        put(bytes, 280 + 16 * row, &little(numbers));
    }
}

#[test]
fn version_1() {
    let file = join(&[&first(&SIDES, 16), &little(&NUMBERS)]);
    let image = read(&ReadImage::new(), &file).unwrap();
    assert_eq!(
        (image.dims(), image.grid().spacing(), image.grid().origin()),
        ([3, 2, 2], [0.5, 1.5, 2.5], [0.0; 3])
    );
    assert_values(&image, &NUMBERS);
}

#[test]
fn numbers_are_scaled() {
    let mut header = first(&[2, 3, 1], 4);
    put(&mut header, 112, &0.5_f32.to_le_bytes());
    put(&mut header, 116, &(-10_f32).to_le_bytes());
    let file = join(&[&header, &[1, 0, 0xff, 0xff, 0x00, 0x01]]);
    assert_values(&image(Format::Nifti, &file), &[-9.5, -10.5, 118.0]);
    let doubled = read(&ReadImage::new().scale(2.0), &file).unwrap();
    assert_values(&doubled, &[-19.0, -21.0, 236.0]);
    put(&mut header, 112, &0_f32.to_le_bytes());
    assert_values(
        &image(
            Format::Nifti,
            &join(&[&header, &[1, 0, 0xff, 0xff, 0x00, 0x01]]),
        ),
        &[1.0, -1.0, 256.0],
    );
}

#[test]
fn place_of_the_sform_and_of_the_qform() {
    let data = little(&NUMBERS);
    let mut header = first(&SIDES, 16);
    sform(
        &mut header,
        [
            [2.0, 0.0, 0.0, -7.0],
            [0.0, 3.0, 0.0, 8.0],
            [0.0, 0.0, 4.0, 9.5],
        ],
    );
    let image_of = |header: &[u8]| image(Format::Nifti, &join(&[header, &data]));
    let image = image_of(&header);
    assert_eq!(
        (image.grid().spacing(), image.grid().origin()),
        ([2.0, 3.0, 4.0], [-7.0, 8.0, 9.5])
    );

    let mut header = first(&SIDES, 16);
    put(&mut header, 252, &1_i16.to_le_bytes());
    put(&mut header, 268, &little(&[1.0, -2.0, 3.0]));
    let image = image_of(&header);
    assert_eq!(
        (image.grid().spacing(), image.grid().origin()),
        ([0.5, 1.5, 2.5], [1.0, -2.0, 3.0])
    );

    // Half a turn about z: x and y go backwards.
    put(&mut header, 264, &1_f32.to_le_bytes());
    let file = join(&[&header, &data]);
    let message = refusal(Format::Nifti, &file);
    assert!(
        message.contains("[[-1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, 1.0]]"),
        "{message}"
    );
    let any = read(&ReadImage::new().any_orientation(true), &file).unwrap();
    assert_values(&any, &NUMBERS);
    assert_eq!(any.grid().origin(), [1.0, -2.0, 3.0]);
    // The third axis backwards.
    put(&mut header, 264, &0_f32.to_le_bytes());
    put(&mut header, 76, &(-1_f32).to_le_bytes());
    assert!(refusal(Format::Nifti, &join(&[&header, &data])).contains("qfac"));
}

#[test]
fn both_byte_orders_of_version_2_compressed() {
    for big_endian in [false, true] {
        let mut header = vec![0; 544];
        let i16s = |v: i16| {
            if big_endian {
                v.to_be_bytes()
            } else {
                v.to_le_bytes()
            }
        };
        let i32s = |v: i32| {
            if big_endian {
                v.to_be_bytes()
            } else {
                v.to_le_bytes()
            }
        };
        let i64s = |v: i64| {
            if big_endian {
                v.to_be_bytes()
            } else {
                v.to_le_bytes()
            }
        };
        let f64s = |v: f64| {
            if big_endian {
                v.to_be_bytes()
            } else {
                v.to_le_bytes()
            }
        };
        put(&mut header, 0, &i32s(540));
        put(&mut header, 4, b"n+2\0\r\n\x1a\n");
        put(&mut header, 12, &i16s(16));
        for (axis, side) in [3, 3, 2, 2].into_iter().enumerate() {
            put(&mut header, 16 + 8 * axis, &i64s(side));
        }
        for (axis, size) in [1.0, 0.1, 0.2, 0.3].into_iter().enumerate() {
            put(&mut header, 104 + 8 * axis, &f64s(size));
        }
        put(&mut header, 168, &i64s(544));
        put(&mut header, 344, &i32s(2));
        for (axis, offset) in [-4.0, 5.0, 6.5].into_iter().enumerate() {
            put(&mut header, 376 + 8 * axis, &f64s(offset));
        }
        let data = if big_endian {
            big(&NUMBERS)
        } else {
            little(&NUMBERS)
        };
        let file = join(&[&header, &data]);
        let check = |bytes: &[u8]| {
            let image = read(&ReadImage::new(), bytes).unwrap();
            assert_values(&image, &NUMBERS);
            assert_eq!(
                (image.grid().spacing(), image.grid().origin()),
                ([0.1, 0.2, 0.3], [-4.0, 5.0, 6.5])
            );
        };
        check(&file);
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        gzip.write_all(&file).unwrap();
        check(&gzip.finish().unwrap());
    }
}

#[test]
fn times_and_colours_are_components() {
    let file = join(&[&first(&[4, 3, 1, 1, 2], 2), &[1, 2, 3, 4, 5, 6]]);
    assert_eq!(
        elements(&multi(Format::Nifti, &file)),
        [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]
    );
    assert_values(
        &read(&ReadImage::new().component(1), &file).unwrap(),
        &[4.0, 5.0, 6.0],
    );
    let file = join(&[&first(&[3, 2, 1, 1], 128), &[1, 2, 3, 4, 5, 6]]);
    assert_eq!(
        elements(&multi(Format::Nifti, &file)),
        [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    );
}

#[test]
fn what_cannot_be_read_is_named() {
    let data = little(&NUMBERS);
    let with = |at: usize, bytes: &[u8]| {
        let mut header = first(&SIDES, 16);
        put(&mut header, at, bytes);
        join(&[&header, &data])
    };
    let cases = [
        (with(0, &349_i32.to_le_bytes()), "sizeof_hdr is '349'"),
        (with(344, b"ni1\0"), "magic is 'ni1"),
        (with(40, &0_i16.to_le_bytes()), "dim[0] is '0'"),
        (with(40, &8_i16.to_le_bytes()), "dim[0] is '8'"),
        (with(42, &0_i16.to_le_bytes()), "dimensions is '[0, 2, 2]'"),
        (with(42, &(-1_i16).to_le_bytes()), "dim is"),
        (
            with(42, &4_i16.to_le_bytes()),
            "take at least 64 bytes of the file, where 48 are",
        ),
        (with(70, &32_i16.to_le_bytes()), "datatype is '32'"),
        (with(80, &f32::NAN.to_le_bytes()), "spacing is"),
        (with(80, &0_f32.to_le_bytes()), "spacing is"),
        (with(108, &12_f32.to_le_bytes()), "vox_offset is"),
        (with(108, &f32::NAN.to_le_bytes()), "vox_offset is"),
        (with(108, &352.5_f32.to_le_bytes()), "vox_offset is"),
    ];
    for (file, expected) in cases {
        let message = refusal(Format::Nifti, &file);
        assert!(message.contains(expected), "{expected}: {message}");
    }
    let mut header = first(&SIDES, 16);
    put(&mut header, 112, &1_f32.to_le_bytes());
    put(&mut header, 116, &f32::INFINITY.to_le_bytes());
    assert!(refusal(Format::Nifti, &join(&[&header, &data])).contains("scl_inter is 'inf'"));
}
