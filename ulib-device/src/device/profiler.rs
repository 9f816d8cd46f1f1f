//! Telling a profiler which part of a program counts.

use super::Device;
use crate::driver::{check, missing_entry, relaxed_capture};
use crate::sys::CUresult;
use ulib_core::Result;

/// Both entries take nothing.
type Entry = unsafe extern "C" fn() -> CUresult;

impl Device {
    /// Lets a profiler begin that was told to wait for this; without one nothing happens.
    ///
    /// # Errors
    /// Kind `Unavailable` when the driver has no such entry; whatever it says; kind `Forked` in a forked child.
    pub fn start_profiler(&self) -> Result<()> {
        self.tell_profiler("cuProfilerStart")
    }

    /// Lets a profiler end; without one nothing happens.
    ///
    /// # Errors
    /// As [`start_profiler`](Self::start_profiler).
    pub fn stop_profiler(&self) -> Result<()> {
        self.tell_profiler("cuProfilerStop")
    }

    fn tell_profiler(&self, name: &'static str) -> Result<()> {
        let _context = self.bind()?;
        // SAFETY: both entries have this prototype, as their documentation says.
        let entry: Option<Entry> = unsafe { self.driver().symbol(name) };
        let entry = entry.ok_or_else(|| missing_entry(name, "4.0"))?;
        // SAFETY: the device's context is current, by the guard.
        check(self.table(), name, relaxed_capture(|| unsafe { entry() }))
    }
}
