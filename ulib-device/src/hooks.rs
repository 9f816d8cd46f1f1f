//! A hook by which the embedding program watches, and can stop, long blocking copies, reads and writes.

use std::ops::ControlFlow;
use std::sync::{PoisonError, RwLock};
use ulib_core::{Error, ErrorKind, Result};

/// Called with the bytes done and the bytes in total; `Break` stops the operation.
///
/// It runs on the thread that asked for the operation, never on a worker, about every 20 ms. A block that is being moved
/// or written to a file is locked meanwhile: the watch must not touch that block, which would wait for itself; nor, where several threads
/// move blocks, one that another thread may be moving while its own watch touches this one. It may copy.
pub type Watch = fn(done: u64, total: u64) -> ControlFlow<()>;

static WATCH: RwLock<Option<Watch>> = RwLock::new(None);

/// Installs the watch of this process, or removes it with `None`, and returns the one that was there.
///
/// # Examples
/// ```
/// use std::ops::ControlFlow;
/// use ulib_device::hooks;
///
/// fn never_stop(_done: u64, _total: u64) -> ControlFlow<()> {
///     ControlFlow::Continue(())
/// }
/// assert!(hooks::set_watch(Some(never_stop)).is_none());
/// assert!(hooks::set_watch(None).is_some());
/// ```
pub fn set_watch(watch: Option<Watch>) -> Option<Watch> {
    let mut slot = WATCH.write().unwrap_or_else(PoisonError::into_inner);
    std::mem::replace(&mut *slot, watch)
}

/// Asks the watch, if there is one, whether to go on.
///
/// # Errors
/// Kind `Interrupted` when the watch says `Break`.
pub fn poll(done: u64, total: u64) -> Result<()> {
    // The lock is released before the call: the watch may itself install another one.
    let watch = *WATCH.read().unwrap_or_else(PoisonError::into_inner);
    poll_with(watch, done, total)
}

fn poll_with(watch: Option<Watch>, done: u64, total: u64) -> Result<()> {
    match watch.map(|watch| watch(done, total)) {
        Some(ControlFlow::Break(())) => Err(Error::new(
            ErrorKind::Interrupted,
            format!("interrupted after {done} of {total} bytes"),
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stop_after_ten(done: u64, _total: u64) -> ControlFlow<()> {
        if done > 10 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    #[test]
    fn break_becomes_an_interrupted_error_with_both_counts() {
        assert!(poll_with(Some(stop_after_ten), 10, 20).is_ok());
        assert!(poll_with(None, 11, 20).is_ok());
        let stopped = poll_with(Some(stop_after_ten), 11, 20);
        let found = stopped.map_err(|error| (error.kind().clone(), error.to_string()));
        let expected = "interrupted after 11 of 20 bytes".to_owned();
        assert_eq!(found, Err((ErrorKind::Interrupted, expected)));
    }
}
