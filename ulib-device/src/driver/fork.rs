//! Telling a forked child from the process that initialised the driver.
//!
//! A driver that was initialised before `fork` is unusable in the child, and calling it may hang or crash. A handler
//! that runs in the child right after `fork` sets a flag, so asking costs one load and needs no system call.

use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

static FORKED: AtomicBool = AtomicBool::new(false);
static REGISTERED: Once = Once::new();

/// Whether this process was forked from one in which the driver had been initialised (or was about to be).
///
/// In such a child nothing calls the driver: operations that would need it fail with kind `Forked`, and destructors
/// leave everything to the parent. Host data stays usable.
#[must_use]
pub fn forked() -> bool {
    FORKED.load(Ordering::Relaxed)
}

/// Called just before the driver is initialised.
#[cfg(unix)]
pub(super) fn watch_for_fork() {
    extern "C" fn in_child() {
        FORKED.store(true, Ordering::Relaxed);
    }
    REGISTERED.call_once(|| {
        // SAFETY: the handler is a plain function of this library that only stores to an atomic, which is allowed
        // between fork and exec; glibc forgets the handler if this library is ever unloaded.
        let status = unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
        if status != 0 {
            log::warn!("forks cannot be detected: pthread_atfork returned {status}");
        }
    });
}

/// There is no fork here.
#[cfg(not(unix))]
pub(super) fn watch_for_fork() {
    REGISTERED.call_once(|| {});
}
