//! Which of the exceptions of `uLib.cuda` (`python/uLib/cuda/_errors.py`) an error becomes.

use std::path::Path;

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;
use ulib_core::{Error, ErrorKind};
use ulib_device::sys::CUresult;

use super::arguments::Whole;
use crate::errors::{named_in_python, shortened, to_python, with_kind};

/// The classes by their names.
#[derive(Clone, Copy)]
enum Class {
    Error,
    Memory,
    Launch,
    Runtime,
    Logic,
}

impl Class {
    fn of(kind: &ErrorKind) -> Option<Self> {
        Some(match kind {
            ErrorKind::OutOfMemory { .. } => Self::Memory,
            ErrorKind::Driver { code, .. } => Self::of_status(CUresult(code.cast_unsigned())),
            ErrorKind::Unavailable | ErrorKind::Forked => Self::Runtime,
            ErrorKind::Shape
            | ErrorKind::Layout
            | ErrorKind::InvalidArgument
            | ErrorKind::Residency
            | ErrorKind::Overflow
            | ErrorKind::Busy => Self::Logic,
            _ => return None,
        })
    }

    fn of_status(status: CUresult) -> Self {
        match status {
            CUresult::CUDA_ERROR_LAUNCH_FAILED
            | CUresult::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES
            | CUresult::CUDA_ERROR_LAUNCH_TIMEOUT
            | CUresult::CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING => Self::Launch,
            CUresult::CUDA_ERROR_NO_DEVICE
            | CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU
            | CUresult::CUDA_ERROR_FILE_NOT_FOUND
            | CUresult::CUDA_ERROR_NOT_READY
            | CUresult::CUDA_ERROR_ECC_UNCORRECTABLE => Self::Runtime,
            CUresult::CUDA_ERROR_UNKNOWN => Self::Error,
            _ => Self::Logic,
        }
    }

    fn get(self, py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
        static ERROR: PyOnceLock<Py<PyType>> = PyOnceLock::new();
        static MEMORY: PyOnceLock<Py<PyType>> = PyOnceLock::new();
        static LAUNCH: PyOnceLock<Py<PyType>> = PyOnceLock::new();
        static RUNTIME: PyOnceLock<Py<PyType>> = PyOnceLock::new();
        static LOGIC: PyOnceLock<Py<PyType>> = PyOnceLock::new();
        let (slot, name) = match self {
            Self::Error => (&ERROR, "Error"),
            Self::Memory => (&MEMORY, "MemoryError"),
            Self::Launch => (&LAUNCH, "LaunchError"),
            Self::Runtime => (&RUNTIME, "RuntimeError"),
            Self::Logic => (&LOGIC, "LogicError"),
        };
        slot.import(py, "uLib.cuda._errors", name)
    }
}

/// The exception that fits an error, as PyCUDA's users expect it.
pub(crate) fn to_cuda(error: Error) -> PyErr {
    let error = named_in_python(error);
    let Some(class) = Class::of(error.kind()) else {
        return to_python(error);
    };
    Python::attach(|py| match class.get(py) {
        Ok(class) => {
            let message = shortened(&error.to_string());
            with_kind(PyErr::from_type(class.clone(), message), error.kind())
        }
        Err(failed) => failed,
    })
}

/// A `LogicError` for a mistake that only Python can make.
pub(crate) fn logic(message: impl Into<String>) -> PyErr {
    let message: String = message.into();
    to_cuda(Error::new(ErrorKind::InvalidArgument, message))
}

/// A `LogicError` for an object that `op` needs and that has ended, in the word `how` that its class has for it.
pub(crate) fn gone(op: &str, class: &str, how: &str) -> PyErr {
    logic(format!("{op}: the {class} has been {how}"))
}

/// An error of a file as Python's own functions raise it: with the number of the system's, which says the class, and the name.
pub(crate) fn of_file(op: &'static str, filename: &Path, error: std::io::Error) -> PyErr {
    let Some(number) = error.raw_os_error() else {
        return to_cuda(Error::io(op, error).context(filename.display().to_string()));
    };
    let text = error.to_string();
    let text = text
        .strip_suffix(&format!(" (os error {number})"))
        .unwrap_or(&text);
    PyOSError::new_err((number, text.to_owned(), filename.as_os_str().to_owned()))
}

/// A Python integer as a number of a type that may not have room for it.
pub(crate) fn fitting<T: TryFrom<i128>>(
    op: &str,
    what: &str,
    number: impl Into<Whole>,
) -> PyResult<T> {
    let number = number.into().of(op, what)?;
    T::try_from(number.0).map_err(|_| {
        let bits = 8 * size_of::<T>();
        logic(match number.0 {
            ..0 if T::try_from(-1).is_err() => {
                format!("{op}: {what} is {number}, expected no negative number")
            }
            _ => format!("{op}: {what} is {number}, which is more than {bits} bits hold"),
        })
    })
}

/// `?` from a result of the library in a function of `uLib.cuda`.
pub(crate) trait IntoCudaResult<T> {
    /// The same result with the error as one of PyCUDA's exceptions.
    fn cuda(self) -> PyResult<T>;
}

impl<T> IntoCudaResult<T> for ulib_core::Result<T> {
    fn cuda(self) -> PyResult<T> {
        self.map_err(to_cuda)
    }
}
