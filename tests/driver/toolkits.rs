//! Headers that the compiler's own folder lacks, and an installed toolkit has; without a GPU, with an NVRTC where one is
//! installed.

use crate::common;
use crate::common::folder::Folder;
use crate::support::compiler;
use std::fs;
use std::path::{Path, PathBuf};
use ulib_device::compiler::{CompileFailure, Compiler, Target};

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A toolkit of this version whose headers, of names that nobody has, define `V` as `value`.
fn toolkit(root: &Path, major: i32, value: i32) {
    let _ = fs::remove_dir_all(root);
    let include = root.join("include");
    write(
        &include.join("cuda.h"),
        &format!("#define CUDA_VERSION {major}000\n"),
    );
    let text = format!("#define V {value}\n");
    for header in [
        "cuda_both_have.h",
        "crt/only_toolkit.h",
        "cccl/nv/only_toolkit",
    ] {
        write(&include.join(header), &text);
    }
}

/// The same compiler in a folder of its own that has some headers, as a Python package may.
fn package(real: &Compiler, root: &Path, major: i32) -> Compiler {
    let (part, runtime) = match major {
        13.. => ("nvidia/cu13", "nvidia/cu13"),
        _ => ("nvidia/cuda_nvrtc", "nvidia/cuda_runtime"),
    };
    let include = root.join(runtime).join("include");
    write(&include.join("cuda_fp16.h"), "");
    write(&include.join("cuda_both_have.h"), "#define V 11\n");
    write(
        &include.join("cuda_needs.h"),
        "#include \"crt/only_toolkit.h\"\n#include <nv/only_toolkit>\n",
    );
    linked(real.path(), &root.join(part).join("lib"))
}

/// The compiler at `path`, found in the folder `libraries`.
pub(crate) fn linked(path: &Path, libraries: &Path) -> Compiler {
    fs::create_dir_all(libraries).unwrap();
    let file = fs::canonicalize(path).unwrap();
    for entry in fs::read_dir(file.parent().unwrap()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap();
        if name.to_string_lossy().starts_with("libnvrtc") {
            std::os::unix::fs::symlink(&path, libraries.join(name)).unwrap();
        }
    }
    Compiler::at(libraries.join(file.file_name().unwrap()))
}

/// The PTX of a program that includes `header` and stores `V`, or the words of the compiler.
fn storing(compiler: &Compiler, header: &str) -> Result<String, String> {
    let source = format!("#include <{header}>\n__global__ void f(int *a) {{ *a = V; }}\n");
    let program = compiler.program("f.cu", &source).extern_c();
    match program.compile(Target::Ptx("80".into())) {
        Ok(image) => Ok(String::from_utf8(image.into_bytes()).unwrap()),
        Err(error) => {
            let source = std::error::Error::source(&error).unwrap();
            Err(source.downcast_ref::<CompileFailure>().unwrap().log.clone())
        }
    }
}

#[test]
fn what_a_package_lacks_is_taken_from_a_toolkit_of_the_same_version() {
    const TEST: &str = "toolkits::what_a_package_lacks_is_taken_from_a_toolkit_of_the_same_version";
    let folder = Folder::new();
    let home = folder.join("toolkit");
    common::alone(TEST, &[("CUDA_HOME", home.to_str().unwrap())], || {
        let Some(real) = compiler() else { return };
        let (major, _) = real.version().unwrap();
        let home = PathBuf::from(std::env::var_os("CUDA_HOME").unwrap());
        let root = home.parent().unwrap();
        toolkit(&home, major, 22);
        let found = package(&real, root, major);
        for (header, value) in [
            ("cuda_both_have.h", 11),
            ("crt/only_toolkit.h", 22),
            ("nv/only_toolkit", 22),
            ("cuda_needs.h", 22),
        ] {
            let text = storing(&found, header).unwrap();
            let stored = text.lines().find(|line| line.contains("mov.")).unwrap();
            assert!(
                stored.contains("mov.u32") || stored.contains("mov.b32"),
                "{text}"
            );
            assert!(stored.ends_with(&format!(", {value};")), "{header}: {text}");
        }
        let log = storing(&found, "cuda_nobody_has.h").unwrap_err();
        let package = "cuda_nobody_has.h is part of the Python package nvidia-cuda-runtime";
        assert!(log.lines().last().unwrap().starts_with(package), "{log}");
        // One of another version is no part of it.
        toolkit(&home, major + 1, 33);
        let found = Compiler::at(found.path());
        assert!(
            !found
                .header_folders()
                .iter()
                .any(|path| path.starts_with(&home))
        );
        let log = storing(&found, "cuda_needs.h").unwrap_err();
        let last = log.lines().last().unwrap();
        assert!(
            last.starts_with("crt/only_toolkit.h is part of the Python package"),
            "{log}"
        );
    });
}
