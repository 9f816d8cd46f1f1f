//! A value that one thread at a time borrows, with a wait that can be given up.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ulib_core::Result;

/// Holds a value while nobody borrows it.
#[derive(Debug)]
pub(super) struct Gate<T> {
    idle: Mutex<Option<T>>,
    returned: Condvar,
}

impl<T> Gate<T> {
    pub(super) const fn new(value: T) -> Self {
        Self {
            idle: Mutex::new(Some(value)),
            returned: Condvar::new(),
        }
    }

    /// Borrows the value once nobody else does; asks `go_on` every `period` of waiting, and gives up after `periods`.
    pub(super) fn borrow(
        &self,
        period: Duration,
        periods: u32,
        mut go_on: impl FnMut() -> Result<()>,
    ) -> Result<Option<Borrowed<'_, T>>> {
        let (begin, most) = (Instant::now(), period.saturating_mul(periods));
        let mut idle = self.lock();
        loop {
            if let Some(value) = idle.take() {
                return Ok(Some(Borrowed {
                    gate: self,
                    value: Some(value),
                }));
            }
            if begin.elapsed() >= most {
                return Ok(None);
            }
            let (again, timeout) = self
                .returned
                .wait_timeout(idle, period)
                .unwrap_or_else(PoisonError::into_inner);
            idle = again;
            if timeout.timed_out() && idle.is_none() {
                // Not under the lock: the caller's function may do anything.
                drop(idle);
                go_on()?;
                idle = self.lock();
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<T>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The borrowed value; goes back when dropped, also while unwinding.
#[derive(Debug)]
pub(super) struct Borrowed<'a, T> {
    gate: &'a Gate<T>,
    /// `None` only inside `drop`.
    value: Option<T>,
}

impl<T> Drop for Borrowed<'_, T> {
    fn drop(&mut self) {
        *self.gate.lock() = self.value.take();
        self.gate.returned.notify_one();
    }
}

impl<T: Default> Borrowed<'_, T> {
    /// Runs `work` with the value.
    pub(super) fn with<R>(&mut self, work: impl FnOnce(&mut T) -> R) -> R {
        work(self.value.get_or_insert_with(T::default))
    }
}

#[cfg(test)]
#[allow(clippy::expect_used, reason = "a test that expects fails by panicking")]
mod tests {
    use super::*;
    use ulib_core::Error;

    #[test]
    fn one_borrower_at_a_time_and_waiting_can_be_given_up() {
        let gate = Gate::new(0_u32);
        let period = Duration::from_millis(1);
        let borrow = |periods| gate.borrow(period, periods, || Ok(())).expect("no reason");
        let mut first = borrow(0).expect("idle");
        first.with(|value| *value = 7);
        let error = gate
            .borrow(period, 1000, || Err(Error::interrupted("test")))
            .expect_err("held");
        assert_eq!(error.kind(), &ulib_core::ErrorKind::Interrupted);
        assert!(borrow(0).is_none() && borrow(2).is_none(), "held");
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut second = borrow(u32::MAX).expect("returned");
                second.with(|value| *value += 1);
            });
            drop(first);
        });
        let mut third = borrow(u32::MAX).expect("returned");
        third.with(|value| assert_eq!(*value, 8));
    }
}
