//! What copies on streams still use.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use ulib_core::{Error, Result};
use ulib_device::{Event, Stream};

use super::buffer::HostBytes;

/// What keeps something alive.
#[allow(dead_code, reason = "kept for the sake of their destructors")]
pub(super) enum Keeper {
    Bytes(Arc<HostBytes>),
    Object(Py<PyAny>),
}

struct Kept {
    after: Arc<Event>,
    _keeper: Keeper,
}

static PENDING: Mutex<VecDeque<Kept>> = Mutex::new(VecDeque::new());

/// Marks the present end of `stream`, unless what was put there became part of a graph, whose user keeps what it uses. Where
/// it cannot be marked, it is waited for.
pub(super) fn mark(stream: &Stream) -> Result<Option<Arc<Event>>> {
    match stream.is_capturing() {
        Ok(true) => Ok(None),
        Ok(false) => match stream.record() {
            Ok(event) => Ok(Some(Arc::new(event))),
            Err(error) => wait_for(stream, error),
        },
        Err(error) => wait_for(stream, error),
    }
}

fn wait_for(stream: &Stream, error: Error) -> Result<Option<Arc<Event>>> {
    match stream.synchronize() {
        Ok(()) => Ok(None),
        // The context is broken, and runs nothing any more.
        Err(_) => Err(error),
    }
}

/// Keeps `bytes` until `after` is reached, and lets those go that are done.
pub(super) fn keep(py: Python<'_>, after: Option<Arc<Event>>, bytes: HostBytes) {
    keep_for(py, after, Keeper::Bytes(Arc::new(bytes)));
}

/// [`keep`] for anything.
pub(super) fn keep_for(py: Python<'_>, after: Option<Arc<Event>>, keeper: Keeper) {
    if let Some(after) = after {
        let mut pending = PENDING.lock().unwrap_or_else(PoisonError::into_inner);
        pending.push_back(Kept {
            after,
            _keeper: keeper,
        });
    }
    let_go(py);
}

/// Lets what copies no longer use go; does not wait.
pub(in crate::cuda) fn let_go(_py: Python<'_>) {
    let mut done = Vec::new();
    // Whoever has the lock does the same.
    if let Ok(mut pending) = PENDING.try_lock() {
        while pending
            .front()
            .is_some_and(|kept| kept.after.is_done().unwrap_or(false))
        {
            done.extend(pending.pop_front());
        }
    }
    // Their objects may run anything when they go.
    drop(done);
}
