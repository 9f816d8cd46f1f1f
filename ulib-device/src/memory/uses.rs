//! Which streams use a piece of memory, and how they are ordered.

use std::sync::{Arc, Weak};

use ulib_core::{Error, ErrorKind, Result};

use super::Access;
use crate::graph::{Kept, NoneBegins, before_capture_of, capture_of};
use crate::stream::{Lasting, not_capturing};
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
    /// Recorded on `stream` after its last use of the memory; `None` when not recorded since.
    after: Option<Event>,
    /// The capture of ours whose graph does all of it, by the driver's number.
    capture: Option<u64>,
}

impl Use {
    pub(super) fn new(stream: &Stream) -> Self {
        On::new(stream).into()
    }

    fn within(stream: &Stream, capture: Option<u64>) -> Self {
        Self {
            capture,
            ..Self::new(stream)
        }
    }

    /// Stands for more work on its stream, which is part of that capture.
    fn again(&mut self, capture: Option<u64>) {
        self.after = None;
        if self.capture != capture {
            self.capture = None;
        }
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

    /// Makes later work on `next` wait for this use. A graph cannot wait for work outside it, so the host waits before
    /// `next` is captured any further; nor can work outside wait for a part of a graph, which is an error of kind `Busy`. Whoever
    /// launches two graphs orders them.
    pub(super) fn before(&mut self, next: &Stream) -> Result<()> {
        let capture = capture_of(next)?.map(|(capture, _)| capture);
        self.before_in(next, capture)
    }

    /// [`before`](Self::before) for who knows which capture of ours `next` is part of.
    fn before_in(&mut self, next: &Stream, capture: Option<u64>) -> Result<()> {
        if self.is_on(next) {
            return Ok(());
        }
        if capture.is_some() && self.capture.is_some() && self.capture != capture {
            return Ok(());
        }
        let into_graph = next.is_capturing()?;
        // The default stream is never part of a graph, though it says that it is being captured while it cannot be used.
        if into_graph && (self.on.stream.is_legacy() || !self.on.stream.is_capturing()?) {
            return self.synchronize().map_err(cannot_wait);
        }
        // What was put into a stream before that was captured, too, is part of no graph.
        if into_graph && self.capture != capture {
            if let Some(event) = before_capture_of(&self.on.stream) {
                return event.synchronize();
            }
            return Err(cannot_wait(Error::busy(
                "use",
                "the memory was last used in a stream that is being captured into another graph",
            )));
        }
        if self.after.is_none() {
            if self.on.is_of_another_thread() {
                return self.on.stream.device().synchronize();
            }
            if !into_graph {
                not_capturing("use", &self.on.stream)?;
            }
            self.after = Some(self.on.stream.record()?);
        }
        self.after.as_ref().map_or(Ok(()), |event| next.wait(event))
    }

    /// Makes the host wait for this use.
    fn synchronize(&self) -> Result<()> {
        match self.after.as_ref().map(Event::synchronize) {
            // The event was recorded into a capture: only the stream knows.
            Some(Err(error)) if *error.kind() == ErrorKind::Busy => {}
            Some(waited) => return waited,
            None => {}
        }
        if self.on.is_of_another_thread() {
            return self.on.stream.device().synchronize();
        }
        match self.on.stream.synchronize() {
            // Work that is part of no graph was there before the capture.
            Err(busy) if *busy.kind() == ErrorKind::Busy && self.capture.is_none() => {
                before_capture_of(&self.on.stream).map_or(Err(busy), |event| event.synchronize())
            }
            waited => waited,
        }
    }

    /// Whether the end of this use can be marked by an event that stands for work that runs, not for a part of a graph.
    fn can_be_marked(&self) -> Result<()> {
        if self.after.is_some() || self.on.is_of_another_thread() {
            return Ok(());
        }
        not_capturing("free", &self.on.stream)
    }
}

impl From<On> for Use {
    fn from(on: On) -> Self {
        Self {
            on,
            after: None,
            capture: None,
        }
    }
}

/// What to do about memory that cannot become part of a graph now.
fn cannot_wait(error: Error) -> Error {
    match error.kind() {
        ErrorKind::Busy => error.context(
            "the memory is in use in another stream, for which a capture has to wait first: begin the capture after a wait for that \
             stream, use the memory for the first time in the captured one, or capture a non-blocking stream",
        ),
        _ => error,
    }
}

/// Which of the uses of a piece of memory it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticket(u64);

/// The uses of one piece of memory that later uses may have to wait for.
///
/// Invariant: a stream in `reads` is ordered after `write`, and `reads` never holds the stream of `write`.
#[derive(Debug, Default)]
pub(super) struct Uses {
    /// Whether there was no use yet on the stream that the memory was allocated on, which its owner has: it stands for a write
    /// there, until [`begin`](Self::begin) makes one of it.
    fresh: bool,
    write: Option<Use>,
    reads: Vec<Use>,
    /// How many uses there were so far.
    count: u64,
    /// What keeps what graphs use, of those that use it and do not keep it otherwise.
    graphs: Vec<Weak<Kept>>,
}

impl Uses {
    /// The memory becomes usable on `stream`, where it was allocated.
    pub(super) fn allocated_on(stream: &Stream) -> Self {
        let fresh = !stream.is_per_thread();
        Self {
            fresh,
            // On another thread it would be another stream.
            write: (!fresh).then(|| Use::new(stream)),
            ..Self::default()
        }
    }

    /// Remembers the allocation on `stream` as a use; before every other use.
    pub(super) fn begin(&mut self, stream: &Stream) {
        if std::mem::take(&mut self.fresh) {
            self.write = Some(Use::new(stream));
        }
    }

    /// Whether all of them are on `stream`, on which the memory was allocated.
    pub(super) fn are_on(&self, stream: &Stream) -> bool {
        self.write
            .iter()
            .chain(&self.reads)
            .all(|one| one.is_on(stream))
    }

    /// Orders `next` after the conflicting uses on other streams and remembers it. Answers which use it is.
    pub(super) fn add(&mut self, next: &Stream, access: Access) -> Result<Ticket> {
        let graph = capture_of(next)?;
        let capture = graph.as_ref().map(|(capture, _)| *capture);
        match access {
            Access::Read => self.add_read(next, capture),
            Access::Write => self.add_write(next, capture),
        }?;
        if let Some((_, Some(kept))) = graph {
            self.graphs.retain(|known| known.strong_count() > 0);
            let known = |known: &Weak<Kept>| std::ptr::eq(known.as_ptr(), Arc::as_ptr(&kept));
            if !self.graphs.iter().any(known) {
                self.graphs.push(Arc::downgrade(&kept));
            }
        }
        self.count += 1;
        Ok(Ticket(self.count))
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
        if self.count == of.0 {
            // The write is on that stream, or was ordered before the use.
            self.write = None;
            self.reads.retain(|read| !read.is_on(stream));
        }
    }

    fn add_read(&mut self, next: &Stream, capture: Option<u64>) -> Result<()> {
        if let Some(known) = self.reads.iter_mut().find(|known| known.is_on(next)) {
            known.again(capture);
            return Ok(());
        }
        if let Some(write) = &mut self.write {
            if write.is_on(next) {
                write.again(capture);
                return Ok(());
            }
            write.before_in(next, capture)?;
        }
        if self.reads.len() >= MANY_READS {
            self.reads.retain(|read| !read.is_finished());
        }
        self.reads.push(Use::within(next, capture));
        Ok(())
    }

    fn add_write(&mut self, next: &Stream, capture: Option<u64>) -> Result<()> {
        if let Some(write) = &mut self.write
            && self.reads.is_empty()
            && write.is_on(next)
        {
            write.again(capture);
            return Ok(());
        }
        let mut made = Use::within(next, capture);
        for earlier in self.write.iter_mut().chain(&mut self.reads) {
            earlier.before_in(next, capture)?;
            if earlier.is_on(next) {
                made.again(earlier.capture);
            }
        }
        self.write = Some(made);
        self.reads.clear();
        Ok(())
    }

    /// Whether none has to be waited for.
    pub(super) fn are_over(&self) -> bool {
        !self.fresh && self.write.is_none() && self.reads.is_empty()
    }

    /// Waits for every use, after which none has to be remembered.
    pub(super) fn synchronize(&mut self) -> Result<()> {
        for earlier in self.write.iter().chain(&self.reads) {
            earlier.synchronize()?;
        }
        self.write = None;
        self.reads.clear();
        Ok(())
    }

    /// Orders `stream`, on which the memory was allocated, after every use, for the memory to be freed on it. Where an event cannot
    /// be had, or would become part of a graph, the host waits instead; of captures that other threads begin meanwhile none is
    /// spoiled. Returns the first failure that leaves a use unordered.
    pub(super) fn all_before(&mut self, stream: &Stream) -> Result<()> {
        let mut first: Option<Error> = None;
        let (mut open, mut none_begins) = (None, None);
        let others = self.write.iter_mut().chain(&mut self.reads);
        for earlier in others.filter(|earlier| !earlier.is_on(stream)) {
            none_begins.get_or_insert_with(NoneBegins::new);
            let may_wait = open.get_or_insert_with(|| not_capturing("free", stream).is_ok());
            let ordered = *may_wait
                && earlier
                    .can_be_marked()
                    .and_then(|()| earlier.before(stream))
                    .is_ok();
            if !ordered && let Err(error) = earlier.synchronize() {
                first.get_or_insert(error);
            }
        }
        first.map_or(Ok(()), Err)
    }
}
