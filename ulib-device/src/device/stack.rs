//! Contexts as things of their own: what is current on a thread, and a thread's stack of them.

use super::Device;
use crate::driver::{Driver, check, missing_entry, relaxed_capture};
use crate::memory::guard::{self, Lifted};
use crate::stream;
use crate::sys::{CUcontext, Table};
use core::ffi::c_uint;
use ulib_core::Result;

/// A context: a device's primary one, or one that another library has made.
///
/// Nothing of this crate needs one, since everything finds its way to the primary context by itself. It is for telling
/// *other* libraries which device a thread uses, and for asking what they have said.
///
/// # Examples
/// ```no_run
/// use ulib_device::Device;
/// use ulib_device::device::Context;
///
/// # fn main() -> ulib_core::Result<()> {
/// let context = Context::primary(&Device::new(0)?)?;
/// context.push()?;
/// assert_eq!(Context::current()?, Some(context.clone()));
/// assert!(context.pop()?);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Context {
    device: Device,
    /// The driver's handle as an integer: it is only ever handed to the driver, so any thread may hold it.
    raw: usize,
}

impl Context {
    /// The primary context of a device.
    ///
    /// # Errors
    /// Whatever the driver says; kind `Forked` in a forked child.
    pub fn primary(device: &Device) -> Result<Self> {
        let raw = device.primary_context()?;
        Ok(Self {
            device: device.clone(),
            raw,
        })
    }

    /// The context that is current for the calling thread, whoever made it so.
    ///
    /// # Errors
    /// Whatever the driver says; kind `Unavailable` without a driver, `Forked` in a forked child.
    pub fn current() -> Result<Option<Self>> {
        let raw = current(Driver::ready()?.table())?;
        if raw.is_null() {
            return Ok(None);
        }
        Ok(Device::current()?.map(|device| Self {
            device,
            raw: raw as usize,
        }))
    }

    /// The device it is of.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The driver's handle, for calls this crate does not wrap; as an integer, `handle() as usize`.
    #[must_use]
    pub fn handle(&self) -> CUcontext {
        self.raw as CUcontext
    }

    /// Whether it is the device's primary context.
    ///
    /// # Errors
    /// Whatever the driver says; kind `Forked` in a forked child.
    pub fn is_primary(&self) -> Result<bool> {
        Ok(self.device.primary_context()? == self.raw)
    }

    /// Makes it current for the calling thread, on top of what was current before.
    ///
    /// # Errors
    /// Whatever the driver says, for a context that its maker has destroyed among others; kind `Forked` in a forked
    /// child.
    pub fn push(&self) -> Result<()> {
        let table = Driver::ready()?.table();
        // SAFETY: a primary context that is never released, or one that was current when this was made; of one that
        // has been destroyed since, the driver says so.
        let status = unsafe { (table.cuCtxPushCurrent_v2)(self.handle()) };
        check(table, "cuCtxPushCurrent_v2", status)
    }

    /// Takes it from the top of the calling thread's stack; false, and nothing changed, when something else is there.
    ///
    /// # Errors
    /// Whatever the driver says; kind `Forked` in a forked child.
    pub fn pop(&self) -> Result<bool> {
        let table = Driver::ready()?.table();
        if current(table)? != self.handle() {
            return Ok(false);
        }
        let mut gone: CUcontext = core::ptr::null_mut();
        // SAFETY: a context is current, as was just asked; the call writes one pointer.
        let status = unsafe { (table.cuCtxPopCurrent_v2)(&raw mut gone) };
        check(table, "cuCtxPopCurrent_v2", status)?;
        Ok(true)
    }

    /// Waits for all work in this context.
    ///
    /// # Errors
    /// As [`Device::synchronize`].
    pub fn synchronize(&self) -> Result<()> {
        if self.is_primary()? {
            return self.device.synchronize();
        }
        self.within(|table| {
            // SAFETY: this context is current, by `within`.
            let status = relaxed_capture(|| unsafe { (table.cuCtxSynchronize)() });
            stream::check_wait(table, "cuCtxSynchronize", status)?;
            guard::waited();
            Ok(())
        })
    }

    /// The version of the driver's interface that the context was made for, such as 3020.
    ///
    /// # Errors
    /// Whatever the driver says; kind `Forked` in a forked child.
    pub fn api_version(&self) -> Result<u32> {
        let table = Driver::ready()?.table();
        let call = table
            .cuCtxGetApiVersion
            .ok_or_else(|| missing_entry("cuCtxGetApiVersion", "3.2"))?;
        let mut version: c_uint = 0;
        // SAFETY: as in `push`; the call writes one integer.
        let status = unsafe { call(self.handle(), &raw mut version) };
        check(table, "cuCtxGetApiVersion", status)?;
        Ok(version)
    }

    /// Does `work` with this context current.
    fn within<R>(&self, work: impl FnOnce(&'static Table) -> Result<R>) -> Result<R> {
        let _lifted = Lifted::new();
        self.push()?;
        let done = work(Driver::ready()?.table());
        let popped = self.pop();
        let done = done?;
        popped?;
        Ok(done)
    }
}

impl PartialEq for Context {
    fn eq(&self, other: &Self) -> bool {
        self.raw == other.raw
    }
}

impl Eq for Context {}

impl std::hash::Hash for Context {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.raw.hash(state);
    }
}

fn current(table: &Table) -> Result<CUcontext> {
    let mut current: CUcontext = core::ptr::null_mut();
    // SAFETY: the driver is initialised, since its table was reached; the call writes one pointer.
    let status = unsafe { (table.cuCtxGetCurrent)(&raw mut current) };
    check(table, "cuCtxGetCurrent", status)?;
    Ok(current)
}
