//! Signals during long copies: Ctrl-C stops a copy with `KeyboardInterrupt`.
//!
//! A consumer may swallow that: NumPy forgets why it got no buffer and asks for `__array_interface__` next. So an
//! interrupted buffer is remembered, and raised again if the same instruction of the same frame asks in another way. If the
//! exception did arrive where it belongs, the program is elsewhere by then.

#![allow(unsafe_code, reason = "asks which frame runs")]

use std::cell::RefCell;
use std::ops::ControlFlow;

use pyo3::prelude::*;

thread_local! {
    /// What the signal handler raised in this thread's copy, until the copy's error is mapped.
    static PENDING: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

thread_local! {
    static INTERRUPTED: RefCell<Option<Interrupted>> = const { RefCell::new(None) };
}

/// The exception that ended a thread's last buffer request.
struct Interrupted {
    at: Spot,
    /// What it says.
    kept: PyErr,
    /// Its own address, by which it is known while it is on its way.
    address: usize,
}

/// An object, and the instruction of Python code that uses it.
#[derive(PartialEq, Eq)]
struct Spot {
    object: usize,
    frame: usize,
    instruction: Option<i64>,
}

impl Spot {
    fn now(py: Python<'_>, object: usize) -> Spot {
        // SAFETY: attached; the answer is a borrowed reference to the running frame, or null without one.
        let frame = unsafe {
            let frame = pyo3::ffi::PyEval_GetFrame().cast::<pyo3::ffi::PyObject>();
            Bound::from_borrowed_ptr_or_opt(py, frame)
        };
        let instruction = frame
            .as_ref()
            .and_then(|frame| frame.getattr("f_lasti").ok()?.extract().ok());
        Spot {
            object,
            frame: frame.map_or(0, |frame| frame.as_ptr() as usize),
            instruction,
        }
    }
}

/// Keeps what the exception that ended a buffer request for `object` says: a copy where it can be copied, since the traceback of the
/// exception itself would keep the objects of the functions that it goes through, the large one among them.
pub(crate) fn remember(py: Python<'_>, object: usize, raised: &PyErr) {
    let copied = py
        .import("copy")
        .and_then(|copy| copy.call_method1("copy", (raised.value(py),)));
    let kept = copied.map_or_else(|_| raised.clone_ref(py), PyErr::from_value);
    INTERRUPTED.set(Some(Interrupted {
        at: Spot::now(py, object),
        kept,
        address: raised.value(py).as_ptr() as usize,
    }));
}

/// Whether `error` is the exception that ended this thread's last buffer request: it says nothing of the object that was asked.
pub(crate) fn is_interruption(py: Python<'_>, error: &PyErr) -> bool {
    INTERRUPTED.with_borrow(|known| {
        known.as_ref().is_some_and(|known| {
            // Once it has gone, another one may be in its place.
            known.address == error.value(py).as_ptr() as usize
                && known.kept.get_type(py).is(error.get_type(py))
        })
    })
}

/// The exception of a buffer request for `object` that the instruction now running made and has got no answer to.
pub(crate) fn recall(py: Python<'_>, object: usize) -> Option<PyErr> {
    let known = INTERRUPTED.take()?;
    (known.at == Spot::now(py, object)).then_some(known.kept)
}

/// Asks long copies to look for signals.
pub(crate) fn install() {
    ulib_device::hooks::set_watch(Some(watch));
}

/// The exception that stopped this thread's last copy.
pub(crate) fn take_pending() -> Option<PyErr> {
    PENDING.take()
}

/// Runs the Python handlers of signals that have arrived. Python runs them on its main thread
/// only; on any other thread this does nothing.
fn watch(_done: u64, _total: u64) -> ControlFlow<()> {
    match Python::try_attach(|py| py.check_signals()) {
        Some(Err(raised)) => {
            PENDING.set(Some(raised));
            ControlFlow::Break(())
        }
        Some(Ok(())) | None => ControlFlow::Continue(()),
    }
}
