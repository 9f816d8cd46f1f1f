//! MetaImage: `.mha`, and `.mhd` with a data file.

use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use ulib_core::{DType, Result};

use super::Format;
use super::element::{TypeName, name_of, type_named};
use super::source::write_all_at;
use super::store::Outgoing;
use super::text::{Lines, list};
use super::volume::{Array, Data, Encoding, Input, bad, broken, check_directions, checked_grid};
use super::write::{data_name, ends_in, header_and_data, whole_file};
use crate::grid::DataOrder;

const FORMAT: Format = Format::MetaImage;

/// `MET_LONG` has 32 bits in files.
const TYPES: &[TypeName] = &[
    (DType::I8, &["MET_CHAR"]),
    (DType::U8, &["MET_UCHAR"]),
    (DType::I16, &["MET_SHORT"]),
    (DType::U16, &["MET_USHORT"]),
    (DType::I32, &["MET_INT", "MET_LONG"]),
    (DType::U32, &["MET_UINT", "MET_ULONG"]),
    (DType::I64, &["MET_LONG_LONG"]),
    (DType::U64, &["MET_ULONG_LONG"]),
    (DType::F32, &["MET_FLOAT"]),
    (DType::F64, &["MET_DOUBLE"]),
];

/// The fields of a header that matter, as text.
#[derive(Default)]
struct Fields {
    axes: Option<String>,
    dims: Option<String>,
    spacing: Option<String>,
    size: Option<String>,
    origin: Option<String>,
    directions: Option<String>,
    channels: Option<String>,
    kind: Option<String>,
    header_size: Option<String>,
    big: bool,
    text: bool,
    compressed: bool,
}

pub(super) fn parse(input: &Input<'_>) -> Result<Array> {
    let mut lines = Lines::new(FORMAT, input.all());
    let mut fields = Fields::default();
    loop {
        let line = lines
            .next_of_header()?
            .ok_or_else(|| broken(FORMAT, "the header has no ElementDataFile"))?;
        if line.trim().is_empty() {
            continue;
        }
        let (key, value) = line
            .split_once('=')
            .map(|(key, value)| (key.trim(), value.trim()))
            .ok_or_else(|| bad(FORMAT, "a line of the header", &line, "Key = value"))?;
        if key == "ElementDataFile" {
            return fields.array(input, value, lines.position);
        }
        fields.set(key, value)?;
    }
}

impl Fields {
    fn set(&mut self, key: &str, value: &str) -> Result<()> {
        let text = || Some(value.to_owned());
        let flag = |field: &'static str| match value.to_ascii_lowercase().as_str() {
            "true" | "1" => Ok(true),
            "false" | "0" => Ok(false),
            _ => Err(bad(FORMAT, field, value, "True or False")),
        };
        match key {
            "ObjectType" if !value.eq_ignore_ascii_case("Image") => {
                return Err(bad(FORMAT, "ObjectType", value, "Image"));
            }
            "NDims" => self.axes = text(),
            "DimSize" => self.dims = text(),
            "ElementSpacing" => self.spacing = text(),
            "ElementSize" => self.size = text(),
            "Offset" | "Origin" | "Position" => self.origin = text(),
            "TransformMatrix" | "Rotation" | "Orientation" => self.directions = text(),
            "ElementNumberOfChannels" => self.channels = text(),
            "ElementType" => self.kind = text(),
            "HeaderSize" => self.header_size = text(),
            "ElementByteOrderMSB" | "BinaryDataByteOrderMSB" => {
                self.big = flag("BinaryDataByteOrderMSB")?
            }
            "BinaryData" => self.text = !flag("BinaryData")?,
            "CompressedData" => self.compressed = flag("CompressedData")?,
            // Others say how it is shown, or what we see ourselves.
            _ => {}
        }
        Ok(())
    }

    fn array(&self, input: &Input<'_>, file: &str, after_header: u64) -> Result<Array> {
        let given = |field: &'static str, value: &Option<String>| {
            value
                .clone()
                .ok_or_else(|| broken(FORMAT, format!("the header has no {field}")))
        };
        let axes = match given("NDims", &self.axes)?.as_str() {
            "2" => 2,
            "3" => 3,
            other => return Err(bad(FORMAT, "NDims", other, "2 or 3")),
        };
        let dims = sides(axes, "DimSize", &given("DimSize", &self.dims)?, 1_u64)?;
        let spacing = self.spacing.as_ref().or(self.size.as_ref());
        let spacing = spacing.map_or(Ok([1.0; 3]), |text| {
            sides(axes, "ElementSpacing", text, 1.0)
        })?;
        let origin = self
            .origin
            .as_ref()
            .map_or(Ok([0.0; 3]), |text| sides(axes, "Offset", text, 0.0))?;
        if let Some(text) = &self.directions {
            let given: Vec<f64> = list(FORMAT, "TransformMatrix", text, 9)?;
            if given.len() != axes * axes {
                return Err(bad(
                    FORMAT,
                    "TransformMatrix",
                    text,
                    "NDims x NDims numbers",
                ));
            }
            let mut columns = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
            for (axis, numbers) in given.chunks(axes).enumerate() {
                columns[axis][..axes].copy_from_slice(numbers);
            }
            check_directions(input, FORMAT, "TransformMatrix", columns)?;
        }
        let channels = match &self.channels {
            None => 1,
            Some(text) => text
                .parse()
                .map_err(|_| bad(FORMAT, "ElementNumberOfChannels", text, "a number"))?,
        };
        let kind = given("ElementType", &self.kind)?;
        let dtype = type_named(TYPES, kind.trim_end_matches("_ARRAY")).ok_or_else(|| {
            bad(
                FORMAT,
                "ElementType",
                kind,
                "an integer or a float of MetaImage",
            )
        })?;
        let grid = checked_grid(
            FORMAT,
            dims,
            DataOrder::Xyz,
            channels,
            dtype.size(),
            spacing,
            origin,
        )?;
        let (file, start) = match file {
            "LOCAL" | "Local" | "local" => (None, after_header),
            list if list.starts_with("LIST") || list.contains('%') => {
                return Err(bad(
                    FORMAT,
                    "ElementDataFile",
                    list,
                    "one file: lists of slices are not read",
                ));
            }
            name => (Some(input.beside(FORMAT, "ElementDataFile", name)?), 0),
        };
        let skipped: i64 = match &self.header_size {
            None => 0,
            Some(text) => text
                .parse()
                .map_err(|_| bad(FORMAT, "HeaderSize", text, "a number"))?,
        };
        let encoding = match (self.text, self.compressed, skipped) {
            (true, true, _) => return Err(broken(FORMAT, "text that is compressed is not read")),
            (true, false, _) => Encoding::Ascii { fractions: false },
            (false, true, _) => Encoding::Zlib { skip: 0 },
            (false, false, -1) => Encoding::RawAtEnd,
            (false, false, _) => Encoding::Raw,
        };
        let start = match (&encoding, u64::try_from(skipped)) {
            (_, Ok(skipped)) => start.saturating_add(skipped),
            (Encoding::RawAtEnd, _) => start,
            _ => {
                return Err(bad(
                    FORMAT,
                    "HeaderSize",
                    skipped,
                    "at least 0, or -1 for raw data",
                ));
            }
        };
        let data = Data {
            file,
            little: !self.big,
            encoding,
            start,
            len: u64::MAX,
        };
        Ok(Array::new("", dtype, channels, grid, data))
    }
}

/// A number for each of `axes`, the rest filled.
fn sides<T: std::str::FromStr + Copy>(
    axes: usize,
    field: &'static str,
    text: &str,
    fill: T,
) -> Result<[T; 3]> {
    let given: Vec<T> = list(FORMAT, field, text, 3)?;
    if given.len() != axes {
        return Err(bad(FORMAT, field, text, "NDims numbers"));
    }
    let mut all = [fill; 3];
    all[..axes].copy_from_slice(&given);
    Ok(all)
}

pub(super) fn write(image: &Outgoing<'_>, path: &Path) -> Result<()> {
    if !ends_in(path, "mhd") {
        return whole_file(path, |file| {
            // Written last, when the length of the data is known, on which its own does not depend.
            let start = header(image, "LOCAL", 0).len() as u64;
            let size = numbers(image, file, start)?;
            write_all_at(file, 0, header(image, "LOCAL", size).as_bytes())
        });
    }
    let end = match (image.ascii, image.compressed) {
        (true, _) => "txt",
        (_, true) => "zraw",
        _ => "raw",
    };
    let data = data_name(path, end)?;
    header_and_data(
        path,
        |size| header(image, &data, size),
        &path.with_file_name(&data),
        |file| numbers(image, file, 0),
    )
}

/// Writes the numbers from a byte of the file on; the bytes they took.
fn numbers(image: &Outgoing<'_>, mut file: &File, start: u64) -> io::Result<u64> {
    let array = image.joined();
    if !image.ascii && !image.compressed {
        image.write_at(&array, file, start, true)?;
        return Ok(image.bytes(&array) as u64);
    }
    file.seek(SeekFrom::Start(start))?;
    let mut stream = BufWriter::with_capacity(1 << 18, file);
    if image.ascii {
        image.write_ascii(&array, &mut stream)?;
    } else {
        let mut zlib = ZlibEncoder::new(&mut stream, Compression::default());
        image.write_to(&array, &mut zlib, true)?;
        zlib.finish()?;
    }
    stream.flush()?;
    Ok(file.stream_position()? - start)
}

/// The header; `size` is that of the data where it is compressed.
fn header(image: &Outgoing<'_>, data: &str, size: u64) -> String {
    let flag = |on: bool| if on { "True" } else { "False" };
    let [nx, ny, nz] = image.dims;
    let three = |[x, y, z]: [f64; 3]| format!("{x} {y} {z}");
    let channels = match image.joined().components {
        1 => String::new(),
        several => format!("ElementNumberOfChannels = {several}\n"),
    };
    // Of a fixed width, which the largest number has.
    let size = match image.compressed {
        true => format!("CompressedDataSize = {size:<20}\n"),
        false => String::new(),
    };
    format!(
        "ObjectType = Image\nNDims = 3\nBinaryData = {}\nBinaryDataByteOrderMSB = False\nCompressedData = {}\n{size}\
         TransformMatrix = 1 0 0 0 1 0 0 0 1\nOffset = {}\nCenterOfRotation = 0 0 0\nElementSpacing = {}\n\
         DimSize = {nx} {ny} {nz}\n{channels}ElementType = {}\nElementDataFile = {data}\n",
        flag(!image.ascii),
        flag(image.compressed),
        three(image.origin),
        three(image.spacing),
        name_of(TYPES, image.dtype).unwrap_or_default(),
    )
}
