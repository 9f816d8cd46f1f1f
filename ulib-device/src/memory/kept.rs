//! What could not be given up, because its last use could not be waited for, mostly because of a stream capture.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use ulib_core::{Error, ErrorKind, Result};

use crate::Device;
use crate::driver::forked;

struct Kept {
    device: Device,
    /// Waits for the last use; called again after it failed.
    wait: Box<dyn FnMut() -> Result<()> + Send>,
    give_up: Box<dyn FnOnce() -> Result<()> + Send>,
    /// Whether the wait failed for another reason than a capture, which is on record then.
    failed: bool,
}

/// Whether the list has anything in it, to be asked without the lock.
static SOME: AtomicBool = AtomicBool::new(false);
static LIST: Mutex<Vec<Kept>> = Mutex::new(Vec::new());

/// Keeps `wait`, which has failed with `error`, and `give_up`, to be called by [`retry`].
///
/// A failure of kind `Busy` ends with the capture that is in the way, and is not returned. Any other one is, and is
/// forgiven once: after a second one whatever the two have captured is leaked, because nobody will know whether it is
/// still in use.
pub(super) fn give_up_later(
    device: &Device,
    error: Error,
    wait: impl FnMut() -> Result<()> + Send + 'static,
    give_up: impl FnOnce() -> Result<()> + Send + 'static,
) -> Result<()> {
    let busy = is_busy(&error);
    keep(Kept {
        device: device.clone(),
        wait: Box::new(wait),
        give_up: Box::new(give_up),
        failed: !busy,
    });
    if busy {
        log::debug!("{device}: kept until a capture ends: {error}");
        Ok(())
    } else {
        Err(error)
    }
}

/// Tries again to give up everything that is kept. Failures are on record in `Device::errors`.
pub(super) fn retry() {
    crate::graph::let_go();
    // A plain load comes first: this is asked at every allocation.
    if !SOME.load(Ordering::Relaxed) || forked() || !SOME.swap(false, Ordering::Acquire) {
        return;
    }
    // Taken out: giving up may allocate or free, and two threads never try the same one.
    let list = std::mem::take(&mut *LIST.lock().unwrap_or_else(PoisonError::into_inner));
    for mut kept in list {
        match (kept.wait)() {
            Ok(()) => {
                if let Err(error) = (kept.give_up)() {
                    record(&kept.device, error);
                }
            }
            Err(error) if is_busy(&error) => keep(kept),
            Err(_) if kept.failed => std::mem::forget((kept.wait, kept.give_up)),
            Err(error) => {
                record(&kept.device, error);
                keep(Kept {
                    failed: true,
                    ..kept
                });
            }
        }
    }
}

fn is_busy(error: &Error) -> bool {
    *error.kind() == ErrorKind::Busy
}

fn keep(kept: Kept) {
    LIST.lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(kept);
    SOME.store(true, Ordering::Release);
}

/// Keeps the failure where the user can read it, unless the driver is gone because the process exits.
pub(super) fn record(device: &Device, error: Error) {
    if !super::is_shutdown(&error) {
        device.record_drop_error(error.context("freeing device memory"));
    }
}
