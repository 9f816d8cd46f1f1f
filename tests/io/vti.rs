//! `.vti`.

use ulib::core::DType;
use ulib::math::io::{Format, ReadImage};

use crate::support::{
    NUMBERS, assert_values, big, elements, hex, image, join, little, multi, read, refusal,
};

/// A file with these attributes of the file, of the image and its piece, and this content.
fn vti(file: &str, image: &str, extent: &str, content: &str) -> String {
    format!(
        "<?xml version=\"1.0\"?>\n<VTKFile type=\"ImageData\" version=\"1.0\" {file}>\n  <ImageData WholeExtent=\"{extent}\" {image}>\n  \
         <Piece Extent=\"{extent}\">\n{content}  </Piece>\n  </ImageData>\n"
    )
}

/// A file of one array of the cells of 3 x 2 x 2, inline.
fn inline(file: &str, array: &str, text: &str) -> Vec<u8> {
    let content = format!(
        "<CellData Scalars=\"v\"><DataArray Name=\"v\" {array}>\n{text}\n</DataArray></CellData>"
    );
    (vti(
        file,
        "Origin=\"0 0 0\" Spacing=\"1 1 1\"",
        "0 3 0 2 0 2",
        &content,
    ) + "</VTKFile>")
        .into_bytes()
}

/// A file of one array of the cells of 3 x 2 x 2, appended.
fn appended(file: &str, encoding: &str, array: &str, data: &[u8]) -> Vec<u8> {
    let content =
        format!("<CellData><DataArray Name=\"v\" format=\"appended\" {array}/></CellData>");
    let head = vti(
        file,
        "Origin=\"0 0 0\" Spacing=\"1 1 1\"",
        "0 3 0 2 0 2",
        &content,
    );
    let data_tag = format!("<AppendedData encoding=\"{encoding}\">\n   _");
    join(&[
        head.as_bytes(),
        data_tag.as_bytes(),
        data,
        b"\n  </AppendedData>\n</VTKFile>\n",
    ])
}

const LITTLE: &str = "byte_order=\"LittleEndian\" header_type=\"UInt32\"";
/// [`NUMBERS`] after their length of 32 bits.
const BASE64: &str = "MAAAAAAAAD8AAIC/AAAQQAAAQEAAAMB/AACgQAAAwEAAAOBAAAAAQQAAEEEAACBByvJJcQ==";
/// [`NUMBERS`] after their length of 64 bits, which has its own padding.
const BASE64_APART: &str =
    "MAAAAAAAAAA=AAAAPwAAgL8AABBAAABAQAAAwH8AAKBAAADAQAAA4EAAAABBAAAQQQAAIEHK8klx";
/// [`NUMBERS`] in zlib blocks of 20, 20 and 8 bytes.
const BASE64_BLOCKS: &str = "AwAAABQAAAAIAAAAGgAAABkAAAAQAAAAeJxjYGCwZ2Bo2M/AIODAwOAAxAfqARyVA454nGNgWODAwHAAiB8AMYMjA4OAIwAp+gOTeJxjYFBwPPXJsxAACQ4C2A==";
const FLOAT: &str = "type=\"Float32\" NumberOfComponents=\"1\"";

#[test]
fn numbers_as_text() {
    let text = "0.5 -1 2.25\n3 nan 5e0\t6 7.0 8 9 1e1 1e30";
    let file = inline(LITTLE, &format!("{FLOAT} format=\"ascii\""), text);
    let image = image(Format::Vti, &file);
    assert_eq!(image.dims(), [3, 2, 2]);
    let values = image.to_values().unwrap();
    assert!(values[4].is_nan());
    assert_eq!(values[..4], NUMBERS[..4]);
    assert_eq!(values[5..], NUMBERS[5..]);
    let integers = "1 -2 3 4 5 6 7 8 9 10 11 -128";
    let file = inline(LITTLE, "type=\"Int8\" format=\"ascii\"", integers);
    assert_eq!(
        crate::support::image(Format::Vti, &file)
            .to_values()
            .unwrap()[11],
        -128.0
    );
}

#[test]
fn base64_with_the_length_in_front_or_apart() {
    let array = format!("{FLOAT} format=\"binary\"");
    assert_values(
        &image(Format::Vti, &inline(LITTLE, &array, BASE64)),
        &NUMBERS,
    );
    let wide = "byte_order=\"LittleEndian\" header_type=\"UInt64\"";
    assert_values(
        &image(Format::Vti, &inline(wide, &array, BASE64_APART)),
        &NUMBERS,
    );
    // Broken into lines, as some writers do.
    let lines = BASE64
        .as_bytes()
        .chunks(7)
        .map(|line| std::str::from_utf8(line).unwrap())
        .collect::<Vec<_>>()
        .join("\n ");
    assert_values(
        &image(Format::Vti, &inline(LITTLE, &array, &lines)),
        &NUMBERS,
    );
    // The file has no header_type in version 0.1.
    assert_values(
        &image(
            Format::Vti,
            &inline("byte_order=\"LittleEndian\"", &array, BASE64),
        ),
        &NUMBERS,
    );
}

#[test]
fn compressed_base64() {
    let file = format!("{LITTLE} compressor=\"vtkZLibDataCompressor\"");
    assert_values(
        &image(
            Format::Vti,
            &inline(&file, &format!("{FLOAT} format=\"binary\""), BASE64_BLOCKS),
        ),
        &NUMBERS,
    );
    let data = BASE64_BLOCKS.as_bytes();
    assert_values(
        &image(
            Format::Vti,
            &appended(&file, "base64", &format!("{FLOAT} offset=\"0\""), data),
        ),
        &NUMBERS,
    );
}

#[test]
fn appended_raw_of_both_byte_orders() {
    let data = join(&[&48_u32.to_le_bytes(), &little(&NUMBERS)]);
    assert_values(
        &image(
            Format::Vti,
            &appended(LITTLE, "raw", &format!("{FLOAT} offset=\"0\""), &data),
        ),
        &NUMBERS,
    );
    let wide = "byte_order=\"BigEndian\" header_type=\"UInt64\"";
    let data = join(&[b"zzz", &48_u64.to_be_bytes(), &big(&NUMBERS)]);
    assert_values(
        &image(
            Format::Vti,
            &appended(wide, "raw", &format!("{FLOAT} offset=\"3\""), &data),
        ),
        &NUMBERS,
    );
}

#[test]
fn appended_base64() {
    let data = format!("AAAA{BASE64}");
    assert_values(
        &image(
            Format::Vti,
            &appended(
                LITTLE,
                "base64",
                &format!("{FLOAT} offset=\"4\""),
                data.as_bytes(),
            ),
        ),
        &NUMBERS,
    );
}

#[test]
fn appended_compressed_blocks() {
    let file =
        "byte_order=\"BigEndian\" header_type=\"UInt64\" compressor=\"vtkZLibDataCompressor\"";
    let data = hex(
        "000000000000000200000000000000180000000000000000000000000000001d000000000000001d789cb3676060d8df\
         c0c0e02000c40e0c0cf50780f4020606003534046e789c7338c0c0e0f08081c19101880580588181a1d0f3d329003cf9\
         058a",
    );
    assert_values(
        &image(
            Format::Vti,
            &appended(file, "raw", &format!("{FLOAT} offset=\"0\""), &data),
        ),
        &NUMBERS,
    );
    // A flipped bit in the second block.
    let mut damaged = data.clone();
    let last = damaged.len() - 3;
    damaged[last] ^= 4;
    let message = refusal(
        Format::Vti,
        &appended(file, "raw", &format!("{FLOAT} offset=\"0\""), &damaged),
    );
    assert!(message.contains("damaged data"), "{message}");
    // One block more than there is room for numbers.
    let mut longer = data;
    longer[7] = 3;
    let message = refusal(
        Format::Vti,
        &appended(file, "raw", &format!("{FLOAT} offset=\"0\""), &longer),
    );
    assert!(
        message.contains("the length of an array in bytes is '72, not 48'"),
        "{message}"
    );
}

#[test]
fn points_cells_and_an_extent_that_starts_elsewhere() {
    let content = "<PointData><DataArray type=\"UInt8\" Name=\"corner\">1 2 3 4 5 6 7 8</DataArray></PointData>\
         <CellData><DataArray type=\"Int16\" Name=\"cell\" format=\"ascii\"> -7 </DataArray></CellData>";
    let file = vti(
        LITTLE,
        "Origin=\"10 20 30\" Spacing=\"0.5 1 2\"",
        "4 5 -1 0 0 1",
        content,
    ) + "</VTKFile>";
    let cell = image(Format::Vti, file.as_bytes());
    assert_eq!(
        (cell.dims(), cell.grid().origin(), cell.grid().spacing()),
        ([1, 1, 1], [12.0, 19.0, 30.0], [0.5, 1.0, 2.0])
    );
    assert_values(&cell, &[-7.0]);
    let corner = read(&ReadImage::new().array("corner"), file.as_bytes()).unwrap();
    assert_eq!(corner.dims(), [2, 2, 2]);
    assert_values(&corner, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
    // A multi-image has what goes with the default array; asking for both is refused.
    assert_eq!(elements(&multi(Format::Vti, file.as_bytes())), [-7.0]);
    let both = ReadImage::new().array("cell").array("corner");
    let error = both.multi_image_from_bytes(file.as_bytes()).unwrap_err();
    assert_eq!(error.kind(), &ulib::core::ErrorKind::Shape);
    // A flat extent has one layer of cells.
    let flat = "<CellData><DataArray type=\"UInt8\" Name=\"c\">1 2</DataArray></CellData>";
    let file = vti(LITTLE, "", "0 2 0 1 5 5", flat) + "</VTKFile>";
    assert_eq!(image(Format::Vti, file.as_bytes()).dims(), [2, 1, 1]);
}

#[test]
fn the_active_array_is_the_default_one() {
    let content = "<FieldData><DataArray type=\"String\" Name=\"note\">65 0</DataArray></FieldData>\
         <PointData Scalars=\"second\"><DataArray type=\"Float64\" Name=\"first\">1</DataArray>\
         <DataArray type=\"Float64\" Name=\"sec&#111;nd\"><InformationKey name=\"L2\" location=\"vtk\">\n 5 </InformationKey>2\
         </DataArray><DataArray type=\"UInt64\" Name=\"v &lt; 3\" NumberOfComponents=\"3\" RangeMin=\"3\">3 4 5\
         <InformationKey name=\"L2\">6</InformationKey></DataArray></PointData><CellData></CellData>";
    let file = vti(LITTLE, "", "0 0 0 0 0 0", content) + "</VTKFile>";
    assert_values(&image(Format::Vti, file.as_bytes()), &[2.0]);
    let folder = crate::support::Folder::new();
    let info = ReadImage::new().info(folder.file("a.vti", &file)).unwrap();
    let arrays: Vec<(&str, DType, usize)> = info
        .arrays
        .iter()
        .map(|array| (array.name.as_str(), array.dtype, array.components))
        .collect();
    assert_eq!(
        arrays,
        [
            ("first", DType::F64, 1),
            ("second", DType::F64, 1),
            ("v < 3", DType::U64, 3)
        ]
    );
    assert_eq!(info.default, 1);
    assert_eq!(elements(&multi(Format::Vti, file.as_bytes())), [1.0, 2.0]);
    let three = ReadImage::new()
        .array("v < 3")
        .multi_image_from_bytes(file.as_bytes())
        .unwrap();
    assert_eq!(elements(&three), [3.0, 4.0, 5.0]);
}

#[test]
fn turned_images_are_refused_unless_allowed() {
    let content = "<CellData><DataArray type=\"UInt8\" Name=\"c\">1 2</DataArray></CellData>";
    let image = "Direction=\"-1 0 0 0 1 0 0 0 1\"";
    let file = vti(LITTLE, image, "0 2 0 1 0 1", content) + "</VTKFile>";
    let message = refusal(Format::Vti, file.as_bytes());
    assert!(
        message.contains("Direction is '[[-1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]'"),
        "{message}"
    );
    let image = read(&ReadImage::new().any_orientation(true), file.as_bytes()).unwrap();
    assert_values(&image, &[1.0, 2.0]);
    let straight = file.replace("-1 0 0 0 1", "1 0 0 0 1");
    assert_eq!(
        crate::support::image(Format::Vti, straight.as_bytes()).dims(),
        [2, 1, 1]
    );
}

#[test]
fn what_cannot_be_read_is_named() {
    let array =
        |extra: &str| format!("<CellData><DataArray Name=\"c\" {extra}>1</DataArray></CellData>");
    let good = array("type=\"UInt8\"");
    let one = "0 1 0 1 0 1";
    let cases = [
        (
            vti("", "", one, &array("type=\"String\"")),
            "type of DataArray is 'String'",
        ),
        (vti("", "", one, &array("")), "type is 'not given'"),
        (
            vti(
                "",
                "",
                one,
                &array("type=\"UInt8\" NumberOfComponents=\"0\""),
            ),
            "components is '0'",
        ),
        (
            vti(
                "",
                "",
                one,
                &array("type=\"UInt8\" NumberOfComponents=\"-1\""),
            ),
            "NumberOfComponents is '-1'",
        ),
        (
            vti("", "", one, &array("type=\"UInt8\" format=\"zip\"")),
            "format of DataArray is 'zip'",
        ),
        (
            vti(
                "",
                "",
                one,
                &array("type=\"UInt8\" format=\"appended\" offset=\"x\""),
            ),
            "offset is 'x'",
        ),
        (
            vti(
                "",
                "",
                one,
                &array("type=\"UInt8\" format=\"appended\" offset=\"0\""),
            ),
            "there is no AppendedData",
        ),
        (
            vti("byte_order=\"Middle\"", "", one, &good),
            "byte_order is 'Middle'",
        ),
        (
            vti("header_type=\"UInt16\"", "", one, &good),
            "header_type is 'UInt16'",
        ),
        (
            vti("compressor=\"vtkLZ4DataCompressor\"", "", one, &good),
            "compressor is 'vtkLZ4DataCompressor'",
        ),
        (
            vti("", "Spacing=\"1 0 1\"", one, &good),
            "spacing is '[1.0, 0.0, 1.0]'",
        ),
        (vti("", "Spacing=\"1 inf 1\"", one, &good), "spacing is"),
        (vti("", "Origin=\"nan 0 0\"", one, &good), "origin is"),
        (vti("", "Origin=\"0 0\"", one, &good), "Origin is '0 0'"),
        (vti("", "", "0 1 0 1", &good), "Extent is '0 1 0 1'"),
        (
            vti("", "", "1 0 0 1 0 1", &good),
            "Extent is '[1, 0, 0, 1, 0, 1]'",
        ),
        (
            vti(
                "",
                "",
                "-9223372036854775808 9223372036854775807 0 1 0 1",
                &good,
            ),
            "Extent is",
        ),
        (
            vti("", "", "0 4000000000 0 4000000000 0 4000000000", &good),
            "dimensions is",
        ),
        (vti("", "", one, ""), "there is no array in it"),
        (
            "<VTKFile type=\"PolyData\">".to_owned(),
            "type of VTKFile is 'PolyData'",
        ),
        (
            "<VTKFile type=\"ImageData\">".to_owned(),
            "there is no element ImageData",
        ),
        (
            "<!DOCTYPE x [<!ENTITY a \"aaaa\">]><VTKFile type=\"ImageData\">".to_owned(),
            "DOCTYPE",
        ),
        ("<a>".repeat(40), "more than 32 deep"),
    ];
    for (file, expected) in cases {
        let message = refusal(Format::Vti, (file.clone() + "</VTKFile>").as_bytes());
        assert!(message.contains(expected), "{file}: {message}");
    }
    let piece = "<Piece Extent=\"0 1 0 1 0 1\"></Piece>";
    let message = refusal(
        Format::Vti,
        vti("", "", one, &good)
            .replace("</ImageData>", piece)
            .as_bytes(),
    );
    assert!(message.contains("several pieces"), "{message}");
    for text in [
        "1 2 3",
        "1 x 3 4 5 6 7 8 9 10 11 12",
        "256 2 3 4 5 6 7 8 9 10 11 12",
        "1.5 2 3 4 5 6 7 8 9 10 11 12",
    ] {
        refusal(Format::Vti, &inline(LITTLE, "type=\"UInt8\"", text));
    }
    for (kind, word) in [
        ("Float32", "1e39"),
        ("Float64", "1e400"),
        ("Float64", "1e39"),
        ("Int64", "9223372036854775808"),
    ] {
        let text = format!("{word} 2 3 4 5 6 7 8 9 10 11 12");
        refusal(
            Format::Vti,
            &inline(LITTLE, &format!("type=\"{kind}\""), &text),
        );
    }
    for text in [BASE64.replace('M', "!"), BASE64.replace("MAAA", "NAAA")] {
        refusal(
            Format::Vti,
            &inline(LITTLE, &format!("{FLOAT} format=\"binary\""), &text),
        );
    }
}
