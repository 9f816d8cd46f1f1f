//! [`AsciiNumbers`]: numbers written as words, as the bytes of their type; and the other way around.

use std::io::{self, BufRead, Read};

use ulib_core::DType;

use super::element::{Number, with_number};

/// No number of a file is longer.
const LONGEST: usize = 64;

/// The words of a text as the bytes of numbers of one type.
pub(super) struct AsciiNumbers<R> {
    text: R,
    dtype: DType,
    little: bool,
    /// Whether the words are from 0 to 1 for bytes from 0 to 255.
    fractions: bool,
    /// The bytes of the last number that are still to be given.
    number: [u8; 8],
    given: usize,
}

impl<R: BufRead> AsciiNumbers<R> {
    pub(super) fn new(text: R, dtype: DType, little: bool, fractions: bool) -> Self {
        AsciiNumbers {
            text,
            dtype,
            little,
            fractions,
            number: [0; 8],
            given: dtype.size(),
        }
    }
}

impl<R: BufRead> Read for AsciiNumbers<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let size = self.dtype.size();
        let mut count = 0;
        while count < into.len() {
            if self.given == size {
                let mut word = [0; LONGEST];
                let len = next_word(&mut self.text, &mut word)?;
                if len == 0 {
                    break;
                }
                let word = &word[..len];
                if self.fractions {
                    self.number[0] = byte_of_fraction(word)?;
                } else {
                    put(self.dtype, word, &mut self.number, self.little)?;
                }
                self.given = 0;
            }
            let some = (size - self.given).min(into.len() - count);
            into[count..count + some].copy_from_slice(&self.number[self.given..self.given + some]);
            self.given += some;
            count += some;
        }
        Ok(count)
    }
}

/// Reads the next word of a text into `word`; its length, 0 at the end. Commas count as blanks.
pub(super) fn next_word(text: &mut impl BufRead, word: &mut [u8; LONGEST]) -> io::Result<usize> {
    let blank = |byte: &u8| byte.is_ascii_whitespace() || *byte == b',';
    let mut len = 0;
    loop {
        let ready = match text.fill_buf() {
            Ok(ready) => ready,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if ready.is_empty() {
            return Ok(len);
        }
        let start = if len == 0 {
            ready
                .iter()
                .position(|byte| !blank(byte))
                .unwrap_or(ready.len())
        } else {
            0
        };
        let end = ready[start..]
            .iter()
            .position(blank)
            .map_or(ready.len(), |end| start + end);
        let piece = &ready[start..end];
        let Some(room) = word.get_mut(len..len + piece.len()) else {
            return Err(invalid(&ready[start..end.min(start + LONGEST)]));
        };
        room.copy_from_slice(piece);
        len += piece.len();
        let whole = len > 0 && end < ready.len();
        text.consume(end);
        if whole {
            return Ok(len);
        }
    }
}

/// Puts the number that a word is into `bytes`.
fn put(dtype: DType, word: &[u8], bytes: &mut [u8; 8], little: bool) -> io::Result<()> {
    let text = std::str::from_utf8(word).map_err(|_| invalid(word))?;
    with_number!(dtype, T => {
        let number: T = text.parse().map_err(|_| invalid(word))?;
        // Digits that make no finite number are more than the type holds.
        if number.double().is_infinite() && word.iter().any(u8::is_ascii_digit) {
            return Err(invalid(word));
        }
        number.put(bytes, little);
        Ok(())
    }, Err(invalid(word)))
}

/// The byte whose fraction of 255 a word is, as close as it is written.
fn byte_of_fraction(word: &[u8]) -> io::Result<u8> {
    let text = std::str::from_utf8(word).map_err(|_| invalid(word))?;
    let fraction: f64 = text.parse().map_err(|_| invalid(word))?;
    if !(0.0..=1.0).contains(&fraction) {
        return Err(invalid(word));
    }
    Ok((fraction * 255.0).round() as u8)
}

fn invalid(word: &[u8]) -> io::Error {
    let word = String::from_utf8_lossy(word);
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("'{}' is no number of the array's type", word.escape_debug()),
    )
}
