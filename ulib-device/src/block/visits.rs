//! Telling a thread that works from one that a fork left behind in the parent.
#![allow(unsafe_code, reason = "registers a fork handler")]

use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use ulib_core::{Error, ErrorKind, Result};

/// How many forks lie between this process and the one in which the first count was made.
static GENERATION: AtomicU32 = AtomicU32::new(0);

fn generation() -> u32 {
    GENERATION.load(Ordering::Relaxed)
}

#[cfg(unix)]
fn watch_for_fork() {
    static REGISTERED: Once = Once::new();
    extern "C" fn in_child() {
        GENERATION.fetch_add(1, Ordering::Relaxed);
    }
    REGISTERED.call_once(|| {
        // SAFETY: the handler is a plain function of this library that only changes an atomic, which is allowed
        // between fork and exec; glibc forgets the handler if this library is ever unloaded.
        let status = unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
        if status != 0 {
            log::warn!("forks cannot be detected: pthread_atfork returned {status}");
        }
    });
}

/// There is no fork here.
#[cfg(not(unix))]
fn watch_for_fork() {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| {});
}

/// How many threads of this process are at work on something, and whether threads were that a fork left behind.
///
/// # Examples
/// ```
/// use ulib_device::block::Visits;
/// let visits = Visits::default();
/// let visit = visits.enter();
/// // ... try a lock; before waiting for it:
/// assert!(!visit.is_in_child() && visits.check_alive("read").is_ok());
/// ```
#[derive(Debug)]
pub struct Visits {
    /// The generation in the upper half, its visitors in the lower.
    present: AtomicU64,
    /// Some from an earlier generation never left.
    lost: AtomicBool,
}

const COUNT: u64 = u32::MAX as u64;

impl Default for Visits {
    fn default() -> Self {
        watch_for_fork();
        Self {
            present: AtomicU64::new(0),
            lost: AtomicBool::new(false),
        }
    }
}

impl Visits {
    /// Counts this thread until the answer is dropped. To be done before taking a lock that others count themselves
    /// for.
    pub fn enter(&self) -> Visit<'_> {
        let generation = generation();
        let entered = |present: u64| {
            if present >> 32 == u64::from(generation) {
                return Some(present + 1);
            }
            if present & COUNT > 0 {
                self.lost.store(true, Ordering::Relaxed);
            }
            Some(u64::from(generation) << 32 | 1)
        };
        let _ = self
            .present
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, entered);
        Visit {
            visits: self,
            generation,
        }
    }

    /// Whether a thread that does not exist here was at work.
    #[must_use]
    pub fn has_lost(&self) -> bool {
        let present = self.present.load(Ordering::Relaxed);
        let earlier = present >> 32 != u64::from(generation()) && present & COUNT > 0;
        earlier || self.lost.load(Ordering::Relaxed)
    }

    /// Says before waiting whether somebody is there who can end the wait.
    ///
    /// # Errors
    /// Kind `Forked` in a forked child when a thread was at work that does not exist here.
    pub fn check_alive(&self, op: &'static str) -> Result<()> {
        if !self.has_lost() {
            return Ok(());
        }
        Err(Error::in_op(
            ErrorKind::Forked,
            op,
            "another thread was at work on the data when this process was forked",
        ))
    }
}

/// One thread that is at work; ends when dropped.
#[derive(Debug)]
#[must_use = "the thread is counted while this lives"]
pub struct Visit<'a> {
    visits: &'a Visits,
    generation: u32,
}

impl Visit<'_> {
    /// Whether this process is a forked child, in which a lock may be held by nobody.
    #[must_use]
    pub fn is_in_child(&self) -> bool {
        self.generation > 0
    }
}

impl Drop for Visit<'_> {
    fn drop(&mut self) {
        // A guard that crossed a fork with its thread is not counted any more once others have entered since.
        let left = |present: u64| {
            (present >> 32 == u64::from(self.generation) && present & COUNT > 0)
                .then(|| present - 1)
        };
        let _ = self
            .visits
            .present
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, left);
    }
}
