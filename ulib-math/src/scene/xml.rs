//! The XML of documents: elements in elements, texts in those inside. No document types, no entities but those of XML itself.

use std::io::BufRead;

use quick_xml::escape::resolve_xml_entity;
use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};
use ulib_core::{Error, Result};

use super::object::shortened;

/// The most attributes of an element: more would take long to compare.
const ATTRIBUTES: usize = 32;

/// Reads a document from its beginning, one tag after the other.
pub(super) struct Tags<R> {
    reader: Reader<R>,
    buffer: Vec<u8>,
    /// A tag without content, whose end is still to come.
    empty: bool,
}

/// What comes next.
#[derive(Debug)]
pub(super) enum Tag {
    Start(Element),
    End,
    Text(String),
    Eof,
}

/// The start of an element.
#[derive(Debug)]
pub(super) struct Element {
    pub(super) name: String,
    attributes: Vec<(String, String)>,
}

impl<R: BufRead> Tags<R> {
    pub(super) fn new(reader: R) -> Self {
        let mut reader = Reader::from_reader(reader);
        reader.config_mut().enable_all_checks(true);
        Tags {
            reader,
            buffer: Vec::new(),
            empty: false,
        }
    }

    /// The next tag, or the next part of a text.
    pub(super) fn next(&mut self) -> Result<Tag> {
        if std::mem::take(&mut self.empty) {
            return Ok(Tag::End);
        }
        loop {
            self.buffer.clear();
            let event = match self.reader.read_event_into(&mut self.buffer) {
                Ok(event) => event,
                Err(quick_xml::Error::Io(error)) => {
                    let error = std::io::Error::new(error.kind(), error.to_string());
                    return Err(Error::io("read", error));
                }
                Err(error) => return Err(malformed(error)),
            };
            let tag = match event {
                Event::Start(start) => Tag::Start(Element::new(&start)?),
                Event::Empty(start) => {
                    let element = Element::new(&start)?;
                    self.empty = true;
                    Tag::Start(element)
                }
                Event::End(_) => Tag::End,
                Event::Text(text) => Tag::Text(text.xml10_content().into_owned()),
                Event::CData(text) => Tag::Text(text.xml10_content().into_owned()),
                Event::GeneralRef(reference) => {
                    let found = match reference.resolve_char_ref().map_err(malformed)? {
                        Some(character) => Some(character.to_string()),
                        None => resolve_xml_entity(&reference.xml10_content()).map(str::to_owned),
                    };
                    Tag::Text(found.ok_or_else(|| {
                        let name = reference.xml10_content();
                        wrong(
                            "entity",
                            format!("&{};", shortened(&name)),
                            "one of XML's own",
                        )
                    })?)
                }
                Event::DocType(_) => {
                    return Err(wrong("document type", "given".to_owned(), "none"));
                }
                Event::Comment(_) | Event::Decl(_) | Event::PI(_) => continue,
                Event::Eof => Tag::Eof,
            };
            if let Tag::Text(text) = &tag {
                check(text)?;
            }
            return Ok(tag);
        }
    }

    /// The next element, or `None` where the one around it ends. There may be no text between.
    pub(super) fn element(&mut self) -> Result<Option<Element>> {
        loop {
            match self.next()? {
                Tag::Start(element) => return Ok(Some(element)),
                Tag::End => return Ok(None),
                Tag::Text(text) if text.trim_ascii().is_empty() => {}
                Tag::Text(text) => {
                    let text = format!("'{}'", shortened(text.trim()));
                    return Err(wrong("text between elements", text, "none"));
                }
                Tag::Eof => return Err(truncated()),
            }
        }
    }

    /// The text of the element that has just started, and its end.
    pub(super) fn text(&mut self, element: &Element) -> Result<String> {
        let mut text = String::new();
        loop {
            match self.next()? {
                Tag::Text(part) if text.is_empty() => text = part,
                Tag::Text(part) => text.push_str(&part),
                Tag::End => return Ok(text),
                Tag::Start(inner) => return Err(inner.unexpected(&element.name)),
                Tag::Eof => return Err(truncated()),
            }
        }
    }
}

impl Element {
    fn new(start: &BytesStart<'_>) -> Result<Self> {
        let mut attributes = Vec::new();
        for attribute in start.attributes() {
            let attribute = attribute.map_err(malformed)?;
            if attributes.len() == ATTRIBUTES {
                return Err(wrong("attributes", "too many".to_owned(), "a few"));
            }
            let value = attribute
                .normalized_value(XmlVersion::Explicit1_0)
                .map_err(malformed)?;
            check(&value)?;
            attributes.push((attribute.key.as_ref().to_owned(), value.into_owned()));
        }
        Ok(Element {
            name: start.name().as_ref().to_owned(),
            attributes,
        })
    }

    /// The attribute of this name.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.attributes
            .iter()
            .find(|(own, _)| own == name)
            .map(|(_, value)| value.as_str())
    }

    /// The attribute of this name, which has to be there.
    pub(super) fn attribute(&self, name: &str) -> Result<&str> {
        self.get(name).ok_or_else(|| {
            let what = format!("attribute {name} of <{}>", self.name);
            wrong(what, "missing".to_owned(), "one")
        })
    }

    /// A number without a sign in an attribute.
    pub(super) fn number<T: std::str::FromStr>(&self, name: &str) -> Result<T> {
        let text = self.attribute(name)?;
        let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse().ok().filter(|_| plain);
        number.ok_or_else(|| {
            let what = format!("attribute {name} of <{}>", self.name);
            wrong(what, format!("'{}'", shortened(text)), "a number")
        })
    }

    /// That this element should not be inside `outer`.
    pub(super) fn unexpected(&self, outer: &str) -> Error {
        wrong(
            format!("element in <{outer}>"),
            format!("<{}>", shortened(&self.name)),
            "another one",
        )
    }
}

pub(super) fn truncated() -> Error {
    wrong("document", "truncated".to_owned(), "</gcx> at its end")
}

pub(super) fn wrong(what: impl Into<String>, found: String, expected: &'static str) -> Error {
    Error::malformed("gcx", what.into(), found, expected)
}

fn malformed(error: impl Into<quick_xml::Error>) -> Error {
    wrong("XML", format!("({})", error.into()), "well-formed")
}

/// Whether XML can hold a character.
fn legal(character: char) -> bool {
    matches!(character, '\t' | '\n' | '\r' | ' '..='\u{fffd}' | '\u{10000}'..)
}

/// Fails for a text with a character that could not be written again.
fn check(text: &str) -> Result<()> {
    match text.chars().all(legal) {
        true => Ok(()),
        false => Err(wrong(
            "text",
            format!("'{}'", shortened(text)),
            "characters that XML can hold",
        )),
    }
}

/// A text as it stands between tags or in an attribute.
///
/// # Errors
/// `InvalidArgument` for a character that XML cannot hold.
pub(super) fn escaped(text: &str) -> Result<String> {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '"' => escaped.push_str("&quot;"),
            // A reader may change this one.
            '\r' => escaped.push_str("&#13;"),
            _ if legal(character) => escaped.push(character),
            _ => {
                return Err(Error::invalid(
                    "gcx",
                    "text",
                    format_args!("'{}'", shortened(text)),
                    "characters that XML can hold",
                ));
            }
        }
    }
    Ok(escaped)
}

/// As [`escaped`], in an attribute, where a reader takes every white space for a blank.
pub(super) fn escaped_attribute(text: &str) -> Result<String> {
    let escaped = escaped(text)?;
    Ok(escaped.replace('\n', "&#10;").replace('\t', "&#9;"))
}
