//! Addresses of the host copy for code outside Rust: counted, so that nothing moves or frees the memory under them.
#![allow(
    unsafe_code,
    reason = "gives out the raw host buffer while the block keeps Rust references away from it"
)]

use std::fmt;
use std::sync::{Arc, Weak};

use ulib_core::{Error, Event, Result};

use super::host::{Count, HostBuf};
use super::state::{State, View, Wanted};
use super::{Block, Inner};

/// A read-only address of the host copy, such as a NumPy view holds. The memory stays where it is while this lives;
/// it shows the host copy as of the last read or write through the block, and older content as long as a
/// [`HostRef`](super::HostRef) to the same memory lives. While the block is shared, [`Block::read_at`] and
/// [`Block::write_at`] go past the host copy. Resizing the block fails meanwhile.
pub struct HostExport {
    buffer: Arc<HostBuf>,
    len: usize,
    /// Of the block.
    exports: Arc<Count>,
}

impl HostExport {
    /// Called with the lock of the block held.
    fn new(state: &State, block: &Block) -> Self {
        state.host.exports.add();
        block.inner.exports.add();
        Self {
            buffer: Arc::clone(&state.host),
            len: block.len,
            exports: Arc::clone(&block.inner.exports),
        }
    }

    /// The first byte. Never null, a multiple of 64, and not to be written through.
    #[must_use]
    pub fn as_ptr(&self) -> *const u8 {
        self.buffer.as_ptr()
    }

    /// The length in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl Drop for HostExport {
    fn drop(&mut self) {
        self.buffer.exports.remove();
        self.exports.remove();
    }
}

impl fmt::Debug for HostExport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostExport")
            .field("ptr", &self.as_ptr())
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}

/// The host copy, to be written by code outside Rust. While it is open every other access to the block fails with
/// kind `Busy`; when it is closed or dropped, the host has the newer copy.
pub struct HostView {
    /// The view does not keep the block alive, only its bytes.
    block: Weak<Inner>,
    hold: HostHold,
}

/// Keeps the memory of a [`HostView`] alive, also after the view was closed. Then it is no longer the block's memory:
/// what is written into it goes nowhere.
pub struct HostHold {
    buffer: Arc<HostBuf>,
    len: usize,
}

impl HostHold {
    fn new(buffer: &Arc<HostBuf>, len: usize) -> Self {
        buffer.holds.add();
        Self {
            buffer: Arc::clone(buffer),
            len,
        }
    }

    /// The first byte. Never null, a multiple of 64.
    #[must_use]
    pub fn as_ptr(&self) -> *mut u8 {
        self.buffer.as_ptr()
    }

    /// The length in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl Clone for HostHold {
    fn clone(&self) -> Self {
        Self::new(&self.buffer, self.len)
    }
}

impl Drop for HostHold {
    fn drop(&mut self) {
        self.buffer.holds.remove();
    }
}

impl fmt::Debug for HostHold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostHold")
            .field("ptr", &self.as_ptr())
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}

impl HostView {
    /// The first byte. Never null, a multiple of 64. Valid while the view or a hold of it lives.
    #[must_use]
    pub fn as_ptr(&self) -> *mut u8 {
        self.hold.as_ptr()
    }

    /// The length in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.hold.len
    }

    /// Whether there are no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.hold.len == 0
    }

    /// A handle that keeps the memory alive for an array that may outlive the view.
    #[must_use]
    pub fn hold(&self) -> HostHold {
        self.hold.clone()
    }

    /// The bytes, for Rust code.
    ///
    /// # Errors
    /// Kind `Busy` while a [`HostHold`] lives, because its owner may write the same memory.
    pub fn bytes_mut(&mut self) -> Result<&mut [u8]> {
        if self.hold.buffer.holds.get() > 1 {
            return Err(Error::busy(
                "HostView",
                "an array made from the view is in use",
            ));
        }
        // SAFETY: the view excludes every access through the block; it has the only hold, no other can be made while
        // it is borrowed here, and there were no guards and exports when it was opened.
        Ok(unsafe { self.hold.buffer.bytes_mut(self.hold.len) })
    }

    /// Ends the view: the block is accessible again, and the host has the newer copy. If holds are still alive, the
    /// block moves to fresh memory and leaves them the old one.
    ///
    /// # Errors
    /// Kind `OutOfMemory` when there is none for that; then the block stays `Busy` until the last hold is gone.
    pub fn close(mut self) -> Result<()> {
        self.finish()
    }

    fn finish(&mut self) -> Result<()> {
        // Weak: a block that was dropped needs no reopening, and a second call finds nothing.
        let Some(inner) = std::mem::take(&mut self.block).upgrade() else {
            return Ok(());
        };
        let mut state = inner.state.lock("close")?;
        if state.view != View::Open {
            return Ok(());
        }
        state.view = View::None;
        // One of them is ours.
        if self.hold.buffer.holds.get() <= 1 {
            return Ok(());
        }
        // SAFETY: the block is locked and was excluded by the view, so nothing in this crate writes the buffer; the
        // owners of the holds were told that the view ends.
        let written = unsafe { self.hold.buffer.bytes(self.hold.len) };
        match HostBuf::copy_of(written, self.hold.len) {
            Ok(fresh) => state.host = Arc::new(fresh),
            Err(error) => {
                state.view = View::Lingering;
                return Err(error.context("closing a host view whose array is still in use"));
            }
        }
        Ok(())
    }
}

impl Drop for HostView {
    fn drop(&mut self) {
        if let Err(error) = self.finish() {
            log::warn!("{error}");
        }
    }
}

impl fmt::Debug for HostView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostView")
            .field("ptr", &self.as_ptr())
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

impl Block {
    /// A counted read-only address of the host copy, brought home first as by [`read`](Self::read).
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn export_host(&self) -> Result<HostExport> {
        {
            let state = self.inner.state.peek("export_host")?;
            if state.is_readable() {
                return Ok(HostExport::new(&state, self));
            }
        }
        let mut state = self.inner.state.lock("export_host")?;
        self.fetch(&mut state, "export_host", Event::HostRead, Wanted::Whole)?;
        Ok(HostExport::new(&state, self))
    }

    /// How many read-only host exports live.
    #[must_use]
    pub fn host_exports(&self) -> usize {
        self.inner.exports.get()
    }

    /// Opens a writable view of the host copy, brought home first. Until it is closed, every other access fails.
    ///
    /// # Errors
    /// Kind `Busy` while another view is open, while the block is shared, while a host guard or a host export lives,
    /// or while a kernel reads the block; else as [`read`](Self::read).
    pub fn host_view(&self) -> Result<HostView> {
        const OP: &str = "host_view";
        let mut state = self.inner.state.lock(OP)?;
        state.check_no_view(OP)?;
        let holder = if state.is_shared() {
            Some("the device copy is shared")
        } else if state.host.guards.get() > 0
            || state
                .exported
                .iter()
                .any(|shown| shown.buffer.guards.get() > 0)
        {
            Some("the host copy is being read")
        } else if self.inner.exports.get() > 0 {
            Some("a read-only host view is in use")
        } else if state
            .device
            .as_ref()
            .is_some_and(|copy| copy.readers.get() > 0)
        {
            Some("a kernel reads the device copy")
        } else {
            None
        };
        if let Some(holder) = holder {
            return Err(Error::busy(OP, holder));
        }
        let shared = self.fetch(&mut state, OP, Event::HostWrite, Wanted::Whole)?;
        debug_assert!(!shared, "sharing cannot begin while the block is locked");
        state.exported.clear();
        state.view = View::Open;
        let hold = HostHold::new(&state.host, self.len);
        Ok(HostView {
            block: Arc::downgrade(&self.inner),
            hold,
        })
    }
}
