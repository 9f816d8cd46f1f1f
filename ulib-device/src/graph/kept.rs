//! What a graph uses, kept as long as anybody can launch it.

use super::capture::NoneBegins;
use super::node::only_after;
use crate::Device;
use crate::driver::{check, missing_entry};
use crate::event::Event;
use crate::stream::{Stream, StreamKind};
use crate::sys::{CUgraphNode, CUstreamCaptureStatus};
use std::any::Any;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use ulib_core::Result;

pub(crate) type Owner = Box<dyn Any + Send + Sync>;

/// Owners that go together.
#[derive(Default)]
pub(crate) struct Kept(Mutex<Vec<Owner>>);

impl Kept {
    pub(crate) fn push(&self, owner: Owner) {
        let mut owners = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        owners.push(owner);
    }
}

impl std::fmt::Debug for Kept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Kept")
    }
}

/// What one piece of work uses.
pub(super) struct Part {
    /// The piece of work; 0 where it is not known which one it is.
    pub(super) node: AtomicUsize,
    _owner: Owner,
}

impl Part {
    pub(super) fn new(node: usize, owner: Owner) -> Arc<Self> {
        Arc::new(Self {
            node: AtomicUsize::new(node),
            _owner: owner,
        })
    }
}

/// The owners of what a graph uses: of single pieces of work, and of all others.
#[derive(Default)]
pub(super) struct Owners {
    pub(super) whole: Arc<Kept>,
    parts: Mutex<Vec<Arc<Part>>>,
}

impl Owners {
    fn push(&self, part: Arc<Part>) {
        let mut parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        parts.push(part);
    }

    pub(super) fn parts(&self) -> Vec<Arc<Part>> {
        let parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        parts.clone()
    }
}

/// Where streams were when a capture began, for those who wait for work before it: nobody can wait for the streams meanwhile.
pub(super) struct Start {
    stream: Stream,
    here: Option<Arc<Event>>,
    /// On the default stream, where the capture is in its way.
    legacy: Option<Arc<Event>>,
}

impl Start {
    /// That of a capture of `stream`, just before it.
    pub(super) fn of(stream: &Stream) -> Result<Self> {
        let mark = |of: &Stream| match of.is_capturing()? {
            true => Ok(None),
            false => of.record().map(|event| Some(Arc::new(event))),
        };
        let legacy = match stream.kind()? {
            StreamKind::Blocking => mark(&Stream::legacy(stream.device()))?,
            StreamKind::NonBlocking => None,
        };
        Ok(Self {
            stream: stream.clone(),
            here: mark(stream)?,
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
            self.here.clone()
        } else {
            None
        }
    }
}

/// A capture in progress.
struct Open {
    owners: Weak<Owners>,
    start: Start,
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
            start,
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
        .any(|open| open.start.stream.device() == device);
    (!captured).then(work)
}

/// An event after all that was put into `stream` before a capture of ours that does not allow to wait for it.
pub(crate) fn before_capture_of(stream: &Stream) -> Option<Arc<Event>> {
    if !any_capture() {
        return None;
    }
    let captures = captures();
    captures
        .values()
        .find_map(|open| open.start.before_in(stream))
}

/// The capture of ours that a stream is part of: its number, and its owners.
fn found(stream: &Stream) -> Result<Option<(u64, Arc<Owners>)>> {
    if !any_capture() || matches!(stream.handle() as usize, 0 | 1) {
        return Ok(None);
    }
    let Some(number) = number_of(stream)? else {
        return Ok(None);
    };
    let owners = captures()
        .get(&number)
        .and_then(|open| open.owners.upgrade());
    Ok(owners.map(|owners| (number, owners)))
}

thread_local! {
    /// Whether this thread is within the work of [`Stream::queue_kept`], whose caller keeps what it uses.
    static KEPT_BY_CALLER: Cell<bool> = const { Cell::new(false) };
}

struct ByCaller(bool);

impl ByCaller {
    fn begin() -> Self {
        Self(KEPT_BY_CALLER.replace(true))
    }
}

impl Drop for ByCaller {
    fn drop(&mut self) {
        KEPT_BY_CALLER.set(self.0);
    }
}

/// The capture of ours that `stream` is part of: its number, and what keeps what its graph uses, unless the caller does.
pub(crate) fn capture_of(stream: &Stream) -> Result<Option<(u64, Option<Arc<Kept>>)>> {
    let kept = |owners: &Owners| (!KEPT_BY_CALLER.get()).then(|| Arc::clone(&owners.whole));
    Ok(found(stream)?.map(|(number, owners)| (number, kept(&owners))))
}

impl Stream {
    /// Keeps what `owner` gives alive as long as the graph that this stream is being captured into, if it is by
    /// [`capture`](Self::capture); else `owner` is not asked, and the answer is false.
    ///
    /// # Errors
    /// Whatever the driver says; kind `Forked` in a forked child.
    pub fn keep_in_capture<T: Any + Send + Sync>(&self, owner: impl FnOnce() -> T) -> Result<bool> {
        let found = found(self)?;
        if let Some((_, owners)) = &found {
            owners.whole.push(Box::new(owner()));
        }
        Ok(found.is_some())
    }

    /// The driver's number for the capture by [`capture`](Self::capture) that this stream is part of.
    ///
    /// # Errors
    /// Whatever the driver says; kind `Forked` in a forked child.
    pub fn capture_number(&self) -> Result<Option<u64>> {
        Ok(found(self)?.map(|(number, _)| number))
    }

    /// Calls `queue`, which puts one piece of work into this stream. If that is being captured by [`capture`](Self::capture), what
    /// `owner` gives, which is everything that the work uses, is kept as long as a graph does this work: until
    /// [`GraphExec::set_kernel`](crate::GraphExec::set_kernel) has put another one in its place, at the latest until the end of
    /// the graph. Else `owner` is not asked.
    ///
    /// # Errors
    /// Whatever the driver says, and then `queue` was not called; whatever `queue` says.
    pub fn queue_kept<T: Any + Send + Sync, R>(
        &self,
        owner: impl FnOnce() -> T,
        queue: impl FnOnce() -> Result<R>,
    ) -> Result<R> {
        let Some((_, owners)) = found(self)? else {
            return queue();
        };
        let part = Part::new(0, Box::new(owner()));
        owners.push(Arc::clone(&part));
        let before = ends_of(self);
        let done = {
            let _kept = ByCaller::begin();
            queue()
        }?;
        // Where it is not clear which piece of work that was, it is kept as long as the graph.
        let node = before.and_then(|before| only_after(self, &before));
        if let Ok(Some(node)) = node {
            part.node.store(node, Ordering::Relaxed);
        }
        Ok(done)
    }
}
