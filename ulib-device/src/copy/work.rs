//! The chunks of one staged copy, shared by the threads that work on it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use ulib_core::{Error, Result};

use crate::hooks;

/// How often the calling thread asks the watch.
pub(super) const WATCH_PERIOD: Duration = Duration::from_millis(20);

/// Chunks are taken in order by whichever thread is free; the first failure or the watch stops the taking, never a
/// chunk on its way.
pub(super) struct Work<I> {
    chunks: Mutex<I>,
    total: u64,
    done: AtomicU64,
    stop: AtomicBool,
    failure: Mutex<Option<Error>>,
    running: Mutex<usize>,
    ended: Condvar,
    /// The thread that called the copy, which alone asks the watch.
    caller: ThreadId,
    asked: Mutex<Instant>,
}

impl<C, I: Iterator<Item = (u64, C)>> Work<I> {
    /// `chunks` gives each chunk with its offset in bytes; together they have `total` bytes.
    pub(super) fn new(chunks: I, total: u64) -> Self {
        Self {
            chunks: Mutex::new(chunks),
            total,
            done: AtomicU64::new(0),
            stop: AtomicBool::new(false),
            failure: Mutex::default(),
            running: Mutex::default(),
            ended: Condvar::new(),
            caller: thread::current().id(),
            asked: Mutex::new(Instant::now()),
        }
    }

    /// The bytes of all chunks.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// The next chunk, unless the copy was stopped. On the calling thread this asks the watch when it is time.
    pub(super) fn take(&self) -> Option<(u64, C)> {
        if thread::current().id() == self.caller {
            self.ask();
        }
        if self.is_stopped() {
            return None;
        }
        lock(&self.chunks).next()
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Asks the watch unless that was done within its period.
    fn ask(&self) {
        let due = lock(&self.asked).elapsed() >= WATCH_PERIOD;
        if !due || self.is_stopped() {
            return;
        }
        if let Err(interrupted) = hooks::poll(self.done.load(Ordering::Relaxed), self.total) {
            self.fail(interrupted);
        }
        *lock(&self.asked) = Instant::now();
    }

    /// Counts a chunk as done.
    pub(super) fn add_done(&self, bytes: usize) {
        self.done.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// A thread is about to be started; the value goes with it.
    pub(super) fn start(&self) -> Running<'_, I> {
        *lock(&self.running) += 1;
        Running { work: self }
    }

    /// Keeps the first failure and stops the copy.
    pub(super) fn fail(&self, error: Error) {
        lock(&self.failure).get_or_insert(error);
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Waits for the other threads on the thread that called the copy, asking the watch meanwhile.
    pub(super) fn watch(&self) {
        let mut running = lock(&self.running);
        while *running > 0 {
            let (again, _) = self
                .ended
                .wait_timeout(running, WATCH_PERIOD)
                .unwrap_or_else(PoisonError::into_inner);
            drop(again);
            self.ask();
            running = lock(&self.running);
        }
    }

    /// What became of the copy, after all threads have ended.
    pub(super) fn outcome(self) -> Result<()> {
        self.failure
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
            .map_or(Ok(()), Err)
    }
}

/// One thread works on the copy while this lives.
pub(super) struct Running<'a, I> {
    work: &'a Work<I>,
}

impl<I> Drop for Running<'_, I> {
    fn drop(&mut self) {
        *lock(&self.work.running) -= 1;
        self.work.ended.notify_all();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
