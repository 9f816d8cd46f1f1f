//! Our kernels read and write a block.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use ulib_core::{Action, Error, Event, PreferredDevice, Residency, Result};

use super::Block;
use super::captured::Captured;
use super::device_copy::{DeviceCopy, record};
use super::state::{State, Wanted};
use super::transfers::Cause;
use crate::graph::capture_of;
use crate::memory::Access as Use;
use crate::{Device, Stream};

/// The device copy of a block, for kernels on one stream to read. Queue them while the guard lives, then
/// [`finish`](Self::finish) it.
#[must_use = "the device copy is safe to use only while the guard lives"]
pub struct DeviceRef<'a> {
    use_of: KernelUse,
    block: PhantomData<&'a Block>,
}

/// The device copy of a block, for kernels on one stream to write. Queue them while the guard lives, then
/// [`finish`](Self::finish) it.
#[must_use = "the device copy is safe to use only while the guard lives"]
pub struct DeviceMut<'a> {
    use_of: KernelUse,
    block: &'a mut Block,
    /// Whether to return to the host copy when the kernel that was to overwrite everything was never queued.
    fallback: bool,
}

/// One use of the device copy by kernels of ours.
struct KernelUse {
    copy: Arc<DeviceCopy>,
    stream: Stream,
    access: Use,
    /// Whether outsiders use the copy, too, so that our work has to be over when the guard ends.
    synchronize: bool,
    finished: bool,
}

impl KernelUse {
    fn begin(
        copy: &Arc<DeviceCopy>,
        stream: &Stream,
        access: Use,
        synchronize: bool,
    ) -> Result<Self> {
        copy.bytes().use_on(stream, access)?;
        if access == Use::Read {
            copy.readers.add();
        }
        Ok(Self {
            copy: Arc::clone(copy),
            stream: stream.clone(),
            access,
            synchronize,
            finished: false,
        })
    }

    fn finish(&mut self) -> Result<()> {
        if std::mem::replace(&mut self.finished, true) {
            return Ok(());
        }
        // Once more, now that the kernels are queued: somebody who waited for our work in between has forgotten
        // the use that was announced at the beginning.
        let used = self.copy.bytes().use_on(&self.stream, self.access);
        if self.access == Use::Read {
            self.copy.readers.remove();
        }
        if self.synchronize || used.is_err() {
            used.and(self.stream.synchronize())
        } else {
            Ok(())
        }
    }
}

impl Drop for KernelUse {
    fn drop(&mut self) {
        if crate::driver::forked() {
            if !self.finished && self.access == Use::Read {
                self.copy.readers.remove();
            }
            return;
        }
        let finished = self.finish();
        record(
            self.copy.device(),
            finished,
            "ending a kernel's use of a block",
        );
    }
}

impl DeviceRef<'_> {
    /// The device address; 0 when there are no bytes.
    #[must_use]
    pub fn ptr(&self) -> u64 {
        self.use_of.copy.bytes().ptr()
    }

    /// The device whose memory it is.
    #[must_use]
    pub fn device(&self) -> &Device {
        self.use_of.copy.device()
    }

    /// Ends the use, after the kernels were queued. While the block is shared, it waits for them.
    ///
    /// # Errors
    /// Whatever the driver says. Dropping does the same and records the failure in `Device::errors`.
    pub fn finish(mut self) -> Result<()> {
        self.use_of.finish()
    }
}

impl DeviceMut<'_> {
    /// The device address; 0 when there are no bytes.
    #[must_use]
    pub fn ptr(&self) -> u64 {
        self.use_of.copy.bytes().ptr()
    }

    /// The device whose memory it is.
    #[must_use]
    pub fn device(&self) -> &Device {
        self.use_of.copy.device()
    }

    /// Ends the use, after the kernels were queued: the device has the newer copy. While the block is shared, it waits
    /// for them.
    ///
    /// Dropping without it does the same and records the failure in `Device::errors`, with one exception: a guard of
    /// [`Block::device_overwrite`] that is dropped unfinished returns to a host copy that was current, so that a
    /// launch that fails loses nothing.
    ///
    /// # Errors
    /// Whatever the driver says. The kernels may have run all the same: while shared, the failure may be that of the
    /// wait for them, or of somebody else's work. The device copy has the old bytes or the new ones, and is the truth.
    pub fn finish(mut self) -> Result<()> {
        self.fallback = false;
        self.use_of.finish()
    }
}

impl Drop for DeviceMut<'_> {
    fn drop(&mut self) {
        if self.fallback
            && let Ok(mut state) = self.block.inner.state.lock("finish")
        {
            state.residency = Residency::HostNewer;
        }
    }
}

impl fmt::Debug for DeviceRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceRef")
            .field("bytes", self.use_of.copy.bytes())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for DeviceMut<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceMut")
            .field("bytes", self.use_of.copy.bytes())
            .finish_non_exhaustive()
    }
}

impl Block {
    /// The device where a kernel on this data should run: the preferred one, if the data is there or there is room for
    /// it, which is set aside by asking. `None` means to compute on the host; [`location`](Self::location) says why.
    ///
    /// Who holds `&mut Block` can act on the answer. Others ask for the access itself, with
    /// [`device_read_if_placed`](Self::device_read_if_placed), since another thread may change the preference.
    #[must_use]
    pub fn target_device(&self) -> Option<Device> {
        {
            let state = self.inner.state.peek("target_device").ok()?;
            if state.preferred == PreferredDevice::Host {
                return None;
            }
            if let Some(device) = state.resident_on() {
                return Some(device);
            }
        }
        let mut state = self.inner.state.lock("target_device").ok()?;
        state.check_no_view("target_device").ok()?;
        let device = self.working_place(&mut state).ok()??;
        match self.set_aside(&mut state, &device) {
            Ok(false) => None,
            // The access that follows meets the same failure and can return it.
            Ok(true) | Err(_) => Some(device),
        }
    }

    /// Makes room on the device. Answers false when it has too little memory.
    fn set_aside(&self, state: &mut State, device: &Device) -> Result<bool> {
        if state.device.is_some() {
            return Ok(true);
        }
        match DeviceCopy::allocate(device, self.len) {
            Ok(copy) => {
                state.device = Some(Arc::new(copy));
                Ok(true)
            }
            Err(error) if state.note_refusal(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The device copy for kernels on `stream` to read; uploads first if the host has the newer one. The work is
    /// ordered after other work of ours on the same data, on whichever stream.
    ///
    /// # Errors
    /// Kind `Residency` when the preference is not a device or implicit transfers are forbidden, `InvalidArgument`
    /// when `stream` is not of the preferred device, `Busy` while a writable host view is open, the reason when the
    /// data cannot be there, else whatever the driver says.
    pub fn device_read(&self, stream: &Stream) -> Result<DeviceRef<'_>> {
        let mut state = self.inner.state.lock("device_read")?;
        let (use_of, _) = self.kernel_use(&mut state, stream, "device_read", Event::KernelRead)?;
        Ok(DeviceRef {
            use_of,
            block: PhantomData,
        })
    }

    /// As [`device_read`](Self::device_read), or `None` where the work has to be done elsewhere: the decision and the
    /// access in one step, so that a preference that another thread changed since
    /// [`target_device`](Self::target_device) was asked makes no operation fail.
    ///
    /// # Errors
    /// Kind `Residency` when implicit transfers are forbidden, `Busy` while a writable host view is open, else whatever
    /// the driver says.
    pub fn device_read_if_placed(&self, stream: &Stream) -> Result<Option<DeviceRef<'_>>> {
        const OP: &str = "device_read";
        let mut state = self.inner.state.lock(OP)?;
        state.check_no_view(OP)?;
        let here = match self.working_place(&mut state)? {
            Some(device) => device == *stream.device() && self.set_aside(&mut state, &device)?,
            None => false,
        };
        if !here {
            return Ok(None);
        }
        let (use_of, _) = self.kernel_use(&mut state, stream, OP, Event::KernelRead)?;
        Ok(Some(DeviceRef {
            use_of,
            block: PhantomData,
        }))
    }

    /// The device copy for kernels on `stream` to read and write, or to write in part; uploads first if the host has
    /// the newer one. The device has the newer copy from now on.
    ///
    /// # Errors
    /// As [`device_read`](Self::device_read).
    pub fn device_write(&mut self, stream: &Stream) -> Result<DeviceMut<'_>> {
        let mut state = self.inner.state.lock("device_write")?;
        let (use_of, _) =
            self.kernel_use(&mut state, stream, "device_write", Event::KernelWrite)?;
        drop(state);
        Ok(DeviceMut {
            use_of,
            block: self,
            fallback: false,
        })
    }

    /// The device copy for kernels on `stream` that set every byte: nothing is uploaded. The device has the newer copy
    /// when the guard is [finished](DeviceMut::finish).
    ///
    /// # Errors
    /// As [`device_read`](Self::device_read).
    pub fn device_overwrite(&mut self, stream: &Stream) -> Result<DeviceMut<'_>> {
        let mut state = self.inner.state.lock("device_overwrite")?;
        let (use_of, host_current) = self.kernel_use(
            &mut state,
            stream,
            "device_overwrite",
            Event::KernelOverwrite,
        )?;
        drop(state);
        Ok(DeviceMut {
            use_of,
            block: self,
            fallback: host_current,
        })
    }

    /// Also answers whether the host copy was current before.
    fn kernel_use(
        &self,
        state: &mut State,
        stream: &Stream,
        op: &'static str,
        event: Event,
    ) -> Result<(KernelUse, bool)> {
        state.check_no_view(op)?;
        let device = self.device_or_reason(state, op)?;
        if device != *stream.device() {
            let expected = format!("a stream of {device}, where the data is preferred");
            return Err(Error::invalid(
                op,
                "stream",
                format_args!("one of {}", stream.device()),
                expected,
            ));
        }
        let sharing = state.settle_sharing(op)?;
        let before = state.residency;
        let run = state.run(
            event,
            sharing,
            &self.access(Cause::Implicit(op)),
            Some(&device),
            Wanted::Nothing,
        );
        let step = self.noting_refusal(state, run, &device)?;
        state.refusal = None;
        let access = if event == Event::KernelRead {
            Use::Read
        } else {
            Use::Write
        };
        let synchronize = step.after.contains(&Action::SynchronizeStream);
        let begun = KernelUse::begin(state.device_copy(op)?, stream, access, synchronize);
        if begun.is_err() && event == Event::KernelOverwrite {
            state.residency = before;
        }
        let begun = begun?;
        if let Some(capture) = capture_of(stream)? {
            capture
                .used()
                .note_block(Captured::new(self, &begun.copy, access));
        }
        Ok((begun, before.is_host_current()))
    }
}
