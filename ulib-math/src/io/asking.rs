//! Asking, during long reads and writes, whether whoever watches the program wants them to stop.

use std::cell::Cell;
use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use ulib_core::{Error, ErrorKind, Result};
use ulib_device::hooks;

/// How often a thread asks, as long copies do.
const PERIOD: Duration = Duration::from_millis(20);

thread_local! {
    /// When this thread asked last.
    static ASKED: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Asks the watch of [`hooks`], unless this thread did so within the last period. The error must not be dropped: the watch
/// will not say it again.
pub(super) fn ask(done: u64, total: u64) -> Result<()> {
    if ASKED.get().is_some_and(|asked| asked.elapsed() < PERIOD) {
        return Ok(());
    }
    let answer = hooks::poll(done, total);
    ASKED.set(Some(Instant::now()));
    answer
}

/// As [`ask`], within a stream, whose error [`Error::io`] turns back.
pub(super) fn ask_in_stream(done: u64, total: u64) -> io::Result<()> {
    ask(done, total).map_err(io::Error::other)
}

/// A stream that asks as it is read.
pub(super) struct Asking<R> {
    stream: R,
    done: u64,
    total: u64,
}

impl<R> Asking<R> {
    /// Of about `total` bytes.
    pub(super) fn new(stream: R, total: u64) -> Self {
        Asking {
            stream,
            done: 0,
            total,
        }
    }
}

impl<R: Read> Read for Asking<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        ask_in_stream(self.done, self.total)?;
        let count = self.stream.read(into)?;
        self.done += count as u64;
        Ok(count)
    }
}

/// How much of some work that several threads may share is done.
pub(super) struct Progress {
    done: AtomicU64,
    total: u64,
    stopped: AtomicBool,
    /// The thread that called the operation, which alone asks.
    caller: ThreadId,
}

impl Progress {
    /// Work on `total` bytes that this thread was called for.
    pub(super) fn new(total: u64) -> Self {
        Progress {
            done: AtomicU64::new(0),
            total,
            stopped: AtomicBool::new(false),
            caller: thread::current().id(),
        }
    }

    /// Counts bytes as done, and fails when the work is to stop.
    pub(super) fn add(&self, bytes: usize) -> io::Result<()> {
        let done = self.done.fetch_add(bytes as u64, Ordering::Relaxed) + bytes as u64;
        if self.stopped.load(Ordering::Relaxed) {
            return Err(io::Error::other(Error::new(
                ErrorKind::Interrupted,
                "stopped",
            )));
        }
        if thread::current().id() == self.caller {
            ask_in_stream(done, self.total)?;
        }
        Ok(())
    }

    /// Runs `work`, which uses rayon's threads and calls [`add`](Self::add) on them, while this thread asks.
    pub(super) fn on_all_threads<T: Send>(
        &self,
        work: impl FnOnce() -> io::Result<T> + Send,
    ) -> io::Result<T> {
        // A thread of a pool does its part of the work: were it to wait, nobody may be left to work.
        if rayon::current_thread_index().is_some() {
            return work();
        }
        ask_in_stream(0, self.total)?;
        let (ended, end) = mpsc::sync_channel(1);
        rayon::in_place_scope(|scope| {
            scope.spawn(move |_| {
                // The other end is there until this one is gone.
                let _ = ended.send(work());
            });
            let mut answer = Ok(());
            loop {
                match end.recv_timeout(PERIOD) {
                    Ok(done) => return answer.and(done),
                    // After a panic, which the scope passes on.
                    Err(RecvTimeoutError::Disconnected) => {
                        return Err(io::ErrorKind::BrokenPipe.into());
                    }
                    Err(RecvTimeoutError::Timeout) if answer.is_ok() => {
                        answer = ask_in_stream(self.done.load(Ordering::Relaxed), self.total);
                        self.stopped.store(answer.is_err(), Ordering::Relaxed);
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                }
            }
        })
    }
}
