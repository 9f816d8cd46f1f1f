//! [`Stream`]: which queue of a device operations use.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt, PyTuple};
use pyo3::{PyTraverseError, PyVisit};
use ulib_core::{Error, ErrorKind, Result};
use ulib_device::Device;
use ulib_device::stream::StreamScope;

use crate::args::{Int, number, whole};
use crate::cuda::kept::Object;
use crate::detached::{Detached, drop_detached};
use crate::errors::{IntoPyResult, shortened};

/// A queue of work on a device. In ``with Stream() as stream:`` the operations of this thread put their work for
/// that device into it; elsewhere they use the legacy default stream.
///
/// ``Stream()`` makes one that runs beside everything else. ``Stream(other)`` is one that somebody else made: an object
/// with ``__cuda_stream__``, ``ptr``, ``cuda_stream`` or ``handle``, which it keeps alive, or the integer of a handle, whose stream must
/// outlive this object and all arrays used in it.
#[pyclass(frozen, weakref, module = "uLib.device")]
pub(crate) struct Stream(Queue);

/// A stream, until it is closed, and the scopes that are open with it.
pub(crate) struct Queue {
    stream: Mutex<Option<Detached<ulib_device::Stream>>>,
    /// The object of somebody else that keeps the stream, which has it, too.
    owner: Mutex<Option<Object>>,
    /// The scopes that `with` blocks have open, innermost last, each with the thread whose operations it is for.
    open: Mutex<Vec<(ThreadId, StreamScope)>>,
}

impl Drop for Queue {
    fn drop(&mut self) {
        let open = std::mem::take(&mut *locked(&self.open));
        if !open.is_empty() {
            drop_detached(open);
        }
    }
}

/// Held for a moment only, without waiting for anything.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Queue {
    pub(crate) fn new(stream: ulib_device::Stream, owner: Option<Object>) -> Self {
        Self {
            stream: Mutex::new(Some(Detached::new(stream))),
            owner: Mutex::new(owner),
            open: Mutex::default(),
        }
    }

    /// Tells the garbage collector of the owner, where nothing else can use the stream any more.
    pub(crate) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        let (Ok(stream), Ok(owner)) = (self.stream.try_lock(), self.owner.try_lock()) else {
            return Ok(());
        };
        let alone = stream.as_ref().is_some_and(|stream| !stream.is_shared());
        match &*owner {
            // This one's and the stream's.
            Some(owner) if alone => owner.traverse(2, visit),
            _ => Ok(()),
        }
    }

    /// The stream for `op`, as long as it is not closed.
    pub(crate) fn get(&self, op: &str) -> Result<Detached<ulib_device::Stream>> {
        let closed = || format!("{op}: the Stream has been closed");
        let stream = locked(&self.stream).clone();
        stream.ok_or_else(|| Error::new(ErrorKind::InvalidArgument, closed()))
    }

    /// Gives the stream up; who still uses it keeps it until then.
    pub(crate) fn close(&self) {
        let stream = locked(&self.stream).take();
        drop(stream);
        let owner = locked(&self.owner).take();
        drop(owner);
    }

    /// Opens a scope of this thread.
    pub(crate) fn enter(&self, op: &str) -> Result<()> {
        let scope = self.get(op)?.enter();
        locked(&self.open).push((thread::current().id(), scope));
        Ok(())
    }

    /// Ends the innermost scope of this thread.
    pub(crate) fn leave(&self) -> PyResult<()> {
        let this_thread = thread::current().id();
        let mut open = locked(&self.open);
        let own = open.iter().rposition(|(of, _)| *of == this_thread);
        // A generator may end on another thread than the one on which it entered its `with` block.
        let ended = own.map(|at| open.remove(at)).or_else(|| open.pop());
        drop(open);
        ended.map(drop_detached).ok_or_else(|| {
            PyRuntimeError::new_err("Stream: it has not been entered, or was left already")
        })
    }
}

impl Stream {
    /// The queue for `op`, as long as it is not closed.
    pub(crate) fn inner(&self, op: &str) -> PyResult<Detached<ulib_device::Stream>> {
        self.0.get(op).py()
    }
}

/// The stream of somebody else that an object or an integer stands for, on `device`.
#[allow(unsafe_code, reason = "wraps a handle that the caller vouches for")]
pub(crate) fn foreign(
    device: &Device,
    handle: usize,
    owner: Option<&Object>,
) -> Result<ulib_device::Stream> {
    let stream = match owner {
        // SAFETY: the object that gave the handle keeps its stream alive, and is kept.
        Some(owner) => unsafe {
            ulib_device::Stream::from_raw_kept(device, handle, Box::new(owner.clone()))
        },
        // SAFETY: the documentation of the classes leaves it to the caller.
        None => unsafe { ulib_device::Stream::from_raw(device, handle) },
    };
    // The driver refuses a stream of another device here.
    stream.is_capturing()?;
    Ok(stream)
}

/// The handle of a stream of somebody else, and whether the object that had it has to be kept.
pub(crate) fn handle_of(op: &str, stream: &Bound<'_, PyAny>) -> PyResult<(Int, bool)> {
    let py = stream.py();
    if stream.is_instance_of::<PyInt>() && !stream.is_instance_of::<PyBool>() {
        return Ok((number(op, "stream", stream)?, false));
    }
    if let Some(protocol) = stream.getattr_opt(intern!(py, "__cuda_stream__"))? {
        // A method; a property in its first version.
        let answer = if protocol.is_callable() {
            protocol.call0()?
        } else {
            protocol
        };
        let (version, handle): (Int, Int) = answer.extract().map_err(|error: PyErr| {
            let named = PyTypeError::new_err(format!(
                "{op}: __cuda_stream__ gave {}, which is no pair of integers",
                shortened(&answer.to_string())
            ));
            named.set_cause(py, Some(error));
            named
        })?;
        if version.0 != 0 {
            return Err(PyValueError::new_err(format!(
                "{op}: __cuda_stream__ has version {version}, and only version 0 is known"
            )));
        }
        return Ok((handle, true));
    }
    // What has a handle among our own classes and gets here is no stream.
    let ours = stream.get_type().module()?.to_string().starts_with("uLib.");
    for name in [
        intern!(py, "ptr"),
        intern!(py, "cuda_stream"),
        intern!(py, "handle"),
    ] {
        if !ours && let Some(handle) = stream.getattr_opt(name)? {
            return Ok((number(op, &name.to_string(), &handle)?, true));
        }
    }
    // A number of NumPy.
    if !ours && !stream.is_instance_of::<PyBool>() && stream.hasattr(intern!(py, "__index__"))? {
        return Ok((number(op, "stream", stream)?, false));
    }
    Err(PyTypeError::new_err(format!(
        "{op}: {} is neither a handle nor an object with __cuda_stream__, ptr, cuda_stream or handle",
        stream.get_type().name()?
    )))
}

#[pymethods]
#[allow(non_snake_case)]
impl Stream {
    #[new]
    #[pyo3(signature = (stream=None, device=0))]
    fn new(
        py: Python<'_>,
        stream: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = whole)] device: i128,
    ) -> PyResult<Self> {
        let ordinal = u32::try_from(device)
            .map_err(|_| PyValueError::new_err(format!("Stream: device {device} is no ordinal")))?;
        let foreign = match stream {
            None => None,
            Some(object) => {
                let (handle, keep) = handle_of("Stream", object)?;
                let handle = usize::try_from(handle.0).map_err(|_| {
                    PyValueError::new_err(format!("Stream: {handle} is no handle of a stream"))
                })?;
                Some((handle, keep.then(|| Object::new(object))))
            }
        };
        let made = py.detach(|| {
            let device = Device::new(ordinal)?;
            match &foreign {
                None => ulib_device::Stream::non_blocking(&device),
                Some((handle, owner)) => self::foreign(&device, *handle, owner.as_ref()),
            }
        });
        let owner = foreign.and_then(|(_, owner)| owner);
        Ok(Stream(Queue::new(made.py()?, owner)))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.0.traverse(&visit)
    }

    fn __clear__(&self) {
        self.0.close();
    }

    /// Waits until everything put into the stream so far is done.
    fn Synchronize(&self, py: Python<'_>) -> PyResult<()> {
        let stream = self.inner("Stream.Synchronize")?;
        py.detach(|| stream.synchronize()).py()
    }

    /// Whether everything put into the stream so far is done.
    fn IsDone(&self, py: Python<'_>) -> PyResult<bool> {
        let stream = self.inner("Stream.IsDone")?;
        py.detach(|| stream.is_done()).py()
    }

    /// ``(0, handle)``: the protocol by which other libraries take the stream.
    fn __cuda_stream__(&self) -> PyResult<(u32, usize)> {
        Ok((0, self.inner("Stream.__cuda_stream__")?.handle() as usize))
    }

    /// The driver's handle, an integer.
    #[getter]
    fn ptr(&self) -> PyResult<usize> {
        Ok(self.inner("Stream.ptr")?.handle() as usize)
    }

    /// The device's ordinal.
    #[getter]
    fn Device(&self) -> PyResult<u32> {
        Ok(self.inner("Stream.Device")?.device().ordinal())
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyResult<PyRef<'_, Self>> {
        slf.0.enter("Stream.__enter__").py()?;
        Ok(slf)
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, _exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        self.0.leave()
    }

    fn __repr__(&self) -> PyResult<String> {
        let stream = self.inner("Stream.__repr__")?;
        Ok(format!(
            "<uLib.device.Stream {:#x} on {}>",
            stream.handle() as usize,
            stream.device()
        ))
    }
}
