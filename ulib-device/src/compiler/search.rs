//! Where NVRTC, the device runtime and cuRAND are.

use super::absence::NoCompiler;
use super::library::{COMPILER_VARIABLE, Compiler};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use ulib_core::{Error, ErrorKind, Result};

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

/// Folders in which the library may be, in the order in which they count.
fn libraries() -> Vec<PathBuf> {
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
        found.extend(
            ["lib64", "targets/x86_64-linux/lib", "lib", "bin"].map(|part| root.join(part)),
        );
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

/// A library of the toolkit that is not NVRTC.
pub(super) struct Part<'a> {
    /// Its files, the best first.
    pub(super) files: &'a [String],
    /// Its folders among the packages of Python.
    pub(super) packages: &'a [&'a str],
    /// What brings it.
    pub(super) brought_by: &'a str,
}

impl Part<'_> {
    /// Its file: in `folder` alone if that is given; else beside the compiler at `compiler`, so that both are of one version, or
    /// where the toolkit's libraries are.
    ///
    /// # Errors
    /// Kind `Unavailable`, with the places looked at.
    pub(super) fn find(&self, folder: Option<&Path>, compiler: Option<&Path>) -> Result<PathBuf> {
        let mut places = Vec::new();
        if let Some(folder) = folder {
            places.push(folder.to_path_buf());
        } else {
            if let Some(beside) = compiler.and_then(Path::parent) {
                places.push(beside.to_path_buf());
                let nvidia = beside.ancestors().nth(2);
                let nvidia = nvidia.filter(|_| beside.ends_with("cuda_nvrtc/lib"));
                places.extend(
                    nvidia
                        .iter()
                        .flat_map(|nvidia| self.packages.iter().map(|part| nvidia.join(part))),
                );
            }
            for nvidia in packages() {
                places.extend(self.packages.iter().map(|part| nvidia.join(part)));
            }
            places.extend(libraries());
        }
        let mut tried: Vec<String> = Vec::new();
        for place in &places {
            let found = self.files.iter().map(|file| place.join(file));
            if let Some(found) = found.into_iter().find(|path| path.is_file()) {
                return Ok(found);
            }
            let place = place.display().to_string();
            if !tried.contains(&place) {
                tried.push(place);
            }
        }
        Err(Error::new(
            ErrorKind::Unavailable,
            format!(
                "{} is in none of {}; {}",
                self.files.join(" or "),
                tried.join(", "),
                self.brought_by
            ),
        ))
    }
}

/// A static library of the toolkit, such as `cudadevrt`, which kernels that launch kernels are linked with: in `folder` if that is
/// given, else where the toolkit's libraries are, first beside the compiler `of`, whose version it should have.
///
/// # Errors
/// Kind `Unavailable`, with the places looked at.
pub fn toolkit_library(
    name: &str,
    folder: Option<&Path>,
    of: Option<&Compiler>,
) -> Result<PathBuf> {
    let file = if cfg!(windows) {
        format!("{name}.lib")
    } else {
        format!("lib{name}.a")
    };
    Part {
        files: &[file],
        packages: &["cu13/lib", "cuda_runtime/lib"],
        brought_by: "the Python package nvidia-cuda-runtime (nvidia-cuda-runtime-cu12) and the CUDA toolkit have libcudadevrt.a",
    }
    .find(folder, of.map(Compiler::path))
}

/// The file of cuRAND, whose tables quasirandom generators need.
///
/// # Errors
/// Kind `Unavailable`, with the places looked at.
pub fn curand_library() -> Result<PathBuf> {
    let names: &[&str] = if cfg!(windows) {
        &["curand64_10.dll"]
    } else {
        &["libcurand.so.10", "libcurand.so"]
    };
    let files: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    Part {
        files: &files,
        packages: &["cu13/lib", "curand/lib", "cu13/bin/x86_64", "curand/bin"],
        brought_by: "`pip install ulib[curand12]` (or [curand13]) brings it, and the CUDA toolkit has it",
    }
    .find(None, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(file: &str) -> Vec<String> {
        vec![file.to_owned()]
    }

    #[test]
    fn parts_are_found_in_every_layout_and_rather_beside_the_compiler() {
        let root = std::env::temp_dir().join(format!("ulib-parts-{}", std::process::id()));
        let files = part("libpart.a");
        let find = |compiler: &str| {
            let wanted = Part {
                files: &files,
                packages: &["cu13/lib", "cuda_runtime/lib"],
                brought_by: "nobody",
            };
            wanted.find(None, Some(&root.join(compiler)))
        };
        for (compiler, library) in [
            ("a/cu13/lib/libnvrtc.so.13", "a/cu13/lib"),
            ("b/cuda_nvrtc/lib/libnvrtc.so.12", "b/cuda_runtime/lib"),
            ("c/lib64/libnvrtc.so", "c/lib64"),
            (
                "d/targets/x86_64-linux/lib/libnvrtc.so",
                "d/targets/x86_64-linux/lib",
            ),
        ] {
            assert!(find(compiler).is_err(), "{compiler}");
            let folder = root.join(library);
            let made = std::fs::create_dir_all(&folder)
                .and_then(|()| std::fs::write(folder.join("libpart.a"), ""));
            assert!(made.is_ok(), "{made:?}");
            assert_eq!(find(compiler).ok(), Some(folder.join("libpart.a")));
        }
        let elsewhere = root.join("empty");
        let error = Part {
            files: &files,
            packages: &[],
            brought_by: "nobody",
        }
        .find(Some(&elsewhere), None)
        .map(|_| String::new())
        .unwrap_or_else(|error| error.to_string());
        assert_eq!(
            error,
            format!("libpart.a is in none of {}; nobody", elsewhere.display())
        );
        let _ = std::fs::remove_dir_all(root);
    }
}
