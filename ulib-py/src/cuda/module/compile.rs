//! The compiler: source to an image, in this process, and the cache.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyType};
use ulib_core::{Error, Result};
use ulib_device::compiler::{
    Cache, CompileFailure, Compiler, ImageKind, NvccOptions, Target, add_packages, curand_library,
    toolkit_library,
};

use super::modules::Module;
use crate::cuda::current;
use crate::cuda::errors::{IntoCudaResult, to_cuda};
use crate::detached::Detached;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Image>()?;
    module.add_function(wrap_pyfunction!(compile_program, module)?)?;
    module.add_function(wrap_pyfunction!(compiler_info, module)?)?;
    module.add_function(wrap_pyfunction!(compiler_packages, module)?)?;
    module.add_function(wrap_pyfunction!(nvcc_options, module)?)?;
    module.add_function(wrap_pyfunction!(device_architecture, module)?)?;
    module.add_function(wrap_pyfunction!(recall_kept, module)?)?;
    module.add_function(wrap_pyfunction!(remember_kept, module)?)?;
    module.add_function(wrap_pyfunction!(curand_library_file, module)?)?;
    module.add_function(wrap_pyfunction!(toolkit_library_file, module)?)
}

/// A compiled program, with what is known of its kernels' parameters.
#[pyclass(frozen, module = "uLib.cuda.compiler")]
pub(crate) struct Image(ulib_device::compiler::Image);

#[pymethods]
impl Image {
    /// Machine code, or PTX text.
    #[getter]
    fn code<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.0.as_bytes())
    }

    /// ``"cubin"`` or ``"ptx"``.
    #[getter]
    fn kind(&self) -> &'static str {
        match self.0.kind() {
            ImageKind::Cubin => "cubin",
            ImageKind::Ptx => "ptx",
        }
    }

    /// What the compiler said although it succeeded.
    #[getter]
    fn log(&self) -> &str {
        self.0.log()
    }

    /// Whether it came from the cache.
    #[getter]
    fn cached(&self) -> bool {
        self.0.from_cache()
    }

    /// What name expressions are called in the image.
    #[getter]
    fn names<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let names = PyDict::new(py);
        for (expression, lowered) in self.0.names() {
            names.set_item(expression, lowered)?;
        }
        Ok(names)
    }

    /// The program on the present device.
    fn load(&self, py: Python<'_>) -> PyResult<Module> {
        let loaded = py.detach(|| ulib_device::Module::from_image(&current::device()?, &self.0));
        Module::new(py, Detached::new(loaded.cuda()?))
    }
}

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

/// Compiles a program, or takes it from the cache.
///
/// ``target`` is ``sm_90`` or ``compute_90``; None the present device.
#[pyfunction]
#[pyo3(signature = (source, name, options, target, include_dirs, cache_dir, extern_c, name_expressions, as_ptx))]
#[allow(
    clippy::too_many_arguments,
    reason = "one call for all that uLib.cuda.compiler offers"
)]
fn compile_program(
    py: Python<'_>,
    source: String,
    name: String,
    options: Vec<String>,
    target: Option<String>,
    include_dirs: Vec<PathBuf>,
    cache_dir: Option<PathBuf>,
    extern_c: bool,
    name_expressions: Vec<String>,
    as_ptx: bool,
) -> PyResult<Image> {
    let work = || {
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
    py.detach(work).map(Image).map_err(to_exception)
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

/// The file of a static library of the toolkit, of the version of the compiler in this file, else of that for the present device.
#[pyfunction]
#[pyo3(signature = (name, folder=None, compiler=None))]
fn toolkit_library_file(
    py: Python<'_>,
    name: &str,
    folder: Option<PathBuf>,
    compiler: Option<PathBuf>,
) -> PyResult<PathBuf> {
    py.detach(|| {
        let compiler = match compiler {
            Some(path) => Ok(Compiler::at(path)),
            None => current::device()
                .map_or_else(|_| Compiler::find(), |device| Compiler::for_device(&device)),
        };
        toolkit_library(name, folder.as_deref(), compiler.ok().as_ref())
    })
    .map_err(to_cuda)
}

/// The file of cuRAND.
#[pyfunction]
fn curand_library_file(py: Python<'_>) -> PyResult<PathBuf> {
    py.detach(curand_library).map_err(to_cuda)
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
