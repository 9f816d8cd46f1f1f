//! [`Volume`]: what the header of a file says, in the same words for every format.

use std::io::Read;
use std::path::{Component, Path, PathBuf};

use ulib_core::words::counted;
use ulib_core::{DType, Error, Result};

use super::source::{Disk, Section, Source};
use super::vti::Header;
use super::{ArrayInfo, Format};
use crate::grid::{DataOrder, Grid};

/// Bytes that a byte of a deflate stream can become: its densest code is 258 bytes in 2 bits.
const DENSEST: u64 = 1032;

/// Headers that are text are not longer.
pub(super) const LONGEST_HEADER: u64 = 1 << 20;

/// What a reader of headers gets.
pub(super) struct Input<'a> {
    pub(super) source: &'a dyn Source,
    /// The folder of the file, in which files that it names may be.
    pub(super) folder: Option<&'a Path>,
    /// Whether axes of the file that are turned or flipped in space are taken as they come.
    pub(super) any_orientation: bool,
}

impl<'a> Input<'a> {
    /// The bytes of the file as a stream.
    pub(super) fn all(&self) -> Section<'a> {
        Section::all(self.source)
    }

    /// The path of a file that a header names, which must be a relative one that stays in the header's folder.
    pub(super) fn beside(
        &self,
        format: Format,
        field: &'static str,
        name: &str,
    ) -> Result<PathBuf> {
        let relative = Path::new(name);
        let inside = !name.contains(['\\', '\0'])
            && relative
                .components()
                .all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
            && relative.file_name().is_some();
        match self.folder {
            Some(folder) if inside => Ok(folder.join(relative)),
            None => Err(bad(
                format,
                field,
                name,
                "data in the file itself, as it is not read from a folder",
            )),
            _ => Err(bad(
                format,
                field,
                name,
                "a file in the folder of the header, without '..' and not absolute",
            )),
        }
    }
}

/// A refusal of what `field` of a file of this format says.
pub(super) fn bad(
    format: Format,
    field: impl Into<String>,
    value: impl ToString,
    expected: &'static str,
) -> Error {
    Error::malformed(
        format.name(),
        field.into(),
        quoted(&value.to_string()),
        expected,
    )
}

/// A refusal of a file for another reason.
pub(super) fn broken(format: Format, message: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::in_op(ulib_core::ErrorKind::Format, format.name(), message)
}

/// Text of a file as a message can have it.
pub(super) fn quoted(text: &str) -> String {
    const LONGEST: usize = 120;
    let mut short: String = text.chars().take(LONGEST).collect();
    if short.len() < text.len() {
        short.push_str("...");
    }
    format!("'{}'", short.escape_debug())
}

/// Failures of the stream that a file is.
pub(super) fn io(format: Format, error: std::io::Error) -> Error {
    let own = error.get_ref().is_some_and(|inner| inner.is::<Error>());
    match error.kind() {
        _ if own => Error::io(format.name(), error),
        std::io::ErrorKind::UnexpectedEof => {
            broken(format, "the file ends too early").with_source(error)
        }
        std::io::ErrorKind::Unsupported => broken(format, error.to_string()).with_source(error),
        // What decoders of compressed and other encoded data find wrong.
        std::io::ErrorKind::InvalidInput
        | std::io::ErrorKind::InvalidData
        | std::io::ErrorKind::Other => {
            broken(format, format!("damaged data: {error}")).with_source(error)
        }
        _ => Error::io(format.name(), error),
    }
}

/// The arrays of a file, not yet read.
#[derive(Debug)]
pub(super) struct Volume {
    pub(super) format: Format,
    pub(super) arrays: Vec<Array>,
    /// Which one is read when nobody says which.
    pub(super) default: usize,
}

/// An array of a file.
#[derive(Clone, Debug)]
pub(super) struct Array {
    pub(super) name: String,
    pub(super) dtype: DType,
    pub(super) components: usize,
    /// Whether the components of a voxel are together; otherwise all voxels of one component are.
    pub(super) interleaved: bool,
    /// The grid, with the order that the voxels have in the file.
    pub(super) grid: Grid,
    /// What numbers are multiplied by, and what is then added.
    pub(super) slope: f64,
    pub(super) intercept: f64,
    pub(super) data: Data,
}

/// Where the bytes of an array are.
#[derive(Clone, Debug)]
pub(super) struct Data {
    /// The file, where it is another one.
    pub(super) file: Option<PathBuf>,
    pub(super) little: bool,
    pub(super) encoding: Encoding,
    /// Where the encoded bytes start.
    pub(super) start: u64,
    /// How many they are at most.
    pub(super) len: u64,
}

/// How the bytes are encoded.
#[derive(Clone, Debug)]
pub(super) enum Encoding {
    /// Not at all.
    Raw,
    /// Not at all, the last bytes of the file.
    RawAtEnd,
    /// Numbers as words; `fractions` of 0 to 1 for bytes of 0 to 255.
    Ascii { fractions: bool },
    /// A gzip stream; the numbers start after that many bytes.
    Gzip { skip: u64 },
    /// A zlib stream; the numbers start after that many bytes.
    Zlib { skip: u64 },
    /// A deflate stream with its checksum; the numbers start after that many bytes.
    Deflate { skip: u64, crc: u32 },
    /// Base64 of VTK, with a length or a table of blocks before the bytes.
    VtkBase64 { header: Header, compressed: bool },
    /// Compressed blocks of VTK after a table of them.
    VtkBlocks { header: Header },
}

impl Encoding {
    pub(super) fn is_compressed(&self) -> bool {
        match self {
            Encoding::Raw | Encoding::RawAtEnd | Encoding::Ascii { .. } => false,
            Encoding::VtkBase64 { compressed, .. } => *compressed,
            _ => true,
        }
    }
}

impl Array {
    /// An array of numbers that are not scaled.
    pub(super) fn new(
        name: impl Into<String>,
        dtype: DType,
        components: usize,
        grid: Grid,
        data: Data,
    ) -> Self {
        Array {
            name: name.into(),
            dtype,
            components,
            interleaved: true,
            grid,
            slope: 1.0,
            intercept: 0.0,
            data,
        }
    }

    pub(super) fn info(&self) -> ArrayInfo {
        ArrayInfo {
            name: self.name.clone(),
            dtype: self.dtype,
            components: self.components,
            dims: self.grid.dims(),
            spacing: self.grid.spacing(),
            origin: self.grid.origin(),
        }
    }

    /// The bytes of all its numbers, which fit a `usize`: see [`checked_grid`].
    pub(super) fn bytes(&self) -> u64 {
        (self.grid.len() * self.components * self.dtype.size()) as u64
    }

    /// The bytes of the file that its numbers take at least.
    pub(super) fn least(&self) -> u64 {
        let needs = self.bytes();
        match self.data.encoding {
            Encoding::Raw | Encoding::RawAtEnd => needs,
            // A digit, and a blank after each but the last.
            Encoding::Ascii { .. } => (needs / self.dtype.size() as u64).saturating_mul(2) - 1,
            Encoding::VtkBase64 {
                compressed: false, ..
            } => (needs / 3).saturating_mul(4),
            Encoding::Gzip { skip } | Encoding::Zlib { skip } | Encoding::Deflate { skip, .. } => {
                needs.saturating_add(skip).div_ceil(DENSEST)
            }
            Encoding::VtkBase64 { .. } | Encoding::VtkBlocks { .. } => needs.div_ceil(DENSEST),
        }
    }

    /// Refuses an array whose numbers cannot all be there, so that memory is asked for only in proportion to the file;
    /// answers where the bytes of a raw one start.
    pub(super) fn check_room(&self, format: Format, source: &dyn Source) -> Result<u64> {
        let (data, least) = (&self.data, self.least());
        let there = data.len.min(source.len().saturating_sub(data.start));
        if there < least {
            return Err(broken(
                format,
                format!(
                    "array {}: {:?} voxels of {} x {} take at least {} of the file, where {there} are",
                    quoted(&self.name),
                    self.grid.dims(),
                    self.components,
                    self.dtype,
                    counted(least, "byte")
                ),
            ));
        }
        Ok(match data.encoding {
            Encoding::RawAtEnd => source.len() - least,
            _ => data.start,
        })
    }

    /// The file of the array's bytes, where it is not the header's.
    pub(super) fn open(&self) -> Result<Option<Disk>> {
        self.data.file.as_deref().map(Disk::open).transpose()
    }
}

/// The grid of an array of these elements, everything in it checked.
pub(super) fn checked_grid(
    format: Format,
    dims: [u64; 3],
    order: DataOrder,
    components: usize,
    item: usize,
    spacing: [f64; 3],
    origin: [f64; 3],
) -> Result<Grid> {
    if components == 0 {
        return Err(bad(format, "components", 0, "at least 1"));
    }
    if dims.contains(&0) {
        return Err(bad(
            format,
            "dimensions",
            format!("{dims:?}"),
            "sides of at least 1",
        ));
    }
    let too_many = || {
        bad(
            format,
            "dimensions",
            format!("{dims:?} x {components}"),
            "a size that memory can have",
        )
    };
    let bytes = dims
        .iter()
        .try_fold(components as u64, |product, &side| {
            product.checked_mul(side)
        })
        // A voxel of the image can be larger than that of the file.
        .and_then(|count| count.checked_mul(item.max(size_of::<f32>()) as u64))
        .filter(|&bytes| isize::try_from(bytes).is_ok());
    if bytes.is_none() {
        return Err(too_many());
    }
    // They fit, as their product does.
    let sides = dims.map(|side| usize::try_from(side).unwrap_or(usize::MAX));
    let mut grid = Grid::with_order(sides, order).map_err(|_| too_many())?;
    grid.set_spacing(spacing).map_err(|_| {
        bad(
            format,
            "spacing",
            format!("{spacing:?}"),
            "finite numbers above zero",
        )
    })?;
    grid.set_origin(origin)
        .map_err(|_| bad(format, "origin", format!("{origin:?}"), "finite numbers"))?;
    Ok(grid)
}

/// Checks a matrix whose column `i` is the way of axis `i` of the file: it has to go along axis `i` of space, forwards.
pub(super) fn check_directions(
    input: &Input,
    format: Format,
    field: &'static str,
    columns: [[f64; 3]; 3],
) -> Result<()> {
    // Turned by less than this, a volume of thousands of voxels is off by a part of one.
    const LITTLE: f64 = 1e-4;
    let straight = columns.iter().enumerate().all(|(axis, column)| {
        let length = column.iter().map(|c| c * c).sum::<f64>().sqrt();
        column[axis] > 0.0
            && column
                .iter()
                .enumerate()
                .all(|(other, c)| other == axis || c.abs() <= LITTLE * length)
    });
    if straight || input.any_orientation {
        return Ok(());
    }
    let rows: [[f64; 3]; 3] =
        std::array::from_fn(|row| std::array::from_fn(|axis| columns[axis][row]));
    Err(bad(
        format,
        field,
        format!("{rows:?}"),
        "a diagonal matrix of positive numbers: turned and flipped axes are read in the file's order when any orientation is allowed",
    ))
}

/// Fills `head` with the first bytes of a stream, as many as there are.
pub(super) fn head(mut stream: impl Read, head: &mut [u8]) -> std::io::Result<usize> {
    let mut count = 0;
    while count < head.len() {
        match stream.read(&mut head[count..]) {
            Ok(0) => break,
            Ok(more) => count += more,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(count)
}
