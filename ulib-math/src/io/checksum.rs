//! [`Checked`]: a stream whose checksum is known.

use std::io::{self, Read};

use flate2::Crc;

/// Passes a stream through and fails at its end when its CRC-32 is another one.
pub(super) struct Checked<R> {
    stream: R,
    crc: Crc,
    expected: u32,
}

impl<R> Checked<R> {
    pub(super) fn new(stream: R, expected: u32) -> Self {
        Checked {
            stream,
            crc: Crc::new(),
            expected,
        }
    }
}

impl<R: Read> Read for Checked<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.stream.read(into)?;
        self.crc.update(&into[..count]);
        if count == 0 && !into.is_empty() && self.crc.sum() != self.expected {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!(
                    "checksum {:08x}, expected {:08x}",
                    self.crc.sum(),
                    self.expected
                ),
            ));
        }
        Ok(count)
    }
}
