//! Capture of a stream: what is put into it is written down instead of run.

use super::beginning::Begins;
use super::kept::Owners;
use super::open::{Registered, Start, number_of};
use super::{Graph, Inner};
use crate::driver::{check, forked, missing_entry};
use crate::report::{Counted, Kind};
use crate::stream::Stream;
use crate::sys::{CUgraph, CUresult, CUstreamCaptureMode};
use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use ulib_core::{Error, ErrorKind, Result};

/// A stream whose work is written down into a graph, until [`finish`](Self::finish); dropped without that, the work is
/// forgotten.
///
/// Other threads go on as if there were no capture; what has to wait for the stream, or for the whole device, is refused. So is work in
/// the default stream where that waits for the captured one ([`StreamKind::Blocking`](crate::StreamKind::Blocking)), which would spoil
/// the capture: kind `Busy`, of whatever puts work into a stream. Streams
/// that wait for an event of a captured one become part of the capture until it ends, and what they do has to be waited for by it
/// again in the same way before the end. The capture may end on any thread.
///
/// What the work uses lives as long as the graph: either it is borrowed ([`reads`](Self::reads), [`writes`](Self::writes)),
/// so that the compiler sees to it, or given away ([`keep`](Self::keep)). Memory that remembers its uses
/// ([`DeviceBytes`](crate::DeviceBytes), and arrays and textures) needs neither: dropped or closed, it is given back when the graph is
/// gone.
#[must_use = "the capture ends when this is dropped, and its work is forgotten"]
pub struct Capture<'m> {
    stream: Stream,
    owners: Arc<Owners>,
    registered: Option<Registered>,
    /// Whether it has yet to be ended.
    open: bool,
    memory: PhantomData<&'m mut ()>,
}

impl Stream {
    /// Writes down what is put into this stream from now on. It is no default stream.
    ///
    /// # Errors
    /// Kind `InvalidArgument` for the legacy default stream; `Busy` for a stream that is being captured already; `Unavailable` where
    /// the driver has no graphs; else whatever the driver says; kind `Forked` in a forked child.
    ///
    /// # Examples
    /// ```no_run
    /// use ulib_device::{Device, DeviceBytes, Stream};
    ///
    /// # fn main() -> ulib_core::Result<()> {
    /// let stream = Stream::non_blocking(&Device::new(0)?)?;
    /// let memory = DeviceBytes::allocate(&stream, 1 << 20)?;
    /// let mut capture = stream.capture()?;
    /// let address = capture.reads(&memory).ptr();
    /// // ... launches that read at `address`, put into `stream` ...
    /// let graph = capture.finish()?;
    /// let mut ready = graph.instantiate()?;
    /// for _ in 0..1000 {
    ///     ready.launch(&stream)?;
    /// }
    /// stream.synchronize()?;
    /// # Ok(())
    /// # }
    /// ```
    /// Memory that a graph has borrowed cannot go before it:
    /// ```compile_fail
    /// # fn main() -> ulib_core::Result<()> {
    /// # use ulib_device::{Device, DeviceBytes, Stream};
    /// let stream = Stream::non_blocking(&Device::new(0)?)?;
    /// let memory = DeviceBytes::allocate(&stream, 1 << 20)?;
    /// let mut capture = stream.capture()?;
    /// let address = capture.reads(&memory).ptr();
    /// let graph = capture.finish()?;
    /// drop(memory);
    /// graph.instantiate()?.launch(&stream)?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn capture<'m>(&self) -> Result<Capture<'m>> {
        if self.is_legacy() {
            return Err(Error::invalid(
                "capture",
                "stream",
                "the default stream",
                "another one: the default stream cannot be captured",
            ));
        }
        let _context = self.device().bind()?;
        let table = self.device().table();
        let begin = table
            .cuStreamBeginCapture_v2
            .ok_or_else(|| missing_entry("cuStreamBeginCapture_v2", "10.1"))?;
        // In the other modes no other thread could end it, and what may not be done meanwhile is refused in this one, too.
        let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
        // Of captures that begin at once none may mark the default stream when another one is in its way.
        let beginning = Begins::new();
        if self.is_capturing()? {
            return Err(Error::busy(
                "capture",
                "the stream is being captured already",
            ));
        }
        let start = Start::of(self)?;
        // SAFETY: the context is current by the guard; the stream is alive by the borrow.
        let status = unsafe { begin(self.handle(), mode) };
        check(table, "cuStreamBeginCapture_v2", status)?;
        let mut capture = Capture {
            stream: self.clone(),
            owners: Arc::default(),
            registered: None,
            open: true,
            memory: PhantomData,
        };
        // From here on the capture ends with its guard.
        if let Some(number) = number_of(self)? {
            capture.registered = Some(Registered::new(number, &capture.owners, start));
        }
        // Only now, so that nobody misses a capture that has begun.
        drop(beginning);
        Ok(capture)
    }
}

impl<'m> Capture<'m> {
    /// The stream.
    #[must_use]
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Keeps `owner` alive as long as the graph.
    pub fn keep(&self, owner: impl Any + Send + Sync) {
        self.owners.whole.push(Box::new(owner));
    }

    /// Borrows what the graph reads, as long as there is the graph.
    pub fn reads<T: ?Sized>(&mut self, memory: &'m T) -> &'m T {
        memory
    }

    /// Borrows what the graph writes, for nobody else as long as there is the graph.
    pub fn writes<T: ?Sized>(&mut self, memory: &'m mut T) -> &'m mut T {
        memory
    }

    /// Ends the capture: the graph of what was put into the stream.
    ///
    /// # Errors
    /// Kind `Driver` when a call that no capture allows has spoiled it, or when a stream that became part of it was not waited for;
    /// kind `Forked` in a forked child. The stream is captured no more.
    pub fn finish(mut self) -> Result<Graph<'m>> {
        let ended = self.end();
        let reason = |error: Error| {
            match *error.kind() {
            ErrorKind::Driver { code, .. } if code == INVALIDATED => {
                error.context("a call that no capture allows has spoiled this one")
            }
            ErrorKind::Driver { code, .. } if code == UNJOINED => error.context(
                "another stream that became part of the capture has work that the captured one did not wait for before the end",
            ),
            _ => error,
        }
        };
        let raw = ended.map_err(reason)?;
        let inner = Inner {
            device: self.stream.device().clone(),
            raw: raw as usize,
            _counted: Counted::new(Kind::Graph),
        };
        Ok(Graph {
            inner: Arc::new(inner),
            owners: Arc::clone(&self.owners),
            memory: PhantomData,
        })
    }

    fn end(&mut self) -> Result<CUgraph> {
        let device = self.stream.device();
        let _context = device.bind_to_end()?;
        let table = device.table();
        let end = table
            .cuStreamEndCapture
            .ok_or_else(|| missing_entry("cuStreamEndCapture", "10.0"))?;
        let mut graph: CUgraph = core::ptr::null_mut();
        // SAFETY: the context is current by the guard; the stream is alive, since this has a clone; the call writes one
        // pointer.
        let status = unsafe { end(self.stream.handle(), &raw mut graph) };
        // What has failed for a reason that has nothing to do with captures is tried again by the guard.
        self.open = !matches!(
            status,
            CUresult::CUDA_SUCCESS
                | CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
                | CUresult::CUDA_ERROR_STREAM_CAPTURE_UNMATCHED
                | CUresult::CUDA_ERROR_STREAM_CAPTURE_UNJOINED
                | CUresult::CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD
        );
        if !self.open {
            self.registered = None;
        }
        check(table, "cuStreamEndCapture", status)?;
        Ok(graph)
    }
}

impl Drop for Capture<'_> {
    fn drop(&mut self) {
        if !self.open || forked() {
            return;
        }
        // Nobody wanted its graph.
        let spoilt = |error: &Error| matches!(*error.kind(), ErrorKind::Driver { code, .. } if matches!(code, INVALIDATED | UNJOINED));
        let device = self.stream.device().clone();
        // Tried twice: a capture that is not ended is in everybody's way for good.
        let ended = match self.end() {
            Err(first) if self.open => self.end().map_err(|_| first),
            ended => ended,
        };
        match ended {
            // A graph that nobody wanted.
            Ok(raw) => drop(Inner {
                device,
                raw: raw as usize,
                _counted: Counted::new(Kind::Graph),
            }),
            Err(error) if spoilt(&error) => {}
            Err(error) => device.dropped_with(error),
        }
    }
}

const INVALIDATED: i32 = CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
    .0
    .cast_signed();

const UNJOINED: i32 = CUresult::CUDA_ERROR_STREAM_CAPTURE_UNJOINED.0.cast_signed();

impl fmt::Debug for Capture<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Capture")
            .field("stream", &self.stream)
            .finish_non_exhaustive()
    }
}
