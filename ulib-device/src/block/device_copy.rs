//! The device copy of a block, kept alive by the block, by leases and by kernels at once.

use std::sync::atomic::{AtomicBool, Ordering};

use ulib_core::{ErrorKind, Result};

use super::host::Count;
use crate::copy::STAGED_FROM_BYTES;
use crate::memory::{DeviceBytes, clear_scratch};
use crate::sys::CUresult;
use crate::{Device, Stream, driver};

/// Device memory and what is known about its users.
///
/// The fields drop in this order: free, after a wait for outsiders; give back to the driver.
#[derive(Debug)]
pub(super) struct DeviceCopy {
    bytes: DeviceBytes,
    trim: TrimAfterFree,
    /// Guards of kernels that read and have not been launched for sure.
    pub(super) readers: Count,
}

impl DeviceCopy {
    /// Fresh memory with undefined content.
    pub(super) fn allocate(device: &Device, len: usize) -> Result<Self> {
        Ok(Self {
            bytes: DeviceBytes::allocate(&Stream::legacy(device), len)?,
            trim: TrimAfterFree {
                device: device.clone(),
                wanted: AtomicBool::new(false),
            },
            readers: Count::default(),
        })
    }

    pub(super) fn bytes(&self) -> &DeviceBytes {
        &self.bytes
    }

    /// The stream for a copy of `len` bytes that the host waits for, under the lock of the block.
    ///
    /// Where nothing else uses the memory the copy need not be ordered with the default stream, whose every use may
    /// spoil somebody's capture and has to be asked about first.
    pub(super) fn stream_for(&self, len: usize) -> &Stream {
        let alone = !self.has_outsiders() && self.bytes.is_idle();
        if alone
            && len < STAGED_FROM_BYTES
            && let Some(stream) = self.device().copy_stream()
        {
            return stream;
        }
        self.bytes.stream()
    }

    pub(super) fn device(&self) -> &Device {
        &self.trim.device
    }

    /// Whether somebody outside may have queued work on this memory since the context was last synchronised.
    pub(super) fn has_outsiders(&self) -> bool {
        self.bytes.has_outsiders()
    }

    pub(super) fn set_outsiders(&self, pending: bool) {
        self.bytes.set_outsiders(pending);
    }

    /// Has the resource give cached memory back to the driver when the last holder lets go.
    pub(super) fn trim_after_free(&self) {
        self.trim.wanted.store(true, Ordering::Relaxed);
    }

    /// Frees the memory now and says what went wrong; memory back to the driver if that was asked for.
    pub(super) fn close(self) -> Result<()> {
        let Self {
            bytes,
            trim,
            readers: _,
        } = self;
        bytes.close()?;
        trim.now()
    }
}

/// When dropped, or asked: gives cached memory back to the driver.
#[derive(Debug)]
struct TrimAfterFree {
    device: Device,
    wanted: AtomicBool,
}

impl TrimAfterFree {
    fn now(mut self) -> Result<()> {
        let wanted = std::mem::take(self.wanted.get_mut());
        if wanted && !driver::forked() {
            clear_scratch(&self.device);
            self.device.memory_resource().trim()
        } else {
            Ok(())
        }
    }
}

impl Drop for TrimAfterFree {
    fn drop(&mut self) {
        if *self.wanted.get_mut() && !driver::forked() {
            clear_scratch(&self.device);
            record(
                &self.device,
                self.device.memory_resource().trim(),
                "giving memory back to the driver",
            );
        }
    }
}

/// Keeps the failure of a destructor, unless the driver is gone because the process exits.
pub(super) fn record(device: &Device, result: Result<()>, what: &'static str) {
    let Err(error) = result else { return };
    let gone = CUresult::CUDA_ERROR_DEINITIALIZED.0.cast_signed();
    if !matches!(error.kind(), ErrorKind::Driver { code, .. } if *code == gone) {
        device.record_drop_error(error.context(what));
    }
}
