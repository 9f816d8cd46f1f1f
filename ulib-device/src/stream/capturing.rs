//! Whether a stream is being captured, and the named errors for what may not be done then.

use super::Stream;
use crate::device::ContextGuard;
use crate::driver::check;
use crate::graph::{Queueing, any_capture};
use crate::sys::{CUresult, CUstreamCaptureStatus, Table};
use ulib_core::{Error, Result};

impl Stream {
    /// Whether the work put into the stream is being recorded into a graph instead of run. Also true for the default
    /// stream while a stream that it waits for is being captured, since using it would spoil that capture.
    ///
    /// # Errors
    /// Whatever the driver says; kind `Forked` in a forked child.
    pub fn is_capturing(&self) -> Result<bool> {
        self.is_capturing_in(&self.0.device.bind()?)
    }

    /// [`is_capturing`](Self::is_capturing) for who has made the context of the stream's device current already.
    pub(crate) fn is_capturing_in(&self, context: &ContextGuard) -> Result<bool> {
        debug_assert_eq!(context.device(), &self.0.device, "its own context");
        if self.0.private {
            return Ok(false);
        }
        let mut capture = CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
        // SAFETY: the stream is alive as in `synchronize`; the call writes one integer, and unlike other calls on the
        // default stream it leaves a capture alone.
        let status = unsafe { (self.table().cuStreamIsCapturing)(self.handle(), &raw mut capture) };
        if status == CUresult::CUDA_ERROR_STREAM_CAPTURE_IMPLICIT {
            return Ok(true);
        }
        check(self.table(), "cuStreamIsCapturing", status)?;
        Ok(capture != CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE)
    }

    /// For the call `op` that puts work into this stream, as long as the answer lives: where that is the default stream, of the
    /// captures by [`capture`](Self::capture) that such work would spoil there is none, and none begins.
    ///
    /// # Errors
    /// Kind `Busy` when there is one; whatever the driver says.
    pub(crate) fn queueing(&self, op: &'static str) -> Result<Queueing> {
        if !self.is_legacy() {
            return Ok(Queueing::NOTHING);
        }
        let none_begins = Queueing::new();
        if any_capture() && self.is_capturing()? {
            return Err(Error::busy(
                op,
                "a stream that the default stream waits for is being captured into a graph, which work in the default stream would spoil",
            ));
        }
        Ok(none_begins)
    }
}

/// The named error for an operation that has to wait while `stream` is being captured.
///
/// # Errors
/// Kind `Busy`, or whatever the driver says.
pub(crate) fn not_capturing(op: &'static str, stream: &Stream) -> Result<()> {
    not_capturing_in(op, stream, &stream.device().bind()?)
}

/// [`not_capturing`] for who has made the context of the stream's device current already.
pub(crate) fn not_capturing_in(
    op: &'static str,
    stream: &Stream,
    context: &ContextGuard,
) -> Result<()> {
    if stream.is_capturing_in(context)? {
        Err(capturing(op))
    } else {
        Ok(())
    }
}

/// [`check`] for calls that wait: the driver's refusals because of a capture get their own kind.
pub(crate) fn check_wait(table: &Table, call: &'static str, status: CUresult) -> Result<()> {
    match status {
        CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
        | CUresult::CUDA_ERROR_STREAM_CAPTURE_IMPLICIT => Err(capturing(call)),
        _ => check(table, call, status),
    }
}

/// The named error for an operation that waits for something that is being captured.
pub(crate) fn capturing(op: &'static str) -> Error {
    Error::busy(
        op,
        "a stream of this device is being captured into a graph, and nothing may wait for it",
    )
}
