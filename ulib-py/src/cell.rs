//! [`Shared`]: an object behind a lock that never holds up the interpreter.
//!
//! Rules, which make deadlocks between the lock and the interpreter impossible:
//! 1. A thread that is attached to the interpreter only ever *tries* a lock. When it is taken the
//!    thread detaches first and then waits.
//! 2. Nothing calls Python code while it holds the lock: records for the log wait (see [`log`]). The one exception is the signal watch of a
//!    long copy, which may run a signal handler. A handler that comes back to the same object, or to one that another
//!    thread uses, which may wait for the first, gets an error at once (see [`Patience`]).
//! 3. The object has a lock of its own inside (a download on a shared reference takes it), so a
//!    short question asked while attached must not meet any work in progress, not even reading:
//!    it takes the lock for itself alone. Detached work that only reads shares the lock.
//! 4. In a forked child nobody waits for a thread that stayed in the parent, see [`Visits`].

#![allow(
    unsafe_code,
    reason = "the object is taken out of its lock when it is dropped"
)]

use std::cell::RefCell;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::sync::{PoisonError, RwLock, TryLockError, TryLockResult};

use pyo3::prelude::*;
use ulib_core::{Error, ErrorKind, PreferredDevice, Result};
use ulib_device::block::{Visit, Visits};

use crate::detached::drop_detached;
use crate::log;
use crate::source::Object;

thread_local! {
    /// The locks this thread holds while detached, by address.
    static HELD: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// Notes that this thread holds a lock until it is dropped.
struct Held {
    address: usize,
    /// Must be dropped on the thread that made it.
    thread: PhantomData<*const ()>,
}

impl Drop for Held {
    fn drop(&mut self) {
        HELD.with_borrow_mut(|held| {
            if let Some(at) = held.iter().rposition(|&a| a == self.address) {
                held.swap_remove(at);
            }
        });
    }
}

/// Marks the lock at `address` as held by this thread.
fn enter(address: usize) -> Held {
    HELD.with_borrow_mut(|held| held.push(address));
    Held {
        address,
        thread: PhantomData,
    }
}

/// Whether this thread holds the lock of any object while detached.
pub(crate) fn holds_a_lock() -> bool {
    HELD.with_borrow(|held| !held.is_empty())
}

/// Whether a thread waits for a lock that another one has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    /// It holds nothing that the other may wait for, or takes its locks in the order that all do.
    Waits,
    /// It runs a signal handler in the middle of work on an object, which the other may wait for.
    Refuses,
}

/// How this attached thread takes the lock at `address`. Refuses one that it holds, which only a signal handler can ask for.
fn patience(address: usize) -> Result<Patience> {
    HELD.with_borrow(|held| {
        if held.contains(&address) {
            return Err(Error::new(
                ErrorKind::Busy,
                "the object is in use by the call that this signal handler interrupts",
            ));
        }
        Ok(match held.is_empty() {
            true => Patience::Waits,
            false => Patience::Refuses,
        })
    })
}

/// The lock that `attempt` took for a signal handler, for itself alone: a thread that only reads may wait inside for another
/// object.
fn at_once<G>(attempt: TryLockResult<G>) -> Result<G> {
    match attempt {
        Ok(guard) => Ok(guard),
        Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => Err(Error::new(
            ErrorKind::Busy,
            "the object is in use by another thread, for which a signal handler that interrupts a call cannot wait",
        )),
    }
}

/// Takes a lock: with `attempt`, else with `wait`, unless whoever has it stayed in the parent of this process.
fn take<G>(
    visits: &Visits,
    visit: &Visit<'_>,
    attempt: impl FnOnce() -> TryLockResult<G>,
    wait: impl FnOnce() -> G,
) -> Result<G> {
    if visit.is_in_child() {
        match attempt() {
            Ok(guard) => return Ok(guard),
            Err(TryLockError::Poisoned(poisoned)) => return Ok(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => visits.check_alive("object")?,
        }
    }
    Ok(wait())
}

/// An object that several Python threads may use.
#[derive(Debug)]
pub(crate) struct Shared<T: Object> {
    lock: ManuallyDrop<RwLock<T>>,
    /// Of detached work.
    visits: Visits,
}

impl<T: Object> Drop for Shared<T> {
    fn drop(&mut self) {
        if self.visits.has_lost() && self.lock.try_write().is_err() {
            // A thread of the parent was changing it, and what it left is not to be touched.
            return;
        }
        // SAFETY: this is the only place that takes the lock out, and nothing uses it afterwards.
        drop_detached(unsafe { ManuallyDrop::take(&mut self.lock) });
    }
}

impl<T: Object> Shared<T> {
    pub(crate) fn new(value: T) -> Self {
        Shared {
            lock: ManuallyDrop::new(RwLock::new(value)),
            visits: Visits::default(),
        }
    }

    fn address(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }

    /// Runs a short question that neither copies nor waits for a device. Stays attached unless
    /// another thread is at work on the object.
    pub(crate) fn peek<R: Send>(
        &self,
        py: Python<'_>,
        question: impl FnOnce(&T) -> Result<R> + Send,
    ) -> Result<R> {
        if let Ok(value) = self.lock.try_write() {
            return question(&value);
        }
        self.read(py, question)
    }

    /// Runs a question that neither copies nor waits, if nobody else is at work on the object. Stays attached.
    pub(crate) fn at_hand<R>(&self, question: impl FnOnce(&T) -> R) -> Option<R> {
        let value = self.lock.try_write().ok()?;
        Some(question(&value))
    }

    /// Asks or changes something small with `quick`, attached; where that would take a wait or a transfer it answers
    /// `None` and has done nothing, and `full` does it.
    pub(crate) fn glance<R>(
        &self,
        quick: impl FnOnce(&mut T) -> Result<Option<R>>,
        full: impl FnOnce() -> Result<R>,
    ) -> Result<R> {
        if let Ok(mut value) = self.lock.try_write()
            && let Some(answer) = quick(&mut value)?
        {
            return Ok(answer);
        }
        full()
    }

    /// Runs a question about one element. Stays attached when that can cost no transfer.
    pub(crate) fn tiny<R: Send>(
        &self,
        py: Python<'_>,
        question: impl FnOnce(&T) -> Result<R> + Send,
    ) -> Result<R> {
        if let Ok(value) = self.lock.try_write()
            && value.placed().preferred_device() == PreferredDevice::Host
        {
            return question(&value);
        }
        self.read(py, question)
    }

    /// Runs a change of one element. Stays attached when that can cost no transfer.
    pub(crate) fn tiny_mut<R: Send>(
        &self,
        py: Python<'_>,
        change: impl FnOnce(&mut T) -> Result<R> + Send,
    ) -> Result<R> {
        if let Ok(mut value) = self.lock.try_write()
            && value.placed().preferred_device() == PreferredDevice::Host
        {
            return change(&mut value);
        }
        self.write(py, change)
    }

    /// How this thread, which is attached, takes the object. Refuses one that it already holds, which only a signal handler can
    /// ask for.
    pub(crate) fn patience(&self) -> Result<Patience> {
        patience(self.address())
    }

    /// Runs `work`, which may copy or wait, detached from the interpreter.
    pub(crate) fn read<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&T) -> Result<R> + Send,
    ) -> Result<R> {
        let patience = self.patience()?;
        let done = py.detach(|| self.read_detached(patience, work));
        log::deliver();
        done
    }

    /// Runs `work` with exclusive access, detached from the interpreter.
    pub(crate) fn write<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut T) -> Result<R> + Send,
    ) -> Result<R> {
        let patience = self.patience()?;
        let done = py.detach(|| self.write_detached(patience, work));
        log::deliver();
        done
    }

    /// [`read`](Self::read) for a thread that is detached already and has asked for its [`patience`](Self::patience).
    pub(crate) fn read_detached<R>(
        &self,
        patience: Patience,
        work: impl FnOnce(&T) -> Result<R>,
    ) -> Result<R> {
        if patience == Patience::Refuses {
            return self.write_detached(patience, |object| work(object));
        }
        let _held = enter(self.address());
        let visit = self.visits.enter();
        let value = take(
            &self.visits,
            &visit,
            || self.lock.try_read(),
            || self.lock.read().unwrap_or_else(PoisonError::into_inner),
        )?;
        work(&value)
    }

    /// [`write`](Self::write) for a thread that is detached already and has asked for its [`patience`](Self::patience).
    pub(crate) fn write_detached<R>(
        &self,
        patience: Patience,
        work: impl FnOnce(&mut T) -> Result<R>,
    ) -> Result<R> {
        let _held = enter(self.address());
        let visit = self.visits.enter();
        let mut value = match patience {
            Patience::Refuses => at_once(self.lock.try_write())?,
            Patience::Waits => take(
                &self.visits,
                &visit,
                || self.lock.try_write(),
                || self.lock.write().unwrap_or_else(PoisonError::into_inner),
            )?,
        };
        work(&mut value)
    }
}
