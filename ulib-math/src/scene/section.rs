//! [`Section`]: the bulk data of an object in a document, inside it or in a file beside it.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Component, Path, PathBuf};

use base64::engine::general_purpose::STANDARD;
use base64::read::DecoderReader;
use base64::write::EncoderStringWriter;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};
use ulib_core::words::counted;
use ulib_core::{Error, Result};
use ulib_device::hooks;

/// The largest ratio at which deflate can compress, a little more than it is.
const DEFLATE_RATIO: usize = 1040;

/// Bytes that are read and checked, or written, at a time.
pub(super) const PART: usize = 1 << 20;

/// Bulk data as the document describes it; the bytes themselves are read by whoever has room for them.
#[derive(Debug)]
pub struct Section {
    pub(super) name: String,
    pub(super) bytes: usize,
    pub(super) checksum: u32,
    pub(super) place: Place,
}

/// Where the bytes are.
#[derive(Debug)]
pub(super) enum Place {
    /// In the document: zlib, then base64.
    Inside(String),
    /// As they are, in a file whose name is relative to the document's folder.
    Beside(PathBuf),
}

impl Section {
    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The number of bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Fails unless there are `expected` bytes, as far as that can be said without reading them.
    pub(super) fn check(&self, expected: usize, folder: &Path) -> Result<()> {
        if self.bytes != expected {
            return Err(self.malformed(
                "size",
                counted(self.bytes, "byte"),
                format!(
                    "{}, which is what the properties say",
                    counted(expected, "byte")
                ),
            ));
        }
        match &self.place {
            Place::Inside(text) => {
                let most = text.len().saturating_mul(DEFLATE_RATIO);
                if self.bytes > most {
                    return Err(self.malformed(
                        "size",
                        counted(self.bytes, "byte"),
                        format!(
                            "no more than {} characters of the document can hold",
                            text.len()
                        ),
                    ));
                }
            }
            Place::Beside(file) => {
                self.open(file, folder)?;
            }
        }
        Ok(())
    }

    /// Reads the bytes, as many as there are, and checks them.
    pub(super) fn read_into(&self, target: &mut [u8], folder: &Path) -> Result<()> {
        match &self.place {
            Place::Inside(text) => {
                let mut text = text.clone();
                text.retain(|c| !c.is_ascii_whitespace());
                let bytes = DecoderReader::new(text.as_bytes(), &STANDARD);
                self.fill(ZlibDecoder::new(bytes), target)
            }
            Place::Beside(file) => self.fill(self.open(file, folder)?, target),
        }
    }

    fn fill(&self, mut stream: impl Read, target: &mut [u8]) -> Result<()> {
        let (mut crc, mut done) = (Crc::new(), 0);
        for part in target.chunks_mut(PART) {
            stream
                .read_exact(part)
                .map_err(|error| self.failed(error))?;
            crc.update(part);
            done += part.len() as u64;
            hooks::poll(done, self.bytes as u64)?;
        }
        if stream.read(&mut [0]).map_err(|error| self.failed(error))? != 0 {
            return Err(self.malformed(
                "size",
                "more bytes",
                format!(
                    "{}, which is what the document says",
                    counted(self.bytes, "byte")
                ),
            ));
        }
        if crc.sum() != self.checksum {
            return Err(self.malformed(
                "checksum",
                format_args!("{:08x}", crc.sum()),
                format!("{:08x}: the data was damaged", self.checksum),
            ));
        }
        Ok(())
    }

    /// The file beside the document, which has the right size.
    fn open(&self, name: &Path, folder: &Path) -> Result<File> {
        let ordinary = |part| matches!(part, Component::Normal(_));
        if name.as_os_str().is_empty() || !name.components().all(ordinary) {
            return Err(self.malformed(
                "file",
                format_args!("'{}'", name.display()),
                "a name inside the document's folder".to_owned(),
            ));
        }
        let path = folder.join(name);
        let io = |error| Error::io("open", error).context(format!("data file {}", path.display()));
        // Before it is opened, which may block for ever where it is a pipe.
        let found = fs::metadata(&path).map_err(io)?;
        if !found.is_file() || found.len() != self.bytes as u64 {
            return Err(self.malformed(
                "file",
                format_args!("{} of {}", path.display(), counted(found.len(), "byte")),
                format!("a file of {}", counted(self.bytes, "byte")),
            ));
        }
        File::open(&path).map_err(io)
    }

    fn failed(&self, error: io::Error) -> Error {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => {
                self.malformed("content", "truncated", counted(self.bytes, "byte"))
            }
            io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData | io::ErrorKind::Other => {
                self.malformed("content", error, "zlib data in base64".to_owned())
            }
            _ => Error::io("read data", error),
        }
    }

    fn malformed(&self, what: &str, found: impl std::fmt::Display, expected: String) -> Error {
        Error::malformed(
            "gcx",
            format!("{what} of data '{}'", self.name),
            found,
            expected,
        )
    }
}

/// The CRC-32 of bytes, as in zip and PNG files.
pub(super) fn checksum(bytes: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.sum()
}

/// Bytes as they stand in a document: zlib, then base64.
pub(super) fn encode(bytes: &[u8]) -> io::Result<String> {
    let text = EncoderStringWriter::new(&STANDARD);
    let mut zlib = ZlibEncoder::new(text, Compression::fast());
    zlib.write_all(bytes)?;
    Ok(zlib.finish()?.into_inner())
}
