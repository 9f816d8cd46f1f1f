//! Where the device runtime and cuRAND are: libraries of the toolkit that are not the compiler.

use super::library::Compiler;
use super::{search, toolkit};
use std::path::{Path, PathBuf};
use ulib_core::{Error, ErrorKind, Result};

/// A library of the toolkit that is not NVRTC.
struct Part<'a> {
    /// Its files, the best first.
    files: &'a [String],
    /// Its folders among the packages of Python.
    packages: &'a [&'a str],
    /// What brings it.
    brought_by: &'a str,
}

impl Part<'_> {
    /// Its file: in `folder` alone if that is given; else in the toolkit or package of the compiler at `compiler`, or where the
    /// toolkit's libraries are, but never one that belongs to another CUDA version than that compiler.
    ///
    /// # Errors
    /// Kind `Unavailable`, with the places looked at.
    fn find(&self, folder: Option<&Path>, compiler: Option<&Path>) -> Result<PathBuf> {
        if let Some(folder) = folder {
            return self.pick(&[folder.to_path_buf()], None);
        }
        let mut places = Vec::new();
        if let Some(beside) = compiler.and_then(Path::parent) {
            places.push(beside.to_path_buf());
            if beside.ends_with("cuda_nvrtc/lib") {
                let nvidia = beside.ancestors().nth(2);
                places.extend(nvidia.iter().flat_map(|nvidia| self.in_packages(nvidia)));
            }
            places.extend(
                beside
                    .parent()
                    .iter()
                    .flat_map(|root| search::of_root(root)),
            );
        }
        let packages = search::packages();
        places.extend(packages.iter().flat_map(|nvidia| self.in_packages(nvidia)));
        places.extend(search::libraries());
        places.extend(toolkit::all().iter().flat_map(|root| search::of_root(root)));
        self.pick(&places, compiler.and_then(toolkit::major_of_compiler))
    }

    fn in_packages(&self, nvidia: &Path) -> impl Iterator<Item = PathBuf> {
        self.packages.iter().map(|part| nvidia.join(part))
    }

    /// The first that is there and is of this version, or else of one that nobody knows.
    fn pick(&self, places: &[PathBuf], major: Option<i32>) -> Result<PathBuf> {
        let files = places
            .iter()
            .flat_map(|place| self.files.iter().map(|file| place.join(file)));
        let (mut unknown, mut others) = (None, Vec::new());
        for file in files.filter(|path| path.is_file()) {
            let of = file.parent().and_then(toolkit::major_of_libraries);
            match (major, of) {
                (Some(major), Some(of)) if of != major => {
                    let other = format!("{} is of CUDA {of}", file.display());
                    if !others.contains(&other) {
                        others.push(other);
                    }
                }
                (Some(_), None) => {
                    unknown.get_or_insert(file);
                }
                _ => return Ok(file),
            }
        }
        if let Some(file) = unknown {
            return Ok(file);
        }
        let mut tried: Vec<String> = Vec::new();
        for place in places {
            let place = place.display().to_string();
            if !tried.contains(&place) {
                tried.push(place);
            }
        }
        let name = self.files.join(" or ");
        let text = match major.filter(|_| !others.is_empty()) {
            Some(major) => format!(
                "{name} of CUDA {major}, the compiler's version, is in none of {} ({}); {}",
                tried.join(", "),
                others.join(", "),
                self.brought_by
            ),
            None => format!(
                "{name} is in none of {}; {}",
                tried.join(", "),
                self.brought_by
            ),
        };
        Err(Error::new(ErrorKind::Unavailable, text))
    }
}

/// A static library of the toolkit, such as `cudadevrt`, which kernels that launch kernels are linked with: in `folder` if that is
/// given, else where the toolkit's libraries are, first beside the compiler `of`, whose major version it has: code of one version
/// is not linked with the runtime of another.
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
        brought_by: "`pip install nvidia-curand-cu12` (for CUDA 13 nvidia-curand) brings it, and the CUDA toolkit has it",
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

    /// The version that counts is the compiler's, which its name or its toolkit tells.
    #[test]
    fn a_library_of_another_version_is_not_taken() {
        let root = std::env::temp_dir().join(format!("ulib-versions-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&root);
        let files = part("libpart.a");
        let wanted = Part {
            files: &files,
            packages: &["cu13/lib", "cuda_runtime/lib"],
            brought_by: "nobody",
        };
        let write = |name: &str, text: &str| {
            let path = root.join(name);
            let made = std::fs::create_dir_all(path.parent().unwrap_or(&root))
                .and_then(|()| std::fs::write(path, text));
            assert!(made.is_ok(), "{made:?}");
        };
        let version = |folder: &str, version: &str| {
            write(
                &format!("{folder}/include/cuda.h"),
                &format!("#define CUDA_VERSION {version}\n"),
            );
        };
        let layouts = [
            ("p/nvidia/cuda_runtime", "lib", 12),
            ("thirteen", "lib64", 13),
            ("twelve", "targets/x86_64-linux/lib", 12),
            ("eleven", "lib", 11),
        ];
        for (folder, libraries, major) in layouts {
            version(folder, &format!("{major}040"));
            write(&format!("{folder}/{libraries}/libpart.a"), "");
        }
        write("q/nvidia/cu13/lib/libpart.a", "");
        write("system/lib/libpart.a", "");
        let places = |order: &[&str]| order.iter().map(|name| root.join(name)).collect::<Vec<_>>();
        let pick = |order: &[&str], major: Option<i32>| {
            let found = wanted.pick(&places(order), major).ok()?;
            let found = found.strip_prefix(&root).ok()?.parent()?;
            Some(found.to_string_lossy().into_owned())
        };
        let all = [
            "system/lib",
            "nowhere/lib",
            "eleven/lib",
            "thirteen/lib64",
            "q/nvidia/cu13/lib",
            "twelve/targets/x86_64-linux/lib",
            "p/nvidia/cuda_runtime/lib",
        ];
        for (major, expected) in [
            (Some(11), "eleven/lib"),
            (Some(12), "twelve/targets/x86_64-linux/lib"),
            (Some(13), "thirteen/lib64"),
            // Of a version that nobody has, or that nobody knows.
            (Some(14), "system/lib"),
            (None, "system/lib"),
        ] {
            assert_eq!(pick(&all, major).as_deref(), Some(expected), "{major:?}");
        }
        assert_eq!(
            pick(&all[4..], Some(13)).as_deref(),
            Some("q/nvidia/cu13/lib")
        );
        assert_eq!(
            pick(&all[6..], Some(12)).as_deref(),
            Some("p/nvidia/cuda_runtime/lib")
        );
        let error = wanted.pick(&places(&["thirteen/lib64", "nowhere/lib"]), Some(12));
        let text = error.map_or_else(|error| error.to_string(), |_| String::new());
        let at = |name: &str| root.join(name).display().to_string();
        assert_eq!(
            text,
            format!(
                "libpart.a of CUDA 12, the compiler's version, is in none of {}, {} ({} is of CUDA 13); nobody",
                at("thirteen/lib64"),
                at("nowhere/lib"),
                at("thirteen/lib64/libpart.a")
            )
        );
        // Beside a compiler whose name tells nothing: the toolkit around it does, nvcc's as well.
        for compiler in ["twelve/lib64/libnvrtc.so", "twelve/bin/nvcc"] {
            let found = wanted.find(None, Some(&root.join(compiler)));
            assert_eq!(
                found.ok(),
                Some(root.join("twelve/targets/x86_64-linux/lib/libpart.a"))
            );
        }
        let _ = std::fs::remove_dir_all(root);
    }
}
