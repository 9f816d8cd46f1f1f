//! Graphs that are ready: launched, and changed without being made ready anew.

use super::kept::Part;
use super::node::{Node, nodes_of};
use super::ready::{Raw, Ready, Use};
use super::retired::{let_go, retire};
use super::used::{Together, begun};
use super::{Graph, Inner};
use crate::device::{Device, same_device};
use crate::driver::{check, forked, missing_entry};
use crate::event::Event;
use crate::memory::guard;
use crate::stream::Stream;
use crate::sys::CUgraphExec;
use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use ulib_core::{Error, ErrorKind, Result};

/// Launched in so many streams, those whose launches are over are forgotten.
const MANY_USES: usize = 16;

/// A graph that is ready to be launched.
///
/// Dropping it waits for its launches, since what they use may go with it. Where a capture is in the way of that, both are kept until
/// the launches are known to be done.
#[must_use = "it goes when it is dropped"]
pub struct GraphExec<'m> {
    /// Nothing when it has been given up.
    pub(super) inner: Option<Ready>,
    /// The graph it was made from, whose nodes name its own.
    pub(super) origin: Arc<Inner>,
    uses: Vec<Use>,
    /// The memory that a launch uses.
    pub(super) used: Together,
    memory: PhantomData<&'m mut ()>,
}

impl<'m> GraphExec<'m> {
    pub(super) fn new(graph: &Graph<'m>) -> Result<Self> {
        let device = graph.device().clone();
        let _context = device.bind()?;
        let table = device.table();
        let call = table
            .cuGraphInstantiateWithFlags
            .ok_or_else(|| missing_entry("cuGraphInstantiateWithFlags", "11.4"))?;
        let mut raw: CUgraphExec = core::ptr::null_mut();
        // SAFETY: the context is current by the guard; the graph is alive by the borrow; the call writes one pointer.
        let status = unsafe { call(&raw mut raw, graph.handle(), 0) };
        check(table, "cuGraphInstantiateWithFlags", status)?;
        let node = |part: &Arc<Part>| (part.node.load(Ordering::Relaxed), Arc::clone(part));
        let ready = Ready {
            raw: Raw::new(&device, raw),
            kept: Arc::clone(&graph.owners.whole),
            parts: graph.owners.parts().iter().map(node).collect(),
        };
        Ok(Self {
            used: ready.together(),
            inner: Some(ready),
            origin: Arc::clone(&graph.inner),
            uses: Vec::new(),
            memory: PhantomData,
        })
    }

    /// The device it is for.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.origin.device
    }

    /// The driver's handle, for calls this crate does not wrap; as an integer, `handle() as usize`.
    #[must_use]
    pub fn handle(&self) -> CUgraphExec {
        let ready = self.inner.as_ref();
        ready.map_or(core::ptr::null_mut(), |ready| ready.raw.handle())
    }

    /// The pieces of work of the graph it was made from, for [`set_kernel`](Self::set_kernel).
    ///
    /// # Errors
    /// Whatever the driver says; kind `Forked` in a forked child.
    pub fn nodes(&self) -> Result<Vec<Node>> {
        nodes_of(&self.origin)
    }

    /// Puts all its work into `stream` and returns without waiting for it. Launches of one graph run one after another, in
    /// whichever streams. Memory that remembers its uses ([`DeviceBytes`](crate::DeviceBytes), and arrays and textures) is used by the
    /// launch as by any work: it comes after conflicting work that was put into other streams before. A launch is an operation on
    /// each [`Block`](crate::block::Block) that is still there: values that the host has changed since go to the device first, and
    /// what is written is newest there.
    ///
    /// # Errors
    /// Kind `InvalidArgument` when the stream belongs to another device; `Residency` when a block no longer has the device memory that
    /// the graph uses, since it was released or moved, and then nothing is launched; `Busy` while it is being captured, which stays unharmed:
    /// drivers do not take a launch for a part of another graph; `Busy` as well where memory is in use in a stream that somebody else
    /// is capturing; whatever the driver says, which includes the failure of any kernel before; kind `Forked` in a forked child.
    pub fn launch(&mut self, stream: &Stream) -> Result<()> {
        let device = self.device().clone();
        same_device("GraphExec::launch", &device, stream.device())?;
        let context = device.bind()?;
        let table = device.table();
        let call = table
            .cuGraphLaunch
            .ok_or_else(|| missing_entry("cuGraphLaunch", "10.0"))?;
        if stream.is_capturing_in(&context)? {
            let reason = "the stream is being captured, and launching a graph cannot become part of another one";
            return Err(Error::busy("GraphExec::launch", reason));
        }
        // Before the memory is locked, as operations do it.
        let blocks = self.used.blocks();
        let _held = begun(&blocks)?;
        // Known before the launch, so that whatever fails after it is waited for.
        let known = self.uses.iter().position(|used| used.stream == *stream);
        let at = known.unwrap_or_else(|| {
            if self.uses.len() >= MANY_USES {
                self.uses.retain(|used| !used.is_over());
            }
            self.uses.push(Use {
                stream: stream.clone(),
                after: None,
            });
            self.uses.len() - 1
        });
        let mut noted = self
            .used
            .on(stream)
            .map_err(|error| match error.kind() {
                ErrorKind::Busy => error.context("the memory of the graph is in use in another stream, for which the launch has to wait"),
                _ => error,
            })?;
        let queueing = stream.queueing("GraphExec::launch")?;
        let name = "a graph";
        device
            .recent()
            .note(name, [0; 3], [0; 3], stream.handle() as usize);
        // SAFETY: the context is current by the guard; both are alive; what the work uses is kept, or borrowed for `'m`.
        let status = unsafe { call(self.handle(), stream.handle()) };
        drop(queueing);
        check(table, "cuGraphLaunch", status)?;
        guard::launched(stream, &context, || {
            format!("a graph on stream {:#x}", stream.handle() as usize)
        });
        if !stream.is_kept() {
            let after = match self.uses[at].after.take() {
                Some(event) if Arc::strong_count(&event) == 1 => event,
                _ => Arc::new(Event::new(&device)?),
            };
            after.record(stream)?;
            noted.ends_at(stream, &after);
            self.uses[at].after = Some(after);
        }
        Ok(())
    }

    /// Whether all launches so far are done; false where the driver does not tell. Does not wait.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.uses.iter().all(Use::is_over)
    }

    /// Waits until all launches so far are done.
    ///
    /// # Errors
    /// As [`Stream::synchronize`].
    pub fn synchronize(&mut self) -> Result<()> {
        for used in &self.uses {
            used.synchronize()?;
        }
        self.uses.clear();
        let_go();
        Ok(())
    }

    /// Lets `what` go after the launches so far.
    pub(super) fn retire(&self, what: Box<dyn Any + Send>) {
        let_go();
        match self.is_idle() {
            true => drop(what),
            false => retire(self.uses.iter().map(Use::mark).collect(), what),
        }
    }

    /// Waits for its launches, and gives it up.
    ///
    /// # Errors
    /// As [`Stream::synchronize`]; whatever the driver says; kind `Forked` in a forked child. It is given up all the same.
    pub fn close(mut self) -> Result<()> {
        let waited = self.synchronize();
        let Some(ready) = self.inner.take() else {
            return waited;
        };
        if waited.is_err() {
            self.retire(Box::new(ready));
            return waited;
        }
        ready.raw.close()
    }
}

impl Drop for GraphExec<'_> {
    fn drop(&mut self) {
        let Some(ready) = self.inner.take() else {
            return;
        };
        if forked() {
            std::mem::forget(ready);
            return;
        }
        if let Err(error) = self.synchronize() {
            if *error.kind() != ErrorKind::Busy {
                self.device().dropped_with(error);
            }
            self.retire(Box::new(ready));
        }
    }
}

impl fmt::Debug for GraphExec<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GraphExec({:p} on {})", self.handle(), self.device())
    }
}
