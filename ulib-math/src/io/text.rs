//! Headers that are text: lines, and the numbers in them.

use std::io::{BufRead, BufReader};
use std::str::FromStr;

use ulib_core::Result;

use super::Format;
use super::asking::ask;
use super::source::Section;
use super::volume::{LONGEST_HEADER, bad, broken, io};

/// Lines of headers are not longer.
const LONGEST_LINE: usize = 1 << 16;

/// `N` floats of a field.
pub(super) fn numbers<const N: usize>(
    format: Format,
    field: &'static str,
    text: &str,
) -> Result<[f64; N]> {
    words(format, field, text)
}

/// `N` integers of a field.
pub(super) fn integers<const N: usize>(
    format: Format,
    field: &'static str,
    text: &str,
) -> Result<[i64; N]> {
    words(format, field, text)
}

/// `N` numbers of a field.
pub(super) fn words<T: FromStr + Copy + Default, const N: usize>(
    format: Format,
    field: &'static str,
    text: &str,
) -> Result<[T; N]> {
    let mut values = [T::default(); N];
    let mut words = text.split_ascii_whitespace();
    let mut parse = || {
        for value in &mut values {
            *value = words.next()?.parse().ok()?;
        }
        words.next().is_none().then_some(())
    };
    match parse() {
        Some(()) => Ok(values),
        None => Err(bad(
            format,
            field,
            text,
            match N {
                1 => "one number",
                3 => "three numbers",
                6 => "six numbers",
                9 => "nine numbers",
                _ => "other numbers",
            },
        )),
    }
}

/// All numbers of a field, at most `most`.
pub(super) fn list<T: FromStr>(
    format: Format,
    field: &'static str,
    text: &str,
    most: usize,
) -> Result<Vec<T>> {
    let mut values = Vec::new();
    for word in text.split_ascii_whitespace() {
        if values.len() == most {
            return Err(bad(format, field, text, "fewer numbers"));
        }
        values.push(
            word.parse()
                .map_err(|_| bad(format, field, text, "numbers"))?,
        );
    }
    Ok(values)
}

/// A text that is read line by line, and how far.
pub(super) struct Lines<'a> {
    format: Format,
    text: BufReader<Section<'a>>,
    length: u64,
    /// Bytes read so far.
    pub(super) position: u64,
}

impl<'a> Lines<'a> {
    pub(super) fn new(format: Format, text: Section<'a>) -> Self {
        Lines {
            format,
            length: text.length(),
            text: BufReader::new(text),
            position: 0,
        }
    }

    /// The next line without its end; `None` when there is no more. Bytes that are no UTF-8 are replaced.
    pub(super) fn next(&mut self) -> Result<Option<String>> {
        let mut line = Vec::new();
        loop {
            let ready = self
                .text
                .fill_buf()
                .map_err(|error| io(self.format, error))?;
            if ready.is_empty() && line.is_empty() {
                return Ok(None);
            }
            let end = ready.iter().position(|&byte| byte == b'\n');
            let piece = &ready[..end.unwrap_or(ready.len())];
            if line.len() + piece.len() > LONGEST_LINE {
                return Err(broken(
                    self.format,
                    format!("a line of the header is longer than {LONGEST_LINE} bytes"),
                ));
            }
            line.extend(piece);
            let (count, last) = (
                piece.len() + usize::from(end.is_some()),
                end.is_some() || ready.is_empty(),
            );
            self.text.consume(count);
            self.position += count as u64;
            if last {
                if line.last() == Some(&b'\r') {
                    line.pop();
                }
                return Ok(Some(String::from_utf8_lossy(&line).into_owned()));
            }
        }
    }

    /// As [`next`](Self::next), for the lines of a header that is text from the start of the file.
    pub(super) fn next_of_header(&mut self) -> Result<Option<String>> {
        if self.position > LONGEST_HEADER {
            return Err(broken(
                self.format,
                format!("the header is longer than {LONGEST_HEADER} bytes"),
            ));
        }
        self.next()
    }

    /// Passes over bytes, which need not be there.
    pub(super) fn skip(&mut self, count: u64) -> Result<()> {
        let by =
            i64::try_from(count).map_err(|_| broken(self.format, "the file ends too early"))?;
        self.text
            .seek_relative(by)
            .map_err(|error| io(self.format, error))?;
        self.position += count;
        Ok(())
    }

    /// Passes over words, up to the end of the last one.
    pub(super) fn skip_words(&mut self, mut count: u64) -> Result<()> {
        let mut inside = false;
        while count > 0 {
            let ready = self
                .text
                .fill_buf()
                .map_err(|error| io(self.format, error))?;
            if ready.is_empty() {
                return if inside && count == 1 {
                    Ok(())
                } else {
                    Err(broken(self.format, "the file ends too early"))
                };
            }
            let mut passed = 0;
            for byte in ready {
                let blank = byte.is_ascii_whitespace();
                if inside && blank {
                    count -= 1;
                }
                inside = !blank;
                if count == 0 {
                    break;
                }
                passed += 1;
            }
            self.text.consume(passed);
            self.position += passed as u64;
            ask(self.position, self.length)?;
        }
        Ok(())
    }
}
