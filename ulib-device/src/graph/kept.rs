//! What a graph uses, kept as long as anybody can launch it.

use super::node::only_after;
use super::open::{any_capture, ends_of, number_of, owners_of};
use super::used::Used;
use crate::stream::Stream;
use std::any::Any;
use std::cell::RefCell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use ulib_core::Result;

pub(crate) type Owner = Box<dyn Any + Send + Sync>;

/// Owners that go together.
#[derive(Default)]
pub(crate) struct Kept {
    owners: Mutex<Vec<Owner>>,
    /// The memory that the work uses whose owners these are.
    pub(super) used: Used,
}

impl Kept {
    pub(crate) fn push(&self, owner: Owner) {
        let mut owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
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
    /// The memory that it uses.
    pub(super) used: Used,
    _owner: Owner,
}

impl Part {
    pub(super) fn new(node: usize, owner: Owner) -> Arc<Self> {
        Arc::new(Self {
            node: AtomicUsize::new(node),
            used: Used::default(),
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

/// The capture of ours that a stream is part of: its number, and its owners.
fn found(stream: &Stream) -> Result<Option<(u64, Arc<Owners>)>> {
    if !any_capture() || matches!(stream.handle() as usize, 0 | 1) {
        return Ok(None);
    }
    let Some(number) = number_of(stream)? else {
        return Ok(None);
    };
    Ok(owners_of(number).map(|owners| (number, owners)))
}

thread_local! {
    /// Within the work of [`Stream::queue_kept`], whose caller keeps what it uses: the piece of work.
    static KEPT_BY_CALLER: RefCell<Option<Arc<Part>>> = const { RefCell::new(None) };
}

struct ByCaller(Option<Arc<Part>>);

impl ByCaller {
    fn begin(part: Arc<Part>) -> Self {
        Self(KEPT_BY_CALLER.replace(Some(part)))
    }
}

impl Drop for ByCaller {
    fn drop(&mut self) {
        KEPT_BY_CALLER.replace(self.0.take());
    }
}

/// A capture of ours, as a stream that is part of it finds it.
pub(crate) struct InCapture {
    number: u64,
    whole: Arc<Kept>,
    part: Option<Arc<Part>>,
}

impl InCapture {
    /// The driver's number for it.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// What keeps what its graph uses, unless the caller does.
    pub(crate) fn keeper(&self) -> Option<&Arc<Kept>> {
        self.part.is_none().then_some(&self.whole)
    }

    /// The memory that the next piece of work uses.
    pub(crate) fn used(&self) -> &Used {
        match &self.part {
            Some(part) => &part.used,
            None => &self.whole.used,
        }
    }
}

/// The capture of ours that `stream` is part of.
#[inline]
pub(crate) fn capture_of(stream: &Stream) -> Result<Option<InCapture>> {
    match any_capture() {
        true => in_capture(stream),
        false => Ok(None),
    }
}

fn in_capture(stream: &Stream) -> Result<Option<InCapture>> {
    Ok(found(stream)?.map(|(number, owners)| InCapture {
        number,
        whole: Arc::clone(&owners.whole),
        part: KEPT_BY_CALLER.with_borrow(Clone::clone),
    }))
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
            let _kept = ByCaller::begin(Arc::clone(&part));
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
