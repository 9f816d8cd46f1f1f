//! `.npy`: one NumPy array.

use std::io::Read;
use std::path::Path;

use ulib_core::{DType, Error, Result};

use super::Format;
use super::element::{TypeName, name_of, type_named};
use super::source::write_all_at;
use super::store::{Outgoing, Outline};
use super::volume::{Array, Data, Encoding, Input, bad, checked_grid, io};
use super::write::whole_file;
use crate::grid::DataOrder;

const FORMAT: Format = Format::Npy;
/// Headers are not longer; NumPy itself refuses those of more than 10,000 bytes.
const LONGEST_HEADER: u64 = 1 << 16;

const MAGIC: &[u8] = b"\x93NUMPY";

/// Types without their byte order.
const TYPES: &[TypeName] = &[
    (DType::Bool, &["b1"]),
    (DType::I8, &["i1"]),
    (DType::U8, &["u1"]),
    (DType::I16, &["i2"]),
    (DType::U16, &["u2"]),
    (DType::I32, &["i4"]),
    (DType::U32, &["u4"]),
    (DType::I64, &["i8"]),
    (DType::U64, &["u8"]),
    (DType::F16, &["f2"]),
    (DType::F32, &["f4"]),
    (DType::F64, &["f8"]),
];

pub(super) fn parse(input: &Input<'_>) -> Result<Array> {
    let (mut array, len) = parse_stream(input.all(), String::new())?;
    array.data.start = len;
    Ok(array)
}

/// The array that a stream is, and the length of its header.
pub(super) fn parse_stream(mut stream: impl Read, name: String) -> Result<(Array, u64)> {
    let mut start = [0; 8];
    stream
        .read_exact(&mut start)
        .map_err(|error| io(FORMAT, error))?;
    if !start.starts_with(MAGIC) {
        return Err(bad(
            FORMAT,
            "the first bytes",
            String::from_utf8_lossy(&start),
            "\\x93NUMPY",
        ));
    }
    let version = start[6];
    let mut size = [0; 4];
    let bytes = match version {
        1 => 2,
        2 | 3 => 4,
        other => return Err(bad(FORMAT, "version", other, "1, 2 or 3")),
    };
    stream
        .read_exact(&mut size[..bytes])
        .map_err(|error| io(FORMAT, error))?;
    let size = u64::from(u32::from_le_bytes(size));
    if size > LONGEST_HEADER {
        return Err(bad(FORMAT, "length of the header", size, "at most 65536"));
    }
    let mut header = Vec::new();
    stream
        .take(size)
        .read_to_end(&mut header)
        .map_err(|error| io(FORMAT, error))?;
    if (header.len() as u64) < size {
        return Err(io(FORMAT, std::io::ErrorKind::UnexpectedEof.into()));
    }
    let text = String::from_utf8_lossy(&header);
    Ok((array(&text, name)?, 8 + bytes as u64 + size))
}

/// The array that a header, a Python dictionary, describes.
fn array(header: &str, name: String) -> Result<Array> {
    let descr = string(value(header, "descr")?).ok_or_else(|| {
        bad(
            FORMAT,
            "descr",
            value(header, "descr").unwrap_or_default(),
            "the name of a number: records are not read",
        )
    })?;
    let (order, kind) = descr.split_at_checked(1).unwrap_or_default();
    let dtype = type_named(TYPES, kind);
    let (Some(dtype), true) = (dtype, matches!(order, "<" | ">" | "|" | "=")) else {
        return Err(bad(
            FORMAT,
            "descr",
            descr,
            "a boolean, an integer or a float of 16, 32 or 64 bits",
        ));
    };
    let fortran = match value(header, "fortran_order")? {
        text if text.starts_with("True") => true,
        text if text.starts_with("False") => false,
        text => return Err(bad(FORMAT, "fortran_order", text, "True or False")),
    };
    let shape = shape(value(header, "shape")?)?;
    let (sides, components) = match shape.as_slice() {
        &[nx] => ([nx, 1, 1], 1),
        &[ny, nx] => ([nx, ny, 1], 1),
        &[nz, ny, nx] => ([nx, ny, nz], 1),
        &[nz, ny, nx, components] => ([nx, ny, nz], components),
        other => {
            return Err(bad(
                FORMAT,
                "shape",
                format!("{other:?}"),
                "(nz, ny, nx), fewer sides, or (nz, ny, nx, components)",
            ));
        }
    };
    let components = usize::try_from(components)
        .map_err(|_| bad(FORMAT, "shape", components, "fewer components"))?;
    // The last side of `sides` that there is runs fastest.
    let memory = match (fortran, shape.len()) {
        (false, _) | (true, 1) => DataOrder::Xyz,
        (true, 2) => DataOrder::Yxz,
        (true, _) => DataOrder::Zyx,
    };
    let grid = checked_grid(
        FORMAT,
        sides,
        memory,
        components,
        dtype.size(),
        [1.0; 3],
        [0.0; 3],
    )?;
    let data = Data {
        file: None,
        little: match order {
            ">" => false,
            "=" => cfg!(target_endian = "little"),
            _ => true,
        },
        encoding: Encoding::Raw,
        start: 0,
        len: u64::MAX,
    };
    let mut array = Array::new(name, dtype, components, grid, data);
    array.interleaved = !fortran || components == 1;
    Ok(array)
}

/// What follows a key of the dictionary.
fn value<'a>(header: &'a str, key: &'static str) -> Result<&'a str> {
    let find = |quote: char| {
        let (_, rest) = header.split_once(&format!("{quote}{key}{quote}"))?;
        rest.trim_start().strip_prefix(':').map(str::trim_start)
    };
    find('\'').or_else(|| find('"')).ok_or_else(|| {
        bad(
            FORMAT,
            "header",
            header,
            "a dictionary with 'descr', 'fortran_order' and 'shape'",
        )
    })
}

/// The string at the start of a text.
fn string(text: &str) -> Option<&str> {
    let quote = text
        .chars()
        .next()
        .filter(|quote| matches!(quote, '\'' | '"'))?;
    text[1..].split_once(quote).map(|(inside, _)| inside)
}

/// The tuple at the start of a text.
fn shape(text: &str) -> Result<Vec<u64>> {
    let fail = || bad(FORMAT, "shape", text, "a tuple of sides");
    let (inside, _) = text
        .strip_prefix('(')
        .and_then(|rest| rest.split_once(')'))
        .ok_or_else(fail)?;
    let mut words: Vec<&str> = inside.split(',').map(str::trim).collect();
    // One side has a comma after it; no sides are one number without any.
    if words.last() == Some(&"") {
        words.pop();
    }
    words
        .into_iter()
        .map(|word| word.trim_end_matches('L').parse().map_err(|_| fail()))
        .collect()
}

/// The header of an array in C order with these sides, slowest first.
pub(super) fn header(dtype: DType, shape: &[usize]) -> Option<Vec<u8>> {
    let kind = name_of(TYPES, dtype)?;
    let order = if dtype.size() == 1 { '|' } else { '<' };
    let sides: Vec<String> = shape.iter().map(usize::to_string).collect();
    let dictionary = format!(
        "{{'descr': '{order}{kind}', 'fortran_order': False, 'shape': ({}), }}",
        sides.join(", ")
    );
    // Blanks and a newline fill the header up to a multiple of 64 bytes.
    let unpadded = MAGIC.len() + 4 + dictionary.len() + 1;
    let padded = unpadded.next_multiple_of(64);
    let size = u16::try_from(padded - MAGIC.len() - 4).ok()?;
    let mut header = MAGIC.to_vec();
    header.extend([1, 0]);
    header.extend(size.to_le_bytes());
    header.extend(dictionary.as_bytes());
    header.resize(padded - 1, b' ');
    header.push(b'\n');
    Some(header)
}

pub(super) fn write(image: &Outgoing<'_>, path: &Path) -> Result<()> {
    let array = image.joined();
    let header = header_of(image, &array)?;
    whole_file(path, |file| {
        write_all_at(file, 0, &header)?;
        image.write_at(&array, file, header.len() as u64, true)
    })
}

/// The header of an array of an image.
pub(super) fn header_of(image: &Outgoing<'_>, array: &Outline) -> Result<Vec<u8>> {
    let [nx, ny, nz] = image.dims;
    let shape = [nz, ny, nx, array.components];
    let sides = if array.components == 1 {
        &shape[..3]
    } else {
        &shape[..]
    };
    header(image.dtype, sides)
        .ok_or_else(|| Error::dtype("write image", image.dtype, "a number that NumPy has"))
}
