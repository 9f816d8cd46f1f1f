//! Compiles the project's kernels as C++ through the shim of `emulation/`, for the registry that `src/emulation.rs` reads.
//!
//! Each `.cu` of `ulib-math/src/ops` becomes one translation unit: the shim, the kernel file, and a function by which the
//! generated `keep.cpp` refers to it, as the linker would drop an object that nobody refers to.

use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rustc-check-cfg=cfg(fakecuda_emulation)");
    let here = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR")?);
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    let emulation = here.join("emulation");
    let operations = here.join("../../ulib-math/src/ops").canonicalize()?;
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed={}", emulation.display());
    println!("cargo:rerun-if-changed={}", operations.display());

    let mut kernels = kernel_files(&operations)?;
    kernels.sort();
    let mut build = cc::Build::new();
    build
        .cpp(true)
        .std("c++17")
        .include(&emulation)
        .opt_level(2)
        .warnings(false);
    // The kernels' own arithmetic, unchanged: no contraction, and accesses of other widths than the element's.
    build.flag("-ffp-contract=off").flag("-fno-strict-aliasing");
    build
        .file(emulation.join("registry.cpp"))
        .file(emulation.join("fibers.cpp"));
    let (mut declared, mut referred) = (String::new(), String::from("0"));
    for kernel in &kernels {
        let stem = kernel
            .file_stem()
            .and_then(|stem| stem.to_str())
            .ok_or("a kernel file without a name")?;
        let unit = out.join(format!("emulated_{stem}.cpp"));
        let path = kernel.display();
        let keep = format!("ulib_emulation_keep_{stem}");
        write_if_new(
            &unit,
            &format!(
                "#include \"shim.h\"\n#include \"{path}\"\nextern \"C\" int {keep}() {{ return 0; }}\n"
            ),
        )?;
        writeln!(declared, "extern \"C\" int {keep}();")?;
        write!(referred, " + {keep}()")?;
        build.file(unit);
    }
    let keep = out.join("keep.cpp");
    write_if_new(
        &keep,
        &format!("{declared}extern \"C\" int ulib_emulation_keep() {{ return {referred}; }}\n"),
    )?;
    build.file(keep);
    build.compile("fakecuda_emulation");
    println!("cargo:rustc-cfg=fakecuda_emulation");
    Ok(())
}

/// The kernel files one folder below.
fn kernel_files(operations: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let mut found = Vec::new();
    for folder in std::fs::read_dir(operations)? {
        let folder = folder?.path();
        if folder.is_dir() {
            for file in std::fs::read_dir(folder)? {
                let file = file?.path();
                if file.extension().is_some_and(|extension| extension == "cu") {
                    found.push(file);
                }
            }
        }
    }
    Ok(found)
}

/// Writes a file unless it already says so, so that its time stays.
fn write_if_new(path: &Path, text: &str) -> std::io::Result<()> {
    if std::fs::read_to_string(path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    std::fs::write(path, text)
}
