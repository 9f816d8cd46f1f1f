//! Living beside a stream capture.
//!
//! While another thread captures a stream into a graph, the driver refuses (and spoils the capture over) calls such as
//! allocation on every thread whose capture mode is the default one. A thread that says "relaxed" promises that its
//! calls have nothing to do with the capture, which is true of ours.
//!
//! What that buys was measured with driver 580, for captures begun in every mode by another thread: in relaxed mode
//! allocating, freeing, loading programs, and waiting for events and for other streams all work and leave the capture
//! whole. Two things spoil it in every mode: any use of the default stream while the captured stream is a blocking one
//! (`cuStreamIsCapturing` on the default stream tells, harmlessly), and `cuCtxSynchronize` (nothing tells). So `Stream::queueing` is asked
//! before the one, and `unless_captured` before the other.

use super::Driver;
use crate::sys::{CUresult, CUstreamCaptureMode, Table};

/// Runs `work` with this thread's capture mode set to relaxed, and restores the mode afterwards, also on unwinding.
///
/// Without the driver, or with one that cannot change the mode, `work` just runs.
pub fn relaxed_capture<R>(work: impl FnOnce() -> R) -> R {
    let _guard = Driver::get()
        .ok()
        .and_then(|driver| Relaxed::enter(driver.table()));
    work()
}

struct Relaxed {
    table: &'static Table,
    before: CUstreamCaptureMode,
}

impl Relaxed {
    fn enter(table: &'static Table) -> Option<Self> {
        let before = exchange(table, CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED)?;
        Some(Self { table, before })
    }
}

impl Drop for Relaxed {
    fn drop(&mut self) {
        if !super::forked() {
            exchange(self.table, self.before);
        }
    }
}

/// Sets this thread's mode and returns the one before.
fn exchange(table: &Table, mode: CUstreamCaptureMode) -> Option<CUstreamCaptureMode> {
    let call = table.cuThreadExchangeStreamCaptureMode?;
    let mut mode = mode;
    // SAFETY: the driver is initialised, since its table was reached through `Driver::get`; the call swaps one
    // integer with a setting of this thread.
    let status = unsafe { call(&raw mut mode) };
    (status == CUresult::CUDA_SUCCESS).then_some(mode)
}
