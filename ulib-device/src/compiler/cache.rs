//! Compiled programs kept on disk.
//!
//! An entry is a file of its own, named by a hash of everything that its content depends on, written under another name and
//! renamed, so that any number of processes can share a folder. Each ends with a hash of itself: one that is damaged is removed
//! and made anew. Nothing here fails: a cache that cannot be read or written is an empty one.

use super::image::{Image, ImageKind};
use super::includes::{Headers, Stamp};
use crate::module::{Declared, ParameterKind};
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};
use twox_hash::XxHash3_128;

/// The environment variable that names the folder of the cache; empty or `none` disables it.
pub const CACHE_VARIABLE: &str = "ULIB_CACHE_DIR";

/// Bytes a cache keeps unless told otherwise.
const LIMIT: u64 = 512 << 20;
/// How many entries a process writes between two looks at the size of the folder.
const LOOK_EVERY: u32 = 16;
/// How old the mark of the last use may be before it is set again.
const USED: Duration = Duration::from_secs(3600);
/// After this time nobody is still writing a file under a temporary name.
const ABANDONED: Duration = Duration::from_secs(3600);

const HASH: usize = size_of::<u128>();
const MAGIC: &[u8] = b"uLib kept 1\n";

/// What entries hold, by the ends of their names.
const IMAGE: &str = "image";
const HEADERS: &str = "headers";
/// What was found out, such as best configurations.
const TUNED: &str = "tuned";
const UNFINISHED: &str = "unfinished";

/// A folder of compiled programs, or none.
///
/// # Examples
/// ```
/// use ulib_device::compiler::Cache;
///
/// let cache = Cache::at("/tmp/kernels").with_limit(1 << 20);
/// assert_eq!(cache.folder(), Some(std::path::Path::new("/tmp/kernels")));
/// assert!(Cache::none().folder().is_none());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    folder: Option<PathBuf>,
    limit: u64,
}

impl Default for Cache {
    fn default() -> Self {
        Self::usual()
    }
}

impl Cache {
    /// The folder that [`CACHE_VARIABLE`] names, else `ulib/kernels` where the user's caches are.
    #[must_use]
    pub fn usual() -> Self {
        let variable = |name| std::env::var_os(name).map(PathBuf::from);
        if let Some(folder) = variable(CACHE_VARIABLE) {
            let off = folder.as_os_str().is_empty() || folder == Path::new("none");
            return if off { Self::none() } else { Self::at(folder) };
        }
        let home = if cfg!(windows) {
            variable("LOCALAPPDATA")
        } else {
            variable("XDG_CACHE_HOME")
                .filter(|folder| folder.is_absolute())
                .or_else(|| Some(variable("HOME")?.join(".cache")))
        };
        home.map_or_else(Self::none, |home| Self::at(home.join("ulib/kernels")))
    }

    /// This folder; made when something is written.
    #[must_use]
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: Some(folder.into()),
            limit: LIMIT,
        }
    }

    /// Nothing is kept.
    #[must_use]
    pub fn none() -> Self {
        Self {
            folder: None,
            limit: LIMIT,
        }
    }

    /// Keeps at most about this many bytes (512 MiB unless said): what was not used for longest goes first.
    #[must_use]
    pub fn with_limit(mut self, bytes: u64) -> Self {
        self.limit = bytes;
        self
    }

    /// The folder.
    #[must_use]
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    fn path(&self, key: u128, what: &str) -> Option<PathBuf> {
        Some(self.folder.as_ref()?.join(format!("{key:032x}.{what}")))
    }

    /// The content of an entry.
    fn get(&self, key: u128, what: &str) -> Option<Vec<u8>> {
        let path = self.path(key, what)?;
        let mut bytes = fs::read(&path).ok()?;
        let Some(body) = checked(&bytes) else {
            // Half of it lost with a full disk, or changed by somebody else.
            let _ = fs::remove_file(&path);
            return None;
        };
        let length = body.len();
        mark_used(&path);
        bytes.drain(..MAGIC.len());
        bytes.truncate(length);
        Some(bytes)
    }

    /// Makes an entry, or replaces it.
    fn put(&self, key: u128, what: &str, body: &[u8]) {
        static WRITTEN: AtomicU32 = AtomicU32::new(0);
        let (Some(path), Some(folder)) = (self.path(key, what), &self.folder) else {
            return;
        };
        let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
        let process = std::process::id();
        let temporary = folder.join(format!("{key:032x}-{process}-{number}.{UNFINISHED}"));
        let write = || -> std::io::Result<()> {
            fs::create_dir_all(folder)?;
            let mut file = fs::OpenOptions::new()
                .write(true)
                .create_new(true)
                .open(&temporary)?;
            file.write_all(MAGIC)?;
            file.write_all(body)?;
            file.write_all(&XxHash3_128::oneshot(body).to_le_bytes())?;
            drop(file);
            fs::rename(&temporary, &path)
        };
        if let Err(error) = write() {
            log::debug!(
                "the compiled program is not kept in {}: {error}",
                folder.display()
            );
            let _ = fs::remove_file(&temporary);
        }
        if number.is_multiple_of(LOOK_EVERY) {
            self.trim();
        }
    }

    /// Removes what was not used for longest until at most three quarters of the limit are left, if there is more than the
    /// limit; and what was never finished. Happens by itself now and then.
    pub fn trim(&self) {
        let Some(entries) = self
            .folder
            .as_ref()
            .and_then(|folder| fs::read_dir(folder).ok())
        else {
            return;
        };
        let now = SystemTime::now();
        let mut kept = Vec::new();
        for entry in entries.flatten() {
            let path = entry.path();
            let Some(end) = path.extension().and_then(|end| end.to_str()) else {
                continue;
            };
            let Ok(data) = entry.metadata() else { continue };
            let used = data.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            if end == UNFINISHED {
                if now.duration_since(used).is_ok_and(|age| age > ABANDONED) {
                    let _ = fs::remove_file(&path);
                }
            } else if [IMAGE, HEADERS, TUNED].contains(&end) {
                kept.push((used, data.len(), path));
            }
        }
        let mut total: u64 = kept.iter().map(|(_, bytes, _)| bytes).sum();
        if total <= self.limit {
            return;
        }
        kept.sort();
        for (_, bytes, path) in kept {
            if total <= self.limit / 4 * 3 {
                break;
            }
            // Another process may have been faster.
            let _ = fs::remove_file(&path);
            total -= bytes;
        }
    }

    /// What was found out before, and kept under this key.
    #[must_use]
    pub fn recall(&self, key: &str) -> Option<Vec<u8>> {
        self.get(XxHash3_128::oneshot(key.as_bytes()), TUNED)
    }

    /// Keeps something that was found out, such as which of several kernels is fastest. The key says all that it depends on.
    pub fn remember(&self, key: &str, what: &[u8]) {
        self.put(XxHash3_128::oneshot(key.as_bytes()), TUNED, what);
    }

    pub(super) fn image(&self, key: u128) -> Option<Image> {
        let mut image = image_from(&self.get(key, IMAGE)?)?;
        image.cached = true;
        Some(image)
    }

    pub(super) fn keep_image(&self, key: u128, image: &Image) {
        if self.folder.is_some() {
            self.put(key, IMAGE, &image_bytes(image));
        }
    }

    pub(super) fn headers(&self, key: u128) -> Option<Headers> {
        headers_from(&self.get(key, HEADERS)?)
    }

    pub(super) fn keep_headers(&self, key: u128, headers: &Headers) {
        if self.folder.is_some() {
            self.put(key, HEADERS, &headers_bytes(headers));
        }
    }
}

/// The content of a file, if it is whole.
fn checked(bytes: &[u8]) -> Option<&[u8]> {
    let rest = bytes.strip_prefix(MAGIC)?;
    let (body, hash) = rest.split_at_checked(rest.len().checked_sub(HASH)?)?;
    (XxHash3_128::oneshot(body).to_le_bytes() == hash).then_some(body)
}

/// Notes that the file was used, so that it goes later; now and then is enough.
fn mark_used(path: &Path) {
    let now = SystemTime::now();
    let old = fs::metadata(path)
        .and_then(|data| data.modified())
        .ok()
        .and_then(|time| now.duration_since(time).ok())
        .is_some_and(|age| age > USED);
    if old && let Ok(file) = fs::OpenOptions::new().append(true).open(path) {
        let _ = file.set_modified(now);
    }
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
    out.extend_from_slice(bytes);
}

/// Reads what [`put_bytes`] and its like wrote.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*head)
    }

    fn number(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        let (head, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(head)
    }

    fn text(&mut self) -> Option<String> {
        String::from_utf8(self.bytes()?.to_vec()).ok()
    }

    /// As many items as a number says; each takes bytes, so a wrong number ends soon.
    fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = self.number()?;
        let mut items = Vec::new();
        for _ in 0..count {
            items.push(item(self)?);
        }
        Some(items)
    }
}

/// The form in which images are written, in the place where the first form had 0 or 1; others are made anew.
const FORM: u64 = 2;

/// Kinds of parameters by their numbers in entries.
const KINDS: [ParameterKind; 4] = [
    ParameterKind::Unknown,
    ParameterKind::Integer,
    ParameterKind::Float,
    ParameterKind::Struct,
];

fn image_bytes(image: &Image) -> Vec<u8> {
    let mut out = Vec::with_capacity(image.bytes.len() + image.log.len() + 64);
    out.extend_from_slice(&FORM.to_le_bytes());
    out.extend_from_slice(&u64::from(image.kind == ImageKind::Ptx).to_le_bytes());
    put_bytes(&mut out, &image.bytes);
    put_bytes(&mut out, image.log.as_bytes());
    out.extend_from_slice(&(image.names.len() as u64).to_le_bytes());
    for (name, lowered) in &image.names {
        put_bytes(&mut out, name.as_bytes());
        put_bytes(&mut out, lowered.as_bytes());
    }
    let signatures = image.signatures.sorted();
    out.extend_from_slice(&(signatures.len() as u64).to_le_bytes());
    for (name, parameters) in signatures {
        put_bytes(&mut out, name.as_bytes());
        out.extend_from_slice(&(parameters.len() as u64).to_le_bytes());
        for declared in parameters {
            let kind = KINDS.iter().position(|kind| *kind == declared.kind);
            out.push(kind.unwrap_or(0) as u8);
            out.extend_from_slice(&declared.size.to_le_bytes());
            out.extend_from_slice(&declared.align.to_le_bytes());
        }
    }
    out
}

fn declared_from(reader: &mut Reader<'_>) -> Option<Declared> {
    let [kind] = reader.array()?;
    Some(Declared {
        kind: *KINDS.get(usize::from(kind))?,
        size: u32::from_le_bytes(reader.array()?),
        align: u32::from_le_bytes(reader.array()?),
    })
}

fn image_from(bytes: &[u8]) -> Option<Image> {
    let mut reader = Reader(bytes);
    if reader.number()? != FORM {
        return None;
    }
    let kind = match reader.number()? {
        0 => ImageKind::Cubin,
        1 => ImageKind::Ptx,
        _ => return None,
    };
    let image = Image {
        kind,
        bytes: reader.bytes()?.to_vec(),
        log: reader.text()?,
        names: reader.list(|reader| Some((reader.text()?, reader.text()?)))?,
        signatures: reader
            .list(|reader| {
                let name = reader.text()?.into_boxed_str();
                Some((name, reader.list(declared_from)?.into_boxed_slice()))
            })?
            .into_iter()
            .collect(),
        cached: false,
    };
    reader.0.is_empty().then_some(image)
}

fn headers_bytes(headers: &Headers) -> Vec<u8> {
    let mut out = Vec::new();
    out.extend_from_slice(&headers.content.to_le_bytes());
    out.extend_from_slice(&(headers.files.len() as u64).to_le_bytes());
    for (path, stamp) in &headers.files {
        put_bytes(&mut out, path.as_os_str().as_encoded_bytes());
        out.extend_from_slice(&stamp.size.to_le_bytes());
        out.extend_from_slice(&stamp.nanoseconds.to_le_bytes());
    }
    out.extend_from_slice(&(headers.absent.len() as u64).to_le_bytes());
    for path in &headers.absent {
        put_bytes(&mut out, path.as_os_str().as_encoded_bytes());
    }
    out.extend_from_slice(&(headers.own.len() as u64).to_le_bytes());
    for name in &headers.own {
        put_bytes(&mut out, name.as_bytes());
    }
    out
}

/// A path that is no UTF-8 is not found again, and the program is looked through anew.
fn headers_from(bytes: &[u8]) -> Option<Headers> {
    let mut reader = Reader(bytes);
    let headers = Headers {
        content: u128::from_le_bytes(reader.array()?),
        files: reader.list(|reader| {
            let path = PathBuf::from(reader.text()?);
            let stamp = Stamp {
                size: reader.number()?,
                nanoseconds: reader.number()?,
            };
            Some((path, stamp))
        })?,
        absent: reader.list(|reader| reader.text().map(PathBuf::from))?,
        own: reader.list(Reader::text)?,
        unknown: false,
    };
    reader.0.is_empty().then_some(headers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::module::Signatures;

    #[test]
    fn images_and_headers_are_read_as_they_were_written() {
        let image = Image {
            kind: ImageKind::Ptx,
            bytes: b".version 7.0".to_vec(),
            names: vec![("f<int>".into(), "_Z1fIiEvv".into())],
            signatures: Signatures::of(
                ".entry f(.param .f32 a, .param .align 8 .b8 b[16]) .entry g",
            ),
            log: "a warning".into(),
            cached: false,
        };
        let bytes = image_bytes(&image);
        assert_eq!(image_from(&bytes), Some(image));
        let headers = Headers {
            files: vec![(
                PathBuf::from("/a/b.h"),
                Stamp {
                    size: 3,
                    nanoseconds: 7,
                },
            )],
            absent: vec![PathBuf::from("c.h")],
            own: vec!["stdint.h".into()],
            content: 12345,
            unknown: false,
        };
        assert_eq!(headers_from(&headers_bytes(&headers)), Some(headers));
        for end in 0..bytes.len() {
            assert_eq!(image_from(&bytes[..end]), None, "cut at {end}");
        }
        assert_eq!(image_from(&bytes[8..]), None, "as it was written before");
    }
}
