//! [`AtomicFile`]: a file that appears whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use ulib_core::{Context, Error, Result};

/// Links that are followed before they count as going round.
const LINKS: usize = 40;

/// The longest name that temporary files repeat, in bytes.
const LONGEST: usize = 200;

/// Numbers of temporary files of this process.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// A file being written, under a temporary name in the folder of its place; [`commit`](AtomicFile::commit) gives it
/// its own name, which replaces what was there in one step. Dropped without that, it is removed and what was there stays.
///
/// Readers see the old file or the new one. An error, or the end of the program, leaves the old one (a program that is
/// killed leaves the temporary file, too). Whether a loss of power does is up to the file system unless
/// [`sync`](AtomicFile::sync) is called first.
///
/// The permissions of a file that is replaced are kept. A symbolic link stays: the file it points at is replaced.
///
/// ```
/// use std::io::Write;
/// use ulib_math::io::AtomicFile;
///
/// let path = std::env::temp_dir().join(format!("ulib-atomic-{}.txt", std::process::id()));
/// let file = AtomicFile::create(&path)?;
/// file.file().write_all(b"all of it").unwrap();
/// assert!(!path.exists());
/// file.commit()?;
/// assert_eq!(std::fs::read(&path).unwrap(), b"all of it");
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), ulib_core::Error>(())
/// ```
#[derive(Debug)]
pub struct AtomicFile {
    file: File,
    temporary: PathBuf,
    place: PathBuf,
    committed: bool,
}

impl AtomicFile {
    /// Starts a file that will be at `path`.
    ///
    /// # Errors
    /// `Io` when the folder or the file that is there cannot be written to, or when something that is not an ordinary file has
    /// this name.
    pub fn create(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        start(path)
            .map_err(|error| Error::io("create", error))
            .with_context(|| format!("writing {}", path.display()))
    }

    /// The file, to be written.
    #[must_use]
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Where the file will be: its name, or what a symbolic link of this name leads to.
    #[must_use]
    pub fn place(&self) -> &Path {
        &self.place
    }

    /// Waits until what was written is on the disk itself.
    ///
    /// # Errors
    /// `Io` when the disk fails.
    pub fn sync(&self) -> Result<()> {
        self.file
            .sync_all()
            .map_err(|error| self.error("synchronise", error))
    }

    /// Gives the file its name.
    ///
    /// # Errors
    /// `Io` when that fails; what was there stays, and the temporary file is removed.
    pub fn commit(mut self) -> Result<()> {
        fs::rename(&self.temporary, &self.place).map_err(|error| self.error("rename", error))?;
        self.committed = true;
        Ok(())
    }

    fn error(&self, op: &'static str, error: io::Error) -> Error {
        Error::io(op, error).context(format!("writing {}", self.place.display()))
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if !self.committed {
            // There is nobody to tell, and the name says that it is temporary.
            let _ = fs::remove_file(&self.temporary);
        }
    }
}

fn start(path: &Path) -> io::Result<AtomicFile> {
    let place = behind_links(path)?;
    let old = match fs::metadata(&place) {
        Ok(old) if old.is_file() => {
            // One that may not be written is not replaced, either.
            OpenOptions::new().write(true).open(&place)?;
            Some(old.permissions())
        }
        Ok(_) => {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "something that is not a regular file has this name",
            ));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let name = place
        .file_name()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "no file name"))?;
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let mut own = std::ffi::OsString::from(".");
        // A name as long as names may be has no room for more.
        if name.len() <= LONGEST {
            own.push(name);
        }
        own.push(format!(".{}-{number}.tmp", process::id()));
        let temporary = place.with_file_name(own);
        // Never one that is there already: it is somebody else's, or a link laid for us.
        let opened = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .open(&temporary);
        let file = match opened {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            Err(error) => return Err(error),
        };
        let started = AtomicFile {
            file,
            temporary,
            place,
            committed: false,
        };
        if let Some(permissions) = old {
            fs::set_permissions(&started.temporary, permissions)?;
        }
        return Ok(started);
    }
}

/// Where a name leads, which need not exist.
pub(crate) fn behind_links(path: &Path) -> io::Result<PathBuf> {
    let mut place = path.to_path_buf();
    for _ in 0..LINKS {
        match fs::symlink_metadata(&place) {
            Ok(found) if found.is_symlink() => {
                // A relative link counts from its own folder; `join` takes an absolute one as it is.
                let target = fs::read_link(&place)?;
                place = place.parent().unwrap_or(Path::new("")).join(target);
            }
            _ => return Ok(place),
        }
    }
    Err(io::Error::other("too many symbolic links"))
}
