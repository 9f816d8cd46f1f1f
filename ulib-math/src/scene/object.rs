//! What an object of a scene has to do: [`SceneObject`], and what it reads and writes of itself.

use std::any::Any;
use std::cell::Cell;
use std::fmt::Display;
use std::path::Path;
use std::str::FromStr;

use ulib_core::{Error, PreferredDevice, Result};

use super::content::Content;
use super::document::DocumentWriter;
use super::section::Section;
use crate::placed::Placed;

/// A class of objects as documents name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Class {
    /// The name.
    pub name: &'static str,
    /// The version that is written now. A document with a newer one is refused.
    pub version: u32,
    /// The version since which objects have a preferred device. Older ones are loaded as `Host`.
    pub preference_since: u32,
}

/// An object that can be in a scene and in a document.
pub trait SceneObject: Placed + Any + Send + Sync {
    /// Its class.
    fn class(&self) -> Class;

    /// Its size as people say it, e.g. `32 x 32 x 32 voxels`.
    fn size(&self) -> String;

    /// Writes everything but the name and the preferred device.
    ///
    /// # Errors
    /// Those of reading the numbers, and of the document.
    fn save(&self, out: &mut ObjectWriter<'_>) -> Result<()>;

    /// What there is to see of it, of elements the first `limit`: nothing unless it says so.
    ///
    /// # Errors
    /// Those of reading the elements.
    fn content(&self, limit: usize) -> Result<Content<'_>> {
        let _ = limit;
        Ok(Content::Nothing)
    }
}

/// Takes down what one object says of itself.
#[derive(Debug)]
pub struct ObjectWriter<'a> {
    pub(super) document: &'a mut DocumentWriter,
    pub(super) name: &'a str,
}

impl ObjectWriter<'_> {
    /// A property: a short text, whose number of spaces is kept.
    ///
    /// # Errors
    /// `InvalidArgument` for a character that XML cannot hold, `Io`.
    pub fn property(&mut self, name: &str, value: impl Display) -> Result<()> {
        self.document.text("property", name, &value.to_string())
    }

    /// A property of several numbers.
    ///
    /// # Errors
    /// As [`property`](ObjectWriter::property).
    pub fn numbers<T: std::fmt::Debug>(&mut self, name: &str, values: &[T]) -> Result<()> {
        // The form of `Debug` is the shortest that reads back as the same number.
        let words: Vec<String> = values.iter().map(|value| format!("{value:?}")).collect();
        self.property(name, words.join(" "))
    }

    /// One of many pairs of texts, which stay in order.
    ///
    /// # Errors
    /// As [`property`](ObjectWriter::property).
    pub fn item(&mut self, name: &str, text: &str) -> Result<()> {
        self.document.text("item", name, text)
    }

    /// Bulk data: bytes that belong together under a name. Few are written into the document, many into a file beside it.
    ///
    /// # Errors
    /// `Io`.
    pub fn data(&mut self, name: &str, bytes: &[u8]) -> Result<()> {
        self.document.data(self.name, name, bytes)
    }
}

/// What a document says of one object.
#[derive(Debug)]
pub struct ObjectReader<'a> {
    pub(super) name: String,
    pub(super) class: String,
    pub(super) version: u32,
    pub(super) properties: Vec<(String, String, Cell<bool>)>,
    pub(super) items: Vec<(String, String)>,
    pub(super) sections: Vec<(Section, Cell<bool>)>,
    pub(super) folder: &'a Path,
}

impl ObjectReader<'_> {
    /// The name of the object.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The name of its class.
    #[must_use]
    pub fn class(&self) -> &str {
        &self.class
    }

    /// The version of the class when the document was written; never newer than the present one.
    #[must_use]
    pub fn version(&self) -> u32 {
        self.version
    }

    /// A property as a text.
    ///
    /// # Errors
    /// `Format` when there is none of this name.
    pub fn text(&self, name: &str) -> Result<&str> {
        let (_, value, used) = self
            .properties
            .iter()
            .find(|(own, _, _)| own == name)
            .ok_or_else(|| self.missing("property", name))?;
        used.set(true);
        Ok(value)
    }

    /// A property as what its text means.
    ///
    /// # Errors
    /// `Format` when there is none of this name, or when it does not mean a `T`.
    pub fn property<T: FromStr<Err: Display>>(&self, name: &str) -> Result<T> {
        let text = self.text(name)?;
        text.trim().parse().map_err(|error: T::Err| {
            Error::malformed(
                "gcx",
                format!("property '{name}'"),
                format_args!("'{}'", shortened(text)),
                error.to_string(),
            )
        })
    }

    /// A property as `N` numbers.
    ///
    /// # Errors
    /// As [`property`](ObjectReader::property), and when there are more or fewer.
    pub fn numbers<T: FromStr<Err: Display>, const N: usize>(&self, name: &str) -> Result<[T; N]> {
        let text = self.text(name)?;
        let wrong = |expected: String| {
            Error::malformed(
                "gcx",
                format!("property '{name}'"),
                format_args!("'{}'", shortened(text)),
                expected,
            )
        };
        let numbers = text
            .split_ascii_whitespace()
            .map(|word| {
                word.parse()
                    .map_err(|error: T::Err| wrong(format!("{N} numbers ({error})")))
            })
            .collect::<Result<Vec<T>>>()?;
        numbers
            .try_into()
            .map_err(|numbers: Vec<T>| wrong(format!("{N} numbers, not {}", numbers.len())))
    }

    /// The items, in order: names and texts.
    #[must_use]
    pub fn items(&self) -> &[(String, String)] {
        &self.items
    }

    /// The bulk data of this name, of which there have to be `bytes` bytes: memory for as many may be asked for.
    ///
    /// # Errors
    /// `Format` when there is no such section, when it has another size, or when the document cannot hold that much.
    pub fn data(&self, name: &str, bytes: usize) -> Result<&Section> {
        let (section, used) = self
            .sections
            .iter()
            .find(|(section, _)| section.name() == name)
            .ok_or_else(|| self.missing("data", name))?;
        used.set(true);
        section.check(bytes, self.folder)?;
        Ok(section)
    }

    /// Reads the bulk data of this name, all of `target`, and checks it.
    ///
    /// # Errors
    /// As [`data`](ObjectReader::data); `Format` when the checksum is another one, `Io`.
    pub fn read(&self, name: &str, target: &mut [u8]) -> Result<()> {
        self.data(name, target.len())?
            .read_into(target, self.folder)
    }

    /// The preferred device that the document has for the object, of a class that knows it since version `since`.
    pub(super) fn preferred(&self, since: u32) -> Result<PreferredDevice> {
        if self.version < since {
            return Ok(PreferredDevice::Host);
        }
        self.property("PreferredDevice")
    }

    /// Fails for what the document says and nobody has asked for: a class that is read knows all that it can have.
    pub(super) fn check_all_used(&self) -> Result<()> {
        let property = self.properties.iter().find(|(_, _, used)| !used.get());
        let section = self.sections.iter().find(|(_, used)| !used.get());
        let unused = property
            .map(|(name, _, _)| ("property", name.as_str()))
            .or(section.map(|(section, _)| ("data", section.name())));
        match unused {
            None => Ok(()),
            Some((what, name)) => Err(Error::malformed(
                "gcx",
                what,
                format_args!("'{}'", shortened(name)),
                format!("what {} version {} has", self.class, self.version),
            )),
        }
    }

    fn missing(&self, what: &'static str, name: &str) -> Error {
        Error::malformed(
            "gcx",
            format!("{what} '{name}'"),
            "missing",
            format!("one in every {} of version {}", self.class, self.version),
        )
    }
}

/// The text, or its beginning.
pub(super) fn shortened(text: &str) -> String {
    const LONGEST: usize = 60;
    let mut text: String = text.escape_debug().collect();
    if let Some((at, _)) = text.char_indices().nth(LONGEST) {
        text.truncate(at);
        text.push_str("...");
    }
    text
}
