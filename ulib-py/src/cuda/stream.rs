//! [`PyStream`]: a queue of work on a device.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt, PyTuple};
use pyo3::{PyTraverseError, PyVisit};
use ulib_device::stream::StreamKind;
use ulib_device::{Device, Stream};

use super::arguments::instance;
use super::callbacks;
use super::current;
use super::device::PyDevice;
use super::errors::{IntoCudaResult, fitting, logic};
use super::event::PyEvent;
use super::graph::PyCapture;
use super::kept::Object;
use super::memory::pending;
use crate::args::{Int, whole};
use crate::detached::Detached;
use crate::stream::{Queue, foreign, handle_of};

/// A queue of work on the current device.
///
/// ``flags`` says of which kind it is (:class:`stream_flags`), ``priority`` how urgent: lower numbers run first. In the place
/// of ``flags`` there can be a stream that somebody else made: an object with ``__cuda_stream__``, ``ptr``, ``cuda_stream`` or
/// ``handle``, which is kept alive. In ``with stream:`` the operations of uLib's objects use it on this thread.
#[pyclass(frozen, weakref, name = "Stream", module = "uLib.cuda.driver")]
pub(crate) struct PyStream(Queue);

impl PyStream {
    pub(crate) fn new(stream: Stream) -> Self {
        Self(Queue::new(stream, None))
    }

    /// The stream itself for `op`, as long as it is not closed.
    pub(crate) fn inner(&self, op: &str) -> PyResult<Detached<Stream>> {
        self.0.get(op).cuda()
    }

    fn handle_in(&self, op: &str) -> PyResult<usize> {
        Ok(self.inner(op)?.handle() as usize)
    }
}

fn is_number(object: &Bound<'_, PyAny>) -> bool {
    object.is_instance_of::<PyInt>() && !object.is_instance_of::<PyBool>()
}

/// The stream that another library made.
fn adopted(
    py: Python<'_>,
    object: &Bound<'_, PyAny>,
    device: Option<Device>,
) -> PyResult<PyStream> {
    let (handle, keep) = handle_of("Stream", object)?;
    let handle = usize::try_from(handle.0)
        .map_err(|_| logic(format!("Stream: {handle} is no handle of a stream")))?;
    let owner = keep.then(|| Object::new(object));
    let stream = py.detach(|| {
        let device = device.map_or_else(current::device, Ok)?;
        foreign(&device, handle, owner.as_ref())
    });
    Ok(PyStream(Queue::new(stream.cuda()?, owner)))
}

#[pymethods]
impl PyStream {
    #[new]
    #[pyo3(signature = (flags=None, priority=0))]
    fn make(
        py: Python<'_>,
        flags: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = whole)] priority: i128,
    ) -> PyResult<Self> {
        let priority = fitting("Stream", "priority", Int(priority))?;
        let flags = match flags {
            None => Int(0),
            Some(number) if is_number(number) => number.extract()?,
            Some(object) => return adopted(py, object, None),
        };
        let kind = match flags.0 {
            0 => StreamKind::Blocking,
            1 => StreamKind::NonBlocking,
            _ => {
                let expected = "expected one of stream_flags";
                return Err(logic(format!("Stream: flags is {flags}, {expected}")));
            }
        };
        let made = py.detach(|| Stream::of_kind(&current::device()?, kind, priority));
        made.cuda().map(Self::new)
    }

    /// The stream with a handle of the driver's, or that of an object as for the class. Who gives a bare handle vouches for it:
    /// the stream has to outlive this object and all memory used in it.
    #[staticmethod]
    #[pyo3(signature = (handle, device=None))]
    fn from_handle(
        py: Python<'_>,
        handle: &Bound<'_, PyAny>,
        device: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let device = device
            .map(|device| instance::<PyDevice>("Stream.from_handle", "device", device))
            .transpose()?;
        adopted(py, handle, device.map(|device| device.get().0.clone()))
    }

    /// The default stream of the current device.
    #[staticmethod]
    fn legacy(py: Python<'_>) -> PyResult<Self> {
        let device = py.detach(current::device).cuda()?;
        Ok(Self::new(Stream::legacy(&device)))
    }

    /// The default stream of whichever thread uses it.
    #[staticmethod]
    fn per_thread(py: Python<'_>) -> PyResult<Self> {
        let device = py.detach(current::device).cuda()?;
        Ok(Self::new(Stream::per_thread(&device)))
    }

    /// The least and the most urgent priority of the current device.
    #[staticmethod]
    fn priority_range(py: Python<'_>) -> PyResult<(i32, i32)> {
        py.detach(|| Stream::priority_range(&current::device()?))
            .cuda()
    }

    /// Waits until everything put into the stream so far is done.
    fn synchronize(&self, py: Python<'_>) -> PyResult<()> {
        let stream = self.inner("Stream.synchronize")?;
        py.detach(|| stream.synchronize()).cuda()?;
        pending::let_go(py);
        Ok(())
    }

    /// Whether everything put into the stream so far is done.
    fn is_done(&self, py: Python<'_>) -> PyResult<bool> {
        let stream = self.inner("Stream.is_done")?;
        py.detach(|| stream.is_done()).cuda()
    }

    /// Lets everything put into the stream from now on wait for the event. One that was recorded in a stream that is being captured takes
    /// this one into the capture; what it does has to be waited for in the same way before the end.
    fn wait_for_event(&self, py: Python<'_>, evt: &Bound<'_, PyAny>) -> PyResult<()> {
        const OP: &str = "Stream.wait_for_event";
        let evt = instance::<PyEvent>(OP, "evt", evt)?.get();
        let (stream, event) = (self.inner(OP)?, evt.inner(OP)?);
        py.detach(|| stream.wait(&event)).cuda()
    }

    /// Calls ``callback()`` on a thread of uLib's when everything put into the stream so far is done. What comes later in the
    /// stream does not wait for it; what it raises goes to ``sys.unraisablehook``. When something before it fails, it is
    /// never called. The stream only hands it to that thread, so that ``synchronize()`` may return before it has been called: who
    /// needs it to be over waits for something that it sets, such as a ``threading.Event``.
    fn add_callback(&self, py: Python<'_>, callback: Py<PyAny>) -> PyResult<()> {
        let stream = self.inner("Stream.add_callback")?;
        callbacks::add(py, &stream, callback)
    }

    /// For a ``with`` block: ``with stream.capture() as graph:`` writes down what is put into the stream, instead of running it;
    /// afterwards ``graph.instantiate()`` makes it ready to be launched. Other threads go on meanwhile; what has to wait for the
    /// stream, or for the whole device, is an error.
    fn capture(slf: Py<Self>, py: Python<'_>) -> PyResult<PyCapture> {
        PyCapture::new(py, slf)
    }

    /// Gives the stream up; work that is in it runs, and a capture of it goes on.
    fn close(&self) {
        self.0.close();
    }

    /// The driver's handle, an integer.
    #[getter]
    fn handle(&self) -> PyResult<usize> {
        self.handle_in("Stream.handle")
    }

    /// The device it is of.
    #[getter]
    fn device(&self) -> PyResult<PyDevice> {
        Ok(PyDevice(self.inner("Stream.device")?.device().clone()))
    }

    /// Its kind (:class:`stream_flags`).
    #[getter]
    fn flags(&self, py: Python<'_>) -> PyResult<u32> {
        let stream = self.inner("Stream.flags")?;
        Ok(match py.detach(|| stream.kind()).cuda()? {
            StreamKind::Blocking => 0,
            StreamKind::NonBlocking => 1,
        })
    }

    /// Its priority: lower numbers run first.
    #[getter]
    fn priority(&self, py: Python<'_>) -> PyResult<i32> {
        let stream = self.inner("Stream.priority")?;
        py.detach(|| stream.priority()).cuda()
    }

    /// Whether work put into it becomes part of a graph.
    #[getter]
    fn is_capturing(&self, py: Python<'_>) -> PyResult<bool> {
        let stream = self.inner("Stream.is_capturing")?;
        py.detach(|| stream.is_capturing()).cuda()
    }

    /// ``(0, handle)``: the protocol by which other libraries take the stream.
    fn __cuda_stream__(&self) -> PyResult<(u32, usize)> {
        Ok((0, self.handle_in("Stream.__cuda_stream__")?))
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyResult<PyRef<'_, Self>> {
        slf.0.enter("Stream.__enter__").cuda()?;
        Ok(slf)
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, _exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        self.0.leave()
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.0.traverse(&visit)
    }

    fn __clear__(&self) {
        self.0.close();
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        let Ok(other) = other.cast::<Self>() else {
            return Ok(false);
        };
        const OP: &str = "Stream.__eq__";
        let (one, other) = (self.inner(OP)?, other.get().inner(OP)?);
        Ok(one.handle() == other.handle() && one.device() == other.device())
    }

    fn __hash__(&self) -> PyResult<isize> {
        Ok((self.handle_in("Stream.__hash__")? >> 4).cast_signed())
    }

    fn __repr__(&self) -> String {
        match self.0.get("repr") {
            Ok(stream) => format!(
                "<uLib.cuda.driver.Stream {:#x} on {}>",
                stream.handle() as usize,
                stream.device()
            ),
            Err(_) => "<uLib.cuda.driver.Stream, closed>".to_owned(),
        }
    }
}
