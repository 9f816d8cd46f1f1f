//! NIfTI-1 and NIfTI-2: `.nii` and `.nii.gz`, read only.

use std::io::{self, Read};

use flate2::read::MultiGzDecoder;
use ulib_core::{DType, Result};

use super::Format;
use super::volume::{
    Array, Data, Encoding, Input, bad, broken, check_directions, checked_grid, head, io as failed,
};
use crate::grid::DataOrder;

const FORMAT: Format = Format::Nifti;

const SIZE_1: usize = 348;
const SIZE_2: usize = 540;

/// Codes of types, and the numbers that a voxel of each has.
const TYPES: [(i64, DType, usize); 12] = [
    (2, DType::U8, 1),
    (4, DType::I16, 1),
    (8, DType::I32, 1),
    (16, DType::F32, 1),
    (64, DType::F64, 1),
    (128, DType::U8, 3),
    (256, DType::I8, 1),
    (512, DType::U16, 1),
    (768, DType::U32, 1),
    (1024, DType::I64, 1),
    (1280, DType::U64, 1),
    (2304, DType::U8, 4),
];

pub(super) fn parse(input: &Input<'_>) -> Result<Array> {
    let mut bytes = [0; SIZE_2];
    let plain = head(input.all(), &mut bytes).map_err(|error| failed(FORMAT, error))?;
    let zipped = bytes.starts_with(&[0x1f, 0x8b]);
    let count = if zipped {
        bytes = [0; SIZE_2];
        first_of(
            MultiGzDecoder::new(io::BufReader::new(input.all())),
            &mut bytes,
        )?
    } else {
        plain
    };
    Header::new(&bytes[..count])?.array(input, zipped)
}

/// As [`head`]: what is damaged after the header is found by who reads it.
fn first_of(stream: impl Read, bytes: &mut [u8]) -> Result<usize> {
    let mut count = 0;
    let mut stream = stream;
    while count < bytes.len() {
        match stream.read(&mut bytes[count..]) {
            Ok(0) => break,
            Ok(more) => count += more,
            Err(_) if count >= SIZE_1 => break,
            Err(error) => return Err(failed(FORMAT, error)),
        }
    }
    Ok(count)
}

/// The bytes of a header.
struct Header<'a> {
    bytes: &'a [u8],
    little: bool,
    /// Whether it is that of version 2.
    second: bool,
}

impl<'a> Header<'a> {
    fn new(bytes: &'a [u8]) -> Result<Self> {
        let start: [u8; 4] = bytes
            .get(..4)
            .and_then(|start| start.try_into().ok())
            .unwrap_or_default();
        let (little, second) = match (u32::from_le_bytes(start), u32::from_be_bytes(start)) {
            (348, _) => (true, false),
            (_, 348) => (false, false),
            (540, _) => (true, true),
            (_, 540) => (false, true),
            (size, _) => return Err(bad(FORMAT, "sizeof_hdr", size, "348 or 540")),
        };
        let (size, magic, at) = if second {
            (SIZE_2, b"n+2\0", 4)
        } else {
            (SIZE_1, b"n+1\0", 344)
        };
        let Some(bytes) = bytes.get(..size) else {
            return Err(broken(FORMAT, "the file ends in its header"));
        };
        let found = &bytes[at..at + 4];
        if found != magic {
            return Err(bad(
                FORMAT,
                "magic",
                String::from_utf8_lossy(found),
                "n+1 or n+2: header and data in one file",
            ));
        }
        Ok(Header {
            bytes,
            little,
            second,
        })
    }

    fn get<const N: usize>(&self, at: usize) -> [u8; N] {
        let mut own = [0; N];
        own.copy_from_slice(&self.bytes[at..at + N]);
        if !self.little {
            own.reverse();
        }
        own
    }

    /// An integer: of 16 bits at `first` in version 1, of the given size at `second` in version 2.
    fn integer(&self, first: usize, second: usize, wide: bool) -> i64 {
        match (self.second, wide) {
            (false, _) => i16::from_le_bytes(self.get(first)).into(),
            (true, false) => i32::from_le_bytes(self.get(second)).into(),
            (true, true) => i64::from_le_bytes(self.get(second)),
        }
    }

    /// A float: of 32 bits in version 1, of 64 in version 2, number `index` from `first` or `second` on.
    fn float(&self, first: usize, second: usize, index: usize) -> f64 {
        if self.second {
            f64::from_le_bytes(self.get(second + 8 * index))
        } else {
            f32::from_le_bytes(self.get(first + 4 * index)).into()
        }
    }

    fn array(&self, input: &Input<'_>, zipped: bool) -> Result<Array> {
        let dim: [i64; 8] =
            std::array::from_fn(|axis| self.integer(40 + 2 * axis, 16 + 8 * axis, true));
        let sides = usize::try_from(dim[0])
            .ok()
            .and_then(|axes| dim.get(1..=axes))
            .filter(|sides| !sides.is_empty())
            .ok_or_else(|| bad(FORMAT, "dim[0]", dim[0], "1 to 7"))?;
        let bad_dim = || bad(FORMAT, "dim", format!("{dim:?}"), "sides of at least 1");
        let mut dims = [1_u64; 3];
        let mut volumes = 1_u64;
        for (axis, &side) in sides.iter().enumerate() {
            let side = u64::try_from(side).map_err(|_| bad_dim())?;
            match dims.get_mut(axis) {
                Some(own) => *own = side,
                None => volumes = volumes.checked_mul(side).ok_or_else(bad_dim)?,
            }
        }
        let code = if self.second {
            i16::from_le_bytes(self.get(12))
        } else {
            i16::from_le_bytes(self.get(70))
        };
        let (_, dtype, colours) = TYPES
            .into_iter()
            .find(|&(known, ..)| known == i64::from(code))
            .ok_or_else(|| {
                bad(
                    FORMAT,
                    "datatype",
                    code,
                    "the code of an integer, a float of 32 or 64 bits, or RGB",
                )
            })?;
        if colours > 1 && volumes > 1 {
            return Err(bad(
                FORMAT,
                "dim",
                format!("{dim:?}"),
                "one volume of colours",
            ));
        }
        let components = usize::try_from(volumes)
            .ok()
            .and_then(|volumes| volumes.checked_mul(colours))
            .ok_or_else(bad_dim)?;
        let (spacing, origin) = self.place(input, &dims)?;
        let grid = checked_grid(
            FORMAT,
            dims,
            DataOrder::Xyz,
            components,
            dtype.size(),
            spacing,
            origin,
        )?;
        let start = self.start()?;
        let encoding = if zipped {
            Encoding::Gzip { skip: start }
        } else {
            Encoding::Raw
        };
        let data = Data {
            file: None,
            little: self.little,
            encoding,
            start: if zipped { 0 } else { start },
            len: u64::MAX,
        };
        let mut array = Array::new("", dtype, components, grid, data);
        array.interleaved = colours > 1 || volumes == 1;
        let (slope, intercept) = (self.float(112, 176, 0), self.float(116, 184, 0));
        // A slope of 0 says that there is none; so do readers with one that is no number.
        if slope != 0.0 && slope.is_finite() && colours == 1 {
            if !intercept.is_finite() {
                return Err(bad(FORMAT, "scl_inter", intercept, "a finite number"));
            }
            (array.slope, array.intercept) = (slope, intercept);
        }
        Ok(array)
    }

    /// Where the numbers start.
    fn start(&self) -> Result<u64> {
        let size = self.bytes.len() as u64;
        let start = if self.second {
            u64::try_from(i64::from_le_bytes(self.get(168))).ok()
        } else {
            let offset = self.float(108, 0, 0);
            (offset.fract() == 0.0 && (0.0..1e15).contains(&offset)).then_some(offset as u64)
        };
        start.filter(|&start| start >= size).ok_or_else(|| {
            bad(
                FORMAT,
                "vox_offset",
                format!("{start:?}"),
                "a byte after the header",
            )
        })
    }

    /// Spacing and origin: of the sform where there is one, else of the qform.
    fn place(&self, input: &Input<'_>, dims: &[u64; 3]) -> Result<([f64; 3], [f64; 3])> {
        let (qform, sform) = (self.integer(252, 344, false), self.integer(254, 348, false));
        if sform > 0 {
            let row = |row: usize, column: usize| self.float(280, 400, 4 * row + column);
            let columns: [[f64; 3]; 3] =
                std::array::from_fn(|axis| std::array::from_fn(|along| row(along, axis)));
            check_directions(input, FORMAT, "srow_x, srow_y, srow_z", columns)?;
            let spacing = columns.map(|column| column.iter().map(|c| c * c).sum::<f64>().sqrt());
            return Ok((spacing, std::array::from_fn(|along| row(along, 3))));
        }
        let spacing = std::array::from_fn(|axis| {
            let size = self.float(76, 104, axis + 1).abs();
            // Axes that are not there have no size.
            if dims[axis] == 1 && size == 0.0 {
                1.0
            } else {
                size
            }
        });
        if qform <= 0 {
            return Ok((spacing, [0.0; 3]));
        }
        let [b, c, d] = std::array::from_fn(|part| self.float(256, 352, part));
        let a = (1.0 - (b * b + c * c + d * d)).max(0.0).sqrt();
        let flip = if self.float(76, 104, 0) < 0.0 {
            -1.0
        } else {
            1.0
        };
        let columns = [
            [
                a * a + b * b - c * c - d * d,
                2.0 * (b * c + a * d),
                2.0 * (b * d - a * c),
            ],
            [
                2.0 * (b * c - a * d),
                a * a + c * c - b * b - d * d,
                2.0 * (c * d + a * b),
            ],
            [
                2.0 * (b * d + a * c),
                2.0 * (c * d - a * b),
                a * a + d * d - b * b - c * c,
            ]
            .map(|part| flip * part),
        ];
        check_directions(
            input,
            FORMAT,
            "quatern_b, quatern_c, quatern_d and qfac",
            columns,
        )?;
        Ok((
            spacing,
            std::array::from_fn(|part| self.float(268, 376, part)),
        ))
    }
}
