//! Changing the number of bytes, and copying a block.
#![allow(
    unsafe_code,
    reason = "moves bytes between raw host buffers under the lock of the block"
)]

use std::sync::Arc;

use ulib_core::{Error, ErrorKind, Event, Reason, Residency, Result};

use super::Block;
use super::device_copy::DeviceCopy;
use super::host::HostBuf;
use super::state::{State, Wanted};
use super::transfers::{Cause, Direction, admit};
use crate::copy;

impl Block {
    /// Changes the length to `len` bytes. What fits keeps its content, new bytes are zero, and the host has the newer
    /// copy afterwards. Leases and raw exports keep seeing the old device copy.
    ///
    /// # Errors
    /// Kind `Busy` while host exports or a writable host view live, `OutOfMemory` when the host has not that much
    /// memory, else as [`read`](Self::read). The block stays as it was.
    pub fn resize(&mut self, len: usize) -> Result<()> {
        self.grow("resize", len, &[])
    }

    /// Adds `bytes` at the end; room grows by doubling, so that many small calls cost little. As
    /// [`resize`](Self::resize) otherwise.
    ///
    /// # Errors
    /// As [`resize`](Self::resize); kind `Overflow` when the length would not fit.
    pub fn append(&mut self, bytes: &[u8]) -> Result<()> {
        let len = self
            .len
            .checked_add(bytes.len())
            .ok_or_else(|| Error::overflow("append", "the length"))?;
        self.grow("append", len, bytes)
    }

    /// Removes all bytes, as [`resize`](Self::resize) to 0.
    ///
    /// # Errors
    /// As [`resize`](Self::resize).
    pub fn clear(&mut self) -> Result<()> {
        self.resize(0)
    }

    /// Replaces the content by `bytes`, of any length. With the same length this is
    /// [`overwrite`](Self::overwrite), which also reaches those who share the device copy; with another one it is a
    /// resize that fetches nothing.
    ///
    /// # Errors
    /// As [`resize`](Self::resize); after an error of the driver while shared and with the same length, as
    /// [`HostMut::commit`](super::HostMut::commit).
    pub fn replace(&mut self, bytes: impl AsRef<[u8]>) -> Result<()> {
        let bytes = bytes.as_ref();
        if bytes.len() == self.len {
            let mut all = self.overwrite()?;
            all.copy_from_slice(bytes);
            return all.commit();
        }
        let mut state = self.inner.state.lock("replace")?;
        self.check_resizable(&mut state, "replace")?;
        let fresh = Arc::new(HostBuf::copy_of(bytes, bytes.len())?);
        let sharing = state.unsettled_sharing();
        state.run(
            Event::Replace,
            sharing,
            &self.access(Cause::Implicit("replace")),
            None,
            Wanted::Nothing,
        )?;
        state.host = fresh;
        state.exported.clear();
        drop(state);
        self.len = bytes.len();
        Ok(())
    }

    /// Makes the length `len`, with `tail` at the end and zeros before it.
    fn grow(&mut self, op: &'static str, len: usize, tail: &[u8]) -> Result<()> {
        if len == self.len {
            return Ok(());
        }
        let mut state = self.inner.state.lock(op)?;
        self.check_resizable(&mut state, op)?;
        // All that can fail comes first.
        let fresh =
            if len > state.host.capacity() || state.host.guards.get() > 0 || state.host.is_pinned()
            {
                let room = if tail.is_empty() {
                    len
                } else {
                    len.max(self.len.saturating_mul(2)).max(64)
                };
                Some(HostBuf::zeroed(room)?)
            } else if len < state.host.capacity() / 4 {
                Some(HostBuf::zeroed(len)?)
            } else {
                None
            };
        let sharing = state.settle_sharing(op)?;
        state.run(
            Event::Resize,
            sharing,
            &self.access(Cause::Implicit(op)),
            None,
            Wanted::Nothing,
        )?;
        let kept = len.min(self.len);
        let host = match fresh {
            Some(fresh) => {
                // SAFETY: nobody else knows the fresh buffer, which has room for `len` bytes; `&mut self` and the lock
                // keep writers away from the old one.
                unsafe {
                    fresh
                        .bytes_mut(kept)
                        .copy_from_slice(state.host.bytes(kept))
                };
                Arc::new(fresh)
            }
            None => {
                // SAFETY: no export and no view lives, which was checked above, and no guard, or the buffer would be a
                // fresh one; `&mut self` and the lock keep every other reference away.
                let all = unsafe { state.host.bytes_mut(len) };
                all[kept..len - tail.len()].fill(0);
                Arc::clone(&state.host)
            }
        };
        // The bytes between are zero already: those of a fresh buffer are not touched, so that they cost no memory
        // before somebody does.
        // SAFETY: nobody else knows the fresh buffer, or nobody has a reference into the old one, as above. It has room
        // for `len` bytes.
        let all = unsafe { host.bytes_mut(len) };
        all[len - tail.len()..].copy_from_slice(tail);
        state.host = host;
        state.exported.clear();
        drop(state);
        self.len = len;
        Ok(())
    }

    fn check_resizable(&self, state: &mut State, op: &'static str) -> Result<()> {
        state.check_no_view(op)?;
        match self.inner.exports.get() {
            0 => Ok(()),
            1 => Err(Error::busy(op, "a host view is in use")),
            n => Err(Error::busy(op, format_args!("{n} host views are in use"))),
        }
    }

    /// Another block with the same content, preference and policy. Where the device has the newest content the copy
    /// is made on the device, if there is room; nothing crosses the bus then.
    ///
    /// # Errors
    /// Kind `OutOfMemory` when the host has not that much memory, else as [`read`](Self::read).
    pub fn try_clone(&self) -> Result<Self> {
        const OP: &str = "try_clone";
        let mut state = self.inner.state.lock(OP)?;
        state.check_no_view(OP)?;
        let shared = state.settle_sharing(OP)?.0;
        let host_current = state.residency.is_host_current();
        let host = if host_current {
            // SAFETY: the lock is held and no view is open, so nothing writes the host copy meanwhile.
            HostBuf::copy_of(unsafe { state.host.bytes(self.len) }, self.len)?
        } else {
            HostBuf::zeroed(self.len)?
        };
        let mut copied = State::new(host);
        copied.preferred = state.preferred;
        copied.policy.clone_from(&state.policy);
        copied.refusal.clone_from(&state.refusal);
        let source = state
            .device
            .as_ref()
            .filter(|_| state.residency.is_device_current() && !crate::driver::forked());
        if let Some(source) = source {
            if shared {
                source.device().synchronize()?;
            }
            match self.clone_on_device(source, shared) {
                Ok(copy) => {
                    copied.device = Some(Arc::new(copy));
                    copied.residency = if host_current {
                        Residency::InSync
                    } else {
                        Residency::DeviceNewer
                    };
                }
                Err(error) => {
                    let ErrorKind::OutOfMemory { needs, free } = *error.kind() else {
                        return Err(error);
                    };
                    copied.refusal = Some(Reason::OutOfMemory { needs, free });
                    if !host_current {
                        self.clone_to_host(source, &copied.host)?;
                    }
                }
            }
        } else if !host_current {
            return Err(Error::forked(OP));
        }
        Ok(Self::with_state(copied, self.len))
    }

    fn clone_on_device(&self, source: &DeviceCopy, shared: bool) -> Result<DeviceCopy> {
        let copy = DeviceCopy::allocate(source.device(), self.len)?;
        let stream = copy.bytes().stream();
        copy::copy_device(copy.bytes(), 0, source.bytes(), 0, self.len, stream)?;
        if shared {
            stream.synchronize()?;
        }
        Ok(copy)
    }

    fn clone_to_host(&self, source: &DeviceCopy, host: &HostBuf) -> Result<()> {
        admit(Cause::Implicit("try_clone"), Direction::Down, self.len)?;
        // SAFETY: the buffer was just made and is known to this call alone.
        let into = unsafe { host.bytes_mut(self.len) };
        copy::download(source.bytes(), 0, into, source.bytes().stream())?;
        self.inner.counters.count(Direction::Down, self.len);
        Ok(())
    }
}
