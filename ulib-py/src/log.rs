//! Records of where operations ran, handed to Python's `logging`.
//!
//! Rules, which keep records out of everybody's way:
//! 1. While no handler is to see them, the level of the `log` crate is off: an operation looks at one number, and neither
//!    formats anything nor attaches to the interpreter. `uLib._log`, which the package imports, tells us when levels change
//!    ([`placement_log`]).
//! 2. Records made while this thread holds an object's lock wait until it has let go ([`deliver`]), since a handler is
//!    Python code that may use the object.
//! 3. What a handler raises is reported as unraisable, as in a destructor, and is not mixed up with the operation's own
//!    outcome; an interrupt is raised again at the next chance.
//! 4. When the interpreter ends the level goes off.

#![allow(unsafe_code, reason = "raises an interrupt again")]

use std::cell::{Cell, RefCell};
use std::sync::OnceLock;

use log::{Level, LevelFilter, Log, Metadata, Record};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3_log::{Caching, Logger};
use ulib_math::ops::PLACEMENT_LOG;

use crate::cell::holds_a_lock;

/// A record that waits.
type Waiting = (Level, String);

thread_local! {
    static WAITING: RefCell<Vec<Waiting>> = const { RefCell::new(Vec::new()) };
    /// Whether this thread is in a handler, whose own operations are not reported to it.
    static HANDLING: Cell<bool> = const { Cell::new(false) };
}

/// Between the `log` crate and Python.
struct Bridge(OnceLock<Logger>);

static BRIDGE: Bridge = Bridge(OnceLock::new());

/// Connects the `log` crate, which is off until [`placement_log`] says otherwise.
pub(crate) fn install() {
    // Another logger of the process stays.
    let _ = log::set_logger(&BRIDGE);
}

impl Log for Bridge {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == PLACEMENT_LOG && !HANDLING.get()
    }

    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        if holds_a_lock() {
            let waiting = (record.level(), record.args().to_string());
            WAITING.with_borrow_mut(|all| all.push(waiting));
        } else {
            self.hand_over(record);
        }
    }

    fn flush(&self) {}
}

impl Bridge {
    fn hand_over(&self, record: &Record<'_>) {
        Python::try_attach(|py| {
            let Some(logger) = self.0.get() else {
                return;
            };
            HANDLING.set(true);
            logger.log(record);
            HANDLING.set(false);
            let Some(raised) = PyErr::take(py) else {
                return;
            };
            if raised.is_instance_of::<PyKeyboardInterrupt>(py) {
                // SAFETY: attached; as if the signal came now.
                unsafe { pyo3::ffi::PyErr_SetInterrupt() };
            } else {
                raised.write_unraisable(py, None);
            }
        });
    }
}

/// Hands over what waited for this thread to let go of its locks.
pub(crate) fn deliver() {
    if WAITING.with_borrow(Vec::is_empty) || holds_a_lock() {
        return;
    }
    for (level, text) in WAITING.take() {
        BRIDGE.hand_over(
            &Record::builder()
                .target(PLACEMENT_LOG)
                .level(level)
                .args(format_args!("{text}"))
                .build(),
        );
    }
}

/// Turns the records on or off.
#[pyfunction]
pub(crate) fn placement_log(py: Python<'_>, on: bool) -> PyResult<()> {
    if BRIDGE.0.get().is_none() {
        let logger = Logger::new(py, Caching::Loggers)?;
        // Another thread may have been first, with the same one.
        let _ = BRIDGE.0.set(logger);
    }
    log::set_max_level(if on {
        LevelFilter::Debug
    } else {
        LevelFilter::Off
    });
    Ok(())
}
