//! Host code reads and writes a block.
#![allow(
    unsafe_code,
    reason = "turns the raw host buffer into references under the rule at `HostBuf`"
)]

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut, Range};
use std::sync::Arc;

use ulib_core::{Error, Event, Result, transition};

use super::Block;
use super::device_copy::record;
use super::host::HostBuf;
use super::state::{State, Wanted};
use super::transfers::Cause;

/// The bytes of a block, to read. They do not change while the guard lives: if the block is fetched again meanwhile,
/// that goes to fresh memory.
#[must_use = "the bytes are reachable only through the guard"]
pub struct HostRef<'a> {
    buffer: Arc<HostBuf>,
    len: usize,
    block: PhantomData<&'a Block>,
}

impl HostRef<'_> {
    /// Called with the lock of the block held, which keeps writers out until the guard is counted.
    fn new(state: &State, len: usize) -> Self {
        state.host.guards.add();
        Self {
            buffer: Arc::clone(&state.host),
            len,
            block: PhantomData,
        }
    }
}

impl Deref for HostRef<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: this guard is counted in `guards`, so no refresh writes the buffer; its lifetime borrows the block,
        // so no `&mut Block` does; a host view cannot open while `guards` is not 0.
        unsafe { self.buffer.bytes(self.len) }
    }
}

impl Drop for HostRef<'_> {
    fn drop(&mut self) {
        self.buffer.guards.remove();
    }
}

impl fmt::Debug for HostRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostRef")
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}

/// The bytes of a block, to change.
///
/// While the block is shared, what was written reaches the device when the guard ends. [`commit`](Self::commit) ends
/// it and says whether that worked; dropping does the same and records a failure in `Device::errors`.
#[must_use = "the bytes are reachable only through the guard"]
pub struct HostMut<'a> {
    block: &'a mut Block,
    buffer: Arc<HostBuf>,
    /// Whether the device copy is the truth, so that it gets the bytes when the guard ends.
    write_through: bool,
    /// Whether exports show other buffers, too, which get the bytes when the guard ends.
    shown_elsewhere: bool,
}

impl HostMut<'_> {
    /// Ends the guard; while the block is shared, the bytes are on the device when this returns.
    ///
    /// # Errors
    /// Whatever the driver says. The device copy then has the old bytes or the new ones (of a large block, part of
    /// each), since the failure may be that of a wait after the copy, and it stays the truth.
    pub fn commit(mut self) -> Result<()> {
        self.finish()
    }

    fn finish(&mut self) -> Result<()> {
        let write_through = std::mem::take(&mut self.write_through);
        if !std::mem::take(&mut self.shown_elsewhere) && !write_through {
            return Ok(());
        }
        let mut state = self.block.inner.state.lock("commit")?;
        state.show_changes(self.block.len);
        if !write_through {
            return Ok(());
        }
        // Admitted when the guard was made.
        let access = self.block.access(Cause::Explicit);
        state.write_through(0, self, &access)
    }
}

impl Deref for HostMut<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the guard holds `&mut Block`, so nothing else in this crate writes the buffer.
        unsafe { self.buffer.bytes(self.block.len) }
    }
}

impl DerefMut for HostMut<'_> {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: the guard holds `&mut Block`, so no `HostRef` of it lives and no refresh runs; a host view is not
        // open, which was checked when the guard was made and cannot change without the block.
        unsafe { self.buffer.bytes_mut(self.block.len) }
    }
}

impl Drop for HostMut<'_> {
    fn drop(&mut self) {
        let result = self.finish();
        let Ok(state) = self.block.inner.state.peek("commit") else {
            return;
        };
        let device = state.device.as_ref().map(|copy| copy.device().clone());
        if let Some(device) = device {
            record(&device, result, "writing a block through to the device");
        }
    }
}

impl fmt::Debug for HostMut<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostMut")
            .field("len", &self.block.len)
            .field("write_through", &self.write_through)
            .finish_non_exhaustive()
    }
}

impl Block {
    /// The bytes, to read. Brings them home first if the device has newer ones; while shared, each call fetches them.
    ///
    /// # Errors
    /// Kind `Busy` while a writable host view is open, `Forked` in a forked child when only the device has the data,
    /// `Interrupted` when the watch stopped the copy, `Residency` when implicit transfers are forbidden, else whatever
    /// the driver says. The block stays as it was.
    pub fn read(&self) -> Result<HostRef<'_>> {
        {
            let state = self.inner.state.peek("read")?;
            if state.is_readable() {
                return Ok(HostRef::new(&state, self.len));
            }
        }
        let mut state = self.inner.state.lock("read")?;
        self.fetch(&mut state, "read", Event::HostRead, Wanted::Whole)?;
        Ok(HostRef::new(&state, self.len))
    }

    /// Copies `into.len()` bytes from `offset` on. While shared, only these bytes are fetched.
    ///
    /// # Errors
    /// Kind `Index` when they are not all inside, else as [`read`](Self::read).
    pub fn read_at(&self, offset: usize, into: &mut [u8]) -> Result<()> {
        let range = self.range("read_at", offset, into.len())?;
        {
            let state = self.inner.state.peek("read_at")?;
            if state.is_readable() {
                copy_out(&state, self.len, range, into);
                return Ok(());
            }
        }
        let mut state = self.inner.state.lock("read_at")?;
        let direct = self.fetch(
            &mut state,
            "read_at",
            Event::HostRead,
            Wanted::Part {
                offset,
                into: &mut *into,
            },
        )?;
        if !direct {
            copy_out(&state, self.len, range, into);
        }
        Ok(())
    }

    /// As [`read_at`](Self::read_at) where that takes nothing but the copy: the host has the bytes, and nobody else can
    /// be at work on the block. Takes no lock, never waits and never transfers. Answers false, with nothing copied, where
    /// more is needed.
    ///
    /// # Errors
    /// Kind `Index` when they are not all inside.
    ///
    /// # Examples
    /// ```
    /// use ulib_device::block::Block;
    ///
    /// let mut block = Block::from_slice(&[1_u8, 2, 3])?;
    /// let mut byte = [0];
    /// assert!(block.read_at_hand(1, &mut byte)?);
    /// assert_eq!(byte, [2]);
    /// # Ok::<(), ulib_core::Error>(())
    /// ```
    #[inline]
    pub fn read_at_hand(&mut self, offset: usize, into: &mut [u8]) -> Result<bool> {
        let (range, len) = (self.range("read_at", offset, into.len())?, self.len);
        let Some(inner) = Arc::get_mut(&mut self.inner) else {
            return Ok(false);
        };
        let state = inner.state.alone();
        let here = state.is_readable();
        if here {
            copy_out(state, len, range, into);
        }
        Ok(here)
    }

    /// Runs `event` for host code. Whether the device copy is the truth afterwards, too.
    pub(super) fn fetch(
        &self,
        state: &mut State,
        op: &'static str,
        event: Event,
        wanted: Wanted<'_>,
    ) -> Result<bool> {
        state.check_no_view(op)?;
        let sharing = state.settle_sharing(op)?;
        state.run(
            event,
            sharing,
            &self.access(Cause::Implicit(op)),
            None,
            wanted,
        )?;
        state.show(self.len);
        Ok(sharing.0)
    }

    /// The bytes, to read and change. Brings them home first if the device has newer ones. The host has the newer
    /// copy from now on; while shared, the bytes are written through when the guard ends.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn write(&mut self) -> Result<HostMut<'_>> {
        self.write_guard("write", Event::HostWrite, Wanted::Whole)
    }

    /// The bytes, to be changed all of them: what the device has is not fetched. What the guard shows before it is
    /// written is an older content, and whatever is not written becomes the content.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn overwrite(&mut self) -> Result<HostMut<'_>> {
        self.write_guard("overwrite", Event::HostOverwrite, Wanted::Nothing)
    }

    fn write_guard(
        &mut self,
        op: &'static str,
        event: Event,
        wanted: Wanted<'_>,
    ) -> Result<HostMut<'_>> {
        let mut state = self.inner.state.lock(op)?;
        let write_through = self.fetch(&mut state, op, event, wanted)?;
        state.rejoin_exported(self.len);
        let buffer = Arc::clone(&state.host);
        let shown_elsewhere = !state.exported.is_empty();
        drop(state);
        Ok(HostMut {
            block: self,
            buffer,
            write_through,
            shown_elsewhere,
        })
    }

    /// Sets `bytes` from `offset` on. While shared, exactly these bytes go to the device, at once.
    ///
    /// # Errors
    /// Kind `Index` when they are not all inside, else as [`read`](Self::read). The block stays as it was; but after
    /// an error of the driver while shared, the device has the old bytes or the new ones.
    pub fn write_at(&mut self, offset: usize, bytes: &[u8]) -> Result<()> {
        if self.write_at_hand(offset, bytes)? {
            return Ok(());
        }
        let range = self.range("write_at", offset, bytes.len())?;
        let mut state = self.inner.state.lock("write_at")?;
        if !state.is_private() {
            state.check_no_view("write_at")?;
            let sharing = state.settle_sharing("write_at")?;
            let mut access = self.access(Cause::Implicit("write_at"));
            if sharing.0 {
                access.len = bytes.len();
                state.run(
                    Event::HostOverwrite,
                    sharing,
                    &access,
                    None,
                    Wanted::Nothing,
                )?;
                return state.write_through(offset, bytes, &access);
            }
            let all = bytes.len() == self.len;
            let event = if all {
                Event::HostOverwrite
            } else {
                Event::HostWrite
            };
            state.run(event, sharing, &access, None, Wanted::Whole)?;
            state.rejoin_exported(self.len);
        }
        // SAFETY: `&mut self` and the lock keep every other reference away; no host view is open.
        let host = unsafe { state.host.bytes_mut(self.len) };
        if let Some(place) = host.get_mut(range) {
            place.copy_from_slice(bytes);
        }
        if !state.exported.is_empty() {
            state.show_changes(self.len);
        }
        Ok(())
    }

    /// As [`write_at`](Self::write_at) where that takes nothing but the copy: the host copy is current, nothing else shows
    /// it, and nobody else can be at work on the block. Takes no lock, never waits and never transfers. Answers false, with nothing changed,
    /// where more is needed.
    ///
    /// # Errors
    /// Kind `Index` when they are not all inside.
    #[inline]
    pub fn write_at_hand(&mut self, offset: usize, bytes: &[u8]) -> Result<bool> {
        let (range, len) = (self.range("write_at", offset, bytes.len())?, self.len);
        if bytes.is_empty() {
            return Ok(true);
        }
        let Some(inner) = Arc::get_mut(&mut self.inner) else {
            return Ok(false);
        };
        let state = inner.state.alone();
        let private = state.is_private();
        if !private && !state.is_in_sync_alone() {
            return Ok(false);
        }
        // SAFETY: `&mut self` keeps every reference through the block away, and nobody but the block has the state; no
        // host view is open.
        let host = unsafe { state.host.bytes_mut(len) };
        if let Some(place) = host.get_mut(range) {
            place.copy_from_slice(bytes);
        }
        if !private {
            state.residency = transition(state.residency, false, true, Event::HostWrite).next;
            inner.state.note();
        }
        Ok(true)
    }

    #[inline]
    fn range(&self, op: &'static str, offset: usize, len: usize) -> Result<Range<usize>> {
        offset
            .checked_add(len)
            .filter(|&end| end <= self.len)
            .map(|end| offset..end)
            .ok_or_else(|| Error::index(op, offset.saturating_add(len.saturating_sub(1)), self.len))
    }
}

/// The lock of the block is held, or nobody else has the block; `range` was checked, and the host copy is current.
#[inline]
fn copy_out(state: &State, len: usize, range: Range<usize>, into: &mut [u8]) {
    // SAFETY: by the contract above no refresh and no write happens, and no host view is open.
    let bytes = unsafe { state.host.bytes(len) };
    if let Some(bytes) = bytes.get(range) {
        into.copy_from_slice(bytes);
    }
}
