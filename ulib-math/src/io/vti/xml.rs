//! What reading a `.vti` file needs of XML: attributes, and text that is passed over and not kept.

use std::io::{BufRead, BufReader};

use quick_xml::XmlVersion;
use quick_xml::events::{BytesStart, Event};
use quick_xml::reader::Reader;
use ulib_core::Result;

use super::FORMAT;
use crate::io::source::Section;
use crate::io::volume::{bad, broken, io};

/// Elements that are inside each other; real files have six.
pub(super) const DEEPEST: usize = 32;

pub(super) type Xml<'a> = Reader<BufReader<Section<'a>>>;

pub(super) fn damaged(error: quick_xml::Error) -> ulib_core::Error {
    broken(FORMAT, format!("XML: {error}")).with_source(error)
}

/// The value of an attribute.
pub(super) fn attribute(tag: &BytesStart<'_>, name: &str) -> Result<Option<String>> {
    for attribute in tag.attributes().with_checks(false) {
        let attribute = attribute.map_err(|error| damaged(error.into()))?;
        if attribute.key.as_ref() == name {
            let value = attribute
                .normalized_value(XmlVersion::Implicit1_0)
                .map_err(damaged)?;
            return Ok(Some(value.into_owned()));
        }
    }
    Ok(None)
}

pub(super) fn required(tag: &BytesStart<'_>, name: &'static str) -> Result<String> {
    attribute(tag, name)?.ok_or_else(|| {
        let element = tag.name().as_ref().to_owned();
        bad(FORMAT, name, "not given", "an attribute").context(format!("element {element}"))
    })
}

/// Passes over the content of an element and its end, without keeping it; where the first text that is not blank
/// starts and ends.
pub(super) fn content(xml: &mut Xml<'_>) -> Result<(u64, u64)> {
    let mut depth = 0_usize;
    let mut text = None;
    let mut buffer = Vec::new();
    loop {
        let (start, end, blank) = pass_text(xml)?;
        if !blank && depth == 0 {
            if text.is_some() {
                return Err(broken(
                    FORMAT,
                    "the numbers of an array are in several pieces of text",
                ));
            }
            text = Some((start, end));
        }
        buffer.clear();
        match xml.read_event_into(&mut buffer).map_err(damaged)? {
            Event::Start(_) if depth == DEEPEST => {
                return Err(broken(
                    FORMAT,
                    format!("elements are more than {DEEPEST} deep inside each other"),
                ));
            }
            Event::Start(_) => depth += 1,
            Event::End(_) if depth == 0 => return Ok(text.unwrap_or((end, end))),
            Event::End(_) => depth -= 1,
            Event::Eof => return Err(broken(FORMAT, "the file ends inside an array")),
            _ => {}
        }
    }
}

/// Passes over the text up to the next `<`: where it starts and ends, and whether it is blank.
pub(super) fn pass_text(xml: &mut Xml<'_>) -> Result<(u64, u64, bool)> {
    let start = xml.buffer_position();
    let mut stream = xml.stream();
    let mut blank = true;
    loop {
        let ready = stream.fill_buf().map_err(|error| io(FORMAT, error))?;
        let end = ready.iter().position(|&byte| byte == b'<');
        let count = end.unwrap_or(ready.len());
        blank &= ready[..count].iter().all(u8::is_ascii_whitespace);
        let last = end.is_some() || count == 0;
        stream.consume(count);
        if last {
            return Ok((start, xml.buffer_position(), blank));
        }
    }
}

/// Where the data after the underscore starts.
pub(super) fn after_underscore(xml: &mut Xml<'_>) -> Result<u64> {
    let mut stream = xml.stream();
    loop {
        let ready = stream.fill_buf().map_err(|error| io(FORMAT, error))?;
        let blanks = ready
            .iter()
            .take_while(|byte| byte.is_ascii_whitespace())
            .count();
        match ready.get(blanks) {
            Some(b'_') => {
                stream.consume(blanks + 1);
                return Ok(xml.buffer_position());
            }
            Some(_) => return Err(broken(FORMAT, "AppendedData does not start with '_'")),
            None if blanks == 0 => {
                return Err(broken(FORMAT, "the file ends before its appended data"));
            }
            None => stream.consume(blanks),
        }
    }
}
