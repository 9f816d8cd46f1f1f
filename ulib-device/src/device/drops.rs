//! Errors that destructors met, kept where the user can read them.

use super::{ContextGuard, Device};
use crate::driver::{check, forked};
use crate::sys::{CUresult, Table};
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use ulib_core::{Error, Result};

/// How many errors are kept per device; then the oldest goes.
const KEPT: usize = 64;

/// The newest errors of one device.
#[derive(Default)]
pub(super) struct DropErrors(Mutex<VecDeque<Error>>);

impl DropErrors {
    fn push(&self, error: Error) {
        let mut errors = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if errors.len() == KEPT {
            errors.pop_front();
        }
        errors.push_back(error);
    }

    fn take(&self) -> Vec<Error> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .drain(..)
            .collect()
    }
}

impl Device {
    /// The errors that destructors met on this device since the last call, oldest first; at most the 64 newest.
    ///
    /// A destructor has nobody to return an error to. Each one is logged as a warning when it happens, too.
    #[must_use]
    pub fn errors(&self) -> Vec<Error> {
        self.0.drop_errors.take()
    }

    /// Keeps an error for [`Device::errors`].
    pub(crate) fn record_drop_error(&self, error: Error) {
        log::warn!("{self}: {error}");
        self.0.drop_errors.push(error);
    }

    /// The body of a destructor: binds this device and makes one call to the driver, and records what goes wrong.
    /// Does nothing in a forked child, and is silent when the driver is already gone because the process exits.
    ///
    /// The call is not tried twice: a driver that answers it with the error of an earlier kernel may have done it.
    pub(crate) fn in_drop(&self, call: &'static str, work: impl FnOnce(&Table) -> CUresult) {
        if let Err(error) = self.ending(call, work) {
            self.dropped_with(error);
        }
    }

    /// [`in_drop`](Self::in_drop) that answers what went wrong.
    pub(crate) fn ending(
        &self,
        call: &'static str,
        work: impl FnOnce(&Table) -> CUresult,
    ) -> Result<()> {
        if forked() {
            return Ok(());
        }
        let ended = self.bind_to_end().and_then(|_context| {
            let status = work(self.table());
            check(self.table(), call, status)
        });
        ended.or_else(|error| match is_shutdown(&error) {
            true => Ok(()),
            false => Err(error),
        })
    }

    /// [`bind`](Device::bind) for what ends something, tried twice: what is not ended stays for good.
    pub(crate) fn bind_to_end(&self) -> Result<ContextGuard> {
        self.bind().or_else(|_| self.bind())
    }

    /// Records what went wrong in a destructor, unless it is that the driver is already gone.
    pub(crate) fn dropped_with(&self, error: Error) {
        if !is_shutdown(&error) {
            self.record_drop_error(error.context("in a destructor"));
        }
    }
}

/// Whether the driver said that it is shutting down with the process.
fn is_shutdown(error: &Error) -> bool {
    let deinitialized = CUresult::CUDA_ERROR_DEINITIALIZED.0.cast_signed();
    matches!(error.kind(), ulib_core::ErrorKind::Driver { code, .. } if *code == deinitialized)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ulib_core::ErrorKind;

    #[test]
    fn keeps_the_newest_and_gives_them_once() {
        let errors = DropErrors::default();
        for n in 0..KEPT + 3 {
            errors.push(Error::new(ErrorKind::Io, format!("{n}")));
        }
        let kept = errors.take();
        assert_eq!(kept.len(), KEPT);
        assert_eq!(kept[0].to_string(), "3");
        assert_eq!(kept[KEPT - 1].to_string(), (KEPT + 2).to_string());
        assert!(errors.take().is_empty());
    }
}
