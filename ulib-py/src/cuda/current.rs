//! Which device a call is about: that of the context this thread has pushed last, else that of the context which
//! another library has made current, else the default one.
//!
//! What this thread pushes is pushed on the driver's own stack of the thread as well, so that other libraries see it. What
//! is left when a thread or the process ends is left: contexts are the devices' primary ones, and outlive everything.

use std::cell::RefCell;
use std::ffi::OsString;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use pyo3::prelude::*;
use ulib_core::{Error, ErrorKind, Result};
use ulib_device::device::Context;
use ulib_device::sys::CUDA_VERSION;
use ulib_device::{Device, Driver};

use super::errors::{IntoCudaResult, logic};
use crate::args::whole;

/// A context as a program knows it: valid until it is detached.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) context: Context,
    valid: AtomicBool,
}

impl Entry {
    pub(crate) fn new(context: Context) -> Arc<Self> {
        Arc::new(Self {
            context,
            valid: AtomicBool::new(true),
        })
    }

    pub(crate) fn is_valid(&self) -> bool {
        self.valid.load(Ordering::Acquire)
    }
}

thread_local! {
    /// The contexts that this thread has pushed, innermost last.
    static STACK: RefCell<Vec<Arc<Entry>>> = const { RefCell::new(Vec::new()) };
}

/// Works on this thread's stack; on none where the thread is ending.
fn with_stack<R: Default>(work: impl FnOnce(&mut Vec<Arc<Entry>>) -> R) -> R {
    STACK
        .try_with(|stack| work(&mut stack.borrow_mut()))
        .unwrap_or_default()
}

fn mistake(message: &'static str) -> Error {
    Error::new(ErrorKind::InvalidArgument, message)
}

/// The context that this thread has pushed last and nobody has detached.
pub(crate) fn innermost() -> Option<Arc<Entry>> {
    with_stack(|stack| stack.iter().rev().find(|entry| entry.is_valid()).cloned())
}

/// Makes the context current on this thread.
pub(crate) fn push(entry: &Arc<Entry>) -> Result<()> {
    if !entry.is_valid() {
        return Err(mistake("Context.push: the context has been detached"));
    }
    entry.context.push()?;
    with_stack(|stack| stack.push(Arc::clone(entry)));
    Ok(())
}

/// Takes the topmost entry off both stacks. Of the driver's only if it is on top there: what another library has put
/// there is not ours to take.
fn take_top() -> Result<()> {
    if let Some(top) = with_stack(|stack| stack.last().cloned()) {
        top.context.pop()?;
        with_stack(|stack| stack.pop());
    }
    Ok(())
}

/// Takes detached contexts off the top.
fn take_detached() -> Result<()> {
    while with_stack(|stack| stack.last().is_some_and(|top| !top.is_valid())) {
        take_top()?;
    }
    Ok(())
}

/// Takes the context off that this thread has pushed last; the one below is current again.
pub(crate) fn pop() -> Result<()> {
    take_detached()?;
    if with_stack(|stack| stack.is_empty()) {
        return Err(mistake(
            "Context.pop: this thread has no context on its stack",
        ));
    }
    take_top()?;
    take_detached()
}

/// Ends a `with` block: takes off this context, as often as it was pushed by the block.
pub(crate) fn leave(entry: &Arc<Entry>) -> Result<()> {
    take_detached()?;
    let top = with_stack(|stack| stack.last().cloned());
    if top.is_some_and(|top| Arc::ptr_eq(&top, entry)) {
        return pop();
    }
    // Contexts were popped and pushed inside the block; the driver's stack cannot be changed in the middle.
    let found = with_stack(|stack| {
        let at = stack.iter().rposition(|other| Arc::ptr_eq(other, entry));
        at.map(|at| stack.remove(at)).is_some()
    });
    if found || !entry.is_valid() {
        return Ok(());
    }
    Err(mistake(
        "Context: it is on this thread's stack no more, so this `with` block cannot take it off",
    ))
}

/// Ends the use of a context by a program. The device's primary context stays, with all that is in it.
pub(crate) fn detach(entry: &Entry) -> Result<()> {
    if !entry.valid.swap(false, Ordering::AcqRel) {
        return Err(mistake("Context.detach: the context is detached already"));
    }
    take_detached()
}

/// The context of a call of this thread, if there is one: pushed, or another library's.
pub(crate) fn context() -> Result<Option<Arc<Entry>>> {
    match innermost() {
        Some(entry) => Ok(Some(entry)),
        None => Ok(Context::current()?.map(Entry::new)),
    }
}

/// The device that a call of this thread is about.
pub(crate) fn device() -> Result<Device> {
    if let Some(entry) = innermost() {
        return Ok(entry.context.device().clone());
    }
    match Device::current()? {
        Some(device) => Ok(device),
        None => default_device().cloned(),
    }
}

/// The default device, as it was when it was first needed.
fn default_device() -> Result<&'static Device> {
    static DEFAULT: OnceLock<Device> = OnceLock::new();
    if let Some(device) = DEFAULT.get() {
        return Ok(device);
    }
    let device = choose_device(None)?;
    Ok(DEFAULT.get_or_init(|| device))
}

/// The device that `CUDA_DEVICE` names, or the file `.cuda_device` in the home directory, else the one with the ordinal
/// `otherwise`, or the first one that can be used.
pub(crate) fn choose_device(otherwise: Option<u32>) -> Result<Device> {
    if let Some(text) = std::env::var_os("CUDA_DEVICE") {
        return numbered("CUDA_DEVICE", &text);
    }
    if let Some(home) = std::env::home_dir()
        && let Ok(text) = std::fs::read_to_string(home.join(".cuda_device"))
    {
        return numbered("~/.cuda_device", &text.into());
    }
    if let Some(ordinal) = otherwise {
        return Device::new(ordinal);
    }
    let mut refused = None;
    for ordinal in 0..Device::count()? {
        let usable = Device::new(ordinal).and_then(|device| {
            device.primary_context()?;
            Ok(device)
        });
        match usable {
            Ok(device) => return Ok(device),
            Err(error) => {
                refused.get_or_insert(error);
            }
        }
    }
    Err(refused.unwrap_or_else(|| Error::new(ErrorKind::Unavailable, "there is no device")))
}

fn numbered(place: &'static str, text: &OsString) -> Result<Device> {
    let ordinal = text.to_str().and_then(|text| text.trim().parse().ok());
    let ordinal = ordinal
        .ok_or_else(|| Error::invalid(place, "device", format!("{text:?}"), "an ordinal"))?;
    Device::new(ordinal)
}

/// Initialises the driver. Everything that needs it does so by itself; here a missing one is an error at once.
#[pyfunction]
#[pyo3(signature = (flags=0))]
pub(super) fn init(py: Python<'_>, #[pyo3(from_py_with = whole)] flags: i128) -> PyResult<()> {
    if flags != 0 {
        return Err(logic(format!("init: flags is {flags}, expected 0")));
    }
    py.detach(Driver::ready).cuda().map(drop)
}

/// The newest CUDA version that the driver supports: 1000 times major plus 10 times minor, such as 13000.
#[pyfunction]
pub(super) fn get_driver_version(py: Python<'_>) -> PyResult<i32> {
    Ok(py.detach(Driver::ready).cuda()?.version())
}

/// The CUDA version whose interface is used: major, minor and 0.
#[pyfunction]
pub(super) fn get_version() -> (u32, u32, u32) {
    (CUDA_VERSION / 1000, CUDA_VERSION % 1000 / 10, 0)
}

/// Lets a profiler that is told to wait for it begin.
#[pyfunction]
pub(super) fn start_profiler(py: Python<'_>) -> PyResult<()> {
    py.detach(|| device()?.start_profiler()).cuda()
}

/// Lets a profiler end.
#[pyfunction]
pub(super) fn stop_profiler(py: Python<'_>) -> PyResult<()> {
    py.detach(|| device()?.stop_profiler()).cuda()
}

/// Free and total bytes of the device.
#[pyfunction]
pub(super) fn mem_get_info(py: Python<'_>) -> PyResult<(u64, u64)> {
    let info = py.detach(|| device()?.memory_info()).cuda()?;
    Ok((info.free, info.total))
}
