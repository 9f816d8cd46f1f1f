//! Host memory that devices reach well: page-locked, aligned, or registered for a while.
#![allow(unsafe_code, reason = "hands out the bytes of memory that it owns")]

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ffi::c_int;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use pyo3::{PyTraverseError, PyVisit};
use ulib_core::Context;
use ulib_device::block::out_of_host_memory;
use ulib_device::pinned::{HostBlock, HostFlags, HostMemory, Registration, device_pointer};

use super::buffer::{HostBytes, fill_bytes};
use super::device::{after_collecting, size_of};
use crate::args::{Int, whole};
use crate::cuda::arguments::Whole;
use crate::cuda::current;
use crate::cuda::errors::{IntoCudaResult, fitting, gone, logic};
use crate::detached::drop_detached;
use crate::interop::buffer::release;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<HostPointer>()?;
    module.add_class::<PagelockedHostAllocation>()?;
    module.add_class::<AlignedHostAllocation>()?;
    module.add_class::<RegisteredHostMemory>()
}

/// Who keeps the bytes.
#[allow(dead_code, reason = "kept for the sake of their destructors")]
pub(super) enum Owner {
    PageLocked(HostMemory),
    Aligned(Aligned),
    Pooled(HostBlock),
    Registered(Registered),
}

/// Memory of a Python object, page-locked.
pub(super) struct Registered {
    registration: Registration,
    bytes: ManuallyDrop<HostBytes>,
}

impl Drop for Registered {
    fn drop(&mut self) {
        // What the driver still takes for page-locked must not be given to anybody else: then the object stays.
        if self.registration.release().is_ok() {
            // SAFETY: dropped here and nowhere else.
            unsafe { ManuallyDrop::drop(&mut self.bytes) };
        }
    }
}

/// Host memory behind arrays: they have the allocation as ``base`` and keep it.
///
/// Freeing it while arrays may use it waits for the last of them, so no array ever points to nothing.
#[pyclass(frozen, subclass, weakref, module = "uLib.cuda.driver")]
pub(crate) struct HostPointer {
    start: usize,
    len: usize,
    flags: u32,
    /// The name of the class, for messages, and its word for the end.
    class: (&'static str, &'static str),
    owner: Mutex<Option<Owner>>,
    /// Whether it was freed by name.
    freed: AtomicBool,
    /// Whether somebody has asked for the bytes, who may have an array now.
    seen: AtomicBool,
}

impl HostPointer {
    pub(super) fn new(start: *mut u8, len: usize, flags: u32, owner: Owner) -> Self {
        Self {
            start: start as usize,
            len,
            flags,
            class: match owner {
                Owner::PageLocked(_) => ("PagelockedHostAllocation", "freed"),
                Owner::Aligned(_) => ("AlignedHostAllocation", "freed"),
                Owner::Pooled(_) => ("PooledHostAllocation", "freed"),
                Owner::Registered(_) => ("RegisteredHostMemory", "unregistered"),
            },
            owner: Mutex::new(Some(owner)),
            freed: AtomicBool::new(false),
            seen: AtomicBool::new(false),
        }
    }

    fn owner(&self) -> MutexGuard<'_, Option<Owner>> {
        // Held for a moment only, without waiting for anything.
        self.owner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Refuses what needs the memory where it is freed.
    pub(super) fn check(&self, op: &str) -> PyResult<()> {
        match self.freed.load(Ordering::SeqCst) {
            false => Ok(()),
            true => Err(gone(op, self.class.0, self.class.1)),
        }
    }

    /// [`check`](Self::check) for a method of the class.
    fn check_in(&self, method: &str) -> PyResult<()> {
        match self.freed.load(Ordering::SeqCst) {
            false => Ok(()),
            // The text is made only where it is needed: every view of the memory asks.
            true => self.check(&format!("{}.{method}", self.class.0)),
        }
    }

    /// The flags that the memory was made with, as long as it is not freed.
    pub(super) fn flags(&self) -> PyResult<u32> {
        self.check_in("get_flags")?;
        Ok(self.flags)
    }

    /// The length in bytes.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Frees the memory: now, or with this object where an array may use it.
    pub(super) fn free(&self) -> PyResult<()> {
        if self.freed.swap(true, Ordering::SeqCst) {
            return self.check_in("free");
        }
        if !self.seen.load(Ordering::SeqCst) {
            let owner = self.owner().take();
            drop_detached(owner);
        }
        Ok(())
    }
}

impl Drop for HostPointer {
    fn drop(&mut self) {
        let owner = self.owner().take();
        drop_detached(owner);
    }
}

#[pymethods]
impl HostPointer {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        match self.owner.try_lock().as_deref() {
            Ok(Some(Owner::Registered(owner))) => owner.bytes.traverse(&visit),
            _ => Ok(()),
        }
    }

    /// The address at which kernels of the device reach the memory.
    fn get_device_pointer(&self, py: Python<'_>) -> PyResult<u64> {
        self.check_in("get_device_pointer")?;
        let start = self.start as u64;
        py.detach(|| device_pointer(&current::device()?, start))
            .cuda()
    }

    /// The length in bytes.
    #[getter]
    fn size(&self) -> usize {
        self.len
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let (name, this) = (slf.get_type().qualname()?, slf.get());
        let state = match this.freed.load(Ordering::SeqCst) {
            true => ", freed",
            false => "",
        };
        Ok(format!(
            "<uLib.cuda.driver.{name} of {} bytes at {:#x}{state}>",
            this.len, this.start
        ))
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
        let this = slf.get();
        // Before it is asked whether the memory is still there: whoever frees it asks the other way round.
        this.seen.store(true, Ordering::SeqCst);
        if let Err(freed) = this.check_in("__buffer__") {
            // SAFETY: the interpreter's own struct; on an error its owner is null.
            unsafe { (*view).obj = std::ptr::null_mut() };
            return Err(freed);
        }
        let (start, len) = (this.start as *mut u8, this.len);
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

/// Page-locked memory of the host: copies on streams from and to it run beside the host.
#[pyclass(frozen, extends = HostPointer, module = "uLib.cuda.driver")]
pub(crate) struct PagelockedHostAllocation;

#[pymethods]
impl PagelockedHostAllocation {
    /// ``size`` bytes, zeroed, with the flags of ``host_alloc_flags``.
    #[new]
    #[pyo3(signature = (size, mem_flags=0))]
    fn new(
        py: Python<'_>,
        size: Whole,
        #[pyo3(from_py_with = whole)] mem_flags: i128,
    ) -> PyResult<PyClassInitializer<Self>> {
        const OP: &str = "PagelockedHostAllocation";
        let len = size_of(OP, "size", size)?;
        let mem_flags = fitting(OP, "mem_flags", Int(mem_flags))?;
        HostFlags(mem_flags).check(OP, "mem_flags").cuda()?;
        let made = after_collecting(py, || {
            HostMemory::new(&current::device()?, len, HostFlags(mem_flags))
        })?;
        let start = made.as_ptr();
        let pointer = HostPointer::new(start, len, mem_flags, Owner::PageLocked(made));
        Ok(PyClassInitializer::from(pointer).add_subclass(Self))
    }

    /// Frees the memory: now, or when no array can use it any more.
    fn free(slf: PyRef<'_, Self>) -> PyResult<()> {
        slf.as_super().free()
    }

    /// The flags it was made with.
    fn get_flags(slf: PyRef<'_, Self>) -> PyResult<u32> {
        slf.as_super().flags()
    }
}

/// Ordinary memory of the host that starts at a multiple of ``alignment``.
#[pyclass(frozen, extends = HostPointer, module = "uLib.cuda.driver")]
pub(crate) struct AlignedHostAllocation;

#[pymethods]
impl AlignedHostAllocation {
    /// ``size`` bytes, zeroed.
    #[new]
    #[pyo3(signature = (size, alignment=4096))]
    fn new(
        size: Whole,
        #[pyo3(from_py_with = whole)] alignment: i128,
    ) -> PyResult<PyClassInitializer<Self>> {
        const OP: &str = "AlignedHostAllocation";
        let (len, alignment) = (
            size_of(OP, "size", size)?,
            size_of(OP, "alignment", Int(alignment))?,
        );
        let made = Aligned::new(len, alignment)?;
        let start = made.start.as_ptr();
        let pointer = HostPointer::new(start, len, 0, Owner::Aligned(made));
        Ok(PyClassInitializer::from(pointer).add_subclass(Self))
    }

    /// Frees the memory: now, or when no array can use it any more.
    fn free(slf: PyRef<'_, Self>) -> PyResult<()> {
        slf.as_super().free()
    }
}

/// Memory of the allocator of this program.
pub(super) struct Aligned {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: it is the only owner of its bytes, whose address is all that it gives away.
unsafe impl Send for Aligned {}

impl Aligned {
    fn new(len: usize, alignment: usize) -> PyResult<Self> {
        let layout = Layout::from_size_align(len.max(1), alignment).map_err(|_| {
            logic(format!(
                "AlignedHostAllocation: alignment is {alignment} for {len} bytes, expected a power of two"
            ))
        })?;
        // SAFETY: the layout is of at least one byte.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) });
        let start = start
            .ok_or_else(|| out_of_host_memory(len as u64))
            .with_context(|| format!("AlignedHostAllocation: alignment is {alignment}"))
            .cuda()?;
        Ok(Self { start, layout })
    }
}

impl Drop for Aligned {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout in `new`, and freed only here.
        unsafe { dealloc(self.start.as_ptr(), self.layout) }
    }
}

/// The memory of an array, or of anything else contiguous and writable with a buffer, page-locked until ``unregister()``, the end of
/// ``with memory:``, or the end of the object. It keeps the array.
#[pyclass(frozen, extends = HostPointer, module = "uLib.cuda.driver")]
pub(crate) struct RegisteredHostMemory {
    array: Py<PyAny>,
}

#[pymethods]
impl RegisteredHostMemory {
    /// Page-locks the memory of ``ary`` with the flags of ``mem_host_register_flags``.
    #[new]
    #[pyo3(signature = (ary, flags=0))]
    fn new(
        ary: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = whole)] flags: i128,
    ) -> PyResult<PyClassInitializer<Self>> {
        const OP: &str = "register_host_memory";
        let flags: u32 = fitting(OP, "flags", Int(flags))?;
        let bytes = HostBytes::writable(OP, "ary", ary)?;
        let (start, len) = (bytes.ptr(), bytes.len());
        if flags & !0xF != 0 {
            return Err(logic(format!(
                "{OP}: flags is {flags:#x}, expected those of mem_host_register_flags"
            )));
        }
        let address = start as u64;
        // SAFETY: the buffer keeps the memory where it is, and is kept until after the end of the registration.
        let made = ary.py().detach(|| unsafe {
            Registration::new(&current::device()?, address, len, HostFlags(flags))
        });
        let owner = Owner::Registered(Registered {
            registration: made.cuda()?,
            bytes: ManuallyDrop::new(bytes),
        });
        let array = ary.clone().unbind();
        let pointer = HostPointer::new(start, len, flags, owner);
        Ok(PyClassInitializer::from(pointer).add_subclass(Self { array }))
    }

    /// Lets the memory go. The array stays what it is. After an error it is page-locked still, and this can be tried again.
    fn unregister(slf: PyRef<'_, Self>) -> PyResult<()> {
        let pointer = slf.as_super();
        if pointer.freed.swap(true, Ordering::SeqCst) {
            return pointer.check_in("unregister");
        }
        let Some(Owner::Registered(mut owner)) = pointer.owner().take() else {
            return Ok(());
        };
        let released = slf.py().detach(|| owner.registration.release());
        *pointer.owner() = Some(Owner::Registered(owner));
        if released.is_err() {
            pointer.freed.store(false, Ordering::SeqCst);
        }
        released.cuda()
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.array)
    }

    /// The array.
    #[getter]
    fn base(&self, py: Python<'_>) -> Py<PyAny> {
        self.array.clone_ref(py)
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(slf: PyRef<'_, Self>, _exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        match slf.as_super().freed.load(Ordering::SeqCst) {
            true => Ok(()),
            false => Self::unregister(slf),
        }
    }
}
