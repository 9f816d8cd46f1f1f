//! What a graph knows of a block whose device copy its work uses: each launch is an operation on the block.

use std::sync::{Arc, Weak};

use ulib_core::{Error, Event, Result};

use super::device_copy::DeviceCopy;
use super::lock::Hold;
use super::state::{Access, State, Wanted};
use super::transfers::Cause;
use super::{Block, Inner};
use crate::memory::Access as Use;

const OP: &str = "GraphExec::launch";

/// A use of a block's device copy that a capture has written down. Keeps neither alive: a block that has gone cannot be asked for
/// its content, and its memory is kept by the graph.
#[derive(Clone)]
pub(crate) struct Captured {
    block: Weak<Inner>,
    /// The device copy then.
    copy: Weak<DeviceCopy>,
    len: usize,
    access: Use,
}

impl Captured {
    pub(super) fn new(block: &Block, copy: &Arc<DeviceCopy>, access: Use) -> Self {
        Self {
            block: Arc::downgrade(&block.inner),
            copy: Arc::downgrade(copy),
            len: block.len,
            access,
        }
    }

    /// Where what is the same for uses of one copy is found.
    pub(crate) fn place(&self) -> usize {
        self.copy.as_ptr() as usize
    }

    /// Makes it a use that is this one and `other`, of the same copy.
    pub(crate) fn and(&mut self, other: &Self) {
        if other.access == Use::Write {
            self.access = Use::Write;
        }
    }

    /// The block, unless it has gone.
    pub(crate) fn alive(&self) -> Option<Alive<'_>> {
        let block = self.block.upgrade()?;
        Some(Alive { of: self, block })
    }
}

/// A block that is there for a launch.
pub(crate) struct Alive<'a> {
    of: &'a Captured,
    block: Arc<Inner>,
}

impl Alive<'_> {
    /// The block, for nobody else, if nobody else has it just now.
    pub(crate) fn hold_at_hand(&self) -> Option<Held<'_>> {
        let state = self.block.state.lock_at_hand()?;
        Some(Held { of: self, state })
    }

    /// Waits until nobody has it.
    ///
    /// # Errors
    /// Kind `Forked` in a forked child when a thread of the parent has it.
    pub(crate) fn wait(&self) -> Result<()> {
        self.block.state.lock(OP).map(drop)
    }
}

/// A block that nobody else reads, changes or moves.
pub(crate) struct Held<'a> {
    of: &'a Alive<'a>,
    state: Hold<'a>,
}

impl Held<'_> {
    /// Refuses a launch that would not reach the block. Changes nothing.
    ///
    /// # Errors
    /// Kind `Residency` when its device copy is not the one that was captured; `Busy` while a writable host view is open.
    pub(crate) fn check(&mut self) -> Result<()> {
        let captured = &self.of.of.copy;
        let state: &mut State = &mut self.state;
        let now = match &state.device {
            Some(copy) if std::ptr::eq(Arc::as_ptr(copy), captured.as_ptr()) => {
                return state.check_no_view(OP);
            }
            Some(_) => "it has other device memory now",
            None => "it is on the host now",
        };
        let bytes = self.of.of.len;
        Err(Error::residency(
            OP,
            format!(
                "an object of {bytes} bytes has given up the device memory that the graph uses, since that was released, or the object \
                 moved or resized: {now}; capture the work anew"
            ),
        ))
    }

    /// Brings newer values of the host up, and waits for outsiders, as an operation does; what is written has its newest values on
    /// the device from now on.
    ///
    /// # Errors
    /// As [`Block::device_write`].
    pub(crate) fn begin(&mut self) -> Result<()> {
        let Alive { of, block } = self.of;
        let state: &mut State = &mut self.state;
        let sharing = state.settle_sharing(OP)?;
        let event = match of.access {
            Use::Read => Event::KernelRead,
            Use::Write => Event::KernelWrite,
        };
        let access = Access {
            len: of.len,
            counters: &block.counters,
            cause: Cause::Implicit(OP),
        };
        state
            .run(event, sharing, &access, None, Wanted::Nothing)
            .map(drop)
    }
}
