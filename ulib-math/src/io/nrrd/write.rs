//! Writing a NRRD file.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use ulib_core::Result;

use super::TYPES;
use crate::io::element::name_of;
use crate::io::source::write_all_at;
use crate::io::store::Outgoing;
use crate::io::write::{data_name, ends_in, header_and_data, whole_file};

pub(in crate::io) fn write(image: &Outgoing<'_>, path: &Path) -> Result<()> {
    if !ends_in(path, "nhdr") {
        let header = header(image, None) + "\n";
        return whole_file(path, |file| {
            write_all_at(file, 0, header.as_bytes())?;
            numbers(image, file, header.len() as u64)
        });
    }
    let end = match (image.ascii, image.compressed) {
        (true, _) => "txt",
        (_, true) => "raw.gz",
        _ => "raw",
    };
    let data = data_name(path, end)?;
    header_and_data(
        path,
        |_| header(image, Some(&data)),
        &path.with_file_name(&data),
        |file| numbers(image, file, 0).map(|()| 0),
    )
}

/// Writes the numbers from a byte of the file on.
fn numbers(image: &Outgoing<'_>, mut file: &File, start: u64) -> io::Result<()> {
    let array = image.joined();
    if !image.ascii && !image.compressed {
        return image.write_at(&array, file, start, true);
    }
    io::Seek::seek(&mut file, io::SeekFrom::Start(start))?;
    let mut stream = BufWriter::with_capacity(1 << 18, file);
    if image.ascii {
        image.write_ascii(&array, &mut stream)?;
    } else {
        let mut gzip = GzEncoder::new(&mut stream, Compression::default());
        image.write_to(&array, &mut gzip, true)?;
        gzip.finish()?;
    }
    stream.flush()
}

/// The header, without the empty line that ends it where the data follows.
fn header(image: &Outgoing<'_>, data: Option<&str>) -> String {
    let [nx, ny, nz] = image.dims;
    let [sx, sy, sz] = image.spacing;
    let [ox, oy, oz] = image.origin;
    let components = image.joined().components;
    let (dimension, size, kind, none) = match components {
        1 => (3, String::new(), "", ""),
        several => (4, format!("{several} "), "vector ", "none "),
    };
    let encoding = match (image.ascii, image.compressed) {
        (true, _) => "ascii",
        (_, true) => "gzip",
        _ => "raw",
    };
    let mut text = format!(
        "NRRD0004\ntype: {}\ndimension: {dimension}\nspace dimension: 3\nsizes: {size}{nx} {ny} {nz}\n\
         space directions: {none}({sx},0,0) (0,{sy},0) (0,0,{sz})\nkinds: {kind}domain domain domain\n\
         endian: little\nencoding: {encoding}\nspace origin: ({ox},{oy},{oz})\n",
        name_of(TYPES, image.dtype).unwrap_or_default(),
    );
    if let Some(data) = data {
        let _ = writeln!(text, "data file: {data}");
    }
    text
}
