//! The compiler: source to an image, in this process, and the cache.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyType};
use ulib_core::{Error, Result};
use ulib_device::compiler::{
    Cache, CompileFailure, Compiler, Image, NvccOptions, Target, add_packages, toolkit_library,
};

use crate::cuda::current;
use crate::cuda::errors::to_cuda;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(compile_program, module)?)?;
    module.add_function(wrap_pyfunction!(compiler_info, module)?)?;
    module.add_function(wrap_pyfunction!(compiler_packages, module)?)?;
    module.add_function(wrap_pyfunction!(nvcc_options, module)?)?;
    module.add_function(wrap_pyfunction!(device_architecture, module)?)?;
    module.add_function(wrap_pyfunction!(recall_kept, module)?)?;
    module.add_function(wrap_pyfunction!(remember_kept, module)?)?;
    module.add_function(wrap_pyfunction!(toolkit_library_file, module)?)
}

/// The image, its form, what the compiler said, whether it was cached, and names of expressions.
type Compiled<'py> = (
    Bound<'py, PyBytes>,
    &'static str,
    String,
    bool,
    Bound<'py, PyDict>,
);

/// A compiler's file, version, architectures and folders of headers.
type About = (PathBuf, (i32, i32), Vec<i32>, Vec<PathBuf>);

/// The exception for an error of compiling: a `CompileError` where the program is to blame.
pub(super) fn to_exception(error: Error) -> PyErr {
    let failure = std::error::Error::source(&error)
        .and_then(|source| source.downcast_ref::<CompileFailure>())
        .cloned();
    let Some(failure) = failure else {
        return to_cuda(error);
    };
    Python::attach(|py| {
        static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
        let made = CLASS
            .import(py, "uLib.cuda._errors", "CompileError")
            .and_then(|class| {
                let message = format!("{} does not compile", failure.program);
                let arguments = (message, &failure.options, "", &failure.log);
                class.call1(arguments)
            });
        match made {
            Ok(made) => PyErr::from_value(made),
            Err(failed) => failed,
        }
    })
}

/// The cache of a folder, or none for no folder.
pub(super) fn cache_at(folder: Option<PathBuf>) -> Cache {
    folder.map_or_else(Cache::none, Cache::at)
}

/// Compiles a program, or takes it from the cache: the image, ``"cubin"`` or ``"ptx"``, the log, whether it was cached, and what
/// name expressions are called in the image.
///
/// ``target`` is ``sm_90`` or ``compute_90``; None the present device.
#[pyfunction]
#[pyo3(signature = (source, name, options, target, include_dirs, cache_dir, extern_c, name_expressions, as_ptx))]
#[allow(
    clippy::too_many_arguments,
    reason = "one call for all that uLib.cuda.compiler offers"
)]
fn compile_program<'py>(
    py: Python<'py>,
    source: String,
    name: String,
    options: Vec<String>,
    target: Option<String>,
    include_dirs: Vec<PathBuf>,
    cache_dir: Option<PathBuf>,
    extern_c: bool,
    name_expressions: Vec<String>,
    as_ptx: bool,
) -> PyResult<Compiled<'py>> {
    let work = || -> Result<Image> {
        let asked = match target {
            Some(target) => Some(Target::parse(&target)?),
            None => NvccOptions::parse(&options)?.target,
        };
        let (compiler, target) = match asked {
            Some(target) => (Compiler::find()?, target),
            None => {
                let device = current::device()?;
                (Compiler::for_device(&device)?, Target::of(&device))
            }
        };
        let target = if as_ptx { target.as_ptx() } else { target };
        let mut program = compiler
            .program(&name, &source)
            .options(options)
            .cache(cache_at(cache_dir));
        for folder in include_dirs {
            program = program.include(folder);
        }
        for expression in name_expressions {
            program = program.name(expression);
        }
        if extern_c {
            program = program.extern_c();
        }
        program.compile_for(target)
    };
    let image = py.detach(work).map_err(to_exception)?;
    let names = PyDict::new(py);
    for (expression, lowered) in image.names() {
        names.set_item(expression, lowered)?;
    }
    let kind = match image.kind() {
        ulib_device::compiler::ImageKind::Cubin => "cubin",
        ulib_device::compiler::ImageKind::Ptx => "ptx",
    };
    let (log, cached) = (image.log().to_owned(), image.from_cache());
    Ok((PyBytes::new(py, image.as_bytes()), kind, log, cached, names))
}

/// The compiler's file, version, architectures and folders of headers.
#[pyfunction]
fn compiler_info(py: Python<'_>) -> PyResult<About> {
    let work = || -> Result<_> {
        let compiler = Compiler::find()?;
        let (version, known) = (compiler.version()?, compiler.architectures()?.to_vec());
        Ok((
            compiler.path().to_path_buf(),
            version,
            known,
            compiler.header_folders().to_vec(),
        ))
    };
    py.detach(work).map_err(to_cuda)
}

/// Adds folders called ``nvidia`` in which the compiler may be.
#[pyfunction]
fn compiler_packages(folders: Vec<PathBuf>) {
    for folder in folders {
        add_packages(folder);
    }
}

/// Options as nvcc takes them, sorted: for the compiler, folders, target, libraries, whether to keep, what means nothing here.
#[pyfunction]
#[allow(clippy::type_complexity, reason = "a tuple for Python")]
fn nvcc_options(
    options: Vec<String>,
) -> PyResult<(
    Vec<String>,
    Vec<PathBuf>,
    Option<String>,
    Vec<String>,
    bool,
    Vec<String>,
)> {
    let sorted = NvccOptions::parse(&options).map_err(to_cuda)?;
    Ok((
        sorted.options,
        sorted.includes,
        sorted.target.map(|target| target.to_string()),
        sorted.libraries,
        sorted.keep,
        sorted.ignored,
    ))
}

/// The architecture of the present device, such as ``sm_90``.
#[pyfunction]
fn device_architecture(py: Python<'_>) -> PyResult<String> {
    py.detach(|| Ok(Target::of(&current::device()?).to_string()))
        .map_err(to_cuda)
}

/// The file of a static library of the toolkit.
#[pyfunction]
#[pyo3(signature = (name, folder=None))]
fn toolkit_library_file(name: &str, folder: Option<PathBuf>) -> PyResult<PathBuf> {
    toolkit_library(name, folder.as_deref()).map_err(to_cuda)
}

/// What was found out before and kept in the cache of this folder under a key.
#[pyfunction]
fn recall_kept<'py>(
    py: Python<'py>,
    cache_dir: Option<PathBuf>,
    key: &str,
) -> Option<Bound<'py, PyBytes>> {
    let kept = py.detach(|| cache_at(cache_dir).recall(key));
    kept.map(|kept| PyBytes::new(py, &kept))
}

/// Keeps something that was found out.
#[pyfunction]
fn remember_kept(py: Python<'_>, cache_dir: Option<PathBuf>, key: &str, what: &[u8]) {
    py.detach(|| cache_at(cache_dir).remember(key, what));
}
