//! Writing a `.vti` file: cell data, appended raw, with 64-bit lengths.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use quick_xml::escape::escape;
use rayon::prelude::*;
use ulib_core::Result;

use super::TYPES;
use crate::io::asking::Progress;
use crate::io::element::name_of;
use crate::io::source::write_all_at;
use crate::io::store::{Outgoing, Outline};
use crate::io::write::{whole_file, whole_stream};
use crate::ops::parallel;

/// Bytes of a block that is compressed at once.
const BLOCK: usize = 1 << 20;

/// Blocks that are in memory at once.
const BATCH: usize = 16;

/// Bytes of a length.
const LENGTH: u64 = 8;

pub(in crate::io) fn write(image: &Outgoing<'_>, path: &Path) -> Result<()> {
    if image.ascii {
        return whole_stream(path, |stream| {
            stream.write_all(start(image, "").as_bytes())?;
            for array in &image.arrays {
                writeln!(stream, "{}", tag(image, array, "format=\"ascii\">"))?;
                image.write_ascii(array, stream)?;
                stream.write_all(b"        </DataArray>\n")?;
            }
            stream.write_all(END.as_bytes())?;
            stream.write_all(b"</VTKFile>\n")
        });
    }
    whole_file(path, |file| {
        // Written last, when the places of the arrays are known: its length does not depend on them.
        let first = head(image, &vec![0; image.arrays.len()]).len() as u64;
        let (mut at, mut offsets) = (first, Vec::new());
        for array in &image.arrays {
            offsets.push(at - first);
            at += if image.compressed {
                compressed(image, array, file, at)?
            } else {
                let length = image.bytes(array) as u64;
                write_all_at(file, at, &length.to_le_bytes())?;
                image.write_at(array, file, at + LENGTH, true)?;
                LENGTH + length
            };
        }
        write_all_at(file, at, b"\n  </AppendedData>\n</VTKFile>\n")?;
        write_all_at(file, 0, head(image, &offsets).as_bytes())
    })
}

const END: &str = "      </CellData>\n    </Piece>\n  </ImageData>\n";

/// The file up to the first array.
fn start(image: &Outgoing<'_>, compressor: &str) -> String {
    let [nx, ny, nz] = image.dims;
    let extent = format!("0 {nx} 0 {ny} 0 {nz}");
    let three = |[x, y, z]: [f64; 3]| format!("{x} {y} {z}");
    let active = image
        .arrays
        .first()
        .map(|array| escape(array.name.as_str()).into_owned())
        .unwrap_or_default();
    format!(
        "<?xml version=\"1.0\"?>\n\
         <VTKFile type=\"ImageData\" version=\"1.0\" byte_order=\"LittleEndian\" header_type=\"UInt64\"{compressor}>\n  \
         <ImageData WholeExtent=\"{extent}\" Origin=\"{}\" Spacing=\"{}\">\n    \
         <Piece Extent=\"{extent}\">\n      \
         <PointData>\n      </PointData>\n      \
         <CellData Scalars=\"{active}\">\n",
        three(image.origin),
        three(image.spacing),
    )
}

/// The file up to its data.
fn head(image: &Outgoing<'_>, offsets: &[u64]) -> String {
    let compressor = if image.compressed {
        " compressor=\"vtkZLibDataCompressor\""
    } else {
        ""
    };
    let mut text = start(image, compressor);
    for (array, offset) in image.arrays.iter().zip(offsets) {
        // A fixed width, which the largest number has.
        let end = format!("format=\"appended\" offset=\"{offset:<20}\"/>");
        let _ = writeln!(text, "{}", tag(image, array, &end));
    }
    text + END + "  <AppendedData encoding=\"raw\">\n   _"
}

/// The start tag of an array.
fn tag(image: &Outgoing<'_>, array: &Outline, end: &str) -> String {
    format!(
        "        <DataArray type=\"{}\" Name=\"{}\" NumberOfComponents=\"{}\" {end}",
        name_of(TYPES, image.dtype).unwrap_or_default(),
        escape(array.name.as_str()),
        array.components,
    )
}

/// Writes an array in compressed blocks; the bytes it took.
fn compressed(image: &Outgoing<'_>, array: &Outline, file: &File, start: u64) -> io::Result<u64> {
    let total = image.bytes(array);
    let block = image.block(array, 0, BLOCK, true).len();
    let (count, last) = (total.div_ceil(block), total % block);
    let mut table: Vec<u64> = vec![count as u64, block as u64, last as u64];
    let data = start + LENGTH * (3 + count as u64);
    let mut at = data;
    let progress = Progress::new(total as u64);
    let compress = |number: usize| {
        let mut stream = ZlibEncoder::new(Vec::new(), Compression::default());
        let bytes = image.block(array, number, BLOCK, true);
        stream.write_all(&bytes)?;
        progress.add(bytes.len())?;
        stream.finish()
    };
    for first in (0..count).step_by(BATCH) {
        let numbers = first..count.min(first + BATCH);
        let blocks: Vec<Vec<u8>> = if numbers.len() > 1 && parallel::available() {
            progress.on_all_threads(|| numbers.into_par_iter().map(compress).collect())?
        } else {
            numbers.map(compress).collect::<io::Result<_>>()?
        };
        for bytes in blocks {
            write_all_at(file, at, &bytes)?;
            at += bytes.len() as u64;
            table.push(bytes.len() as u64);
        }
    }
    let table: Vec<u8> = table.into_iter().flat_map(u64::to_le_bytes).collect();
    write_all_at(file, start, &table)?;
    Ok(at - start)
}
