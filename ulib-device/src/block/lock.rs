//! The lock of a block, which nobody waits for in vain in a forked child.
//!
//! A thread that held the lock, or was about to, when the process was forked does not exist in the child and never
//! lets go. So every thread counts itself before it takes the lock: a child that finds the lock taken, and
//! threads counted from before the fork, answers with an error of kind `Forked`.
#![allow(
    unsafe_code,
    reason = "leaves alone what a thread of the parent was changing"
)]

use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError};

use ulib_core::{PreferredDevice, Residency, Result};

use super::state::State;
use super::visits::{Visit, Visits};
use crate::Device;

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
        if visit.is_in_child() {
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
        let guard = if visit.is_in_child() {
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

    /// The state, to change, if nobody else has it now. Never waits.
    pub(super) fn lock_at_hand(&self) -> Option<Hold<'_>> {
        let visit = self.visits.enter();
        let guard = match self.state.try_write() {
            Ok(guard) => guard,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        Some(Hold {
            guard,
            changed: false,
            lock: self,
            _visit: visit,
        })
    }

    /// The state for its only owner, who needs no lock: nobody holds it, and nobody can fork away from it.
    #[inline]
    pub(super) fn alone(&mut self) -> &mut State {
        self.state.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a change that was made through [`alone`](Self::alone).
    pub(super) fn note(&mut self) {
        let known = Remembered::of(self.alone());
        *self
            .remembered
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner) = known;
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
