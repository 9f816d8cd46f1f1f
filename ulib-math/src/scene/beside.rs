//! Files beside a document: their names, and which of them go when another document takes its place.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ulib_core::{Error, Result};
use ulib_device::hooks;

use super::section::PART;
use super::xml::{Tag, Tags};
use crate::io::open_ordinary;

/// How the names of files beside documents end.
const ENDING: &str = ".bin";

/// Letters of an object and of its data in the name of a file.
const STEM: usize = 80;

/// Attempts to find a name that is not taken, in a folder that others may remove in between.
const ATTEMPTS: u64 = 1000;

/// For how long a file that no document names may belong to one that is being written.
const WRITING: Duration = Duration::from_secs(24 * 60 * 60);

/// The folder of the files beside a document.
pub(super) fn folder(document: &Path) -> PathBuf {
    let mut name = document.file_name().unwrap_or_default().to_os_string();
    name.push(".data");
    document.with_file_name(name)
}

/// Creates a file beside a document, which is told of it before anything is written; its name in the document.
pub(super) fn write(
    document: &Path,
    (object, data): (&str, &str),
    checksum: u32,
    bytes: &[u8],
    created: &mut BTreeSet<PathBuf>,
) -> Result<String> {
    let folder = folder(document);
    let io = |op: &'static str, path: &Path, error| {
        Error::io(op, error).context(format!("data file {}", path.display()))
    };
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let stem: String = format!("{object}.{data}")
        .chars()
        .take(STEM)
        .map(plain)
        .collect();
    // A name that no file has had: somebody may be about to remove, or to read, one that is gone.
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_or(0, |now| now.as_nanos());
    for number in (now..).take(ATTEMPTS as usize) {
        fs::create_dir_all(&folder).map_err(|error| io("create folder", &folder, error))?;
        // Never one that is there: the document that is being replaced may need it.
        let file = format!("{stem}-{checksum:08x}-{number}{ENDING}");
        let path = folder.join(&file);
        let mut opened = match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(opened) => opened,
            // Taken; or whoever saves here, too, has removed the folder since it was empty.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::AlreadyExists | io::ErrorKind::NotFound
                ) =>
            {
                continue;
            }
            Err(error) => return Err(io("create", &path, error)),
        };
        created.insert(path.clone());
        let mut done = 0;
        for part in bytes.chunks(PART) {
            opened
                .write_all(part)
                .map_err(|error| io("write", &path, error))?;
            done += part.len() as u64;
            hooks::poll(done, bytes.len() as u64)?;
        }
        opened
            .sync_all()
            .map_err(|error| io("write", &path, error))?;
        let folder = folder.file_name().unwrap_or_default().to_string_lossy();
        return Ok(format!("{folder}/{file}"));
    }
    Err(io("create", &folder, io::ErrorKind::AlreadyExists.into()))
}

/// Removes files, and their folder when it is empty then.
pub(super) fn remove<'a>(document: &Path, files: impl IntoIterator<Item = &'a PathBuf>) {
    for path in files {
        // A file that cannot be removed takes room and is in nobody's way.
        let _ = fs::remove_file(path);
    }
    let _ = fs::remove_dir(folder(document));
}

/// The files beside a document that go with it: those that it names, and those that a program left that was killed. Not those of a
/// document that somebody else is writing in the meantime.
pub(super) fn files_of(document: &Path) -> BTreeSet<PathBuf> {
    let folder = folder(document);
    let mut files = BTreeSet::new();
    if !folder.is_dir() {
        return files;
    }
    if let Ok(file) = open_ordinary(document) {
        let mut tags = Tags::new(BufReader::new(file));
        while let Ok(tag) = tags.next() {
            match tag {
                Tag::Start(element) => files.extend(element.get("file").and_then(|name| {
                    let (own, file) = name.split_once('/')?;
                    let path = folder.join(file);
                    (folder.file_name()?.to_str()? == own && is_data_file(file)).then_some(path)
                })),
                Tag::Eof => break,
                Tag::End | Tag::Text(_) => {}
            }
        }
    }
    let abandoned = |path: &Path| {
        let changed = fs::symlink_metadata(path).and_then(|found| found.modified());
        changed
            .ok()
            .and_then(|at| at.elapsed().ok())
            .is_some_and(|age| age > WRITING)
    };
    let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
    files.extend(
        entries
            .filter(|entry| is_data_file(&entry.file_name().to_string_lossy()))
            .map(|entry| entry.path())
            .filter(|path| abandoned(path)),
    );
    files
}

/// Whether a file has a name as [`write`] gives them: `...-CHECKSUM-NUMBER.bin`.
fn is_data_file(name: &str) -> bool {
    let mut parts = name.strip_suffix(ENDING).unwrap_or("").rsplitn(3, '-');
    let number = parts.next().unwrap_or("");
    let checksum = parts.next().unwrap_or("");
    let stem = parts.next();
    stem.is_some_and(|stem| !stem.contains(['/', '\\']))
        && !number.is_empty()
        && number.bytes().all(|byte| byte.is_ascii_digit())
        && checksum.len() == 8
        && checksum.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// What tells one file from the one that replaces it, while it is open.
pub(super) fn identity(file: &File) -> Option<(u64, u64)> {
    file.metadata().ok().map(|found| identity_of(&found))
}

/// As [`identity`], of the file that has this name now.
pub(super) fn identity_at(path: &Path) -> Option<(u64, u64)> {
    fs::metadata(path).ok().map(|found| identity_of(&found))
}

#[cfg(unix)]
fn identity_of(found: &fs::Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;
    (found.dev(), found.ino())
}

#[cfg(not(unix))]
fn identity_of(found: &fs::Metadata) -> (u64, u64) {
    let changed = found
        .modified()
        .ok()
        .and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    (found.len(), changed.map_or(0, |at| at.as_nanos() as u64))
}
