//! Host bytes that copies on streams still use.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use ulib_core::Result;
use ulib_device::{Event, Stream};

use super::buffer::HostBytes;

struct Kept {
    after: Event,
    _bytes: HostBytes,
}

static PENDING: Mutex<VecDeque<Kept>> = Mutex::new(VecDeque::new());

/// Marks the present end of `stream`, unless what was put there became part of a graph, whose user keeps what it uses.
pub(super) fn mark(stream: &Stream) -> Result<Option<Event>> {
    if stream.is_capturing()? {
        return Ok(None);
    }
    stream.record().map(Some)
}

/// Keeps `bytes` until `after` is reached, and lets those go that are done.
pub(super) fn keep(_py: Python<'_>, after: Option<Event>, bytes: HostBytes) {
    let mut done = Vec::new();
    {
        let mut pending = PENDING.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(after) = after {
            pending.push_back(Kept {
                after,
                _bytes: bytes,
            });
        }
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
