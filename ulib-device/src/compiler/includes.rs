//! Which headers a program uses, found without compiling it.
//!
//! Every `#include` of the text counts, and those of the headers it names, also where a condition would leave them out: a
//! header too many can only cause a compilation too many. What is found, and what is not found where it would have come
//! first, is remembered with size and time, so that the next look-up asks for those alone.

use super::headers;
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;
use twox_hash::XxHash3_128;

/// Headers that are read in one program at most; what has more is compiled anew each time.
const MOST: usize = 4096;

/// A folder of headers.
#[derive(Clone, Debug)]
pub(super) struct Folder {
    pub(super) path: PathBuf,
    /// Whether it is part of a toolkit, which nobody adds headers to.
    pub(super) toolkit: bool,
}

/// Size and time of a file, which tell whether it is still what it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) size: u64,
    pub(super) nanoseconds: u64,
}

impl Stamp {
    fn of(path: &Path) -> Option<Self> {
        let data = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
        let time = data.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
        Some(Self {
            size: data.len(),
            nanoseconds: u64::try_from(time.as_nanos()).ok()?,
        })
    }
}

/// The headers of one program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Headers {
    /// Files, in the order in which they are met.
    pub(super) files: Vec<(PathBuf, Stamp)>,
    /// Places of users' folders where a header would have been taken from before.
    pub(super) absent: Vec<PathBuf>,
    /// Headers of our own, by name.
    pub(super) own: Vec<String>,
    /// A hash of all of it: names and contents.
    pub(super) content: u128,
    /// Whether the text of an `#include` is computed, so that it is not known what it names.
    pub(super) unknown: bool,
}

impl Headers {
    /// Looks through a program.
    pub(super) fn scan(source: &str, before: &[String], folders: &[Folder]) -> Self {
        let mut scan = Scan {
            folders,
            found: Self::default(),
            seen: HashSet::new(),
            hashed: Vec::new(),
        };
        for name in before {
            scan.include(&Include { name, quoted: true }, Some(Path::new("")));
        }
        scan.text(source, Some(Path::new("")), false);
        scan.found.content = XxHash3_128::oneshot(&scan.hashed);
        scan.found
    }

    /// Whether everything is as it was.
    pub(super) fn is_current(&self) -> bool {
        self.files
            .iter()
            .all(|(path, stamp)| Stamp::of(path).as_ref() == Some(stamp))
            && self.absent.iter().all(|path| !path.exists())
    }
}

/// Whether a text includes anything; most kernels do not.
pub(super) fn includes_anything(source: &str) -> bool {
    source.contains("include")
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Include<'a> {
    name: &'a str,
    quoted: bool,
}

struct Scan<'a> {
    folders: &'a [Folder],
    found: Headers,
    seen: HashSet<PathBuf>,
    hashed: Vec<u8>,
}

impl Scan<'_> {
    /// Goes through a text that lies in the folder `beside`; `toolkit` if it is part of one.
    fn text(&mut self, text: &str, beside: Option<&Path>, toolkit: bool) {
        for line in text.lines() {
            match include_in(line) {
                Some(Ok(include)) => self.include(&include, beside),
                // Those of the toolkit name parts of the toolkit, by macros of its own.
                Some(Err(())) if !toolkit => self.found.unknown = true,
                _ => {}
            }
        }
    }

    fn include(&mut self, include: &Include<'_>, beside: Option<&Path>) {
        if self.found.files.len() >= MOST {
            self.found.unknown = true;
            return;
        }
        let near = beside.filter(|_| include.quoted).map(|folder| Folder {
            path: folder.to_path_buf(),
            toolkit: false,
        });
        let own = headers::find(include.name);
        for folder in near.iter().chain(self.folders) {
            let path = folder.path.join(include.name);
            if self.seen.contains(&path) {
                return;
            }
            let Some(stamp) = Stamp::of(&path) else {
                if !folder.toolkit && !self.found.absent.contains(&path) {
                    self.found.absent.push(path);
                }
                continue;
            };
            let Ok(bytes) = fs::read(&path) else { continue };
            if headers::replaces(include.name, &bytes) {
                self.seen.insert(path.clone());
                self.found.files.push((path, stamp));
                break;
            }
            self.note(&path.to_string_lossy(), &bytes);
            self.seen.insert(path.clone());
            self.found.files.push((path.clone(), stamp));
            let text = String::from_utf8_lossy(&bytes);
            self.text(&text, path.parent(), folder.toolkit);
            return;
        }
        if let Some(text) = own
            && !self.found.own.iter().any(|name| name == include.name)
        {
            self.note(include.name, text.as_bytes());
            self.found.own.push(include.name.to_owned());
            self.text(text, None, true);
        }
    }

    fn note(&mut self, name: &str, bytes: &[u8]) {
        self.hashed.extend_from_slice(name.as_bytes());
        self.hashed.push(0);
        self.hashed
            .extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        self.hashed
            .extend_from_slice(&XxHash3_128::oneshot(bytes).to_le_bytes());
    }
}

/// What a line includes, if it is about that; an error if it is computed.
fn include_in(line: &str) -> Option<Result<Include<'_>, ()>> {
    let rest = line.trim_start();
    if let Some(at) = rest.find("__has_include") {
        let rest = rest[at + "__has_include".len()..].trim_start();
        let rest = rest.strip_prefix("_next").unwrap_or(rest).trim_start();
        return name_in(rest.strip_prefix('(')?.trim_start()).map(Ok);
    }
    let rest = rest.strip_prefix('#')?.trim_start();
    let rest = rest.strip_prefix("include")?;
    let rest = rest.strip_prefix("_next").unwrap_or(rest).trim_start();
    if rest.is_empty() {
        return None;
    }
    Some(name_in(rest).ok_or(()))
}

/// `<name>` or `"name"` at the beginning of a text.
fn name_in(text: &str) -> Option<Include<'_>> {
    let (quoted, rest) = match text.as_bytes().first()? {
        b'<' => (false, &text[1..]),
        b'"' => (true, &text[1..]),
        _ => return None,
    };
    let end = rest.find(if quoted { '"' } else { '>' })?;
    Some(Include {
        name: &rest[..end],
        quoted,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_include() {
        let named = |line| include_in(line).map(|found| found.map(|i| (i.name, i.quoted)));
        assert_eq!(named("#include <a.h>"), Some(Ok(("a.h", false))));
        assert_eq!(
            named("  #  include\"b/c.h\" // x"),
            Some(Ok(("b/c.h", true)))
        );
        assert_eq!(named("#include_next <a.h>"), Some(Ok(("a.h", false))));
        assert_eq!(named("#if __has_include(<a.h>)"), Some(Ok(("a.h", false))));
        assert_eq!(named("#include HEADER"), Some(Err(())));
        assert_eq!(named("#define include"), None);
        assert_eq!(named("int include;"), None);
        assert_eq!(named("#include <a.h"), Some(Err(())));
    }
}
