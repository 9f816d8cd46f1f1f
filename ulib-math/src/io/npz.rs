//! `.npz`: NumPy arrays in a zip archive.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Seek, SeekFrom, Write};
use std::path::Path;

use flate2::read::DeflateDecoder;
use ulib_core::{Error, ErrorKind, Result};
use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use super::Format;
use super::atomic::AtomicFile;
use super::npy;
use super::source::Section;
use super::store::Outgoing;
use super::volume::{Array, Encoding, Input, bad, broken, quoted};

const FORMAT: Format = Format::Npz;

/// Files of one archive.
const MOST_FILES: usize = 4096;

pub(super) fn parse(input: &Input<'_>) -> Result<Vec<Array>> {
    let mut archive = ZipArchive::new(BufReader::new(input.all())).map_err(damaged)?;
    if archive.len() > MOST_FILES {
        return Err(bad(
            FORMAT,
            "number of files",
            archive.len(),
            "at most 4096",
        ));
    }
    let mut arrays = Vec::new();
    let mut refused = None;
    for number in 0..archive.len() {
        let file = archive.by_index_raw(number).map_err(damaged)?;
        let Some(name) = file
            .name()
            .map_err(damaged)?
            .strip_suffix(".npy")
            .map(str::to_owned)
        else {
            continue;
        };
        if file.encrypted() {
            return Err(broken(
                FORMAT,
                format!("array {} is encrypted", quoted(&name)),
            ));
        }
        let start = file
            .data_start()
            .ok_or_else(|| broken(FORMAT, "a file of the archive has no place"))?;
        let (method, len, crc) = (file.compression(), file.compressed_size(), file.crc32());
        let section = Section::new(input.source, start, len);
        let parsed = match method {
            CompressionMethod::Stored => npy::parse_stream(section, name.clone()),
            CompressionMethod::Deflated => {
                npy::parse_stream(DeflateDecoder::new(section), name.clone())
            }
            other => Err(bad(
                FORMAT,
                "compression",
                format!("{other:?}"),
                "stored or deflated",
            )),
        };
        let (mut array, skip) = match parsed {
            Ok(parsed) => parsed,
            // An archive can hold what is no volume beside what is one.
            Err(error) => {
                refused.get_or_insert(error.context(format!("array {}", quoted(&name))));
                continue;
            }
        };
        (array.data.start, array.data.len) = (start, len);
        match method {
            CompressionMethod::Deflated => array.data.encoding = Encoding::Deflate { skip, crc },
            _ => {
                (array.data.start, array.data.len) =
                    (start.saturating_add(skip), len.saturating_sub(skip))
            }
        }
        arrays.push(array);
    }
    match refused {
        Some(error) if arrays.is_empty() => Err(error),
        _ => Ok(arrays),
    }
}

pub(super) fn write(image: &Outgoing<'_>, path: &Path) -> Result<()> {
    let file = AtomicFile::create(path)?;
    let failure = Cell::new(None);
    let written = write_archive(image, Outlet::new(file.file(), &failure));
    if let Some(error) = failure.take() {
        return Err(Error::io("write", error));
    }
    written?;
    file.commit()
}

fn write_archive(image: &Outgoing<'_>, outlet: Outlet<'_>) -> Result<()> {
    let mut archive = ZipWriter::new(outlet);
    let method = if image.compressed {
        CompressionMethod::Deflated
    } else {
        CompressionMethod::Stored
    };
    for array in &image.arrays {
        let header = npy::header_of(image, array)?;
        let options = SimpleFileOptions::default()
            .compression_method(method)
            .large_file(image.bytes(array) >= (u32::MAX / 2) as usize);
        archive
            .start_file(format!("{}.npy", array.name), options)
            .map_err(damaged)?;
        let write = |error| Error::io("write", error);
        archive.write_all(&header).map_err(write)?;
        image.write_to(array, &mut archive, true).map_err(write)?;
    }
    let mut stream = archive.finish().map_err(damaged)?;
    stream.flush().map_err(|error| Error::io("write", error))
}

/// A file until its first failure, which is kept, and nothing after it: an archive that is given up still writes its end, and
/// would tell the terminal that it cannot.
struct Outlet<'a> {
    file: BufWriter<&'a File>,
    failure: &'a Cell<Option<io::Error>>,
    failed: bool,
    position: u64,
}

impl<'a> Outlet<'a> {
    fn new(file: &'a File, failure: &'a Cell<Option<io::Error>>) -> Self {
        Outlet {
            file: BufWriter::with_capacity(1 << 18, file),
            failure,
            failed: false,
            position: 0,
        }
    }

    /// What `work` answers, or `otherwise` after a failure.
    fn unless_failed<T>(
        &mut self,
        otherwise: T,
        work: impl FnOnce(&mut BufWriter<&'a File>) -> io::Result<T>,
    ) -> io::Result<T> {
        if self.failed {
            return Ok(otherwise);
        }
        work(&mut self.file).map_err(|error| {
            self.failed = true;
            let kind = error.kind();
            self.failure.set(Some(error));
            kind.into()
        })
    }
}

impl Write for Outlet<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.unless_failed(bytes.len(), |file| {
            // All or an error, so that nothing that is tried again counts as a failure.
            file.write_all(bytes).map(|()| bytes.len())
        })?;
        self.position += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.unless_failed((), Write::flush)
    }
}

impl Seek for Outlet<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let otherwise = match to {
            SeekFrom::Start(position) => position,
            SeekFrom::End(_) | SeekFrom::Current(_) => self.position,
        };
        self.position = self.unless_failed(otherwise, |file| file.seek(to))?;
        Ok(self.position)
    }
}

fn damaged(error: ZipError) -> Error {
    match error {
        ZipError::Io(error) => super::volume::io(FORMAT, error),
        other => Error::in_op(
            ErrorKind::Format,
            FORMAT.name(),
            format!("zip archive: {other}"),
        )
        .with_source(other),
    }
}
