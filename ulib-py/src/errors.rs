//! The one place where errors of the library become Python exceptions.

use std::borrow::Cow;

use pyo3::exceptions::{
    PyBufferError, PyIndexError, PyKeyboardInterrupt, PyMemoryError, PyOSError, PyOverflowError,
    PyRuntimeError, PyTypeError, PyValueError,
};
use pyo3::prelude::*;
use ulib_core::{Error, ErrorKind};

use crate::hooks;

pyo3::create_exception!(
    uLib,
    DriverError,
    PyRuntimeError,
    "The driver refused a call or reports a broken device. `code` is the status, `call` the entry."
);
pyo3::create_exception!(
    uLib,
    DeviceUnavailableError,
    PyRuntimeError,
    "There is no device to use; the message has the reason."
);
pyo3::create_exception!(
    uLib,
    FormatError,
    PyValueError,
    "A file is damaged, truncated, or of a kind or version that is not known; the message has the file and the place."
);
pyo3::create_exception!(
    uLib,
    ResidencyError,
    PyRuntimeError,
    "The numbers are not, or may not be brought, where the operation needs them."
);
pyo3::create_exception!(
    uLib,
    ForkedError,
    PyRuntimeError,
    "The driver was initialised before this process was forked and cannot be used in the child."
);
pyo3::create_exception!(
    uLib,
    OutOfMemoryError,
    PyMemoryError,
    "No room, on the device or the host: `needs` and `free` are byte counts."
);

/// What Python calls an operation of the library; what is several methods there, or a protocol, is said in words.
fn name_in_python(op: &str) -> Option<Cow<'static, str>> {
    Some(Cow::Borrowed(match op {
        "can_use_device" => "CanUseDevice",
        "device_overwrite" | "device_write" => "writing on the device",
        "device_read" => "reading on the device",
        "end_exports" => "EndExports",
        "export" => "giving the device address",
        "export_host" => "giving the host buffer",
        "host_view" => "HostView",
        "is_device_resident" => "IsDeviceResident",
        "is_shared" => "IsShared",
        "lease" => "DeviceView",
        "location" => "GetDataLocation",
        "preferred" => "GetPreferredDevice",
        "read_at" => "reading an element",
        "release_device" => "ReleaseDevice",
        "set_preferred" => "SetPreferredDevice",
        "try_clone" => "copying",
        "update" => "Update",
        "write_at" => "writing an element",
        "Event::elapsed_ms" => "Event.time_since",
        "Event::from_ipc" => "Event.from_ipc_handle",
        "Event::is_done" => "Event.query",
        "Linker::add" => "Linker.add_data",
        "Linker::link" => "Linker.link_module",
        "Managed" => "ManagedAllocation",
        "Module::function" => "Module.get_function",
        "Module::global" => "Module.get_global",
        "Module::load" | "Module::load_image" | "Module::from_image" => "module_from_buffer",
        "Stream::kind" => "Stream.flags",
        "Stream::notify" => "Stream.add_callback",
        "Stream::wait" => "Stream.wait_for_event",
        _ => {
            let (class, method) = op.split_once("::")?;
            return Some(Cow::Owned(match method {
                "new" => class.to_owned(),
                _ => format!("{class}.{method}"),
            }));
        }
    }))
}

/// The error with the name that Python has for its operation.
pub(crate) fn named_in_python(error: Error) -> Error {
    match error.op().and_then(name_in_python) {
        Some(name) => error.of_op(name),
        None => error,
    }
}

/// The exception that fits an error, with its message and its structured fields.
pub(crate) fn to_python(error: Error) -> PyErr {
    let error = named_in_python(error);
    let message = shortened(&error.to_string());
    match error.kind() {
        ErrorKind::Shape | ErrorKind::Layout | ErrorKind::InvalidArgument => {
            PyValueError::new_err(message)
        }
        ErrorKind::Format => FormatError::new_err(message),
        ErrorKind::DType => PyTypeError::new_err(message),
        ErrorKind::Index => PyIndexError::new_err(message),
        ErrorKind::Residency => ResidencyError::new_err(message),
        ErrorKind::Busy => PyBufferError::new_err(message),
        ErrorKind::Unavailable => DeviceUnavailableError::new_err(message),
        kind @ ErrorKind::OutOfMemory { .. } => with_kind(OutOfMemoryError::new_err(message), kind),
        kind @ ErrorKind::Driver { .. } => with_kind(DriverError::new_err(message), kind),
        ErrorKind::Overflow => PyOverflowError::new_err(message),
        ErrorKind::Interrupted => {
            hooks::take_pending().unwrap_or_else(|| PyKeyboardInterrupt::new_err(message))
        }
        ErrorKind::Forked => ForkedError::new_err(message),
        ErrorKind::Io => match number_of(&error) {
            // Python makes it what fits the number, such as FileNotFoundError.
            Some(number) => PyOSError::new_err((number, message)),
            None => PyOSError::new_err(message),
        },
        _ => PyRuntimeError::new_err(message),
    }
}

/// The number that the system gave an error of a file.
fn number_of(error: &Error) -> Option<i32> {
    std::error::Error::source(error)?
        .downcast_ref::<std::io::Error>()?
        .raw_os_error()
}

/// A text that may quote what the caller gave: beyond a length nobody reads, the middle is left out.
pub(crate) fn shortened(text: &str) -> String {
    const LONGEST: usize = 600;
    const KEPT: usize = 200;
    if text.len() <= LONGEST {
        return text.to_owned();
    }
    let cut = |at: usize| {
        (at..)
            .find(|&at| text.is_char_boundary(at))
            .unwrap_or(text.len())
    };
    let (head, tail) = (&text[..cut(KEPT)], &text[cut(text.len() - KEPT)..]);
    format!("{head} ... {tail} ({} bytes in all)", text.len())
}

/// The exception with what its kind says in numbers: the byte counts, or the driver's status and the call.
pub(crate) fn with_kind(error: PyErr, kind: &ErrorKind) -> PyErr {
    match kind {
        ErrorKind::OutOfMemory { needs, free } => {
            let counts = [("needs", i128::from(*needs)), ("free", i128::from(*free))];
            with_fields(error, &counts, None)
        }
        ErrorKind::Driver { code, call } => {
            with_fields(error, &[("code", i128::from(*code))], Some(("call", call)))
        }
        _ => error,
    }
}

/// Sets attributes on a new exception; the exception is returned even if that fails.
fn with_fields(
    error: PyErr,
    numbers: &[(&str, i128)],
    text: Option<(&str, &'static str)>,
) -> PyErr {
    Python::attach(|py| {
        let value = error.value(py);
        let set = || -> PyResult<()> {
            for (name, number) in numbers {
                value.setattr(*name, *number)?;
            }
            if let Some((name, text)) = text {
                value.setattr(name, text)?;
            }
            Ok(())
        };
        if let Err(failed) = set() {
            failed.set_cause(py, Some(error.clone_ref(py)));
        }
    });
    error
}

/// `?` from a result of the library in a function that returns to Python.
pub(crate) trait IntoPyResult<T> {
    /// The same result with the error as a Python exception.
    fn py(self) -> PyResult<T>;
}

impl<T> IntoPyResult<T> for ulib_core::Result<T> {
    fn py(self) -> PyResult<T> {
        self.map_err(to_python)
    }
}
