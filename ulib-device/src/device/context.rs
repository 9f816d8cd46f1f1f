//! The primary context and the guard that makes it current.

use super::{Device, Inner};
use crate::driver::{Driver, Visit, check, forked, relaxed_capture, watch_for_the_end};
use crate::graph::unless_captured;
use crate::memory::guard::{self, Lifted};
use crate::stream::{self, Stream};
use crate::sys::{CUcontext, CUdevice, CUresult};
use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::sync::PoisonError;
use ulib_core::Result;

/// Makes a device's primary context current for this thread while it lives, and restores what was current before
/// when it is dropped: another library's context, or none.
///
/// It belongs to its thread:
/// ```compile_fail
/// fn needs_send<T: Send>() {}
/// needs_send::<ulib_device::ContextGuard>();
/// ```
#[must_use = "the context is current only while the guard lives"]
pub struct ContextGuard {
    device: Device,
    /// What to make current again, when it is another context than the device's own.
    restore: Option<CUcontext>,
    /// Current contexts are a property of the thread.
    this_thread: PhantomData<*const ()>,
    /// What happens under it are calls of the driver. These are dropped last.
    _lifted: Lifted,
    _visit: Visit,
}

thread_local! {
    /// The device that this thread has bound last.
    static BOUND: Cell<Option<&'static Inner>> = const { Cell::new(None) };
}

impl Device {
    /// The device that the last call of this thread was for.
    pub(crate) fn last_bound() -> Option<Self> {
        BOUND.get().map(Self)
    }

    /// Makes this device's primary context current for the calling thread until the guard is dropped. When it already
    /// is, this costs one cheap question.
    ///
    /// # Errors
    /// Whatever the driver says; kind `Forked` in a forked child.
    pub fn bind(&self) -> Result<ContextGuard> {
        let visit = Visit::begin();
        let lifted = Lifted::new();
        let context = self.context()?;
        BOUND.set(Some(self.0));
        let table = self.table();
        let mut current: CUcontext = core::ptr::null_mut();
        // SAFETY: the driver is initialised, since the device exists; the call writes one pointer.
        let status = unsafe { (table.cuCtxGetCurrent)(&raw mut current) };
        check(table, "cuCtxGetCurrent", status)?;
        let mut guard = ContextGuard {
            device: self.clone(),
            restore: None,
            this_thread: PhantomData,
            _lifted: lifted,
            _visit: visit,
        };
        if current != context {
            // SAFETY: the primary context was retained by `context` and is never released.
            let status = unsafe { (table.cuCtxSetCurrent)(context) };
            check(table, "cuCtxSetCurrent", status)?;
            guard.restore = Some(current);
        }
        Ok(guard)
    }

    /// Waits for all work of this process on this device, whoever queued it and on whichever stream.
    ///
    /// # Errors
    /// Kind `Busy` while a stream of this device is being captured into a graph. A capture by [`Stream::capture`] goes on
    /// unharmed, and so does any other one of a stream that the default stream waits for. Of another library's capture of a
    /// non-blocking stream the driver tells nothing before the call, and ends it with the call: waiting for a device beside
    /// those is for who can lose them.
    ///
    /// Otherwise whatever the driver says, which includes the failure of any kernel before, whosever it was; kind
    /// `Forked` in a forked child.
    pub fn synchronize(&self) -> Result<()> {
        let context = self.bind()?;
        stream::not_capturing_in("synchronize", &Stream::legacy(self), &context)?;
        let table = self.table();
        let launched = self.recent().launched();
        let wait = || {
            // SAFETY: this device's context is current, by the guard.
            unless_captured(self, || unsafe { (table.cuCtxSynchronize)() })
        };
        let Some(status) = relaxed_capture(wait) else {
            return Err(stream::capturing("synchronize"));
        };
        stream::check_wait(table, "cuCtxSynchronize", status)?;
        self.recent().all_ended(launched);
        guard::waited_for_all(self);
        Ok(())
    }

    /// The device whose context is current for the calling thread, whoever made it so: its primary context, or another one
    /// of a program that has its own. `None` when none is current.
    ///
    /// # Errors
    /// Whatever the driver says; kind `Unavailable` without a driver, `Forked` in a forked child.
    pub fn current() -> Result<Option<Self>> {
        let table = Driver::ready()?.table();
        let mut raw: CUdevice = 0;
        // SAFETY: the driver is initialised; the call writes one integer.
        let status = unsafe { (table.cuCtxGetDevice)(&raw mut raw) };
        if status == CUresult::CUDA_ERROR_INVALID_CONTEXT {
            return Ok(None);
        }
        check(table, "cuCtxGetDevice", status)?;
        Self::with_handle(raw)
    }

    /// The primary context as an integer, for code that calls the driver itself; retained by the first call.
    ///
    /// # Errors
    /// Whatever the driver says; kind `Forked` in a forked child.
    pub fn primary_context(&self) -> Result<usize> {
        Ok(self.context()? as usize)
    }

    fn context(&self) -> Result<CUcontext> {
        Driver::ready()?;
        if let Some(&context) = self.0.context.get() {
            return Ok(context as CUcontext);
        }
        let _one_at_a_time = self
            .0
            .retaining
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(&context) = self.0.context.get() {
            return Ok(context as CUcontext);
        }
        let table = self.table();
        let mut context: CUcontext = core::ptr::null_mut();
        // SAFETY: the device handle came from the driver; the call writes one pointer.
        let status = unsafe { (table.cuDevicePrimaryCtxRetain)(&raw mut context, self.0.raw) };
        check(table, "cuDevicePrimaryCtxRetain", status)?;
        watch_for_the_end();
        Ok(*self.0.context.get_or_init(|| context as usize) as CUcontext)
    }
}

impl ContextGuard {
    /// The device whose context this keeps current.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.device
    }
}

impl Drop for ContextGuard {
    fn drop(&mut self) {
        let Some(before) = self.restore else { return };
        if forked() {
            return;
        }
        let table = self.device.table();
        // SAFETY: this context was current on this thread when the guard was made (null stands for none); if its
        // owner has destroyed it since, the driver answers with an error.
        let restore = || unsafe { (table.cuCtxSetCurrent)(before) };
        // Tried twice: afterwards everybody's calls on this thread are about what is current.
        let status = match restore() {
            CUresult::CUDA_SUCCESS => return,
            _ => restore(),
        };
        // While the process exits the driver may be gone already, which needs no report.
        if status != CUresult::CUDA_ERROR_DEINITIALIZED
            && let Err(error) = check(table, "cuCtxSetCurrent", status)
        {
            self.device
                .record_drop_error(error.context("restoring the context that was current before"));
        }
    }
}

impl fmt::Debug for ContextGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ContextGuard")
            .field("device", &self.device)
            .finish_non_exhaustive()
    }
}
