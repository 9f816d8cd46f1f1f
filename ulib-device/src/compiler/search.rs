//! Where NVRTC is, and the folders in which libraries of the toolkit are.

use super::absence::NoCompiler;
use super::library::COMPILER_VARIABLE;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Names under which NVRTC is installed, newest first, with the CUDA version each is of.
#[cfg(not(windows))]
pub(super) const NAMES: &[(&str, i32)] = &[
    ("libnvrtc.so.13", 13),
    ("libnvrtc.so.12", 12),
    ("libnvrtc.so.11.2", 11),
    ("libnvrtc.so", 0),
];
/// As above.
#[cfg(windows)]
pub(super) const NAMES: &[(&str, i32)] = &[
    ("nvrtc64_130_0.dll", 13),
    ("nvrtc64_120_0.dll", 12),
    ("nvrtc64_112_0.dll", 11),
];

/// Folders called `nvidia` that hold NVIDIA's Python packages.
static PACKAGES: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Adds a folder called `nvidia` in which NVIDIA's Python packages (`cuda_nvrtc`, `cu13`, ...) may be; for who knows where
/// those are, which is an interpreter. It counts for compilers that are looked for later.
pub fn add_packages(folder: impl Into<PathBuf>) {
    let folder = folder.into();
    let mut known = PACKAGES.lock().unwrap_or_else(PoisonError::into_inner);
    if !known.contains(&folder) {
        known.push(folder);
    }
}

/// The folders of [`add_packages`], then those of the virtual environment.
pub(super) fn packages() -> Vec<PathBuf> {
    let mut found = PACKAGES
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clone();
    if let Some(root) = std::env::var_os("VIRTUAL_ENV") {
        let mut versions = folders_in(&Path::new(&root).join("lib"));
        versions.retain(|path| path.join("site-packages/nvidia").is_dir());
        found.extend(
            versions
                .into_iter()
                .map(|path| path.join("site-packages/nvidia")),
        );
    }
    found
}

pub(super) fn folders_in(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut found: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.is_dir())
        .collect();
    found.sort();
    found
}

/// Installed toolkits: where variables say, then the usual place.
pub(super) fn toolkits() -> Vec<PathBuf> {
    ["CUDA_HOME", "CUDA_PATH", "CUDA_ROOT"]
        .iter()
        .filter_map(std::env::var_os)
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
        .chain([PathBuf::from("/usr/local/cuda")])
        .collect()
}

pub(super) fn conda() -> Option<PathBuf> {
    std::env::var_os("CONDA_PREFIX")
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
}

/// Folders of the system's loader.
fn system() -> Vec<PathBuf> {
    let listed: OsString = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    std::env::split_paths(&listed)
        .filter(|path| path.is_absolute())
        .chain(
            [
                "/usr/lib/x86_64-linux-gnu",
                "/usr/lib/aarch64-linux-gnu",
                "/usr/lib64",
                "/usr/lib",
            ]
            .map(PathBuf::from),
        )
        .collect()
}

/// The folders of a toolkit's libraries.
pub(super) fn of_root(root: &Path) -> [PathBuf; 4] {
    ["lib64", "targets/x86_64-linux/lib", "lib", "bin"].map(|part| root.join(part))
}

/// Folders in which the library may be, in the order in which they count.
pub(super) fn libraries() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in packages() {
        found.extend([folder.join("cu13/lib"), folder.join("cuda_nvrtc/lib")]);
        if cfg!(windows) {
            found.extend([
                folder.join("cu13/bin/x86_64"),
                folder.join("cuda_nvrtc/bin"),
            ]);
        }
    }
    if let Some(root) = conda() {
        found.extend([root.join("lib"), root.join("targets/x86_64-linux/lib")]);
    }
    found.extend(system());
    for root in toolkits() {
        found.extend(of_root(&root));
    }
    found
}

/// What the search found.
#[derive(Debug)]
pub(super) enum Found {
    /// This file.
    File(PathBuf),
    /// What the system's loader knows under one of [`NAMES`].
    Loader,
}

/// The file that the variable names, or the first one installed; of CUDA `newest` or older if that is given and there is
/// such a one.
pub(super) fn find(newest: Option<i32>) -> Result<Found, NoCompiler> {
    if let Some(value) = std::env::var_os(COMPILER_VARIABLE) {
        let text = value.to_string_lossy();
        if matches!(text.trim(), "" | "none") {
            return Err(NoCompiler::Disabled {
                by: COMPILER_VARIABLE.to_owned(),
            });
        }
        return Ok(Found::File(PathBuf::from(value)));
    }
    let folders = libraries();
    let fits = |of: i32| newest.is_none_or(|newest| of <= newest);
    for pass in [true, false] {
        for folder in &folders {
            for &(name, of) in NAMES {
                let path = folder.join(name);
                if fits(of) == pass && path.is_file() {
                    return Ok(Found::File(path));
                }
            }
        }
    }
    Ok(Found::Loader)
}

/// The places that [`find`] looks at, in words.
pub(super) fn places() -> Vec<String> {
    let mut places: Vec<String> = Vec::new();
    for folder in libraries() {
        let text = folder.display().to_string();
        if !places.contains(&text) {
            places.push(text);
        }
    }
    places.push("the system's loader".to_owned());
    places
}
