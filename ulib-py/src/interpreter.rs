//! The one interpreter of a process that can use the library.

#![allow(unsafe_code, reason = "asks the interpreter who it is")]

use pyo3::exceptions::PyImportError;
use pyo3::ffi;
use pyo3::prelude::*;

/// Refuses the import in a subinterpreter. The classes are made once for the process and belong to the interpreter that made
/// them; an object of another one would be freed by nobody when that one ends, or twice.
pub(crate) fn refuse_all_but_main(_py: Python<'_>) -> PyResult<()> {
    // SAFETY: attached, so there is a current interpreter.
    let id = unsafe { ffi::PyInterpreterState_GetID(ffi::PyInterpreterState_Get()) };
    // The main interpreter is the first one.
    if id == 0 {
        return Ok(());
    }
    Err(PyImportError::new_err(
        "uLib: cannot be imported in a subinterpreter, only in the main interpreter",
    ))
}
