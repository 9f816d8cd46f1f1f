//! `Linker`.
#![allow(unsafe_code, reason = "hands programs of the caller to the driver")]

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::{PyTraverseError, PyVisit};
use ulib_device::module::JitLog;
use ulib_device::sys::{CUjit_option, CUjitInputType};

use super::modules::{Module, bytes_of, handler_of, options, tell};
use crate::args::{Int, caused, shown};
use crate::cuda::arguments::path;
use crate::cuda::current;
use crate::cuda::errors::{IntoCudaResult, logic, of_file};
use crate::detached::{Detached, drop_detached};

/// Puts programs and libraries together into one module.
///
/// ``message_handler`` is called in the end with whether it worked, the linker's remarks and its complaints. ``options`` are pairs
/// of a ``jit_option`` and a number.
#[pyclass(frozen, weakref, module = "uLib.cuda.driver")]
pub(crate) struct Linker {
    linker: Mutex<Option<ulib_device::Linker>>,
    handler: Mutex<Option<Py<PyAny>>>,
}

impl Drop for Linker {
    fn drop(&mut self) {
        let linker = self
            .linker
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        drop_detached(linker.take());
    }
}

impl Linker {
    fn handler(&self) -> MutexGuard<'_, Option<Py<PyAny>>> {
        // Held for a moment only, without waiting for anything.
        self.handler.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut ulib_device::Linker) -> ulib_core::Result<()> + Send,
    ) -> PyResult<()> {
        let outcome = py.detach(|| {
            let mut linker = self.linker.lock().unwrap_or_else(PoisonError::into_inner);
            linker.as_mut().map(work)
        });
        outcome.ok_or_else(used)?.cuda()
    }
}

fn used() -> PyErr {
    logic("Linker: link_module has been called already")
}

fn kind_of(kind: &Bound<'_, PyAny>) -> PyResult<CUjitInputType> {
    let number: Int = kind.extract().map_err(|error| {
        caused(kind.py(), error, |_| {
            PyTypeError::new_err(format!("Linker: {} is no jit_input_type", shown(kind)))
        })
    })?;
    u32::try_from(number.0)
        .map(CUjitInputType)
        .map_err(|_| logic(format!("Linker: {number} is no jit_input_type")))
}

#[pymethods]
impl Linker {
    #[new]
    #[pyo3(signature = (message_handler=None, options=None, log_verbose=false))]
    fn new(
        py: Python<'_>,
        message_handler: Option<Py<PyAny>>,
        options: Option<&Bound<'_, PyAny>>,
        log_verbose: bool,
    ) -> PyResult<Self> {
        handler_of(
            "Linker",
            message_handler.as_ref().map(|given| given.bind(py)),
        )?;
        let mut asked = self::options(options)?;
        if log_verbose {
            asked = asked.set(CUjit_option::CU_JIT_LOG_VERBOSE, 1).cuda()?;
        }
        let linker = py
            .detach(|| ulib_device::Linker::new(&current::device()?, &asked))
            .cuda()?;
        Ok(Self {
            linker: Mutex::new(Some(linker)),
            handler: Mutex::new(message_handler),
        })
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        match self.handler.try_lock() {
            Ok(handler) => visit.call(&*handler),
            Err(_) => Ok(()),
        }
    }

    fn __clear__(&self) {
        let handler = self.handler().take();
        drop(handler);
    }

    /// Adds a program or library of a ``jit_input_type``; ``name`` stands in messages.
    #[pyo3(signature = (data, input_type, name="unknown"))]
    fn add_data(
        &self,
        py: Python<'_>,
        data: &Bound<'_, PyAny>,
        input_type: &Bound<'_, PyAny>,
        name: &str,
    ) -> PyResult<()> {
        let (data, kind) = (
            bytes_of("Linker.add_data: data", data)?,
            kind_of(input_type)?,
        );
        // SAFETY: the sizes in the headers are checked; that the tools that made a binary made it well is what everybody who
        // links one relies on.
        self.with(py, |linker| unsafe { linker.add(name, kind, &data) })
    }

    /// Adds the program or library in a file.
    fn add_file(
        &self,
        py: Python<'_>,
        filename: &Bound<'_, PyAny>,
        input_type: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let filename = path("Linker.add_file", "filename", filename)?;
        let kind = kind_of(input_type)?;
        py.detach(|| std::fs::metadata(&filename))
            .map_err(|error| of_file("Linker.add_file", &filename, error))?;
        // SAFETY: as above.
        self.with(py, |linker| unsafe { linker.add_file(&filename, kind) })
    }

    /// The module made of what was added. Afterwards the linker is done.
    fn link_module(&self, py: Python<'_>) -> PyResult<Module> {
        let outcome = py.detach(|| {
            let mut linker = self.linker.lock().unwrap_or_else(PoisonError::into_inner);
            linker.take().map(ulib_device::Linker::link)
        });
        let (linked, log): (_, JitLog) = outcome.ok_or_else(used)?;
        let linked = linked.map(Detached::new);
        let handler = self.handler().take();
        tell(
            handler.as_ref().map(|handler| handler.bind(py)),
            linked.is_ok(),
            &log,
        )?;
        Module::new(py, linked.cuda()?)
    }
}
