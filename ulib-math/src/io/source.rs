//! [`Source`]: bytes that are read by position, from several threads at once.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use ulib_core::{Error, Result};

/// Bytes of a known number that anybody can read anywhere.
pub(super) trait Source: Sync {
    /// How many bytes there are.
    fn len(&self) -> u64;

    /// Fills `into` with the bytes from `offset` on.
    fn read_exact_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()>;
}

/// A file.
pub(super) struct Disk {
    file: File,
    len: u64,
}

impl Disk {
    /// Opens an ordinary file.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let file = open_ordinary(path)?;
        let len = file
            .metadata()
            .map_err(|error| Error::io("open", error))?
            .len();
        Ok(Disk { file, len })
    }
}

impl Source for Disk {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_exact_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        read_exact_at(&self.file, offset, into)
    }
}

/// Opens an ordinary file: others (pipes, devices) may block for ever and have no length.
pub(crate) fn open_ordinary(path: &Path) -> Result<File> {
    let io = |error| Error::io("open", error);
    if !fs::metadata(path).map_err(io)?.is_file() {
        let error = io::Error::new(io::ErrorKind::InvalidInput, "not a regular file");
        return Err(Error::io("open", error));
    }
    File::open(path).map_err(io)
}

/// Bytes in memory.
pub(super) struct Memory<'a>(pub(super) &'a [u8]);

impl Source for Memory<'_> {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_exact_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        let bytes = usize::try_from(offset)
            .ok()
            .and_then(|start| self.0.get(start..)?.get(..into.len()))
            .ok_or(io::ErrorKind::UnexpectedEof)?;
        into.copy_from_slice(bytes);
        Ok(())
    }
}

#[cfg(unix)]
fn read_exact_at(file: &File, offset: u64, into: &mut [u8]) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, into, offset)
}

#[cfg(windows)]
fn read_exact_at(file: &File, mut offset: u64, mut into: &mut [u8]) -> io::Result<()> {
    while !into.is_empty() {
        let count = std::os::windows::fs::FileExt::seek_read(file, into, offset)?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        into = &mut into[count..];
        offset += count as u64;
    }
    Ok(())
}

/// Writes all of `bytes` to `file` from `offset` on; several threads may do so at once.
#[cfg(unix)]
pub(super) fn write_all_at(file: &File, offset: u64, bytes: &[u8]) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, offset)
}

/// Writes all of `bytes` to `file` from `offset` on; several threads may do so at once.
#[cfg(windows)]
pub(super) fn write_all_at(file: &File, mut offset: u64, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        let count = std::os::windows::fs::FileExt::seek_write(file, bytes, offset)?;
        if count == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        bytes = &bytes[count..];
        offset += count as u64;
    }
    Ok(())
}

/// A part of a source as a stream; seeking counts from the part's first byte.
#[derive(Clone)]
pub(super) struct Section<'a> {
    source: &'a dyn Source,
    start: u64,
    at: u64,
    end: u64,
}

impl<'a> Section<'a> {
    /// The bytes from `start` on, up to `len` of them or as many as there are.
    pub(super) fn new(source: &'a dyn Source, start: u64, len: u64) -> Self {
        let end = start.saturating_add(len).min(source.len());
        Section {
            source,
            start: start.min(end),
            at: start.min(end),
            end,
        }
    }

    /// How many bytes it has.
    pub(super) fn length(&self) -> u64 {
        self.end - self.start
    }

    /// All bytes.
    pub(super) fn all(source: &'a dyn Source) -> Self {
        Section::new(source, 0, u64::MAX)
    }
}

impl Read for Section<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let rest = self.end.saturating_sub(self.at);
        let count = usize::try_from(rest).map_or(into.len(), |rest| rest.min(into.len()));
        // Nothing is read beyond the end, where one may have sought.
        if count > 0 {
            self.source.read_exact_at(self.at, &mut into[..count])?;
        }
        self.at += count as u64;
        Ok(count)
    }
}

impl Seek for Section<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(offset) => self.start.checked_add(offset),
            SeekFrom::End(by) => self.end.checked_add_signed(by),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
        };
        let at = at
            .filter(|&at| at >= self.start)
            .ok_or(io::ErrorKind::InvalidInput)?;
        self.at = at;
        Ok(at - self.start)
    }
}
