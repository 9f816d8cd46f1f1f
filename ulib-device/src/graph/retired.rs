//! What launches that are not done still use, of graphs that need it no more.

use crate::driver::forked;
use crate::event::Event;
use crate::stream::Stream;
use std::any::Any;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A point that launches have not come to yet.
pub(super) enum Mark {
    After(Arc<Event>),
    /// Where no event could be recorded: when the stream has nothing to do.
    Idle(Stream),
}

impl Mark {
    /// Whether it is reached; false where the driver does not tell, as during a capture.
    fn is_reached(&self) -> bool {
        match self {
            Self::After(event) => event.is_done(),
            Self::Idle(stream) => stream.is_done(),
        }
        .unwrap_or(false)
    }
}

struct Retired {
    marks: Vec<Mark>,
    _what: Box<dyn Any + Send>,
}

static SOME: AtomicBool = AtomicBool::new(false);
static LIST: Mutex<Vec<Retired>> = Mutex::new(Vec::new());

/// Drops `what` as soon as all marks are reached: now, or when somebody calls [`let_go`].
pub(super) fn retire(marks: Vec<Mark>, what: Box<dyn Any + Send>) {
    if forked() {
        std::mem::forget(what);
        return;
    }
    if marks.iter().all(Mark::is_reached) {
        drop(what);
        return;
    }
    let mut list = LIST.lock().unwrap_or_else(PoisonError::into_inner);
    list.push(Retired { marks, _what: what });
    SOME.store(true, Ordering::Release);
}

/// Whether [`let_go`] may find something.
pub fn keeps_some() -> bool {
    SOME.load(Ordering::Acquire)
}

/// Lets go what graphs no longer need, and whose last launches are done by now. Does not wait. Changing and closing graphs
/// and allocating device memory do it as well.
pub fn let_go() {
    // A plain load comes first: this is asked at every allocation.
    if !SOME.load(Ordering::Relaxed) || forked() || !SOME.swap(false, Ordering::Acquire) {
        return;
    }
    // Taken out, since the driver is asked, and what goes may do anything.
    let list = std::mem::take(&mut *LIST.lock().unwrap_or_else(PoisonError::into_inner));
    let (done, rest): (Vec<_>, Vec<_>) = list
        .into_iter()
        .partition(|retired| retired.marks.iter().all(Mark::is_reached));
    if !rest.is_empty() {
        let mut list = LIST.lock().unwrap_or_else(PoisonError::into_inner);
        list.extend(rest);
        SOME.store(true, Ordering::Release);
    }
    drop(done);
}
