//! The uses of a piece of memory: by work that runs, and by captures and their graphs.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use ulib_core::{Error, Result};

use super::Access;
use super::order::{Order, SharedOrder, Ticket};
use crate::Stream;
use crate::graph::{InCapture, Kept, NoneBegins, capture_of, is_open};
use crate::stream::not_capturing;

/// What work that runs does with the memory. A graph has to know that as well, for its launches.
#[derive(Debug)]
enum Running {
    Alone(Order),
    WithGraphs(SharedOrder),
}

impl Default for Running {
    fn default() -> Self {
        Self::Alone(Order::default())
    }
}

impl Running {
    fn with<R>(&mut self, work: impl FnOnce(&mut Order) -> R) -> R {
        match self {
            Self::Alone(order) => work(order),
            Self::WithGraphs(order) => {
                work(&mut order.lock().unwrap_or_else(PoisonError::into_inner))
            }
        }
    }

    /// [`with`](Self::with), unless a graph is being launched just now.
    fn with_if_free<R>(&self, work: impl FnOnce(&Order) -> R) -> Option<R> {
        match self {
            Self::Alone(order) => Some(work(order)),
            Self::WithGraphs(order) => order.try_lock().ok().map(|order| work(&order)),
        }
    }

    fn shared(&mut self) -> SharedOrder {
        match self {
            Self::WithGraphs(order) => Arc::clone(order),
            Self::Alone(order) => {
                let order = Arc::new(Mutex::new(std::mem::take(order)));
                *self = Self::WithGraphs(Arc::clone(&order));
                order
            }
        }
    }
}

/// The uses of one piece of memory that later uses may have to wait for.
///
/// A capture does nothing with the memory: what is written down in it comes after what the same capture has written down before, and
/// each launch of its graph is a use, on the stream where it is launched.
#[derive(Debug, Default)]
pub(super) struct Uses {
    /// Whether there was no use yet on the stream that the memory was allocated on, which its owner has: it stands for a write
    /// there, until [`begin`](Self::begin) makes one of it.
    fresh: bool,
    running: Running,
    /// Uses by captures, by the driver's numbers for them.
    captured: Vec<(u64, Order)>,
    /// What keeps what graphs use, of those that use it and do not keep it otherwise.
    graphs: Vec<Weak<Kept>>,
}

impl Uses {
    /// The memory becomes usable on `stream`, where it was allocated.
    pub(super) fn allocated_on(stream: &Stream) -> Self {
        let fresh = !stream.is_per_thread();
        // On another thread it would be another stream.
        let order = match fresh {
            true => Order::default(),
            false => Order::begun_on(stream),
        };
        Self {
            fresh,
            running: Running::Alone(order),
            ..Self::default()
        }
    }

    /// Remembers the allocation on `stream` as a use; before every other use.
    pub(super) fn begin(&mut self, stream: &Stream) {
        if std::mem::take(&mut self.fresh) {
            self.running = Running::Alone(Order::begun_on(stream));
        }
    }

    /// Whether all of them are on `stream`, on which the memory was allocated.
    pub(super) fn are_on(&self, stream: &Stream) -> bool {
        let all = |order: &Order| order.iter().all(|one| one.is_on(stream));
        self.running.with_if_free(all).unwrap_or(false)
    }

    /// Calls `queue`, which puts work into `next`, after ordering that behind the conflicting uses on other streams; the use is
    /// remembered. `ticket` becomes which use it is, of work that runs.
    pub(super) fn queue<R>(
        &mut self,
        next: &Stream,
        access: Access,
        ticket: &mut Option<Ticket>,
        queue: impl FnOnce() -> Result<R>,
    ) -> Result<R> {
        if let Some(capture) = capture_of(next)? {
            self.add_captured(next, access, &capture)?;
            return queue();
        }
        if !self.captured.is_empty() {
            // Streams of captures that have ended may go.
            self.captured.retain(|(known, _)| is_open(*known));
        }
        // Held until the work is there.
        self.running.with(|order| {
            *ticket = Some(order.add(next, access)?);
            queue()
        })
    }

    fn add_captured(&mut self, next: &Stream, access: Access, capture: &InCapture) -> Result<()> {
        let number = capture.number();
        let known = self.captured.iter().position(|(known, _)| *known == number);
        let at = known.unwrap_or_else(|| {
            self.captured.retain(|(known, _)| is_open(*known));
            self.captured.push((number, Order::default()));
            self.captured.len() - 1
        });
        self.captured[at].1.add_in_graph(next, access)?;
        capture.used().note(&self.running.shared(), access);
        if let Some(kept) = capture.keeper() {
            self.graphs.retain(|known| known.strong_count() > 0);
            let is_known = |known: &Weak<Kept>| std::ptr::eq(known.as_ptr(), Arc::as_ptr(kept));
            if !self.graphs.iter().any(is_known) {
                self.graphs.push(Arc::downgrade(kept));
            }
        }
        Ok(())
    }

    /// What a graph needs to make its launches uses of the memory.
    pub(super) fn shared(&mut self) -> SharedOrder {
        self.running.shared()
    }

    /// What keeps what a graph uses, of one that uses the memory.
    pub(super) fn graph(&mut self) -> Option<Arc<Kept>> {
        let alive = self.graphs.iter().find_map(Weak::upgrade);
        if alive.is_none() {
            self.graphs.clear();
        }
        alive
    }

    /// Forgets what is over since the host has waited for `stream` after the use `of` on it, unless there was another use
    /// meanwhile.
    pub(super) fn waited(&mut self, stream: &Stream, of: Ticket) {
        self.running.with(|order| order.waited(stream, of));
    }

    /// Whether none has to be waited for, nor a graph that could use it.
    pub(super) fn are_over(&self) -> bool {
        !self.fresh
            && self.graphs.iter().all(|graph| graph.strong_count() == 0)
            && self.running.with_if_free(Order::is_empty).unwrap_or(false)
    }

    /// Waits for every use, after which none has to be remembered.
    pub(super) fn synchronize(&mut self) -> Result<()> {
        self.running.with(|order| {
            for earlier in order.iter() {
                earlier.synchronize()?;
            }
            order.clear();
            Ok(())
        })
    }

    /// Orders `stream`, on which the memory was allocated, after every use, for the memory to be freed on it. Where an event cannot
    /// be had, or would become part of a graph, the host waits instead; of captures that other threads begin meanwhile none is
    /// spoiled. Returns the first failure that leaves a use unordered.
    pub(super) fn all_before(&mut self, stream: &Stream) -> Result<()> {
        self.running.with(|order| {
            let mut first: Option<Error> = None;
            let (mut open, mut none_begins) = (None, None);
            for earlier in order.iter_mut().filter(|earlier| !earlier.is_on(stream)) {
                none_begins.get_or_insert_with(NoneBegins::new);
                let may_wait = open.get_or_insert_with(|| not_capturing("free", stream).is_ok());
                let ordered = *may_wait && earlier.before(stream).is_ok();
                if !ordered && let Err(error) = earlier.synchronize() {
                    first.get_or_insert(error);
                }
            }
            first.map_or(Ok(()), Err)
        })
    }
}
