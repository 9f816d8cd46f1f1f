//! Managed memory behind arrays.
#![allow(unsafe_code, reason = "hands out the bytes of memory that it owns")]

use std::ffi::c_int;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use ulib_core::Placement;
use ulib_device::memory::{Advice, Attachment, Managed, managed_guard};

use super::buffer::fill_bytes;
use super::device::{DeviceAllocation, after_collecting, size_of};
use super::on::On;
use super::slot::Slot;
use crate::args::{Int, caused, shown, whole};
use crate::cuda::arguments::Whole;
use crate::cuda::current;
use crate::cuda::errors::{IntoCudaResult, logic};
use crate::detached::drop_detached;
use crate::interop::buffer::release;

const CLASS: &str = "ManagedAllocation";

/// Memory that the host and the devices reach under one address. Arrays have it as ``base``, and are given to kernels, as any view of
/// them, by their address.
///
/// After a kernel was started, wait for it before the host touches the memory: nothing here can know when an array is touched, and
/// on devices without concurrent access it ends the program. With ``ULIB_MANAGED_GUARD=1`` in the environment it does so on every
/// device (of Linux), with a message that names the kernel and the line: memory is closed to the host from a launch on until something
/// waits for it.
#[pyclass(frozen, extends = DeviceAllocation, module = "uLib.cuda.driver")]
pub(crate) struct ManagedAllocation {
    memory: Mutex<Option<Arc<Managed>>>,
    start: usize,
    len: usize,
    /// Whether somebody has asked for the bytes, who may have an array now.
    seen: AtomicBool,
}

impl ManagedAllocation {
    /// The memory for a method, as long as it is not freed.
    fn memory(slf: &PyRef<'_, Self>, method: &str) -> PyResult<Arc<Managed>> {
        let slot = &slf.as_super().slot;
        slot.ptr_in(method)?;
        let memory = slf.memory.lock().unwrap_or_else(PoisonError::into_inner);
        memory.clone().ok_or_else(|| slot.freed_in(method))
    }

    /// Lets the memory go: now, or with this object where an array may use it.
    fn let_go(slf: &PyRef<'_, Self>) -> PyResult<()> {
        let (py, slot) = (slf.py(), &slf.as_super().slot);
        slot.free(py)?;
        if !slf.seen.load(Ordering::SeqCst) {
            let memory = slf
                .memory
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take();
            py.detach(|| drop(memory));
        }
        Ok(())
    }
}

impl Drop for ManagedAllocation {
    fn drop(&mut self) {
        let memory = self
            .memory
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        drop_detached(memory.take());
    }
}

/// The host, or the ordinal of a device.
fn placement(op: &'static str, device: Option<&Bound<'_, PyAny>>) -> PyResult<Placement> {
    let Some(device) = device.filter(|device| !device.is_none()) else {
        return Ok(Placement::Host);
    };
    if let Ok(device) = device.cast::<crate::cuda::device::PyDevice>() {
        return Ok(Placement::Device(device.get().0.ordinal()));
    }
    let wrong = || {
        logic(format!(
            "{op}: {} is no device: an ordinal, a Device, or None for the host",
            shown(device)
        ))
    };
    let number = device.extract::<Int>();
    match number.map_err(|error| caused(device.py(), error, |_| wrong()))? {
        Int(-1) => Ok(Placement::Host),
        Int(ordinal) => u32::try_from(ordinal)
            .map(Placement::Device)
            .map_err(|_| wrong()),
    }
}

#[pymethods]
impl ManagedAllocation {
    /// ``size`` bytes, which are attached as ``mem_attach_flags`` say: GLOBAL if they are 0.
    #[new]
    #[pyo3(signature = (size, mem_flags=0))]
    fn new(
        py: Python<'_>,
        size: Whole,
        #[pyo3(from_py_with = whole)] mem_flags: i128,
    ) -> PyResult<PyClassInitializer<Self>> {
        const OP: &str = "ManagedAllocation";
        let len = size_of(OP, "size", size)?;
        let attachment = match mem_flags {
            0 => Attachment::Global,
            flags => attachment(OP, Int(flags))?,
        };
        show_lines_of_faults(py);
        let made = after_collecting(py, || Managed::new(&current::device()?, len, attachment))?;
        let memory = Arc::new(made);
        let base = DeviceAllocation {
            slot: Slot::new(CLASS, memory.as_bytes(), len),
        };
        let start = memory.ptr() as usize;
        let this = Self {
            memory: Mutex::new(Some(memory)),
            start,
            len,
            seen: AtomicBool::new(false),
        };
        Ok(PyClassInitializer::from(base).add_subclass(this))
    }

    /// The address, for the host and for kernels.
    fn get_device_pointer(slf: PyRef<'_, Self>) -> PyResult<u64> {
        slf.as_super().slot.ptr_in("get_device_pointer")
    }

    /// Frees the memory: now, or when no array can use it any more. A second time is a ``LogicError``.
    fn free(slf: PyRef<'_, Self>) -> PyResult<()> {
        Self::let_go(&slf)
    }

    /// Frees the memory unless that has happened already.
    fn close(slf: PyRef<'_, Self>) -> PyResult<()> {
        match slf.as_super().slot.ptr() {
            Some(_) => Self::let_go(&slf),
            None => Ok(()),
        }
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(slf: PyRef<'_, Self>, _exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        Self::close(slf)
    }

    /// Changes who may access the memory, in the order of ``stream``: GLOBAL every stream, HOST the host, SINGLE that stream.
    #[pyo3(signature = (mem_flags, stream=None))]
    fn attach(
        slf: PyRef<'_, Self>,
        mem_flags: Whole,
        stream: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        const OP: &str = "ManagedAllocation.attach";
        let (memory, attachment) = (Self::memory(&slf, "attach")?, attachment(OP, mem_flags)?);
        let on = On::of(OP, stream)?;
        slf.py()
            .detach(|| {
                let stream = on.stream(OP, memory.device())?;
                stream.keep_in_capture(|| Arc::clone(&memory))?;
                memory.attach(attachment, &stream)
            })
            .cuda()
    }

    /// Moves ``size`` bytes from ``offset`` on (all there are if none is given) to a device, by its ordinal, or with ``None`` to the
    /// host, in the order of ``stream``, so that who touches them there does not wait for each page.
    #[pyo3(signature = (device, stream=None, offset=0, size=None))]
    fn prefetch(
        slf: PyRef<'_, Self>,
        device: Option<&Bound<'_, PyAny>>,
        stream: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = whole)] offset: i128,
        size: Option<Whole>,
    ) -> PyResult<()> {
        const OP: &str = "ManagedAllocation.prefetch";
        let (memory, to, on) = (
            Self::memory(&slf, "prefetch")?,
            placement(OP, device)?,
            On::of(OP, stream)?,
        );
        let range = range(OP, offset, size, slf.len)?;
        slf.py()
            .detach(|| {
                let stream = on.stream(OP, memory.device())?;
                stream.keep_in_capture(|| Arc::clone(&memory))?;
                memory.prefetch(range, to, &stream)
            })
            .cuda()
    }

    /// Tells the driver how ``size`` bytes from ``offset`` on are used; ``advice`` is one of "read_mostly", "preferred_location" and
    /// "accessed_by", or the same after "unset_", for ``device`` (an ordinal; ``None`` for the host). It changes speed only.
    #[pyo3(signature = (advice, device=None, offset=0, size=None))]
    fn advise(
        slf: PyRef<'_, Self>,
        advice: &str,
        device: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = whole)] offset: i128,
        size: Option<Whole>,
    ) -> PyResult<()> {
        const OP: &str = "ManagedAllocation.advise";
        let (memory, at) = (Self::memory(&slf, "advise")?, placement(OP, device)?);
        let range = range(OP, offset, size, slf.len)?;
        let advice = match advice {
            "read_mostly" => Advice::ReadMostly(true),
            "unset_read_mostly" => Advice::ReadMostly(false),
            "preferred_location" => Advice::PreferredLocation(Some(at)),
            "unset_preferred_location" => Advice::PreferredLocation(None),
            "accessed_by" => Advice::AccessedBy(at, true),
            "unset_accessed_by" => Advice::AccessedBy(at, false),
            _ => {
                return Err(logic(format!(
                    "{OP}: advice is {advice:?}, expected read_mostly, preferred_location or accessed_by, or unset_ and one of them"
                )));
            }
        };
        slf.py().detach(|| memory.advise(range, advice)).cuda()
    }

    /// The buffer protocol.
    ///
    /// # Safety
    /// Called by the interpreter only.
    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        // Before it is asked whether the memory is still there: whoever frees it asks the other way round.
        slf.get().seen.store(true, Ordering::SeqCst);
        let alive = slf.borrow().as_super().slot.ptr_in("__buffer__");
        if let Err(freed) = alive {
            // SAFETY: the interpreter's own struct; on an error its owner is null.
            unsafe { (*view).obj = std::ptr::null_mut() };
            return Err(freed);
        }
        let (start, len) = (slf.get().start as *mut u8, slf.get().len);
        // SAFETY: the interpreter's own struct; the memory lives as long as this object, which the buffer keeps: from now on
        // freeing leaves it alone.
        unsafe { fill_bytes(slf.into_any(), start, len, view, flags) }
    }

    /// The end of a buffer.
    ///
    /// # Safety
    /// Called by the interpreter only.
    unsafe fn __releasebuffer__(&self, view: *mut ffi::Py_buffer) {
        // SAFETY: the interpreter passes a buffer that `__getbuffer__` filled.
        unsafe { release(view) };
    }
}

/// Where managed memory is guarded, has Python's own handler of faults say in which line one was. It comes before that of the
/// guard, which calls it.
fn show_lines_of_faults(py: Python<'_>) {
    static DONE: AtomicBool = AtomicBool::new(false);
    if !managed_guard() || DONE.swap(true, Ordering::Relaxed) {
        return;
    }
    let shown = py.import("faulthandler").and_then(|handler| {
        if handler.call_method0("is_enabled")?.is_truthy()? {
            return Ok(());
        }
        // Standard error may have been replaced by something without a file.
        if handler.call_method0("enable").is_err() {
            let error = py.import("sys")?.getattr("__stderr__")?;
            handler.call_method1("enable", (error,))?;
        }
        Ok(())
    });
    if let Err(reason) = shown {
        log::warn!("faults of guarded memory come without the line: {reason}");
    }
}

fn attachment(op: &'static str, flags: impl Into<Whole>) -> PyResult<Attachment> {
    let flags = flags.into().of(op, "mem_flags")?;
    match flags.0 {
        1 => Ok(Attachment::Global),
        2 => Ok(Attachment::Host),
        4 => Ok(Attachment::Single),
        _ => Err(logic(format!(
            "{op}: mem_flags is {flags}, expected one of mem_attach_flags"
        ))),
    }
}

fn range(op: &str, offset: i128, size: Option<Whole>, len: usize) -> PyResult<Range<usize>> {
    let size = size.map(|size| size.of(op, "size")).transpose()?;
    let within = |number: i128| usize::try_from(number).ok().filter(|&number| number <= len);
    let end = size.map_or(len as i128, |size| offset.saturating_add(size.0));
    match (within(offset), within(end)) {
        (Some(start), Some(end)) if start <= end => Ok(start..end),
        _ => {
            let size = size
                .map(|size| format!(" and size {size}"))
                .unwrap_or_default();
            Err(logic(format!(
                "{op}: offset {offset}{size} are not within the {len} bytes"
            )))
        }
    }
}
