//! When captures begin: not while others do what would spoil them.

use crate::driver::forked;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

static BEGINNING: Mutex<()> = Mutex::new(());
/// Never awaited but with `BEGINNING` or with nothing of the two held, so that neither waits for the other.
static QUEUEING: RwLock<()> = RwLock::new(());
static EVER: AtomicBool = AtomicBool::new(false);

/// What a thread has locked.
struct Locked {
    beginning: Cell<bool>,
    queueing: Cell<bool>,
}

thread_local! {
    /// In one place, since finding it costs a call.
    static LOCKED: Locked = const {
        Locked { beginning: Cell::new(false), queueing: Cell::new(false) }
    };
}

/// Whether any stream was captured by [`Stream::capture`](crate::Stream::capture) so far.
pub(crate) fn ever_captured() -> bool {
    EVER.load(Ordering::Relaxed)
}

/// While this lives no other thread begins a capture, and those that have begun are in the list of captures. For what spoils a
/// capture and may wait, preceded by a look at whether there is one. A thread may have several.
pub(crate) struct NoneBegins(Option<MutexGuard<'static, ()>>);

impl NoneBegins {
    pub(crate) fn new() -> Self {
        // In a forked child another thread of the parent may have it for ever, and nobody captures.
        if forked() || LOCKED.with(|locked| locked.beginning.replace(true)) {
            return Self(None);
        }
        Self(Some(
            BEGINNING.lock().unwrap_or_else(PoisonError::into_inner),
        ))
    }
}

impl Drop for NoneBegins {
    fn drop(&mut self) {
        if self.0.is_some() {
            LOCKED.with(|locked| locked.beginning.set(false));
        }
    }
}

/// As [`NoneBegins`], for single calls of the driver that do not wait: any number of threads have it at once, and none waits for those
/// that have the other one. Nothing else is locked within.
pub(crate) struct Queueing(Option<RwLockReadGuard<'static, ()>>);

impl Queueing {
    /// Where nothing has to be kept out.
    pub(crate) const NOTHING: Self = Self(None);

    pub(crate) fn new() -> Self {
        if forked() || LOCKED.with(|locked| locked.beginning.get() || locked.queueing.replace(true))
        {
            return Self::NOTHING;
        }
        Self(Some(
            QUEUEING.read().unwrap_or_else(PoisonError::into_inner),
        ))
    }
}

impl Drop for Queueing {
    fn drop(&mut self) {
        if self.0.is_some() {
            LOCKED.with(|locked| locked.queueing.set(false));
        }
    }
}

/// While this lives a capture may begin, and nobody has [`NoneBegins`] or [`Queueing`].
pub(super) struct Begins {
    queueing: Option<RwLockWriteGuard<'static, ()>>,
    _none_begins: NoneBegins,
}

impl Begins {
    pub(super) fn new() -> Self {
        let none_begins = NoneBegins::new();
        let queueing = (!forked() && !LOCKED.with(|locked| locked.queueing.replace(true)))
            .then(|| QUEUEING.write().unwrap_or_else(PoisonError::into_inner));
        EVER.store(true, Ordering::Relaxed);
        Self {
            queueing,
            _none_begins: none_begins,
        }
    }
}

impl Drop for Begins {
    fn drop(&mut self) {
        if self.queueing.is_some() {
            LOCKED.with(|locked| locked.queueing.set(false));
        }
    }
}
