//! Compiled programs kept on disk.
//!
//! An entry is a file of its own, named by a hash of everything that its content depends on, written under another name and
//! renamed, so that any number of processes can share a folder. Each ends with a hash of itself: one that is damaged is removed
//! and made anew. Nothing here fails: a cache that cannot be read or written is an empty one.

use super::entries::{headers_bytes, headers_from, image_bytes, image_from};
use super::image::Image;
use super::includes::Headers;
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
