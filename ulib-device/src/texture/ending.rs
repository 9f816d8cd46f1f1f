//! [`Reader`]: an object of the driver's over an array or memory, and how it ends.
#![allow(unsafe_code, reason = "destroys the driver's objects")]

use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ulib_core::{Error, Result};

use crate::Device;
use crate::driver::relaxed_capture;
use crate::report::{Counted, Kind};
use crate::sys::{CUresult, Table};

/// The entry that destroys an object.
pub(super) type Destroy = unsafe extern "C" fn(u64) -> CUresult;

/// An object of the driver's that is destroyed when this is dropped, and then lets go of what it reads. Where the driver does not
/// destroy it, that stays for good: it may still be read.
pub(super) struct Reader<S> {
    device: Device,
    raw: u64,
    call: &'static str,
    entry: fn(&Table) -> Option<Destroy>,
    outcome: Outcome,
    /// Until it is destroyed.
    keeps: Option<(S, Counted)>,
}

impl<S> Reader<S> {
    /// The object `raw` over `source`, which `call` destroys, the `entry` of the driver.
    ///
    /// # Safety
    /// Nobody else destroys it.
    pub(super) unsafe fn new(
        (device, raw): (&Device, u64),
        (call, entry): (&'static str, fn(&Table) -> Option<Destroy>),
        kind: Kind,
        source: S,
    ) -> Self {
        Self {
            device: device.clone(),
            raw,
            call,
            entry,
            outcome: Outcome::default(),
            keeps: Some((source, Counted::new(kind))),
        }
    }

    /// Who is told how it ends.
    pub(super) fn outcome(&self) -> Outcome {
        self.outcome.clone()
    }
}

impl<S> Drop for Reader<S> {
    fn drop(&mut self) {
        let (raw, entry) = (self.raw, self.entry);
        let ended = self.device.ending(self.call, |table| match entry(table) {
            // SAFETY: destroyed only here, by the promise to `new`, after the last use that is known.
            Some(destroy) => relaxed_capture(|| unsafe { destroy(raw) }),
            None => CUresult::CUDA_SUCCESS,
        });
        if let Err(error) = ended {
            mem::forget(self.keeps.take());
            self.outcome.tell(&self.device, error);
        }
    }
}

/// Whom the error of an end is told: the device, which keeps it for whoever asks, or somebody who waits for it.
#[derive(Clone, Debug, Default)]
pub(super) struct Outcome(Arc<Mutex<Told>>);

#[derive(Debug, Default)]
enum Told {
    #[default]
    Device,
    Waiting(Option<Error>),
}

impl Outcome {
    /// Calls `end`; an error that is told meanwhile is the answer.
    pub(super) fn of(&self, end: impl FnOnce() -> Result<()>) -> Result<()> {
        *self.lock() = Told::Waiting(None);
        let ended = end();
        let told = mem::take(&mut *self.lock());
        match told {
            Told::Waiting(Some(error)) => ended.and(Err(error)),
            Told::Waiting(None) | Told::Device => ended,
        }
    }

    fn tell(&self, device: &Device, error: Error) {
        match &mut *self.lock() {
            Told::Waiting(told) => *told = Some(error),
            Told::Device => device.dropped_with(error),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Told> {
        // Held for a moment only, without waiting for anything.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
