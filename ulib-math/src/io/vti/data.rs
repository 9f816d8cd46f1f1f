//! The encodings of VTK's XML files: a length or a table of blocks, base64, zlib.

use std::io::{self, BufReader, Read};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::ZlibDecoder;
use ulib_core::Result;

use super::FORMAT;
use crate::io::asking::Asking;
use crate::io::source::Section;
use crate::io::volume::{bad, io as failed};

/// Bytes of base64 decoded at once; a multiple of 4.
const WORDS: usize = 64 << 10;

/// Sizes of blocks that are taken from a table at once.
const SIZES: usize = 4096;

/// The integers before the bytes of an array.
#[derive(Clone, Copy, Debug)]
pub(in crate::io) struct Header {
    /// Whether they have 64 bits and not 32.
    pub(in crate::io) wide: bool,
    pub(in crate::io) little: bool,
}

impl Header {
    pub(super) fn size(self) -> usize {
        if self.wide { 8 } else { 4 }
    }

    pub(super) fn get(self, bytes: &[u8]) -> u64 {
        let mut own = [0; 8];
        own[..self.size()].copy_from_slice(&bytes[..self.size()]);
        match (self.little, self.wide) {
            (true, _) => u64::from_le_bytes(own),
            (false, true) => u64::from_be_bytes(own),
            (false, false) => u64::from(u32::from_be_bytes([own[0], own[1], own[2], own[3]])),
        }
    }

    fn read(self, mut stream: impl Read) -> Result<u64> {
        let mut bytes = [0; 8];
        stream
            .read_exact(&mut bytes[..self.size()])
            .map_err(|error| failed(FORMAT, error))?;
        Ok(self.get(&bytes))
    }
}

/// Refuses an array whose length is another one than its voxels need.
pub(super) fn check_length(length: u64, needs: u64) -> Result<()> {
    if length == needs {
        return Ok(());
    }
    Err(bad(
        FORMAT,
        "the length of an array in bytes",
        format!("{length}, not {needs}"),
        "what its voxels need",
    ))
}

/// The bytes of an array in base64, `needs` of them.
pub(in crate::io) fn open_base64<'a>(
    section: Section<'a>,
    header: Header,
    compressed: bool,
    needs: u64,
) -> Result<Box<dyn Read + 'a>> {
    let mut bytes = Base64::new(section);
    if compressed {
        let table = Table::read(&mut bytes, header, needs)?;
        let sizes = table.all(&mut bytes)?;
        return Ok(Box::new(Blocks::new(
            bytes,
            table,
            Sizes::Here(sizes.into_iter()),
        )));
    }
    check_length(header.read(&mut bytes)?, needs)?;
    Ok(Box::new(bytes))
}

/// The bytes of an array in compressed blocks, `needs` of them.
pub(in crate::io) fn open_blocks(
    mut section: Section<'_>,
    header: Header,
    needs: u64,
) -> Result<Box<dyn Read + '_>> {
    let (sizes_at, length) = (section.clone(), section.length());
    let table = Table::read(&mut section, header, needs)?;
    let mut sizes = BufReader::with_capacity(SIZES, sizes_at);
    let skipped = 3 * header.size() as u64;
    io::copy(&mut sizes.by_ref().take(skipped), &mut io::sink())
        .map_err(|error| failed(FORMAT, error))?;
    let table_size = table.count.saturating_mul(header.size() as u64);
    std::io::Seek::seek(
        &mut section,
        io::SeekFrom::Start(skipped.saturating_add(table_size)),
    )
    .map_err(|error| failed(FORMAT, error))?;
    let bytes = BufReader::with_capacity(256 << 10, Asking::new(section, length));
    Ok(Box::new(Blocks::new(bytes, table, Sizes::There(sizes))))
}

/// The start of a table of blocks.
struct Table {
    header: Header,
    count: u64,
}

impl Table {
    fn read(mut stream: impl Read, header: Header, needs: u64) -> Result<Self> {
        let count = header.read(&mut stream)?;
        let block = header.read(&mut stream)?;
        let last = header.read(&mut stream)?;
        // A partial last block is counted; without one its size is 0.
        let whole = if last > 0 {
            count.saturating_sub(1)
        } else {
            count
        };
        let length = whole
            .checked_mul(block)
            .and_then(|whole| whole.checked_add(if count > 0 { last } else { 0 }));
        check_length(length.unwrap_or(u64::MAX), needs)?;
        if count > needs {
            return Err(bad(
                FORMAT,
                "the number of compressed blocks",
                count,
                "none that are empty",
            ));
        }
        Ok(Table { header, count })
    }

    /// The sizes that follow; each took some bytes, so there are no more than the file has.
    fn all(&self, mut stream: impl Read) -> Result<Vec<u64>> {
        let mut sizes = Vec::new();
        for _ in 0..self.count {
            sizes.push(self.header.read(&mut stream)?);
        }
        Ok(sizes)
    }
}

/// The compressed sizes of blocks.
enum Sizes<'a> {
    Here(std::vec::IntoIter<u64>),
    There(BufReader<Section<'a>>),
}

/// Compressed blocks as the bytes they hold.
struct Blocks<'a, R> {
    header: Header,
    left: u64,
    sizes: Sizes<'a>,
    block: Option<ZlibDecoder<io::Take<R>>>,
    stream: Option<R>,
}

impl<'a, R: Read> Blocks<'a, R> {
    fn new(stream: R, table: Table, sizes: Sizes<'a>) -> Self {
        Blocks {
            header: table.header,
            left: table.count,
            sizes,
            block: None,
            stream: Some(stream),
        }
    }

    fn next_size(&mut self) -> io::Result<u64> {
        match &mut self.sizes {
            Sizes::Here(sizes) => sizes
                .next()
                .ok_or_else(|| io::ErrorKind::UnexpectedEof.into()),
            Sizes::There(stream) => {
                let mut bytes = [0; 8];
                stream.read_exact(&mut bytes[..self.header.size()])?;
                Ok(self.header.get(&bytes))
            }
        }
    }
}

impl<R: Read> Read for Blocks<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some(block) = &mut self.block {
                let count = block.read(into)?;
                if count > 0 || into.is_empty() {
                    return Ok(count);
                }
                // What a block has after its stream is not part of the next.
                if let Some(block) = self.block.take() {
                    let mut rest = block.into_inner();
                    io::copy(&mut rest, &mut io::sink())?;
                    self.stream = Some(rest.into_inner());
                }
            }
            if self.left == 0 {
                return Ok(0);
            }
            self.left -= 1;
            let size = self.next_size()?;
            let Some(stream) = self.stream.take() else {
                return Err(io::ErrorKind::UnexpectedEof.into());
            };
            self.block = Some(ZlibDecoder::new(stream.take(size)));
        }
    }
}

/// Base64 text as the bytes it stands for. Blanks are left out; padding ends a group, after which another may
/// follow; the text ends at the first `<`.
struct Base64<'a> {
    text: BufReader<Asking<Section<'a>>>,
    /// Bytes decoded, and how many of them have been given.
    bytes: Vec<u8>,
    given: usize,
    /// Characters that are not decoded yet, fewer than a group.
    words: Vec<u8>,
    ended: bool,
}

impl<'a> Base64<'a> {
    fn new(section: Section<'a>) -> Self {
        let length = section.length();
        Base64 {
            text: BufReader::with_capacity(WORDS, Asking::new(section, length)),
            bytes: Vec::new(),
            given: 0,
            words: Vec::new(),
            ended: false,
        }
    }

    /// Decodes what is ready of the text, or some of it.
    fn decode(&mut self) -> io::Result<()> {
        let ready = io::BufRead::fill_buf(&mut self.text)?;
        let count = ready.len();
        let end = ready.iter().position(|&c| c == b'<').unwrap_or(count);
        self.ended = count == 0 || end < count;
        self.words
            .extend(ready[..end].iter().filter(|c| !c.is_ascii_whitespace()));
        io::BufRead::consume(&mut self.text, count);
        self.bytes.clear();
        self.given = 0;
        let whole = self.words.len() / 4 * 4;
        let mut rest = &self.words[..whole];
        while !rest.is_empty() {
            let group = rest
                .iter()
                .position(|&c| c == b'=')
                .map_or(rest.len(), |pad| pad / 4 * 4 + 4);
            STANDARD
                .decode_vec(&rest[..group], &mut self.bytes)
                .map_err(|error| {
                    io::Error::new(io::ErrorKind::InvalidData, format!("base64: {error}"))
                })?;
            rest = &rest[group..];
        }
        self.words.drain(..whole);
        Ok(())
    }
}

impl Read for Base64<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.given == self.bytes.len() {
            if self.ended {
                return Ok(0);
            }
            self.decode()?;
        }
        let count = into.len().min(self.bytes.len() - self.given);
        into[..count].copy_from_slice(&self.bytes[self.given..self.given + count]);
        self.given += count;
        Ok(count)
    }
}
