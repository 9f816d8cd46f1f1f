//! Which host buffer a block uses: where a refresh goes, and which kind of memory it is.
#![allow(
    unsafe_code,
    reason = "copies between raw host buffers and the device under the lock of the block"
)]

use std::sync::Arc;

use ulib_core::Result;

use super::host::{HostBuf, PINNED_SIZES};
use super::state::{Access, State, download_part};
use crate::Device;

/// A host buffer that is not the host copy any more, and that read-only exports show.
#[derive(Debug)]
pub(super) struct Shown {
    pub(super) buffer: Arc<HostBuf>,
    /// Whether the host copy has changed since this got its content.
    stale: bool,
}

impl Shown {
    /// Whether it can be given the content of the host copy, and lacks it.
    pub(super) fn is_due(&self) -> bool {
        self.stale && self.is_free()
    }

    /// Whether exports show it and no Rust guard keeps its content.
    fn is_free(&self) -> bool {
        self.buffer.exports.get() > 0 && self.buffer.guards.get() == 0
    }
}

impl State {
    /// Copies the device copy home. Memory under a Rust guard is never overwritten: then a fresh buffer takes over.
    pub(super) fn refresh(&mut self, access: &Access<'_>) -> Result<()> {
        let copy = Arc::clone(self.device_copy("download")?);
        let into = self.writable_buffer(copy.device(), access.len)?;
        // SAFETY: the lock of the block is held for writing and the buffer has no guards, so none can come; no other
        // reference into it exists in this crate, see the rule at `HostBuf`.
        let bytes = unsafe { into.bytes_mut(access.len) };
        download_part(&copy, 0, bytes, access.counters)?;
        self.swap_host(into);
        self.show_changes(access.len);
        Ok(())
    }

    /// A buffer without guards to put the content into: one that exports show, the present one, or a fresh one.
    fn writable_buffer(&self, device: &Device, len: usize) -> Result<Arc<HostBuf>> {
        if self.host.guards.get() == 0 && self.host.exports.get() > 0 {
            return Ok(Arc::clone(&self.host));
        }
        if let Some(shown) = self.exported.iter().find(|shown| shown.is_free()) {
            return Ok(Arc::clone(&shown.buffer));
        }
        if self.host.guards.get() == 0 {
            return Ok(Arc::clone(&self.host));
        }
        Ok(Arc::new(self.host.sibling(device, len)?))
    }

    fn swap_host(&mut self, host: Arc<HostBuf>) {
        if Arc::ptr_eq(&self.host, &host) {
            return;
        }
        self.exported
            .retain(|shown| !Arc::ptr_eq(&shown.buffer, &host));
        let buffer = std::mem::replace(&mut self.host, host);
        if buffer.exports.get() > 0 {
            let stale = true;
            self.exported.push(Shown { buffer, stale });
        }
    }

    /// Gives the content of the host copy, which has changed, to the other buffers that exports show. Those under a
    /// Rust guard get it with the first access after that.
    pub(super) fn show_changes(&mut self, len: usize) {
        for shown in &mut self.exported {
            shown.stale = true;
        }
        self.show(len);
    }

    /// Gives the content of the host copy to the other buffers that exports show and that lack it.
    pub(super) fn show(&mut self, len: usize) {
        self.exported.retain(|shown| shown.buffer.exports.get() > 0);
        for shown in &mut self.exported {
            if shown.is_due() {
                // SAFETY: the lock is held for writing and the buffer has no guards, so the destination is exclusive;
                // the source is another buffer, since the host copy is never in the list, and nothing writes it.
                unsafe {
                    shown
                        .buffer
                        .bytes_mut(len)
                        .copy_from_slice(self.host.bytes(len));
                }
                shown.stale = false;
            }
        }
    }

    /// Before host code writes a current host copy: moves it back to a buffer that exports show, if it had to leave.
    /// The caller has the block exclusively. What other buffers show has to be brought up to date afterwards.
    pub(super) fn rejoin_exported(&mut self, len: usize) {
        self.show(len);
        if self.host.exports.get() == 0
            && let Some(shown) = self.exported.iter().find(|shown| shown.is_free())
        {
            let shown = Arc::clone(&shown.buffer);
            self.swap_host(shown);
        }
    }

    /// Small host copies of blocks that live on a device come from pinned memory, which copies at full speed. Where
    /// that cannot be had, the ordinary one stays.
    pub(super) fn host_to_pinned(&mut self, device: &Device, len: usize) {
        let host = &self.host;
        let fixed = host.is_pinned()
            || host.guards.get() > 0
            || host.exports.get() > 0
            || host.holds.get() > 0;
        if fixed || !PINNED_SIZES.contains(&len) {
            return;
        }
        if let Ok(pinned) = HostBuf::pinned(device, len) {
            // SAFETY: nobody else knows the fresh buffer; the lock keeps writers away from the old one.
            unsafe { pinned.bytes_mut(len).copy_from_slice(host.bytes(len)) };
            self.host = Arc::new(pinned);
        }
    }

    /// Undoes [`host_to_pinned`](Self::host_to_pinned) when the block goes to live on the host.
    pub(super) fn host_to_ordinary(&mut self, len: usize) {
        let host = &self.host;
        if !host.is_pinned()
            || host.guards.get() > 0
            || host.exports.get() > 0
            || host.holds.get() > 0
        {
            return;
        }
        // SAFETY: the lock of the block is held for writing, so nothing writes the host copy meanwhile.
        if let Ok(ordinary) = HostBuf::copy_of(unsafe { host.bytes(len) }, len) {
            self.host = Arc::new(ordinary);
        }
    }
}
