//! `Module`, and where it comes from.
#![allow(unsafe_code, reason = "hands programs of the caller to the driver")]

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::{PyTraverseError, PyVisit};
use ulib_core::Result;
use ulib_device::module::{JitLog, JitOptions};
use ulib_device::sys::CUjit_option;

use super::function::Function;
use crate::args::{Int, caused, shown};
use crate::cuda::arguments::{name as name_of, path};
use crate::cuda::current;
use crate::cuda::errors::{IntoCudaResult, logic, of_file};
use crate::detached::Detached;

/// Texture and surface references that were asked for, with their classes and names. A module and its functions share them: a launch
/// brings up to date what is bound to them.
#[pyclass(frozen, module = "uLib.cuda._native")]
#[derive(Default)]
pub(super) struct References {
    all: Mutex<Vec<Reference>>,
    /// Whether there are any, which every launch asks: most modules have none.
    some: AtomicBool,
}

struct Reference {
    class: &'static str,
    name: String,
    object: Py<PyAny>,
}

impl References {
    fn lock(&self) -> MutexGuard<'_, Vec<Reference>> {
        // Held for a moment only, without waiting for anything.
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, reference: Reference) {
        self.lock().push(reference);
        self.some.store(true, Ordering::Release);
    }

    /// All of them.
    pub(super) fn all(&self, py: Python<'_>) -> Vec<Py<PyAny>> {
        if !self.some.load(Ordering::Acquire) {
            return Vec::new();
        }
        let references = self.lock();
        let object = |reference: &Reference| reference.object.clone_ref(py);
        references.iter().map(object).collect()
    }

    fn find(&self, py: Python<'_>, class: &str, name: &str) -> Option<Py<PyAny>> {
        let references = self.lock();
        let known = |known: &&Reference| known.class == class && known.name == name;
        let found = references.iter().find(known)?;
        Some(found.object.clone_ref(py))
    }
}

#[pymethods]
impl References {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        if let Ok(references) = self.all.try_lock() {
            for reference in references.iter() {
                visit.call(&reference.object)?;
            }
        }
        Ok(())
    }

    fn __clear__(&self) {
        let before = std::mem::take(&mut *self.lock());
        drop(before);
    }
}

/// A program on a device. Unloaded with its last object, its functions among them.
#[pyclass(frozen, weakref, module = "uLib.cuda.driver")]
pub(crate) struct Module {
    pub(crate) module: Detached<ulib_device::Module>,
    references: Py<References>,
}

impl Module {
    pub(super) fn new(py: Python<'_>, module: Detached<ulib_device::Module>) -> PyResult<Self> {
        let references = Py::new(py, References::default())?;
        Ok(Self { module, references })
    }
}

#[pymethods]
impl Module {
    /// The kernel of this name.
    fn get_function(&self, py: Python<'_>, name: &Bound<'_, PyAny>) -> PyResult<Function> {
        const OP: &str = "Module.get_function";
        let name = name_of(OP, name)?;
        let found = py.detach(|| self.module.function(&name));
        let function = found.map_err(|error| error.of_op(OP)).cuda()?;
        Ok(Function::new(function, self.references.clone_ref(py)))
    }

    /// Address and bytes of the variable of this name, which lives as long as the module.
    fn get_global(&self, py: Python<'_>, name: &Bound<'_, PyAny>) -> PyResult<(u64, usize)> {
        const OP: &str = "Module.get_global";
        let name = name_of(OP, name)?;
        let found = py.detach(|| self.module.global(&name));
        found.map_err(|error| error.of_op(OP)).cuda()
    }

    /// The texture reference of this name.
    fn get_texref(slf: &Bound<'_, Self>, name: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        reference(
            slf,
            "TextureReference",
            &name_of("Module.get_texref", name)?,
        )
    }

    /// The surface reference of this name.
    fn get_surfref(slf: &Bound<'_, Self>, name: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        reference(
            slf,
            "SurfaceReference",
            &name_of("Module.get_surfref", name)?,
        )
    }

    /// The driver's handle, an integer.
    #[getter]
    fn handle(&self) -> usize {
        self.module.handle() as usize
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.references)
    }

    fn __repr__(&self) -> String {
        let (handle, device) = (self.module.handle() as usize, self.module.device());
        format!("<uLib.cuda.driver.Module {handle:#x} on {device}>")
    }
}

/// The one reference of this class and name of a module: what is bound to it stays bound.
fn reference(module: &Bound<'_, Module>, class: &'static str, name: &str) -> PyResult<Py<PyAny>> {
    let py = module.py();
    let references = module.get().references.get();
    if let Some(reference) = references.find(py, class, name) {
        return Ok(reference);
    }
    let made = py
        .import(intern!(py, "uLib.cuda._textures"))?
        .call_method0(class)?;
    // It knows the module by an object of its own, which does not know the reference.
    let own = Module::new(py, module.get().module.clone())?;
    made.call_method1(intern!(py, "_bind"), (own, name))?;
    references.add(Reference {
        class,
        name: name.to_owned(),
        object: made.clone().unbind(),
    });
    Ok(made.unbind())
}

/// Options as PyCUDA takes them: pairs of a `jit_option` and a number.
pub(super) fn options(given: Option<&Bound<'_, PyAny>>) -> PyResult<JitOptions> {
    let mut options = JitOptions::new();
    let Some(given) = given.filter(|given| !given.is_none()) else {
        return Ok(options);
    };
    let wrong = |found: &Bound<'_, PyAny>, error| {
        caused(found.py(), error, |_| {
            PyTypeError::new_err(format!(
                "options: {} is no pair of a jit_option and a number",
                shown(found)
            ))
        })
    };
    for pair in given.try_iter().map_err(|error| wrong(given, error))? {
        let pair = pair?;
        let (option, value): (Int, Int) = pair.extract().map_err(|error| wrong(&pair, error))?;
        let option = u32::try_from(option.0)
            .map_err(|_| logic(format!("options: {option} is no jit_option")))?;
        let value = usize::try_from(value.0)
            .map_err(|_| logic(format!("options: {value} is no value of an option")))?;
        options = options.set(CUjit_option(option), value).cuda()?;
    }
    Ok(options)
}

/// A message handler, which is called when all is done.
pub(super) fn handler_of(op: &str, given: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    match given.filter(|given| !given.is_none() && !given.is_callable()) {
        None => Ok(()),
        Some(given) => Err(PyTypeError::new_err(format!(
            "{op}: message_handler is {}, expected a function",
            shown(given)
        ))),
    }
}

/// Tells a handler how it went: whether it worked, remarks, complaints.
pub(super) fn tell(handler: Option<&Bound<'_, PyAny>>, good: bool, log: &JitLog) -> PyResult<()> {
    match handler.filter(|handler| !handler.is_none()) {
        Some(handler) => handler.call1((good, &log.info, &log.error)).map(drop),
        None => Ok(()),
    }
}

fn load(
    py: Python<'_>,
    image: &[u8],
    options: &JitOptions,
    handler: Option<&Bound<'_, PyAny>>,
) -> PyResult<Module> {
    let (loaded, log) = py.detach(|| match current::device() {
        // SAFETY: the sizes in the headers are checked; that the tools that made a binary made it well is what everybody who
        // loads one relies on.
        Ok(device) => unsafe { ulib_device::Module::load_image_with(&device, image, options) },
        Err(error) => (Err(error), JitLog::default()),
    });
    let loaded = loaded.map(Detached::new);
    tell(handler, loaded.is_ok(), &log)?;
    Module::new(py, loaded.cuda()?)
}

/// A program from a file: a cubin, a fatbin or PTX.
#[pyfunction]
pub(super) fn module_from_file(py: Python<'_>, filename: &Bound<'_, PyAny>) -> PyResult<Module> {
    let filename = path("module_from_file", "filename", filename)?;
    let image = py
        .detach(|| std::fs::read(&filename))
        .map_err(|error| of_file("module_from_file", &filename, error))?;
    load(py, &image, &JitOptions::new(), None)
}

/// A program from bytes: a cubin, a fatbin or PTX (also as text).
///
/// ``options`` are pairs of a ``jit_option`` and a number. ``message_handler`` is called with whether it worked, the translator's
/// remarks and its complaints.
#[pyfunction]
#[pyo3(signature = (buffer, options=None, message_handler=None))]
pub(super) fn module_from_buffer(
    py: Python<'_>,
    buffer: &Bound<'_, PyAny>,
    options: Option<&Bound<'_, PyAny>>,
    message_handler: Option<&Bound<'_, PyAny>>,
) -> PyResult<Module> {
    let image = bytes_of("module_from_buffer: buffer", buffer)?;
    handler_of("module_from_buffer", message_handler)?;
    load(py, &image, &self::options(options)?, message_handler)
}

/// The bytes of text, or of anything with a buffer.
pub(in crate::cuda) fn bytes_of(what: &str, object: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    if let Ok(text) = object.extract::<&str>() {
        return Ok(text.as_bytes().to_vec());
    }
    if let Ok(bytes) = object.extract::<&[u8]>() {
        return Ok(bytes.to_vec());
    }
    let buffer = PyBuffer::<u8>::get(object).map_err(|error| {
        caused(object.py(), error, |_| {
            PyTypeError::new_err(format!(
                "{what} is {}, expected bytes, or an array of them",
                shown(object)
            ))
        })
    })?;
    buffer.to_vec(object.py())
}
