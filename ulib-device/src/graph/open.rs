//! The captures in progress, and where their streams were before.

use super::beginning::NoneBegins;
use super::kept::Owners;
use crate::Device;
use crate::driver::{check, missing_entry};
use crate::event::Event;
use crate::stream::{Stream, StreamKind, capturing};
use crate::sys::{CUgraphNode, CUstreamCaptureStatus};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use ulib_core::{ErrorKind, Result};

/// Where streams were when one became part of a capture, for those who wait for work before it: nobody can wait for the streams
/// meanwhile.
pub(super) struct Start {
    stream: Stream,
    here: Arc<Event>,
    /// On the default stream, where the capture is in its way.
    legacy: Option<Arc<Event>>,
}

impl Start {
    /// That of `stream`, just before it is captured.
    pub(super) fn of(stream: &Stream) -> Result<Self> {
        let legacy = match stream.kind()? {
            // Where another capture is in its way already, nothing has come to it since that began.
            StreamKind::Blocking => match end_outside(&Stream::legacy(stream.device())) {
                Err(error) if *error.kind() == ErrorKind::Busy => None,
                marked => Some(marked?),
            },
            StreamKind::NonBlocking => None,
        };
        Ok(Self {
            stream: stream.clone(),
            here: Arc::new(stream.record()?),
            legacy,
        })
    }

    /// After the work that was put into `stream` before the capture.
    fn before_in(&self, stream: &Stream) -> Option<Arc<Event>> {
        if stream.device() != self.stream.device() {
            None
        } else if stream.is_legacy() {
            self.legacy.clone()
        } else if *stream == self.stream {
            Some(Arc::clone(&self.here))
        } else {
            None
        }
    }
}

/// A capture in progress.
struct Open {
    owners: Weak<Owners>,
    /// Of the stream that it began on, and of those that have joined it.
    starts: Vec<Start>,
}

/// The captures in progress, by the driver's numbers for them.
static CAPTURES: Mutex<BTreeMap<u64, Open>> = Mutex::new(BTreeMap::new());
/// How many there are, so that asking costs nothing where there is none.
static OPEN: AtomicUsize = AtomicUsize::new(0);

fn captures() -> MutexGuard<'static, BTreeMap<u64, Open>> {
    CAPTURES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A capture whose graph's owners can be found by any stream that has become part of it.
pub(super) struct Registered(u64);

impl Registered {
    pub(super) fn new(capture: u64, owners: &Arc<Owners>, start: Start) -> Self {
        let open = Open {
            owners: Arc::downgrade(owners),
            starts: vec![start],
        };
        captures().insert(capture, open);
        OPEN.fetch_add(1, Ordering::Relaxed);
        Self(capture)
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        // In a forked child nobody captures, and the lock may be another thread's for ever.
        if !crate::driver::forked() {
            let ended = captures().remove(&self.0);
            OPEN.fetch_sub(1, Ordering::Relaxed);
            drop(ended);
        }
    }
}

/// The driver's number for the capture that `stream` is part of.
pub(super) fn number_of(stream: &Stream) -> Result<Option<u64>> {
    ask(stream, core::ptr::null_mut(), core::ptr::null_mut())
}

/// The pieces of work that the next one in a captured stream will come after.
pub(super) fn ends_of(stream: &Stream) -> Result<Vec<usize>> {
    let (mut nodes, mut count): (*const CUgraphNode, usize) = (core::ptr::null(), 0);
    ask(stream, &raw mut nodes, &raw mut count)?;
    if nodes.is_null() || count == 0 {
        return Ok(Vec::new());
    }
    // SAFETY: the driver says that so many are there, until the next call for the stream.
    let nodes = unsafe { std::slice::from_raw_parts(nodes, count) };
    Ok(nodes.iter().map(|node| *node as usize).collect())
}

/// `nodes` and `count` are written, unless they are null.
fn ask(stream: &Stream, nodes: *mut *const CUgraphNode, count: *mut usize) -> Result<Option<u64>> {
    let _context = stream.device().bind()?;
    let table = stream.device().table();
    let call = table
        .cuStreamGetCaptureInfo_v2
        .ok_or_else(|| missing_entry("cuStreamGetCaptureInfo_v2", "11.3"))?;
    let mut status = CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
    let mut capture = 0;
    let (handle, graph) = (stream.handle(), core::ptr::null_mut());
    // SAFETY: the context is current by the guard; the stream is alive by the borrow; the call writes integers and an address,
    // and nothing where it gets null.
    let answer = unsafe {
        call(
            handle,
            &raw mut status,
            &raw mut capture,
            graph,
            nodes,
            count,
        )
    };
    check(table, "cuStreamGetCaptureInfo_v2", answer)?;
    let active = status == CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_ACTIVE;
    Ok(active.then_some(capture))
}

/// Whether any stream of this process is being captured by [`Stream::capture`]: where none is, nothing has to be kept.
#[must_use]
pub fn any_capture() -> bool {
    OPEN.load(Ordering::Relaxed) != 0
}

/// Does what would spoil captures on this device, unless a stream of it is being captured by [`Stream::capture`]. Captures that would
/// begin meanwhile wait for it.
pub(crate) fn unless_captured<R>(device: &Device, work: impl FnOnce() -> R) -> Option<R> {
    let _none_begins = NoneBegins::new();
    let captured = captures()
        .values()
        .flat_map(|open| &open.starts)
        .any(|start| start.stream.device() == device);
    (!captured).then(work)
}

/// An event after all that was put into `stream` before a capture of ours that does not allow to wait for it.
pub(crate) fn before_capture_of(stream: &Stream) -> Option<Arc<Event>> {
    if !any_capture() {
        return None;
    }
    let captures = captures();
    let mut starts = captures.values().flat_map(|open| &open.starts);
    starts.find_map(|start| start.before_in(stream))
}

/// An event after all that was put into `stream` to run; what a capture of ours has written down of it does not.
///
/// # Errors
/// Kind `Busy` where somebody else captures it.
pub(crate) fn end_outside(stream: &Stream) -> Result<Arc<Event>> {
    let _none_begins = NoneBegins::new();
    if stream.is_capturing()? {
        if let Some(event) = before_capture_of(stream) {
            return Ok(event);
        }
        // The capture may have ended just now; none begins.
        if stream.is_capturing()? {
            return Err(capturing("use"));
        }
    }
    stream.record().map(Arc::new)
}

/// Whether that is the driver's number of a capture of ours in progress.
pub(crate) fn is_open(capture: u64) -> bool {
    any_capture() && captures().contains_key(&capture)
}

/// What keeps what the graph of a capture of ours in progress uses.
pub(super) fn owners_of(capture: u64) -> Option<Arc<Owners>> {
    captures().get(&capture)?.owners.upgrade()
}

/// Remembers where a stream was that has joined a capture of ours.
pub(super) fn joined(capture: u64, start: Start) {
    if let Some(open) = captures().get_mut(&capture) {
        open.starts.push(start);
    }
}
