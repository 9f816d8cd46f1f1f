//! What a graph uses, kept as long as anybody can launch it.

use crate::driver::{check, missing_entry};
use crate::stream::Stream;
use crate::sys::CUstreamCaptureStatus;
use std::any::Any;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use ulib_core::Result;

pub(super) type Owner = Box<dyn Any + Send + Sync>;

/// The owners of what a graph uses.
#[derive(Default)]
pub(super) struct Kept(Mutex<Vec<Owner>>);

impl Kept {
    pub(super) fn push(&self, owner: Owner) {
        let mut owners = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        owners.push(owner);
    }
}

/// The captures in progress, by the driver's numbers for them.
static CAPTURES: Mutex<BTreeMap<u64, Weak<Kept>>> = Mutex::new(BTreeMap::new());
/// How many there are, so that asking costs nothing where there is none.
static OPEN: AtomicUsize = AtomicUsize::new(0);

fn captures() -> MutexGuard<'static, BTreeMap<u64, Weak<Kept>>> {
    CAPTURES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A capture whose graph's owners can be found by any stream that has become part of it.
pub(super) struct Registered(u64);

impl Registered {
    pub(super) fn new(capture: u64, kept: &Arc<Kept>) -> Self {
        captures().insert(capture, Arc::downgrade(kept));
        OPEN.fetch_add(1, Ordering::Relaxed);
        Self(capture)
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        // In a forked child nobody captures, and the lock may be another thread's for ever.
        if !crate::driver::forked() {
            captures().remove(&self.0);
            OPEN.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// The driver's number for the capture that `stream` is part of.
pub(super) fn capture_of(stream: &Stream) -> Result<Option<u64>> {
    let _context = stream.device().bind()?;
    let table = stream.device().table();
    let call = table
        .cuStreamGetCaptureInfo_v2
        .ok_or_else(|| missing_entry("cuStreamGetCaptureInfo_v2", "11.3"))?;
    let mut status = CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
    let mut capture = 0;
    let (graph, nodes, count) = (
        core::ptr::null_mut(),
        core::ptr::null_mut(),
        core::ptr::null_mut(),
    );
    // SAFETY: the context is current by the guard; the stream is alive by the borrow; the call writes two integers, and
    // nothing where it gets null.
    let answer = unsafe {
        call(
            stream.handle(),
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

impl Stream {
    /// Keeps what `owner` gives alive as long as the graph that this stream is being captured into, if it is by
    /// [`capture`](Self::capture); else `owner` is not asked, and the answer is false.
    ///
    /// # Errors
    /// Whatever the driver says; kind `Forked` in a forked child.
    pub fn keep_in_capture<T: Any + Send + Sync>(&self, owner: impl FnOnce() -> T) -> Result<bool> {
        if !any_capture() || matches!(self.handle() as usize, 0 | 1) {
            return Ok(false);
        }
        let Some(capture) = capture_of(self)? else {
            return Ok(false);
        };
        let kept = captures().get(&capture).and_then(Weak::upgrade);
        let Some(kept) = kept else { return Ok(false) };
        kept.push(Box::new(owner()));
        Ok(true)
    }
}
