//! The end of the process. The driver takes itself apart then, and a thread that is inside it, or comes in, crashes.
//!
//! Threads that live on while the process exits are common where an interpreter has them (Python's daemon threads). So each
//! [`Visit`] of the driver is counted; a handler that runs before the driver's own waits a moment for those inside, and who comes
//! later on another thread than the exiting one stays away for good.

use std::cell::Cell;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How long the exit waits for calls under way; a call may wait for a kernel that never ends.
const PATIENCE: Duration = Duration::from_millis(200);

static ENDING: AtomicBool = AtomicBool::new(false);
/// Threads inside.
static INSIDE: AtomicUsize = AtomicUsize::new(0);
static REGISTERED: Once = Once::new();

thread_local! {
    /// How deep this thread is inside.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
    /// Whether this thread is the one that ends the process.
    static ENDS: Cell<bool> = const { Cell::new(false) };
}

/// A thread's calls of the driver while it lives. It belongs to its thread.
pub(crate) struct Visit(());

impl Visit {
    /// Begins one; once the process ends on another thread, it never comes back.
    pub(crate) fn begin() -> Self {
        let depth = DEPTH.get();
        if depth == 0 {
            // Either the exiting thread sees this, or this sees that the process ends.
            INSIDE.fetch_add(1, Ordering::SeqCst);
        }
        DEPTH.set(depth + 1);
        if ENDING.load(Ordering::SeqCst) && !ENDS.get() {
            INSIDE.fetch_sub(1, Ordering::SeqCst);
            loop {
                std::thread::park();
            }
        }
        Self(())
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        let depth = DEPTH.get() - 1;
        DEPTH.set(depth);
        if depth == 0 {
            INSIDE.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

/// Called once a context is there: handlers run in the opposite order, and those of the driver are registered by then.
#[cfg(unix)]
pub(crate) fn watch_for_the_end() {
    extern "C" fn at_exit() {
        end();
    }
    REGISTERED.call_once(|| {
        // SAFETY: the handler is a plain function of this library, which waits and touches atomics; it does not unwind, and it
        // runs at the exit or when the library is unloaded.
        let status = unsafe { libc::atexit(at_exit) };
        if status != 0 {
            log::warn!("threads may crash at the exit: atexit returned {status}");
        }
    });
}

/// The system ends other threads before the driver there.
#[cfg(not(unix))]
pub(crate) fn watch_for_the_end() {
    REGISTERED.call_once(|| {});
}

#[cfg_attr(not(unix), allow(dead_code, reason = "nobody calls it there"))]
fn end() {
    // The parent's threads are not in a forked child.
    if super::forked() {
        return;
    }
    ENDS.set(true);
    ENDING.store(true, Ordering::SeqCst);
    let own = usize::from(DEPTH.get() > 0);
    let begun = Instant::now();
    while INSIDE.load(Ordering::SeqCst) > own && begun.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_micros(100));
    }
}
