//! Letting go of what the driver has to be called for, without holding up the interpreter.
//!
//! A call of the driver may wait for a lock that a thread holds which itself waits for the interpreter, as a debugging tool does that
//! looks at the Python program from within a launch. So no object of the driver's ends while this thread is attached to it, whoever
//! lets go of it last.
#![allow(unsafe_code, reason = "values are taken out when they are dropped")]

use std::any::Any;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use pyo3::ffi;
use pyo3::prelude::*;
use ulib_core::Result;
use ulib_device::graph::Graph;
use ulib_device::memory::ImportedMemory;
use ulib_device::texture::{Array, MipmappedArray, SurfaceObject};
use ulib_device::{DeviceBytes, Event, Function, Module, Stream};

/// Drops `value` detached from the interpreter, since freeing device memory may wait for the
/// driver, whose locks may be held by a thread that waits for the interpreter.
pub(crate) fn drop_detached<T: Send>(value: T) {
    let mut value = Some(value);
    Python::try_attach(|py| {
        let value = value.take();
        py.detach(|| drop(value));
    });
    // Without an interpreter (it is shutting down) there is nobody to hold up.
    drop(value);
}

/// Does `work` with the interpreter, as long as there is one: for calls of other programs, which may have taken it from this thread
/// without PyO3's knowing, also within a call of ours.
pub(crate) fn with_interpreter(work: impl FnOnce()) {
    // SAFETY: may be asked at any time.
    if unsafe { ffi::Py_IsInitialized() } == 0 {
        return work();
    }
    // SAFETY: there is an interpreter; it is given back below, by the same thread.
    let before = unsafe { ffi::PyGILState_Ensure() };
    work();
    // SAFETY: the answer of the call above.
    unsafe { ffi::PyGILState_Release(before) };
}

/// What calls the driver when it ends.
pub(crate) trait Ends: Send + Sized {
    /// Whether it ends without a call that may wait, so that detaching would cost more than the rest.
    fn ends_at_once(&mut self) -> bool {
        false
    }

    /// Ends it, and says what went wrong, where dropping would only record it.
    fn end(self) -> Result<()> {
        drop(self);
        Ok(())
    }

    /// Drops it, detached where that may wait.
    fn let_go(mut self) {
        if self.ends_at_once() {
            drop(self);
        } else {
            drop_detached(self);
        }
    }
}

/// Types that end by `close`.
macro_rules! ends {
    ($($type:ty),*) => {$(
        impl Ends for $type {
            fn end(self) -> Result<()> {
                self.close()
            }
        }
    )*};
}
ends!(Array, ImportedMemory, MipmappedArray, SurfaceObject);

impl Ends for Event {}
impl Ends for Function {}
impl Ends for Graph<'static> {}
impl Ends for Module {}

/// Of whatever kind.
impl Ends for Box<dyn Any + Send> {}

impl Ends for Stream {
    fn let_go(self) {
        // Others may let go of it in this moment: one of all is the last.
        if let Some(last) = self.into_last() {
            drop_detached(last);
        }
    }
}

impl Ends for DeviceBytes {
    fn ends_at_once(&mut self) -> bool {
        self.goes_without_waiting()
    }

    fn end(self) -> Result<()> {
        self.close()
    }
}

/// A value that goes [detached](drop_detached), where that may wait.
#[derive(Debug)]
pub(crate) struct Detached<T: Ends>(ManuallyDrop<T>);

impl<T: Ends> Detached<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(ManuallyDrop::new(value))
    }

    /// The value, for who is detached.
    pub(crate) fn into_inner(self) -> T {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: `this` is not dropped, so this is the only place that takes the value out.
        unsafe { ManuallyDrop::take(&mut this.0) }
    }
}

impl<T: Ends> DerefMut for Detached<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T: Ends + Clone> Clone for Detached<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T: Ends> Deref for Detached<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Ends> Drop for Detached<T> {
    fn drop(&mut self) {
        // SAFETY: this is the only place that takes the value out, and nothing uses it afterwards.
        unsafe { ManuallyDrop::take(&mut self.0) }.let_go();
    }
}

/// A value that several have in hand: the last to let go of it drops it, [detached](drop_detached) where that may wait.
#[derive(Debug)]
pub(crate) struct InHand<T: Ends + Sync>(ManuallyDrop<Arc<T>>);

impl<T: Ends + Sync> InHand<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(ManuallyDrop::new(Arc::new(value)))
    }

    /// Whether both are the same value.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Another owner, for work that is detached.
    pub(crate) fn shared(&self) -> Arc<T> {
        Arc::clone(&self.0)
    }

    /// This owner, for who is detached.
    pub(crate) fn into_shared(self) -> Arc<T> {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: `this` is not dropped, so this is the only place that takes the value out.
        unsafe { ManuallyDrop::take(&mut this.0) }
    }

    /// Ends it now, if nobody else has it in hand, else with the last who has.
    pub(crate) fn end(self, py: Python<'_>) -> Result<()> {
        let Some(mut value) = Arc::into_inner(self.into_shared()) else {
            return Ok(());
        };
        if value.ends_at_once() {
            value.end()
        } else {
            py.detach(|| value.end())
        }
    }
}

impl<T: Ends + Sync> Clone for InHand<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T: Ends + Sync> Deref for InHand<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Ends + Sync> Drop for InHand<T> {
    fn drop(&mut self) {
        // SAFETY: this is the only place that takes it out but for `into_shared`, after which this does not run.
        let shared = unsafe { ManuallyDrop::take(&mut self.0) };
        if let Some(value) = Arc::into_inner(shared) {
            value.let_go();
        }
    }
}
