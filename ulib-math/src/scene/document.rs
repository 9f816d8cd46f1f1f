//! Documents: [`DocumentWriter`] and [`read_document`]. `docs/gcx.md` describes the format.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use ulib_core::{Context, Error, ErrorKind, PreferredDevice, Result};

use super::beside;
use super::classes::Classes;
use super::object::{ObjectReader, ObjectWriter, SceneObject, shortened};
use super::section::{Place, Section, checksum, encode};
use super::xml::{Element, Tag, Tags, escaped, escaped_attribute, truncated, wrong};
use crate::io::{AtomicFile, behind_links, open_ordinary};

/// The version of the format that is written, and the newest that is read.
const VERSION: u32 = 1;

/// Characters of the document that are gathered before they are written.
const GATHERED: usize = 1 << 20;

/// Attempts to read a document that others replace in the meantime.
const ATTEMPTS: usize = 50;

static LAST_STEP: Mutex<()> = Mutex::new(());

/// What can be chosen when a document is written.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct SaveOptions {
    /// Bulk data of up to so many bytes stands in the document itself; what has more is written to a file beside it.
    pub inline_bytes: usize,
}

impl Default for SaveOptions {
    fn default() -> Self {
        SaveOptions {
            inline_bytes: 1 << 20,
        }
    }
}

/// Writes a document, object after object.
///
/// Nothing is changed under the document's name until [`finish`](DocumentWriter::finish); dropped before, everything written
/// so far is removed. Files beside the document are in the folder `NAME.gcx.data`; a document that is replaced keeps
/// its files until then, since the new ones have names of their own.
#[derive(Debug)]
pub struct DocumentWriter {
    path: PathBuf,
    /// Where that leads.
    place: PathBuf,
    /// Until it is finished.
    file: Option<AtomicFile>,
    options: SaveOptions,
    text: String,
    names: BTreeSet<String>,
    /// Files beside the document that are new.
    files: BTreeSet<PathBuf>,
    /// Why the document cannot be finished.
    failed: Option<Error>,
}

impl DocumentWriter {
    /// Starts a document that will be at `path`.
    ///
    /// # Errors
    /// `Io` when the folder cannot be written to.
    pub fn create(path: &Path, options: SaveOptions) -> Result<Self> {
        let file = AtomicFile::create(path)?;
        Ok(DocumentWriter {
            path: path.to_path_buf(),
            place: file.place().to_path_buf(),
            file: Some(file),
            options,
            text: format!(
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<gcx version=\"{VERSION}\">\n"
            ),
            names: BTreeSet::new(),
            files: BTreeSet::new(),
            failed: None,
        })
    }

    /// Writes one object. Numbers on a device are fetched once, all together.
    ///
    /// # Errors
    /// `InvalidArgument` for a name that is empty, taken, or of characters that XML cannot hold; `Io`; those of reading the
    /// numbers. The document cannot be finished after one.
    pub fn add(&mut self, name: &str, object: &dyn SceneObject) -> Result<()> {
        let added = self
            .write_object(name, object)
            .with_context(|| format!("object '{}'", shortened(name)))
            .with_context(|| format!("writing {}", self.path.display()));
        if let Err(error) = &added {
            self.failed.get_or_insert(error.clone());
        }
        added
    }

    /// Puts the document in its place and removes the files that only its predecessor had.
    ///
    /// # Errors
    /// That of an object that could not be written; `Io`. What was in the place stays.
    pub fn finish(mut self) -> Result<()> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        self.text.push_str("</gcx>\n");
        self.flush()
            .with_context(|| format!("writing {}", self.path.display()))?;
        if let Some(file) = &self.file {
            file.sync()?;
        }
        // Of two documents that are finished at once the second one sees the files of the first.
        let _last_step = LAST_STEP.lock().unwrap_or_else(PoisonError::into_inner);
        let old = beside::files_of(&self.place);
        if let Some(file) = self.file.take()
            && let Err(error) = file.commit()
        {
            beside::remove(&self.place, &self.files);
            return Err(error);
        }
        beside::remove(&self.place, old.difference(&self.files));
        Ok(())
    }

    fn write_object(&mut self, name: &str, object: &dyn SceneObject) -> Result<()> {
        super::check_name(name)?;
        if !self.names.insert(name.to_owned()) {
            return Err(Error::invalid("gcx", "name", "taken", "another one"));
        }
        let class = object.class();
        let line = format!(
            "  <object name=\"{}\" class=\"{}\" version=\"{}\">\n",
            escaped_attribute(name)?,
            escaped_attribute(class.name)?,
            class.version
        );
        self.text.push_str(&line);
        let mut writer = ObjectWriter {
            document: self,
            name,
        };
        writer.property("PreferredDevice", object.preferred_device())?;
        object.save(&mut writer)?;
        self.text.push_str("  </object>\n");
        if self.text.len() >= GATHERED {
            self.flush()?;
        }
        Ok(())
    }

    /// An element of this kind with a name and a text.
    pub(super) fn text(&mut self, kind: &str, name: &str, text: &str) -> Result<()> {
        let (name, text) = (escaped_attribute(name)?, escaped(text)?);
        let line = format!("    <{kind} name=\"{name}\">{text}</{kind}>\n");
        self.text.push_str(&line);
        Ok(())
    }

    /// A section of bulk data.
    pub(super) fn data(&mut self, object: &str, name: &str, bytes: &[u8]) -> Result<()> {
        let checksum = checksum(bytes);
        let start = format!(
            "    <data name=\"{}\" bytes=\"{}\" checksum=\"crc32 {checksum:08x}\"",
            escaped_attribute(name)?,
            bytes.len(),
        );
        let line = if bytes.len() <= self.options.inline_bytes {
            let text = encode(bytes).map_err(|error| Error::io("compress", error))?;
            format!("{start} encoding=\"zlib base64\">{text}</data>\n")
        } else {
            let file = beside::write(
                &self.place,
                (object, name),
                checksum,
                bytes,
                &mut self.files,
            )?;
            format!("{start} file=\"{}\"/>\n", escaped_attribute(&file)?)
        };
        self.text.push_str(&line);
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        if let Some(file) = &self.file {
            file.file()
                .write_all(self.text.as_bytes())
                .map_err(|error| Error::io("write", error))?;
        }
        self.text.clear();
        Ok(())
    }
}

impl Drop for DocumentWriter {
    fn drop(&mut self) {
        if self.file.is_some() {
            beside::remove(&self.place, &self.files);
        }
    }
}

/// The objects of a document and their names, each where it is preferred if that can be done.
///
/// An object whose preferred device is not there, or has no room, is on the host and says why; the preference is kept. Text
/// in a document is never run.
///
/// # Errors
/// `Io`; `Format` for a document that is damaged, truncated, of a newer version, or with a class, a version of a class or a
/// property that is not known, naming the file, the object and the cause; `OutOfMemory`. Nothing is loaded then.
pub fn read_document(
    path: &Path,
    classes: &Classes,
) -> Result<Vec<(String, Box<dyn SceneObject>)>> {
    let objects =
        read_objects(path, classes).with_context(|| format!("reading {}", path.display()))?;
    objects
        .into_iter()
        .map(|(name, object, preferred)| {
            // The preference is recorded in any case, and the location says why it was not honoured. Only the user's own
            // interruption is no reason to go on.
            match object.set_preferred_device(preferred) {
                Err(error) if *error.kind() == ErrorKind::Interrupted => Err(error),
                _ => Ok((name, object)),
            }
        })
        .collect()
}

type Loaded = (String, Box<dyn SceneObject>, PreferredDevice);

/// What the document has that is there now, also while others replace it and remove the files beside the old one.
fn read_objects(path: &Path, classes: &Classes) -> Result<Vec<Loaded>> {
    let mut attempt = 1;
    loop {
        let place = behind_links(path).map_err(|error| Error::io("open", error))?;
        let file = open_ordinary(&place)?;
        let opened = beside::identity(&file);
        let folder = place.parent().unwrap_or(Path::new(""));
        match read_objects_of(file, folder, classes) {
            Err(error)
                if *error.kind() != ErrorKind::Interrupted
                    && attempt < ATTEMPTS
                    && beside::identity_at(&place) != opened =>
            {
                attempt += 1;
            }
            read => return read,
        }
    }
}

fn read_objects_of(file: File, folder: &Path, classes: &Classes) -> Result<Vec<Loaded>> {
    let mut tags = Tags::new(BufReader::new(file));
    let Some(root) = tags.element()? else {
        return Err(truncated());
    };
    if root.name != "gcx" {
        return Err(root.unexpected("document"));
    }
    let version: u32 = root.number("version")?;
    if version != VERSION {
        return Err(Error::malformed(
            "gcx",
            "version",
            version,
            format!("{VERSION}, which is what this uLib knows"),
        ));
    }
    let mut objects: Vec<Loaded> = Vec::new();
    let mut names = BTreeSet::new();
    while let Some(element) = tags.element()? {
        if element.name != "object" {
            return Err(element.unexpected("gcx"));
        }
        let name = element.attribute("name")?.to_owned();
        let (object, preferred) = if names.insert(name.clone()) {
            super::check_name(&name)
                .and_then(|()| read_object(&mut tags, &element, folder))
                .and_then(|reader| classes.load(&reader))
        } else {
            Err(wrong("name", "taken".to_owned(), "another one"))
        }
        .map_err(of_document)
        .with_context(|| format!("object '{}'", shortened(&name)))?;
        objects.push((name, object, preferred));
    }
    match tags.next()? {
        Tag::Eof => Ok(objects),
        Tag::Text(text) if text.trim_ascii().is_empty() => Ok(objects),
        _ => Err(wrong("document", "more after </gcx>".to_owned(), "its end")),
    }
}

/// What a document says that no object can be is an error of the document, whoever finds it.
fn of_document(error: Error) -> Error {
    match error.kind() {
        ErrorKind::InvalidArgument
        | ErrorKind::Index
        | ErrorKind::Shape
        | ErrorKind::Layout
        | ErrorKind::DType
        | ErrorKind::Overflow => Error::new(ErrorKind::Format, error.to_string()),
        _ => error,
    }
}

fn read_object<'a>(
    tags: &mut Tags<BufReader<File>>,
    object: &Element,
    folder: &'a Path,
) -> Result<ObjectReader<'a>> {
    let mut reader = ObjectReader {
        name: object.attribute("name")?.to_owned(),
        class: object.attribute("class")?.to_owned(),
        version: object.number("version")?,
        properties: Vec::new(),
        items: Vec::new(),
        sections: Vec::new(),
        folder,
    };
    let mut names = BTreeSet::new();
    while let Some(element) = tags.element()? {
        let name = element.attribute("name")?.to_owned();
        let text = tags.text(&element)?;
        match element.name.as_str() {
            "property" => {
                if !names.insert(name.clone()) {
                    let found = format!("'{}' twice", shortened(&name));
                    return Err(wrong("property", found, "each once"));
                }
                reader.properties.push((name, text, Cell::new(false)));
            }
            "item" => reader.items.push((name, text)),
            "data" => {
                let section = read_section(&element, name, text)?;
                reader.sections.push((section, Cell::new(false)));
            }
            _ => return Err(element.unexpected("object")),
        }
    }
    Ok(reader)
}

fn read_section(element: &Element, name: String, text: String) -> Result<Section> {
    let written = element.attribute("checksum")?;
    let checksum = written
        .strip_prefix("crc32 ")
        .filter(|digits| digits.len() == 8)
        .and_then(|digits| u32::from_str_radix(digits, 16).ok())
        .ok_or_else(|| {
            let found = format!("'{}'", shortened(written));
            wrong("checksum", found, "crc32 and eight digits")
        })?;
    let place = match (element.get("file"), element.get("encoding")) {
        (Some(file), None) if text.trim_ascii().is_empty() => Place::Beside(PathBuf::from(file)),
        (None, Some("zlib base64")) => Place::Inside(text),
        (_, encoding) => {
            let found = format!("encoding '{}'", shortened(encoding.unwrap_or("")));
            return Err(wrong("data", found, "encoding 'zlib base64', or a file"));
        }
    };
    Ok(Section {
        name,
        bytes: element.number("bytes")?,
        checksum,
        place,
    })
}
