//! Python functions that are called when a stream comes to a point.
//!
//! They run on a thread of `ulib-device`, which takes the interpreter for it. When the interpreter ends, what is due has been
//! called, and later nothing takes it any more: a thread that waits for an interpreter that ends would never come back.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use ulib_device::Stream;

use super::errors::IntoCudaResult;

struct State {
    /// Whether a function is being called.
    busy: bool,
    /// Whether the interpreter is about to end.
    over: bool,
    /// Whether the interpreter will say so.
    asked: bool,
}

static STATE: Mutex<State> = Mutex::new(State {
    busy: false,
    over: false,
    asked: false,
});
static IDLE: Condvar = Condvar::new();

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Has `callback` called when `stream` comes to its present end.
pub(super) fn add(py: Python<'_>, stream: &Stream, callback: Py<PyAny>) -> PyResult<()> {
    if !callback.bind(py).is_callable() {
        return Err(PyTypeError::new_err(
            "Stream.add_callback: the argument cannot be called",
        ));
    }
    if !std::mem::replace(&mut state().asked, true) {
        let end = wrap_pyfunction!(end_callbacks, py)?;
        py.import("atexit")?.call_method1("register", (end,))?;
    }
    py.detach(|| stream.notify(move || call(callback))).cuda()
}

/// Calls the function, unless the interpreter is about to end.
fn call(callback: Py<PyAny>) {
    {
        let mut state = state();
        if state.over {
            return;
        }
        state.busy = true;
    }
    Python::try_attach(|py| {
        if let Err(error) = callback.call0(py) {
            error.write_unraisable(py, Some(callback.bind(py)));
        }
        drop(callback);
    });
    state().busy = false;
    IDLE.notify_all();
}

/// Waits until what is due has been called, and lets nothing be called afterwards.
#[pyfunction]
fn end_callbacks(py: Python<'_>) {
    py.detach(|| {
        Stream::settle();
        let mut state = state();
        while state.busy {
            state = IDLE.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.over = true;
    });
}
