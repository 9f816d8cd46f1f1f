//! Where the toolkit's headers are: beside the compiler, in NVIDIA's Python packages, in installed toolkits.

use super::search;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Where toolkits of several versions are installed side by side, as `cuda-13.0`.
const SIDE_BY_SIDE: &str = "/usr/local";
/// Bytes of a file that are read for the version in it.
const MOST: u64 = 4 << 20;

/// The folders of the toolkit's headers that go with the library at `library`, the first that has a header counts; none if
/// there are no headers.
pub(super) fn headers(library: &Path) -> Vec<PathBuf> {
    Installed::here().headers(library)
}

/// Installed toolkits: those that somebody named first, then the newest.
pub(super) fn all() -> Vec<PathBuf> {
    Installed::here().all_toolkits().cloned().collect()
}

/// The CUDA version of the compiler in this file, which its name or the toolkit around it tells.
pub(super) fn major_of_compiler(file: &Path) -> Option<i32> {
    major_in_name(file).or_else(|| major_of(file.parent()?.parent()?))
}

/// The CUDA version of the toolkit or package whose libraries are in this folder, such as `lib64` or
/// `targets/x86_64-linux/lib`.
pub(super) fn major_of_libraries(folder: &Path) -> Option<i32> {
    if folder.ends_with("cu13/lib") {
        return Some(13);
    }
    folder.ancestors().skip(1).take(3).find_map(major_of)
}

/// What this machine has.
#[derive(Default)]
struct Installed {
    /// Folders called `nvidia`.
    packages: Vec<PathBuf>,
    conda: Option<PathBuf>,
    /// Toolkits that somebody named, and the usual one.
    toolkits: Vec<PathBuf>,
    /// Folders among which there are toolkits called `cuda-13.0` and the like.
    side_by_side: Vec<PathBuf>,
}

impl Installed {
    fn here() -> Self {
        Self {
            packages: search::packages(),
            conda: search::conda(),
            toolkits: search::toolkits(),
            side_by_side: search::folders_in(Path::new(SIDE_BY_SIDE)),
        }
    }

    fn headers(&self, library: &Path) -> Vec<PathBuf> {
        let beside = library.parent().and_then(Path::parent);
        let mut found = Vec::new();
        if let Some(root) = beside {
            // cu13/lib, a toolkit's lib64, an environment of conda.
            found.extend(of_root(root));
            // cuda_nvrtc/lib: a package of its own for every part.
            if let Some(parts) = root.parent().filter(|_| root.ends_with("cuda_nvrtc")) {
                found.extend(of_parts(parts));
                // What is installed for the user, when the compiler is in an environment.
                found.extend(self.packages.iter().flat_map(|folder| of_parts(folder)));
            } else if root.ends_with("cu13") {
                found.extend(self.packages.iter().flat_map(|folder| of_13(folder)));
            }
        }
        if !has_headers(&found) {
            for folder in &self.packages {
                found.extend(of_13(folder));
                found.extend(of_parts(folder));
            }
            found.extend(self.conda.iter().map(|root| root.join("include")));
        }
        // Packages may lack parts that the toolkit has: nv/target, crt/host_defines.h, curand_kernel.h.
        if let Some(major) = major_of_compiler(library) {
            let same = self
                .all_toolkits()
                .filter(|root| major_of(root) == Some(major));
            found.extend(same.flat_map(|root| of_root(root)).filter(|folder| {
                // Headers of the C library would count before those of our own, which NVRTC can read.
                !folder.join("stdio.h").is_file()
            }));
        }
        if !has_headers(&found) {
            found.extend(self.toolkits.iter().flat_map(|root| of_root(root)));
        }
        kept(found)
    }

    /// Those that were named first, then the newest.
    fn all_toolkits(&self) -> impl Iterator<Item = &PathBuf> {
        let mut others: Vec<_> = self
            .side_by_side
            .iter()
            .filter_map(|root| {
                let version = root.file_name()?.to_str()?.strip_prefix("cuda-")?;
                let (major, minor) = version.split_once('.').unwrap_or((version, "0"));
                Some((
                    (major.parse::<i32>().ok()?, minor.parse::<i32>().ok()?),
                    root,
                ))
            })
            .collect();
        others.sort_by_key(|&(version, _)| core::cmp::Reverse(version));
        let others = others.into_iter().map(|(_, root)| root);
        self.toolkits.iter().chain(others)
    }
}

/// Those that are there, each once, whatever it is called.
fn kept(folders: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut kept = Vec::new();
    let mut seen = Vec::new();
    for folder in folders {
        if !folder.is_dir() {
            continue;
        }
        let real = std::fs::canonicalize(&folder).unwrap_or_else(|_| folder.clone());
        if !seen.contains(&real) {
            seen.push(real);
            kept.push(folder);
        }
    }
    kept
}

/// Whether one of these has the toolkit's headers.
fn has_headers(folders: &[PathBuf]) -> bool {
    folders
        .iter()
        .any(|folder| folder.join("cuda_fp16.h").is_file())
}

/// The header folders of a toolkit; `include/cccl` has those of CCCL since CUDA 13.
fn of_root(root: &Path) -> Vec<PathBuf> {
    [
        "include",
        "include/cccl",
        "targets/x86_64-linux/include",
        "targets/x86_64-linux/include/cccl",
        "targets/sbsa-linux/include",
        "targets/sbsa-linux/include/cccl",
    ]
    .iter()
    .map(|part| root.join(part))
    .collect()
}

/// The header folders of the packages of CUDA 13 in `nvidia`.
fn of_13(nvidia: &Path) -> [PathBuf; 2] {
    [
        nvidia.join("cu13/include"),
        nvidia.join("cu13/include/cccl"),
    ]
}

/// The header folders of separate packages in `nvidia`, the runtime's first.
fn of_parts(nvidia: &Path) -> Vec<PathBuf> {
    const PARTS: &[&str] = &[
        "cuda_runtime",
        "cuda_cccl",
        "curand",
        "cuda_nvrtc",
        "cuda_nvcc",
    ];
    PARTS
        .iter()
        .flat_map(|part| {
            [
                nvidia.join(part).join("include"),
                nvidia.join(part).join("include/cccl"),
            ]
        })
        .collect()
}

/// The CUDA version that the name of an NVRTC tells: 13 of `libnvrtc.so.13` and of `nvrtc64_130_0.dll`.
fn major_in_name(library: &Path) -> Option<i32> {
    let of = |name: &str| {
        let number = |text: &str| {
            let end = text.find(|c: char| !c.is_ascii_digit());
            text[..end.unwrap_or(text.len())].parse::<i32>().ok()
        };
        if let Some((_, rest)) = name.split_once(".so.") {
            number(rest)
        } else {
            Some(number(name.strip_prefix("nvrtc64_")?)? / 10)
        }
    };
    let named = |path: &Path| of(path.file_name()?.to_str()?);
    // `libnvrtc.so` is a link to one that tells more.
    named(library).or_else(|| named(&std::fs::canonicalize(library).ok()?))
}

/// The CUDA version of the toolkit at `root`, which its `cuda.h` or `version.json` tells.
fn major_of(root: &Path) -> Option<i32> {
    let in_header = |folder: PathBuf| {
        let text = start_of(&folder.join("cuda.h"))?;
        let mut definitions = text.lines().filter_map(|line| {
            let rest = line.trim_start().strip_prefix('#')?.trim_start();
            let rest = rest.strip_prefix("define")?.trim_start();
            let rest = rest.strip_prefix("CUDA_VERSION")?;
            rest.split_whitespace().next()?.parse::<i32>().ok()
        });
        Some(definitions.next()? / 1000)
    };
    let in_json = || {
        let text = start_of(&root.join("version.json"))?;
        let (_, rest) = text.split_once("\"cuda\"")?;
        let (_, rest) = rest.split_once("\"version\"")?;
        let version = rest.trim_start_matches([':', '"', ' ', '\t', '\r', '\n']);
        version.split('.').next()?.parse().ok()
    };
    of_root(root)
        .into_iter()
        .find_map(in_header)
        .or_else(in_json)
}

fn start_of(path: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    File::open(path)
        .ok()?
        .take(MOST)
        .read_to_end(&mut bytes)
        .ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that unwraps fails by panicking")]
mod tests {
    use super::*;
    use std::fs;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path =
                std::env::temp_dir().join(format!("ulib-toolkit-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&path);
            fs::create_dir_all(&path).unwrap();
            Self(path)
        }

        fn file(&self, name: &str, text: &str) {
            let path = self.0.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        /// A toolkit of this version, with CCCL.
        fn toolkit(&self, name: &str, version: &str) {
            self.file(&format!("{name}/include/cuda_fp16.h"), "");
            self.file(&format!("{name}/include/cccl/nv/target"), "");
            let cuda =
                format!("#ifndef X\n#define CUDA_VERSION  {version}\n#define CUDA_VERSIONS 7\n");
            self.file(&format!("{name}/include/cuda.h"), &cuda);
        }

        fn installed(&self, toolkits: &[&str]) -> Installed {
            Installed {
                packages: vec![self.0.join("user/nvidia")],
                conda: None,
                toolkits: toolkits.iter().map(|name| self.0.join(name)).collect(),
                side_by_side: search::folders_in(&self.0.join("local")),
            }
        }

        fn headers(&self, installed: &Installed, library: &str) -> Vec<String> {
            let found = installed.headers(&self.0.join(library));
            let names = found.iter().map(|path| path.strip_prefix(&self.0).unwrap());
            names.map(|path| path.display().to_string()).collect()
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn toolkits_of_the_compilers_version_come_behind_its_packages() {
        let folder = Folder::new("behind");
        folder.file("venv/nvidia/cu13/include/cuda_fp16.h", "");
        folder.file("venv/nvidia/cuda_nvrtc/include/nvrtc.h", "");
        folder.file("venv/nvidia/cuda_runtime/include/cuda_fp16.h", "");
        folder.file("user/nvidia/cu13/include/curand_kernel.h", "");
        folder.toolkit("twelve", "12090");
        folder.toolkit("thirteen", "13010");
        folder.toolkit("local/cuda-13.2", "13020");
        folder.toolkit("local/cuda-13.10", "13100");
        folder.toolkit("local/cuda-12.4", "12040");
        folder.toolkit("local/other-13.3", "13030");
        let installed = folder.installed(&["nowhere", "twelve", "thirteen"]);
        assert_eq!(
            folder.headers(&installed, "venv/nvidia/cu13/lib/libnvrtc.so.13"),
            [
                "venv/nvidia/cu13/include",
                "user/nvidia/cu13/include",
                "thirteen/include",
                "thirteen/include/cccl",
                "local/cuda-13.10/include",
                "local/cuda-13.10/include/cccl",
                "local/cuda-13.2/include",
                "local/cuda-13.2/include/cccl",
            ]
        );
        assert_eq!(
            folder.headers(&installed, "venv/nvidia/cuda_nvrtc/lib/libnvrtc.so.12"),
            [
                "venv/nvidia/cuda_nvrtc/include",
                "venv/nvidia/cuda_runtime/include",
                "twelve/include",
                "twelve/include/cccl",
                "local/cuda-12.4/include",
                "local/cuda-12.4/include/cccl",
            ]
        );
    }

    #[test]
    fn a_toolkit_of_another_version_only_counts_where_there_is_nothing_else() {
        let folder = Folder::new("other");
        folder.file("nvidia/cu13/include/cuda_fp16.h", "");
        folder.file("bare/nvrtc.h", "");
        folder.toolkit("twelve", "12090");
        let installed = folder.installed(&["twelve"]);
        assert_eq!(
            folder.headers(&installed, "nvidia/cu13/lib/libnvrtc.so.13"),
            ["nvidia/cu13/include"]
        );
        assert_eq!(
            folder.headers(&installed, "bare/lib/libnvrtc.so.13"),
            ["twelve/include", "twelve/include/cccl"]
        );
    }

    #[test]
    fn a_compiler_of_a_toolkit_has_its_cccl() {
        let folder = Folder::new("own");
        folder.toolkit("t/targets/x86_64-linux", "13000");
        let installed = folder.installed(&["t"]);
        let wanted = [
            "t/targets/x86_64-linux/include",
            "t/targets/x86_64-linux/include/cccl",
        ];
        for library in [
            "t/lib64/libnvrtc.so.13",
            "t/targets/x86_64-linux/lib/libnvrtc.so.13",
            "t/lib64/libnvrtc.so",
        ] {
            assert_eq!(folder.headers(&installed, library), wanted, "{library}");
        }
        // The same folder under two names.
        #[cfg(unix)]
        {
            let link = folder.0.join("t/include");
            std::os::unix::fs::symlink(folder.0.join(wanted[0]), link).unwrap();
            assert_eq!(
                folder.headers(&installed, "t/lib64/libnvrtc.so.13"),
                ["t/include", "t/include/cccl"]
            );
        }
    }

    #[test]
    fn folders_of_the_system_are_not_taken_for_a_toolkit() {
        let folder = Folder::new("system");
        folder.file("nvidia/cu13/include/cuda_fp16.h", "");
        folder.toolkit("usr", "13000");
        folder.file("usr/include/stdio.h", "");
        assert_eq!(
            folder.headers(
                &folder.installed(&["usr"]),
                "nvidia/cu13/lib/libnvrtc.so.13"
            ),
            ["nvidia/cu13/include", "usr/include/cccl"]
        );
    }

    #[test]
    fn versions_are_told_by_names_and_files() {
        for (name, major) in [
            ("libnvrtc.so.13", Some(13)),
            ("a/libnvrtc.so.11.2", Some(11)),
            ("libnvrtc.so.12.9.86", Some(12)),
            ("libnvrtc.alt.so.13", Some(13)),
            ("nvrtc64_130_0.dll", Some(13)),
            ("nvrtc64_112_0.dll", Some(11)),
            ("libnvrtc.so", None),
            ("libnvrtc.so.x", None),
            ("libnvrtc.so.99999999999", None),
            ("", None),
        ] {
            assert_eq!(major_in_name(Path::new(name)), major, "{name}");
        }
        let folder = Folder::new("versions");
        let of = |name: &str| major_of(&folder.0.join(name));
        assert_eq!(of("none"), None);
        let json = "{\n  \"cuda_cccl\" : {\"version\" : \"3.1\"},\n  \"cuda\" : {\n    \"name\" : \"CUDA SDK\",\n    \"version\" : \"13.0.1\"\n  }\n}";
        folder.file("json/version.json", json);
        assert_eq!(of("json"), Some(13));
        folder.file(
            "json/include/cuda.h",
            " # define CUDA_VERSION 12040 /* here */\n",
        );
        assert_eq!(of("json"), Some(12));
        for (name, text) in [
            ("a", "{\"cuda\": 5}"),
            ("b", "\"cuda\" \"version\""),
            ("c", ""),
        ] {
            folder.file(&format!("{name}/version.json"), text);
            folder.file(&format!("{name}/include/cuda.h"), "#define CUDA_VERSION\n");
            assert_eq!(of(name), None, "{text}");
        }
    }
}
