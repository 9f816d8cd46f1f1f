//! Graphs: work that is written down once and started many times, with one call.
//!
//! [`Stream::capture`](crate::Stream::capture) writes down, [`Graph::instantiate`] makes ready, [`GraphExec::launch`] starts.
//! What the work uses lives as long as any of the three: borrowed or given away, see [`Capture`]. Memory that remembers its uses
//! ([`DeviceBytes`](crate::DeviceBytes), and arrays and textures) is given back when it is dropped, or closed, as soon as no graph
//! needs it any more. A capture does nothing with it: each launch is a use of it, on the stream where it is launched.
#![allow(
    unsafe_code,
    reason = "captures streams, makes, starts and destroys the driver's graphs"
)]

mod beginning;
mod capture;
mod change;
mod exec;
mod fork;
mod kept;
mod node;
mod open;
mod ready;
mod retired;
mod used;

pub(crate) use beginning::{NoneBegins, Queueing, ever_captured};
pub use capture::Capture;
pub use exec::GraphExec;
pub(crate) use fork::{is_in_ours, place_of, wait};
pub(crate) use kept::{InCapture, Kept, capture_of};
pub use node::{Node, NodeKind};
pub use open::any_capture;
pub(crate) use open::{end_outside, is_open, unless_captured};
pub use retired::{keeps_some, let_go};

use crate::device::Device;
use crate::driver::{check, missing_entry};
use crate::report::Counted;
use crate::sys::{CUgraph, CUgraphNode, Table};
use kept::Owners;
use node::nodes_of;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use ulib_core::Result;

/// Work and its order, written down. Clones are the same graph.
#[derive(Clone)]
pub struct Graph<'m> {
    inner: Arc<Inner>,
    /// What its work uses.
    owners: Arc<Owners>,
    memory: PhantomData<&'m mut ()>,
}

struct Inner {
    device: Device,
    /// The driver's handle as an integer: it is only ever handed to the driver, so any thread may hold it.
    raw: usize,
    _counted: Counted,
}

impl<'m> Graph<'m> {
    /// The device it is for.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.inner.device
    }

    /// The driver's handle, for calls this crate does not wrap; as an integer, `handle() as usize`.
    #[must_use]
    pub fn handle(&self) -> CUgraph {
        self.inner.raw as CUgraph
    }

    /// How many pieces of work there are.
    ///
    /// # Errors
    /// Whatever the driver says; kind `Forked` in a forked child.
    pub fn node_count(&self) -> Result<usize> {
        self.inner.read_nodes(core::ptr::null_mut(), 0)
    }

    /// The pieces of work, in the order of the driver.
    ///
    /// # Errors
    /// Whatever the driver says; kind `Forked` in a forked child.
    pub fn nodes(&self) -> Result<Vec<Node>> {
        nodes_of(&self.inner)
    }

    /// Makes it ready to be launched.
    ///
    /// # Errors
    /// Whatever the driver says; kind `Forked` in a forked child.
    pub fn instantiate(&self) -> Result<GraphExec<'m>> {
        GraphExec::new(self)
    }

    /// Gives it up; what is ready to be launched stays ready.
    ///
    /// # Errors
    /// Whatever the driver says; kind `Forked` in a forked child. Nothing happens while a clone, a [`Node`] or a [`GraphExec`]
    /// still needs it.
    pub fn close(self) -> Result<()> {
        Arc::into_inner(self.inner).map_or(Ok(()), Inner::close)
    }
}

impl Inner {
    /// Writes up to `room` nodes to `nodes`, unless that is null; how many there are.
    fn read_nodes(&self, nodes: *mut CUgraphNode, room: usize) -> Result<usize> {
        let _context = self.device.bind()?;
        let table = self.device.table();
        let call = table
            .cuGraphGetNodes
            .ok_or_else(|| missing_entry("cuGraphGetNodes", "10.0"))?;
        let mut count = room;
        // SAFETY: the context is current by the guard; the graph is alive; `nodes` is null or has that much room.
        let status = unsafe { call(self.raw as CUgraph, nodes, &raw mut count) };
        check(table, "cuGraphGetNodes", status)?;
        Ok(count)
    }

    fn close(mut self) -> Result<()> {
        let _context = self.device.bind()?;
        let raw = std::mem::take(&mut self.raw);
        destroy(self.device.table(), raw)
    }
}

fn destroy(table: &Table, raw: usize) -> Result<()> {
    let call = table
        .cuGraphDestroy
        .ok_or_else(|| missing_entry("cuGraphDestroy", "10.0"))?;
    // SAFETY: the callers hold the context's guard, and give the handle up.
    check(table, "cuGraphDestroy", unsafe { call(raw as CUgraph) })
}

impl Drop for Inner {
    fn drop(&mut self) {
        if self.raw == 0 || crate::driver::forked() {
            return;
        }
        let bound = self.device.bind_to_end();
        if let Err(error) = bound.and_then(|_context| destroy(self.device.table(), self.raw)) {
            self.device.dropped_with(error);
        }
    }
}

impl fmt::Debug for Graph<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Graph({:#x} on {})", self.inner.raw, self.inner.device)
    }
}
