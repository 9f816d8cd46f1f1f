//! [`Owned`]: an object of the driver's, and how it ends.

use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ulib_core::{Error, Result};

use crate::Device;
use crate::driver::relaxed_capture;
use crate::report::{Counted, Kind};
use crate::sys::{CUresult, Table};

/// Calls the entry that destroys an object, if the driver has it.
pub(super) type Destroy = fn(&Table, raw: u64) -> Option<CUresult>;

/// An object of the driver's that is destroyed when this is dropped, and then lets go of what it reads. Where the driver does not
/// destroy it, that stays for good: it may still be read.
#[derive(Debug)]
pub(super) struct Owned<S> {
    device: Device,
    raw: u64,
    call: &'static str,
    destroy: Destroy,
    outcome: Outcome,
    /// Until it is destroyed.
    keeps: Option<(S, Counted)>,
}

impl<S> Owned<S> {
    /// The object `raw` over `source`, which `destroy` ends by the driver's `call`: once, after the last use that is known.
    pub(super) fn new(
        (device, raw): (&Device, u64),
        (call, destroy): (&'static str, Destroy),
        kind: Kind,
        source: S,
    ) -> Self {
        Self {
            device: device.clone(),
            raw,
            call,
            destroy,
            outcome: Outcome::default(),
            keeps: Some((source, Counted::new(kind))),
        }
    }

    /// The driver's handle.
    pub(super) fn raw(&self) -> u64 {
        self.raw
    }

    pub(super) fn device(&self) -> &Device {
        &self.device
    }

    /// Who is told how it ends.
    pub(super) fn outcome(&self) -> Outcome {
        self.outcome.clone()
    }
}

impl<S> Drop for Owned<S> {
    fn drop(&mut self) {
        let ended = self.device.ending(self.call, |table| {
            relaxed_capture(|| (self.destroy)(table, self.raw)).unwrap_or(CUresult::CUDA_SUCCESS)
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
