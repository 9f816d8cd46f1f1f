//! What the driver has of a graph that is ready, and its launches so far.

use super::kept::{Kept, Part};
use super::retired::Mark;
use super::used::Together;
use crate::device::Device;
use crate::driver::{check, forked, missing_entry};
use crate::event::Event;
use crate::report::{Counted, Kind};
use crate::stream::Stream;
use crate::sys::{CUgraphExec, Table};
use std::sync::Arc;
use ulib_core::Result;

/// The driver's object, and then what its work uses, in the order in which they have to go.
pub(super) struct Ready {
    pub(super) raw: Raw,
    /// What the work uses, but for that of `parts`.
    pub(super) kept: Arc<Kept>,
    /// What single pieces of work use, each with the node of `origin`, or 0 where that is not known.
    pub(super) parts: Vec<(usize, Arc<Part>)>,
}

pub(super) struct Raw {
    device: Device,
    /// The driver's handle as an integer: it is only ever handed to the driver, so any thread may hold it; 0 when destroyed.
    raw: usize,
    _counted: Counted,
}

impl Raw {
    pub(super) fn new(device: &Device, raw: CUgraphExec) -> Self {
        Self {
            device: device.clone(),
            raw: raw as usize,
            _counted: Counted::new(Kind::GraphExec),
        }
    }

    pub(super) fn handle(&self) -> CUgraphExec {
        self.raw as CUgraphExec
    }

    pub(super) fn close(mut self) -> Result<()> {
        let _context = self.device.bind()?;
        let raw = std::mem::take(&mut self.raw);
        destroy(self.device.table(), raw)
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        if self.raw == 0 || forked() {
            return;
        }
        let bound = self.device.bind_to_end();
        if let Err(error) = bound.and_then(|_context| destroy(self.device.table(), self.raw)) {
            self.device.dropped_with(error);
        }
    }
}

impl Ready {
    /// The memory that a launch uses.
    pub(super) fn together(&self) -> Together {
        let parts = self.parts.iter().map(|(_, part)| &part.used);
        Together::of(parts.chain([&self.kept.used]))
    }
}

/// A stream with launches that may not be done.
pub(super) struct Use {
    pub(super) stream: Stream,
    /// After the last one, for streams that nobody vouches for.
    pub(super) after: Option<Arc<Event>>,
}

impl Use {
    /// Whether its launches are done; false where the driver does not tell.
    pub(super) fn is_over(&self) -> bool {
        match &self.after {
            Some(event) => event.is_done(),
            None => self.stream.is_done(),
        }
        .unwrap_or(false)
    }

    /// Its last launch so far.
    pub(super) fn mark(&self) -> Mark {
        match &self.after {
            Some(event) => Mark::After(Arc::clone(event)),
            // An event that is recorded during a capture would stand for a part of the graph.
            None => match self.stream.is_capturing() {
                Ok(false) => self.stream.record().map_or_else(
                    |_| Mark::Idle(self.stream.clone()),
                    |event| Mark::After(Arc::new(event)),
                ),
                _ => Mark::Idle(self.stream.clone()),
            },
        }
    }

    pub(super) fn synchronize(&self) -> Result<()> {
        match &self.after {
            Some(event) => event.synchronize(),
            None => self.stream.synchronize(),
        }
    }
}

fn destroy(table: &Table, raw: usize) -> Result<()> {
    let call = table
        .cuGraphExecDestroy
        .ok_or_else(|| missing_entry("cuGraphExecDestroy", "10.0"))?;
    // SAFETY: the callers hold the context's guard, and give the handle up; the driver lets launches end.
    check(table, "cuGraphExecDestroy", unsafe {
        call(raw as CUgraphExec)
    })
}
