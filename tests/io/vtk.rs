//! `.vtk`.

use ulib::core::DType;
use ulib::math::io::{Format, ReadImage};

use crate::support::{
    Folder, NUMBERS, assert_values, big, elements, image, join, multi, read, refusal,
};

fn head(kind: &str, dims: &str) -> String {
    format!(
        "# vtk DataFile Version 2.0\na title\n{kind}\nDATASET STRUCTURED_POINTS\nDIMENSIONS {dims}\nSPACING 0.5 1 2\nORIGIN -1 0 1e2\n"
    )
}

#[test]
fn ascii_scalars_as_ulib_wrote_them() {
    let text = head("ASCII", "3 2 2")
        + "POINT_DATA 12\nSCALARS volume_scalars float 1\nLOOKUP_TABLE default\n0.500000\n-1.000000\n2.25\n3\n4\n5\n6\n7\n8\n9\n10\n1e30\n";
    let image = read(&ReadImage::new(), text.as_bytes()).unwrap();
    assert_eq!(
        (image.dims(), image.grid().spacing(), image.grid().origin()),
        ([3, 2, 2], [0.5, 1.0, 2.0], [-1.0, 0.0, 100.0])
    );
    let mut expected = NUMBERS;
    expected[4] = 4.0;
    assert_values(&image, &expected);
    // In micro units.
    let scaled = read(&ReadImage::new().scale(1e-6), text.as_bytes()).unwrap();
    assert_eq!(scaled.value(2).unwrap(), 2.25e-6);
    // Without an end of the last line.
    assert_values(
        &crate::support::image(Format::Vtk, text.trim_end().as_bytes()),
        &expected,
    );
}

#[test]
fn binary_is_big_endian() {
    let file = join(&[
        head("BINARY", "3 2 2").as_bytes(),
        b"POINT_DATA 12\nSCALARS s float\nLOOKUP_TABLE default\n",
        &big(&NUMBERS),
        b"\n",
    ]);
    assert_values(&image(Format::Vtk, &file), &NUMBERS);
    let windows = String::from_utf8_lossy(&join(&[
        head("BINARY", "2 1 1").as_bytes(),
        b"POINT_DATA 2\nSCALARS s short\nLOOKUP_TABLE default\n",
    ]))
    .replace('\n', "\r\n");
    assert_values(
        &image(
            Format::Vtk,
            &join(&[windows.as_bytes(), &[0xff, 0xfe, 0x01, 0x02]]),
        ),
        &[-2.0, 258.0],
    );
}

#[test]
fn points_and_cells_with_attributes_of_every_kind() {
    // 2 x 2 x 2 points, one cell.
    let bytes = |count: u8| (1..=count).collect::<Vec<u8>>();
    let file = join(&[
        head("BINARY", "2 2 2").as_bytes(),
        b"FIELD FieldData 1\nTimeValue 1 1 double\n",
        &7.5_f64.to_be_bytes(),
        b"\nMETADATA\nINFORMATION 1\nNAME L2 LOCATION vtk\nDATA 5\n\nPOINT_DATA 8\nVECTORS v unsigned_char\n",
        &bytes(24),
        b"\nSCALARS s%20one unsigned_short 2\nLOOKUP_TABLE colours\n",
        &(0..16_u16).flat_map(u16::to_be_bytes).collect::<Vec<u8>>(),
        b"\nLOOKUP_TABLE colours 2\n",
        &[1, 2, 3, 4, 5, 6, 7, 8],
        b"\nCELL_DATA 1\nSCALARS cell int 1\nLOOKUP_TABLE default\n",
        &(-9_i32).to_be_bytes(),
        b"\nFIELD more 2\nlong 1 1 long\n",
        &(1_i64 << 40).to_be_bytes(),
        b"\nids 1 1 vtkIdType\n",
        &3_i32.to_be_bytes(),
        b"\nTENSORS t double\n",
        &(1..=9).flat_map(|k| f64::from(k).to_be_bytes()).collect::<Vec<u8>>(),
        b"\nCOLOR_SCALARS c 3\n",
        &[10, 20, 30],
        b"\n",
    ]);
    let folder = Folder::new();
    let info = ReadImage::new()
        .info(folder.file("all.vtk", &file))
        .unwrap();
    let arrays: Vec<(&str, DType, usize, usize)> = info
        .arrays
        .iter()
        .map(|array| {
            (
                array.name.as_str(),
                array.dtype,
                array.components,
                array.dims.iter().product(),
            )
        })
        .collect();
    assert_eq!(
        arrays,
        [
            ("v", DType::U8, 3, 8),
            ("s one", DType::U16, 2, 8),
            ("cell", DType::I32, 1, 1),
            ("long", DType::I64, 1, 1),
            ("ids", DType::I32, 1, 1),
            ("t", DType::F64, 9, 1),
            ("c", DType::U8, 3, 1),
        ]
    );
    assert_eq!(info.default, 1);
    let second = ReadImage::new().component(1);
    assert_values(
        &read(&second, &file).unwrap(),
        &[1.0, 3.0, 5.0, 7.0, 9.0, 11.0, 13.0, 15.0],
    );
    assert_eq!(
        read(&second.clone().array("v"), &file)
            .unwrap()
            .value(7)
            .unwrap(),
        23.0
    );
    assert_values(
        &read(&ReadImage::new().array("cell"), &file).unwrap(),
        &[-9.0],
    );
    assert_values(
        &read(&ReadImage::new().array("long"), &file).unwrap(),
        &[1_099_511_627_776.0],
    );
    assert_values(
        &read(&ReadImage::new().array("ids"), &file).unwrap(),
        &[3.0],
    );
    assert_values(&read(&second.clone().array("t"), &file).unwrap(), &[2.0]);
    assert_values(&read(&second.array("c"), &file).unwrap(), &[20.0]);
    let two = ReadImage::new()
        .array("long")
        .array("cell")
        .multi_image_from_bytes(&file)
        .unwrap();
    assert_eq!(elements(&two), [1_099_511_627_776.0, -9.0]);
}

#[test]
fn several_arrays_as_text() {
    let text = head("ASCII", "2 1 1")
        + "\nPOINT_DATA 2\n  SCALARS a char\nLOOKUP_TABLE default\n65 -66\nLOOKUP_TABLE t 1\n0 0 0 1\nSCALARS b double 1\nLOOKUP_TABLE default\nnan 1e-300\n\
           COLOR_SCALARS rgb 3\n0 0.2 1\n0 0 0.4\nFIELD FieldData 1\nc 2 2 long\n1 2\n3 4\n";
    assert_values(
        &read(&ReadImage::new(), text.as_bytes()).unwrap(),
        &[65.0, -66.0],
    );
    let b = read(&ReadImage::new().array("b"), text.as_bytes())
        .unwrap()
        .to_values()
        .unwrap();
    assert!(b[0].is_nan());
    assert_eq!(b[1].to_bits(), 0);
    assert_eq!(elements(&multi(Format::Vtk, text.as_bytes()))[2], -66.0);
    let colours = ReadImage::new().array("rgb").component(1);
    assert_values(&read(&colours, text.as_bytes()).unwrap(), &[51.0, 0.0]);
    let c = ReadImage::new()
        .array("c")
        .multi_image_from_bytes(text.as_bytes())
        .unwrap();
    assert_eq!(elements(&c), [1.0, 2.0, 3.0, 4.0]);
}

#[test]
fn what_cannot_be_read_is_named() {
    let scalars = "SCALARS s float 1\nLOOKUP_TABLE default\n1\n";
    let one = |text: &str| head("ASCII", "1 1 1") + text;
    let cases = [
        (
            one("POINT_DATA 2\n"),
            "POINT_DATA is '2 for sides [1, 1, 1]'",
        ),
        (
            one(&format!("CELL_DATA 1\n{scalars}{scalars}oops 1")),
            "keyword is 'OOPS'",
        ),
        (one(scalars), "before POINT_DATA"),
        (
            one("POINT_DATA 1\nSCALARS s bit 1\nLOOKUP_TABLE default\n1\n"),
            "type of an array is 'bit'",
        ),
        (
            one("POINT_DATA 1\nSCALARS s float 0\nLOOKUP_TABLE default\n1\n"),
            "components is '0'",
        ),
        (
            one("POINT_DATA 1\nSCALARS s float 1\n1\n"),
            "the line after SCALARS is '1'",
        ),
        (one("POINT_DATA 1\nSCALARS\n"), "SCALARS is ''"),
        (
            one(&format!("POINT_DATA 1\n{}", scalars.replace('1', ""))),
            "SCALARS s float",
        ),
        (
            one("").replace("0.5 1 2", "0 1 1") + "POINT_DATA 1\n" + scalars,
            "spacing is '[0.0, 1.0, 1.0]'",
        ),
        (
            one("").replace("0.5 1 2", "nan 1 1") + "POINT_DATA 1\n" + scalars,
            "spacing is",
        ),
        (
            one("").replace("0.5 1 2", "1 1") + "POINT_DATA 1\n" + scalars,
            "SPACING is '1 1'",
        ),
        (
            head("ASCII", "0 1 1") + "POINT_DATA 0\n" + scalars,
            "dimensions is '[0, 1, 1]'",
        ),
        (
            head("ASCII", "0 1 1") + "CELL_DATA 0\n" + scalars,
            "DIMENSIONS is '[0, 1, 1]'",
        ),
        (head("ASCII", "-1 1 1"), "DIMENSIONS is '-1 1 1'"),
        (
            head("ASCII", "4294967296 4294967296 4294967296") + "POINT_DATA 1\n",
            "POINT_DATA is",
        ),
        (
            one("").replace("STRUCTURED_POINTS", "POLYDATA"),
            "DATASET is 'POLYDATA'",
        ),
        (head("OCTAL", "1 1 1"), "the third line is 'OCTAL'"),
        ("# vtk Data\n".to_owned(), "the first line"),
        (
            "# vtk DataFile Version 9\n".to_owned(),
            "ends in its header",
        ),
        (one(""), "there is no array in it"),
    ];
    for (file, expected) in cases {
        if file.contains("SCALARS s float \n") {
            refusal(Format::Vtk, file.as_bytes());
            continue;
        }
        let message = refusal(Format::Vtk, file.as_bytes());
        assert!(message.contains(expected), "{file}: {message}");
    }
}
