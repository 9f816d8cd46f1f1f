//! Compiles the project's kernels as C++ through the shim of `emulation/`, for the registry that `src/emulation.rs` reads.
//!
//! Each `.cu` of `ulib-math/src/ops` becomes one translation unit: the shim, the kernel file, and a function by which the
//! generated `keep.cpp` refers to it, as the linker would drop an object that nobody refers to.
//!
//! A unit is compiled again when something it was made from has changed: a stamp beside it holds the hash of that.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    println!("cargo:rustc-check-cfg=cfg(fakecuda_emulation)");
    println!("cargo:rustc-cfg=fakecuda_emulation");
    // Programs that link the driver ask for it by this name.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libcuda.so.1");
    // Cargo keeps what it makes for clippy apart. Nothing is linked there, so the kernels need no second compilation.
    let wrapper = std::env::var("RUSTC_WORKSPACE_WRAPPER").unwrap_or_default();
    if wrapper.ends_with("clippy-driver") {
        return Ok(());
    }
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
    // Less optimisation compiles a little faster and runs the tests a little slower.
    build
        .cpp(true)
        .std("c++17")
        .include(&emulation)
        .opt_level(2)
        .debug(false)
        .warnings(false);
    // The kernels' own arithmetic, unchanged: no contraction, and accesses of other widths than the element's.
    build.flag("-ffp-contract=off").flag("-fno-strict-aliasing");
    let mut units = vec![emulation.join("registry.cpp"), emulation.join("fibers.cpp")];
    let (mut declared, mut referred) = (String::new(), String::from("0"));
    for kernel in &kernels {
        let stem = kernel
            .file_stem()
            .and_then(|stem| stem.to_str())
            .ok_or("a kernel file without a name")?;
        let unit = out.join(format!("emulated_{stem}.cpp"));
        let path = kernel.display();
        let keep = format!("ulib_emulation_keep_{stem}");
        std::fs::write(
            &unit,
            format!(
                "#include \"shim.h\"\n#include \"{path}\"\nextern \"C\" int {keep}() {{ return 0; }}\n"
            ),
        )?;
        writeln!(declared, "extern \"C\" int {keep}();")?;
        write!(referred, " + {keep}()")?;
        units.push(unit);
    }
    let keep = out.join("keep.cpp");
    std::fs::write(
        &keep,
        format!("{declared}extern \"C\" int ulib_emulation_keep() {{ return {referred}; }}\n"),
    )?;
    units.push(keep);
    let objects = objects(&build, &units, &emulation, &out)?;
    build.objects(objects).try_compile("fakecuda_emulation")?;
    Ok(())
}

/// The kernel files one folder below.
fn kernel_files(operations: &Path) -> Result<Vec<PathBuf>> {
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

/// The units' objects, those whose stamp is not what it should be compiled anew, as many at a time as Cargo allows.
fn objects(
    build: &cc::Build,
    units: &[PathBuf],
    emulation: &Path,
    out: &Path,
) -> Result<Vec<PathBuf>> {
    let command = format!("{:?}", build.try_get_compiler()?.to_command());
    let (mut objects, mut stale) = (Vec::new(), Vec::new());
    for unit in units {
        let name = unit.file_name().ok_or("a unit without a name")?;
        let stamp = out.join(name).with_extension("stamp");
        let digest = digest(unit, &command, emulation)?;
        match compiled(&stamp, &digest) {
            Some(object) => objects.push(object),
            None => stale.push((unit.as_path(), stamp, digest)),
        }
    }
    let jobs = std::env::var("NUM_JOBS").ok().and_then(|n| n.parse().ok());
    let (waiting, done) = (Mutex::new(stale), Mutex::new(Ok(objects)));
    std::thread::scope(|scope| {
        for _ in 0..jobs.unwrap_or(1_usize).max(1) {
            scope.spawn(|| {
                while let Some((unit, stamp, digest)) = lock(&waiting).pop() {
                    let object = compile(build, unit, &stamp, &digest);
                    let mut done = lock(&done);
                    match (&mut *done, object) {
                        (Ok(objects), Ok(object)) => objects.push(object),
                        (Ok(_), Err(error)) => *done = Err(format!("{}: {error}", unit.display())),
                        (Err(_), _) => {}
                    }
                    if done.is_err() {
                        return;
                    }
                }
            });
        }
    });
    let mut objects = lock(&done).clone()?;
    objects.sort();
    Ok(objects)
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// The object that a stamp says was made from what has this digest.
fn compiled(stamp: &Path, digest: &str) -> Option<PathBuf> {
    let text = std::fs::read_to_string(stamp).ok()?;
    let (of, object) = text.split_once('\n')?;
    let object = PathBuf::from(object);
    (of == digest && object.is_file()).then_some(object)
}

/// Compiles one unit. Its stamp is away meanwhile: what is half written is not taken for an object later.
fn compile(build: &cc::Build, unit: &Path, stamp: &Path, digest: &str) -> Result<PathBuf> {
    if stamp.exists() {
        std::fs::remove_file(stamp)?;
    }
    let made = build.clone().file(unit).try_compile_intermediates()?;
    let object = made.into_iter().next().ok_or("no object was made")?;
    std::fs::write(stamp, format!("{digest}\n{}", object.display()))?;
    Ok(object)
}

/// A hash over the compiler's command line, a unit, and everything of ours it includes.
fn digest(unit: &Path, command: &str, emulation: &Path) -> Result<String> {
    let mut sources = BTreeMap::new();
    gather(unit.to_path_buf(), emulation, &mut sources)?;
    let mut hasher = DefaultHasher::new();
    command.hash(&mut hasher);
    sources.hash(&mut hasher);
    Ok(format!("{:016x}", hasher.finish()))
}

/// Adds a file, and the files named by its `#include "..."`: beside it or in the emulation's folder.
fn gather(path: PathBuf, emulation: &Path, sources: &mut BTreeMap<PathBuf, String>) -> Result<()> {
    let path = path.canonicalize()?;
    if sources.contains_key(&path) {
        return Ok(());
    }
    let text = std::fs::read_to_string(&path)?;
    sources.insert(path.clone(), text.clone());
    let quoted = |line: &str| {
        let name = line.trim_start().strip_prefix('#')?.trim_start();
        let name = name.strip_prefix("include")?.trim_start();
        Some(name.strip_prefix('"')?.split_once('"')?.0.to_owned())
    };
    for name in text.lines().filter_map(quoted) {
        let beside = path.parent().unwrap_or(emulation).join(&name);
        let found = if beside.is_file() {
            beside
        } else {
            emulation.join(&name)
        };
        gather(found, emulation, sources)?;
    }
    Ok(())
}
