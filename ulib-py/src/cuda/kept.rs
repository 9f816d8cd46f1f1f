//! Python objects that graphs keep, where the interpreter's garbage collector finds them.
//!
//! What a graph's work uses is owned by `ulib-device`, which lets go of it piece by piece and on any thread. Python objects among it
//! are in the [`Entries`] of one [`KeptObjects`] for each capture, which the collector looks through; what `ulib-device` owns is a
//! [`Token`] for them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use pyo3::prelude::*;
use pyo3::{PyTraverseError, PyVisit};
use ulib_core::Result;
use ulib_device::Stream;
use ulib_device::graph::any_capture;

use super::current;
use super::errors::IntoCudaResult;
use super::memory::buffer::HostBytes;
use super::memory::on::On;
use super::memory::pointer::Pointer;
use crate::args::attempted;

/// A Python object that several owners have together: the garbage collector is told of it by the one that has it alone.
#[derive(Clone)]
pub(crate) struct Object(Arc<Py<PyAny>>);

impl Object {
    pub(crate) fn new(object: &Bound<'_, PyAny>) -> Self {
        Self(Arc::new(object.clone().unbind()))
    }

    /// Tells the garbage collector of the object, as far as so many owners are those that it asks.
    pub(crate) fn traverse(
        &self,
        owners: usize,
        visit: &PyVisit<'_>,
    ) -> Result<(), PyTraverseError> {
        match Arc::strong_count(&self.0) == owners {
            true => visit.call(&*self.0),
            false => Ok(()),
        }
    }
}

/// What keeps something of Python's.
#[derive(Clone)]
pub(crate) enum Keeper {
    Bytes(Arc<HostBytes>),
    Object(Object),
}

impl Keeper {
    /// Tells the garbage collector, where this is the only owner.
    pub(crate) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        match self {
            Self::Object(object) => object.traverse(1, visit),
            Self::Bytes(bytes) if Arc::strong_count(bytes) == 1 => bytes.traverse(visit),
            Self::Bytes(_) => Ok(()),
        }
    }
}

/// Keepers by the numbers of their tokens.
#[derive(Default)]
pub(super) struct Entries(Mutex<BTreeMap<u64, Keeper>>);

impl Entries {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Keeper>> {
        // Held for a moment only, without waiting for anything.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keeps one of the [`Entries`].
pub(super) struct Token {
    entries: Arc<Entries>,
    number: u64,
}

impl Token {
    pub(super) fn new(entries: &Arc<Entries>, keeper: Keeper) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        entries.lock().insert(number, keeper);
        Self {
            entries: Arc::clone(entries),
            number,
        }
    }
}

impl Drop for Token {
    fn drop(&mut self) {
        // Dropped when nothing is locked: that may run code of the program.
        let keeper = self.entries.lock().remove(&self.number);
        drop(keeper);
    }
}

/// The objects that are kept for one capture, and for the graphs made of it, which all have this.
#[pyclass(frozen, module = "uLib.cuda._native")]
pub(super) struct KeptObjects(pub(super) Arc<Entries>);

#[pymethods]
impl KeptObjects {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        // Where somebody has the lock, the collector takes the objects for used.
        if let Ok(entries) = self.0.0.try_lock() {
            for keeper in entries.values() {
                keeper.traverse(&visit)?;
            }
        }
        Ok(())
    }
}

/// The entries of the captures in progress, by the driver's numbers.
static CAPTURES: Mutex<BTreeMap<u64, Weak<Entries>>> = Mutex::new(BTreeMap::new());

fn captures() -> MutexGuard<'static, BTreeMap<u64, Weak<Entries>>> {
    CAPTURES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A capture whose entries are found by the streams that are part of it.
pub(super) struct Registered(u64);

impl Registered {
    pub(super) fn new(capture: u64, entries: &Arc<Entries>) -> Self {
        captures().insert(capture, Arc::downgrade(entries));
        Self(capture)
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        // Numbers are never used again. In a forked child the lock may be another thread's for ever.
        if let Ok(mut captures) = CAPTURES.try_lock() {
            captures.remove(&self.0);
        }
    }
}

/// What keeps `keeper` as long as the graph that the stream is captured into.
pub(super) fn token(stream: &Stream, keeper: Keeper) -> Result<impl Send + Sync + use<>> {
    let number = stream.capture_number()?;
    let entries = number.and_then(|number| captures().get(&number).and_then(Weak::upgrade));
    Ok(match entries {
        Some(entries) => (Some(Token::new(&entries, keeper)), None),
        None => (None, Some(keeper)),
    })
}

/// Keeps `keeper` as long as the graph that the stream is captured into, if it is by [`Stream::capture`].
pub(super) fn in_graph(stream: &Stream, keeper: impl FnOnce() -> Keeper) -> Result<()> {
    if any_capture() {
        let kept = token(stream, keeper())?;
        stream.keep_in_capture(|| kept)?;
    }
    Ok(())
}

/// Keeps Python objects, and the memory that they stand for, as long as the graph that a stream is captured into. Answers the driver's number for the capture, 0 where it is
/// none of ours, which keeps nothing, and None where there is no capture.
#[pyfunction]
pub(super) fn keep_in_capture(
    py: Python<'_>,
    stream: Option<&Bound<'_, PyAny>>,
    objects: Vec<Bound<'_, PyAny>>,
) -> PyResult<Option<u64>> {
    const OP: &str = "keep_in_capture";
    let on = match On::of(OP, stream)? {
        On::Legacy => return Ok(None),
        on => on,
    };
    // Also what is freed by name.
    let objects = objects.iter().map(|object| {
        let memory = attempted(py, Pointer::of(OP, "an object", object))?;
        Ok((Object::new(object), memory))
    });
    let objects: Vec<_> = objects.collect::<PyResult<_>>()?;
    py.detach(|| {
        let stream = match on {
            On::Ours(stream) => stream.into_inner(),
            on => on.stream(OP, &current::device()?)?.into_owned(),
        };
        if !stream.is_capturing()? {
            return Ok(None);
        }
        for (object, memory) in objects {
            in_graph(&stream, || Keeper::Object(object))?;
            stream.keep_in_capture(|| memory.map(|memory| memory.keepers()))?;
        }
        Ok(Some(stream.capture_number()?.unwrap_or(0)))
    })
    .cuda()
}

/// Whether any stream is being captured by ``Stream.capture``.
#[pyfunction]
pub(super) fn captures_are_open() -> bool {
    any_capture()
}
