//! The lock of a block, which nobody waits for in vain in a forked child.
//!
//! A thread that held the lock, or was about to, when the process was forked does not exist in the child and never
//! lets go. So every thread counts itself before it takes the lock: a child that finds the lock taken, and
//! threads counted from before the fork, answers with an error of kind `Forked`.
#![allow(
    unsafe_code,
    reason = "registers a fork handler, and leaves alone what a thread of the parent was changing"
)]

use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{
    Mutex, Once, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError,
};

use ulib_core::{Error, ErrorKind, PreferredDevice, Residency, Result};

use super::state::State;
use crate::Device;

/// How many forks lie between this process and the one in which the first block was made.
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

/// What is known of a block whose lock nobody will ever release: as its last change left it.
#[derive(Clone, Debug)]
pub(super) struct Remembered {
    pub(super) preferred: PreferredDevice,
    pub(super) residency: Residency,
    /// The device that alone has the newest data.
    pub(super) only_on: Option<Device>,
}

impl Remembered {
    fn of(state: &State) -> Self {
        Self {
            preferred: state.preferred,
            residency: state.residency,
            only_on: state.only_on(),
        }
    }
}

pub(super) struct StateLock {
    /// Not dropped when a thread of the parent may have been changing it.
    state: ManuallyDrop<RwLock<State>>,
    visits: Visits,
    remembered: Mutex<Remembered>,
}

impl StateLock {
    pub(super) fn new(state: State) -> Self {
        watch_for_fork();
        Self {
            remembered: Mutex::new(Remembered::of(&state)),
            state: ManuallyDrop::new(RwLock::new(state)),
            visits: Visits::default(),
        }
    }

    /// The state, to look at.
    ///
    /// # Errors
    /// Kind `Forked` in a forked child when a thread that was left behind in the parent holds the lock.
    pub(super) fn peek(&self, op: &'static str) -> Result<Peek<'_>> {
        let visit = self.visits.enter();
        if visit.generation > 0 {
            match self.state.try_read() {
                Ok(guard) => return Ok(Peek { guard, visit }),
                Err(TryLockError::Poisoned(poisoned)) => {
                    let guard = poisoned.into_inner();
                    return Ok(Peek { guard, visit });
                }
                Err(TryLockError::WouldBlock) => self.visits.check_alive(op)?,
            }
        }
        let guard = self.state.read().unwrap_or_else(PoisonError::into_inner);
        Ok(Peek { guard, visit })
    }

    /// The state, to change.
    ///
    /// # Errors
    /// As [`peek`](Self::peek).
    pub(super) fn lock(&self, op: &'static str) -> Result<Hold<'_>> {
        let visit = self.visits.enter();
        let guard = if visit.generation > 0 {
            match self.state.try_write() {
                Ok(guard) => Some(guard),
                Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
                Err(TryLockError::WouldBlock) => {
                    self.visits.check_alive(op)?;
                    None
                }
            }
        } else {
            None
        };
        let guard =
            guard.unwrap_or_else(|| self.state.write().unwrap_or_else(PoisonError::into_inner));
        Ok(Hold {
            guard,
            changed: false,
            lock: self,
            _visit: visit,
        })
    }

    /// What the last change left, for questions that have to be answered when [`peek`](Self::peek) fails.
    pub(super) fn remembered(&self) -> Remembered {
        // Held for a few instructions at a time: a child that finds it taken has it from such a moment.
        for _ in 0..1000 {
            match self.remembered.try_lock() {
                Ok(known) => return known.clone(),
                Err(TryLockError::Poisoned(poisoned)) => return poisoned.into_inner().clone(),
                Err(TryLockError::WouldBlock) => std::thread::yield_now(),
            }
        }
        Remembered {
            preferred: PreferredDevice::Host,
            residency: Residency::DeviceNewer,
            only_on: None,
        }
    }
}

impl Drop for StateLock {
    fn drop(&mut self) {
        if self.visits.has_lost() && self.state.try_write().is_err() {
            return;
        }
        // SAFETY: dropped once, here, and not used afterwards.
        unsafe { ManuallyDrop::drop(&mut self.state) };
    }
}

pub(super) struct Peek<'a> {
    guard: RwLockReadGuard<'a, State>,
    #[allow(dead_code, reason = "ends when the guard is gone")]
    visit: Visit<'a>,
}

impl Deref for Peek<'_> {
    type Target = State;

    fn deref(&self) -> &State {
        &self.guard
    }
}

/// Drops in this order: remember, unlock, be counted out.
pub(super) struct Hold<'a> {
    guard: RwLockWriteGuard<'a, State>,
    changed: bool,
    lock: &'a StateLock,
    _visit: Visit<'a>,
}

impl Deref for Hold<'_> {
    type Target = State;

    fn deref(&self) -> &State {
        &self.guard
    }
}

impl DerefMut for Hold<'_> {
    fn deref_mut(&mut self) -> &mut State {
        self.changed = true;
        &mut self.guard
    }
}

impl Drop for Hold<'_> {
    fn drop(&mut self) {
        // Only holders of the state come here, one at a time; in a child whoever asks gives up soon.
        if self.changed
            && let Ok(mut known) = self.lock.remembered.try_lock()
        {
            *known = Remembered::of(&self.guard);
        }
    }
}

/// How many threads of this process hold or want the lock, and whether threads did that a fork left behind.
#[derive(Default)]
struct Visits {
    /// The generation in the upper half, its visitors in the lower.
    present: AtomicU64,
    /// Some from an earlier generation never left.
    lost: AtomicBool,
}

const COUNT: u64 = u32::MAX as u64;

impl Visits {
    fn enter(&self) -> Visit<'_> {
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

    /// Whether a thread that does not exist here held or wanted the lock.
    fn has_lost(&self) -> bool {
        let present = self.present.load(Ordering::Relaxed);
        let earlier = present >> 32 != u64::from(generation()) && present & COUNT > 0;
        earlier || self.lost.load(Ordering::Relaxed)
    }

    fn check_alive(&self, op: &'static str) -> Result<()> {
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

struct Visit<'a> {
    visits: &'a Visits,
    generation: u32,
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
