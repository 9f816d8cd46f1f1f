//! Signals during long copies: Ctrl-C stops a copy with `KeyboardInterrupt`.

use std::cell::RefCell;
use std::ops::ControlFlow;

use pyo3::prelude::*;

thread_local! {
    /// What the signal handler raised in this thread's copy, until the copy's error is mapped.
    static PENDING: RefCell<Option<PyErr>> = const { RefCell::new(None) };
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
