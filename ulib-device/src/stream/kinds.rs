//! Streams of every kind, and what they were made as.

use super::{PER_THREAD, Stream};
use crate::Device;
use crate::driver::{check, missing_entry};
use crate::sys::CUstream_flags;
use core::ffi::{c_int, c_uint};
use ulib_core::{Error, Result};

/// Whether a stream is ordered with the default stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StreamKind {
    /// It and the default stream wait for each other.
    Blocking,
    /// It runs beside everything else.
    NonBlocking,
}

impl Stream {
    /// A new stream of a kind, with a priority: lower numbers run first. The driver clamps the number to
    /// [`priority_range`](Self::priority_range).
    ///
    /// # Errors
    /// Whatever the driver says; kind `Forked` in a forked child.
    pub fn of_kind(device: &Device, kind: StreamKind, priority: i32) -> Result<Self> {
        let flags = match kind {
            StreamKind::Blocking => CUstream_flags::CU_STREAM_DEFAULT,
            StreamKind::NonBlocking => CUstream_flags::CU_STREAM_NON_BLOCKING,
        };
        Self::create(device, flags, priority, false)
    }

    /// The default stream of whichever thread uses it, which is ordered with the [`legacy`](Self::legacy) one.
    #[must_use]
    pub fn per_thread(device: &Device) -> Self {
        Self::wrap(device, PER_THREAD, false, None)
    }

    /// What kind it is.
    ///
    /// # Errors
    /// Kind `Busy` while the stream is being captured, since the question would spoil the capture; `Unavailable` where the driver
    /// does not tell; whatever it says; kind `Forked` in a forked child.
    pub fn kind(&self) -> Result<StreamKind> {
        let context = self.device().bind()?;
        if self.is_capturing_in(&context)? {
            let reason =
                "the stream is being captured into a graph, and the question would spoil that";
            return Err(Error::busy("Stream::kind", reason));
        }
        let table = self.table();
        let call = table
            .cuStreamGetFlags
            .ok_or_else(|| missing_entry("cuStreamGetFlags", "5.5"))?;
        let mut flags: c_uint = 0;
        // SAFETY: the context is current by the guard, the stream is alive by the borrow; the call writes one integer.
        check(table, "cuStreamGetFlags", unsafe {
            call(self.handle(), &raw mut flags)
        })?;
        Ok(match CUstream_flags(flags) {
            CUstream_flags::CU_STREAM_NON_BLOCKING => StreamKind::NonBlocking,
            _ => StreamKind::Blocking,
        })
    }

    /// Its priority: lower numbers run first.
    ///
    /// # Errors
    /// Kind `Unavailable` where the driver does not tell; whatever it says; kind `Forked` in a forked child.
    pub fn priority(&self) -> Result<i32> {
        let _context = self.device().bind()?;
        let table = self.table();
        let call = table
            .cuStreamGetPriority
            .ok_or_else(|| missing_entry("cuStreamGetPriority", "5.5"))?;
        let mut priority: c_int = 0;
        // SAFETY: as in `kind`.
        check(table, "cuStreamGetPriority", unsafe {
            call(self.handle(), &raw mut priority)
        })?;
        Ok(priority)
    }
}
