//! [`PyEvent`]: a point in a stream.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyTuple};
use ulib_device::Event;
use ulib_device::sys::CUevent_flags;

use super::arguments::instance;
use super::current;
use super::errors::{IntoCudaResult, fitting, gone};
use super::memory::on::On;
use super::memory::pending;
use super::module::bytes_of;
use crate::args::{Int, whole};
use crate::detached::InHand;

/// A point in a stream of the current device, to be waited for and timed. ``flags`` are :class:`event_flags`. Recorded in a stream that
/// is being captured, it stands for a point of the graph until it is recorded elsewhere: only streams can wait for it, which become part
/// of the capture.
#[pyclass(frozen, weakref, name = "Event", module = "uLib.cuda.driver")]
pub(crate) struct PyEvent(Mutex<Option<InHand<Event>>>);

impl PyEvent {
    fn of(event: Event) -> Self {
        Self(Mutex::new(Some(InHand::new(event))))
    }

    fn slot(&self) -> MutexGuard<'_, Option<InHand<Event>>> {
        // Held for a moment only, without waiting for anything.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn milliseconds_since(&self, py: Python<'_>, op: &str, event: &Self) -> PyResult<f32> {
        let (this, other) = (self.inner(op)?, event.inner(op)?);
        py.detach(|| this.elapsed_ms(&other)).cuda()
    }

    /// The event itself for `op`, as long as it is not closed.
    pub(crate) fn inner(&self, op: &str) -> PyResult<InHand<Event>> {
        let event = self.slot().clone();
        event.ok_or_else(|| gone(op, "Event", "closed"))
    }
}

#[pymethods]
impl PyEvent {
    #[new]
    #[pyo3(signature = (flags=0))]
    fn new(py: Python<'_>, #[pyo3(from_py_with = whole)] flags: i128) -> PyResult<Self> {
        let flags = fitting("Event", "flags", Int(flags))?;
        py.detach(|| Event::with_flags(&current::device()?, CUevent_flags(flags)))
            .cuda()
            .map(Self::of)
    }

    /// The event of another process that gave ``ipc_handle()``, on the current device.
    #[staticmethod]
    fn from_ipc_handle(py: Python<'_>, handle: &Bound<'_, PyAny>) -> PyResult<Self> {
        let handle = bytes_of("Event.from_ipc_handle: handle", handle)?;
        py.detach(|| Event::from_ipc(&current::device()?, &handle))
            .cuda()
            .map(Self::of)
    }

    /// What another process makes the event from. It is one with the flags INTERPROCESS and DISABLE_TIMING.
    fn ipc_handle<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyByteArray>> {
        let event = self.inner("Event.ipc_handle")?;
        let handle = py.detach(|| event.ipc_handle()).cuda()?;
        Ok(PyByteArray::new(py, &handle))
    }

    /// Puts the event at the present end of the stream, by default of the default stream, and returns it.
    #[pyo3(signature = (stream=None))]
    fn record<'py>(
        slf: PyRef<'py, Self>,
        py: Python<'py>,
        stream: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<PyRef<'py, Self>> {
        const OP: &str = "Event.record";
        let event = slf.inner(OP)?;
        let on = On::of(OP, stream)?;
        py.detach(|| event.record(on.stream(OP, event.device())?.as_ref()))
            .cuda()?;
        Ok(slf)
    }

    /// Waits until the event is reached, and returns it.
    fn synchronize<'py>(slf: PyRef<'py, Self>, py: Python<'py>) -> PyResult<PyRef<'py, Self>> {
        let event = slf.inner("Event.synchronize")?;
        py.detach(|| event.synchronize()).cuda()?;
        pending::let_go(py);
        Ok(slf)
    }

    /// Whether the event is reached.
    fn query(&self, py: Python<'_>) -> PyResult<bool> {
        let event = self.inner("Event.query")?;
        py.detach(|| event.is_done()).cuda()
    }

    /// Milliseconds from the other event to this one.
    fn time_since(&self, py: Python<'_>, event: &Bound<'_, PyAny>) -> PyResult<f32> {
        const OP: &str = "Event.time_since";
        let event = instance::<Self>(OP, "event", event)?.get();
        self.milliseconds_since(py, OP, event)
    }

    /// Milliseconds from this event to the other one.
    fn time_till(&self, py: Python<'_>, event: &Bound<'_, PyAny>) -> PyResult<f32> {
        const OP: &str = "Event.time_till";
        let event = instance::<Self>(OP, "event", event)?.get();
        event.milliseconds_since(py, OP, self)
    }

    /// Gives the event up; what waits for it already goes on waiting.
    fn close(&self) {
        let event = self.slot().take();
        drop(event);
    }

    /// The driver's handle, an integer.
    #[getter]
    fn handle(&self) -> PyResult<usize> {
        Ok(self.inner("Event.handle")?.handle() as usize)
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, _exception: &Bound<'_, PyTuple>) {
        self.close();
    }

    fn __repr__(&self) -> String {
        let event = self.slot().clone();
        match event {
            Some(event) => format!(
                "<uLib.cuda.driver.Event {:#x} on {}>",
                event.handle() as usize,
                event.device()
            ),
            None => "<uLib.cuda.driver.Event, closed>".to_owned(),
        }
    }
}
