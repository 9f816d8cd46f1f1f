//! Which streams work on a piece of memory, and how they are ordered.

use std::sync::{Arc, Mutex};

use ulib_core::{ErrorKind, Result};

use super::Access;
use crate::graph::end_outside;
use crate::stream::Lasting;
use crate::{Event, Stream};

/// The driver's handle of the per-thread default stream.
const PER_THREAD_HANDLE: usize = 2;

/// With so many streams reading, those that are done are forgotten.
const MANY_READS: usize = 16;

/// A stream that was used.
#[derive(Debug)]
pub(super) struct On {
    stream: Lasting,
    /// The stream's identity when it was used: the per-thread default stream has one per thread.
    id: u64,
}

impl On {
    pub(super) fn new(stream: &Stream) -> Self {
        Self {
            stream: stream.into(),
            id: stream.id(),
        }
    }

    /// The stream.
    pub(super) fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Whether it is this stream.
    pub(super) fn is(&self, stream: &Stream) -> bool {
        self.id == stream.id() || self.is_handle_of(stream)
    }

    /// Whether both are wraps of one foreign stream. The stream lives as long as it is remembered here, so the driver
    /// has not given its handle to another one. The per-thread stream's handle is one for all threads.
    fn is_handle_of(&self, stream: &Stream) -> bool {
        self.stream.handle() == stream.handle()
            && stream.handle() as usize != PER_THREAD_HANDLE
            && self.stream.device().ordinal() == stream.device().ordinal()
    }

    /// Whether the handle means another stream on this thread than on the one that used it.
    fn is_of_another_thread(&self) -> bool {
        self.stream.id() != self.id
    }
}

/// Work on one stream that touches the memory. The event is made only when another stream, or the host, has to wait.
#[derive(Debug)]
pub(super) struct Use {
    pub(super) on: On,
    /// On the stream after its last use of the memory; `None` when there is none since.
    after: Option<Arc<Event>>,
}

impl From<On> for Use {
    fn from(on: On) -> Self {
        Self { on, after: None }
    }
}

impl Use {
    pub(super) fn new(stream: &Stream) -> Self {
        On::new(stream).into()
    }

    pub(super) fn is_on(&self, stream: &Stream) -> bool {
        self.on.is(stream)
    }

    /// Whether the work has finished; false when the driver does not tell.
    fn is_finished(&self) -> bool {
        match &self.after {
            Some(event) => event.is_done().unwrap_or(false),
            None => !self.on.is_of_another_thread() && self.on.stream.is_done().unwrap_or(false),
        }
    }

    /// Makes later work on `next` wait for this use. Where `next` is being captured the host waits, since a graph cannot wait for
    /// work outside it.
    pub(super) fn before(&mut self, next: &Stream) -> Result<()> {
        if self.is_on(next) {
            return Ok(());
        }
        let after = match &self.after {
            Some(after) => after,
            None if self.on.is_of_another_thread() => return self.on.stream.device().synchronize(),
            None => self.after.insert(end_outside(&self.on.stream)?),
        };
        match next.is_capturing()? {
            true => after.synchronize(),
            false => next.wait(after),
        }
    }

    /// Makes later work on `next` come after this use in the graph that both are captured into.
    fn before_in_graph(&mut self, next: &Stream) -> Result<()> {
        if self.is_on(next) {
            return Ok(());
        }
        let after = match &self.after {
            Some(after) => after,
            None => self.after.insert(Arc::new(self.on.stream.record()?)),
        };
        next.wait(after)
    }

    /// Makes the host wait for this use.
    pub(super) fn synchronize(&self) -> Result<()> {
        if let Some(after) = &self.after {
            return after.synchronize();
        }
        if self.on.is_of_another_thread() {
            return self.on.stream.device().synchronize();
        }
        match self.on.stream.synchronize() {
            // It was there before the capture.
            Err(busy) if *busy.kind() == ErrorKind::Busy => {
                end_outside(&self.on.stream)?.synchronize()
            }
            waited => waited,
        }
    }
}

/// Which of the uses of a piece of memory it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticket(u64);

/// An order that graphs know, too.
pub(crate) type SharedOrder = Arc<Mutex<Order>>;

/// The uses of one piece of memory that later uses may have to wait for: all by work that runs, or all by one graph.
///
/// Invariant: a stream in `reads` is ordered after `write`, and `reads` never holds the stream of `write`.
#[derive(Debug, Default)]
pub(crate) struct Order {
    write: Option<Use>,
    reads: Vec<Use>,
    /// How many uses there were so far.
    count: u64,
}

impl Order {
    /// With a write on `stream`.
    pub(super) fn begun_on(stream: &Stream) -> Self {
        Self {
            write: Some(Use::new(stream)),
            ..Self::default()
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Use> {
        self.write.iter().chain(&self.reads)
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Use> {
        self.write.iter_mut().chain(&mut self.reads)
    }

    /// Orders `next` after the conflicting uses on other streams and remembers it. Answers which use it is.
    pub(crate) fn add(&mut self, next: &Stream, access: Access) -> Result<Ticket> {
        self.add_after(next, access, Use::before)
    }

    /// [`add`](Self::add) for work that becomes part of the graph that all the streams are captured into.
    pub(super) fn add_in_graph(&mut self, next: &Stream, access: Access) -> Result<Ticket> {
        self.add_after(next, access, Use::before_in_graph)
    }

    fn add_after(
        &mut self,
        next: &Stream,
        access: Access,
        before: fn(&mut Use, &Stream) -> Result<()>,
    ) -> Result<Ticket> {
        match access {
            Access::Read => self.add_read(next, before),
            Access::Write => self.add_write(next, before),
        }?;
        self.count += 1;
        Ok(Ticket(self.count))
    }

    fn add_read(
        &mut self,
        next: &Stream,
        before: fn(&mut Use, &Stream) -> Result<()>,
    ) -> Result<()> {
        if let Some(known) = self.iter_mut().find(|known| known.is_on(next)) {
            known.after = None;
            return Ok(());
        }
        if let Some(write) = &mut self.write {
            before(write, next)?;
        }
        if self.reads.len() >= MANY_READS {
            self.reads.retain(|read| !read.is_finished());
        }
        self.reads.push(Use::new(next));
        Ok(())
    }

    fn add_write(
        &mut self,
        next: &Stream,
        before: fn(&mut Use, &Stream) -> Result<()>,
    ) -> Result<()> {
        if let Some(write) = &mut self.write
            && self.reads.is_empty()
            && write.is_on(next)
        {
            write.after = None;
            return Ok(());
        }
        for earlier in self.iter_mut() {
            before(earlier, next)?;
        }
        self.write = Some(Use::new(next));
        self.reads.clear();
        Ok(())
    }

    /// The last use on `stream` is over at `event`.
    pub(crate) fn ends_at(&mut self, stream: &Stream, event: &Arc<Event>) {
        for known in self.iter_mut().filter(|known| known.is_on(stream)) {
            known.after = Some(Arc::clone(event));
        }
    }

    /// Forgets what is over since the host has waited for `stream` after the use `of` on it, unless there was another use
    /// meanwhile.
    pub(super) fn waited(&mut self, stream: &Stream, of: Ticket) {
        if self.count == of.0 {
            // The write is on that stream, or was ordered before the use.
            self.write = None;
            self.reads.retain(|read| !read.is_on(stream));
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.write.is_none() && self.reads.is_empty()
    }

    /// Forgets all.
    pub(super) fn clear(&mut self) {
        self.write = None;
        self.reads.clear();
    }
}
