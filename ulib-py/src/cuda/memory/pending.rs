//! What copies on streams still use.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use ulib_core::{Error, Result};
use ulib_device::{Event, Stream, graph};

use crate::cuda::kept::Keeper;
use crate::detached::InHand;

struct Kept {
    after: InHand<Event>,
    keeper: Keeper,
}

static PENDING: Mutex<VecDeque<Kept>> = Mutex::new(VecDeque::new());

/// How long something is kept.
#[derive(Clone)]
pub(super) enum Mark {
    /// No longer: what used it has run.
    Done,
    /// Until that is reached.
    After(InHand<Event>),
    /// As long as the graph that the stream is captured into, by who has put the work there ([`in_graph`](crate::cuda::kept::in_graph)); of a capture that is
    /// not ours, its user keeps what it uses.
    Captured,
}

/// Marks the present end of `stream`. Where it cannot be marked, it is waited for.
pub(super) fn mark(stream: &Stream) -> Result<Mark> {
    match stream.is_capturing() {
        Ok(true) => Ok(Mark::Captured),
        Ok(false) => match stream.record() {
            Ok(event) => Ok(Mark::After(InHand::new(event))),
            Err(error) => wait_for(stream, error),
        },
        Err(error) => wait_for(stream, error),
    }
}

fn wait_for(stream: &Stream, error: Error) -> Result<Mark> {
    match stream.synchronize() {
        Ok(()) => Ok(Mark::Done),
        // The context is broken, and runs nothing any more.
        Err(_) => Err(error),
    }
}

/// Keeps what a copy uses as long as `mark` says, and lets those go that are done.
pub(super) fn keep(py: Python<'_>, mark: Mark, keeper: Keeper) {
    if let Mark::After(after) = mark {
        locked().push_back(Kept { after, keeper });
    }
    let_go(py);
}

/// Lets what copies and graphs no longer use go; does not wait.
pub(in crate::cuda) fn let_go(py: Python<'_>) {
    if !graph::keeps_some() && locked().is_empty() {
        return;
    }
    let done: Vec<Keeper> = py.detach(|| {
        graph::let_go();
        let mut done = Vec::new();
        while let Some(Kept { after, keeper }) = first_done() {
            drop(after.into_shared());
            done.push(keeper);
        }
        done
    });
    // Their objects may run anything when they go.
    drop(done);
}

/// Takes what has been kept longest, if it is no longer used.
fn first_done() -> Option<Kept> {
    // The driver is asked without the lock, which others take with the interpreter. Whoever takes it out meanwhile does the same.
    let after = locked().front()?.after.clone();
    if !after.is_done().unwrap_or(false) {
        return None;
    }
    let mut pending = locked();
    match pending.front() {
        Some(first) if first.after.is(&after) => pending.pop_front(),
        _ => None,
    }
}

fn locked() -> MutexGuard<'static, VecDeque<Kept>> {
    // Held for a moment only, without waiting for anything.
    PENDING.lock().unwrap_or_else(PoisonError::into_inner)
}
