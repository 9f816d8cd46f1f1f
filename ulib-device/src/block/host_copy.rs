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
        Ok(())
    }

    /// A buffer without guards to put the content into: the one that exports show, the present one, or a fresh one.
    fn writable_buffer(&self, device: &Device, len: usize) -> Result<Arc<HostBuf>> {
        let shown = self
            .exported
            .as_ref()
            .filter(|shown| shown.exports.get() > 0);
        if let Some(free) = shown
            .into_iter()
            .chain([&self.host])
            .find(|buffer| buffer.guards.get() == 0)
        {
            return Ok(Arc::clone(free));
        }
        Ok(Arc::new(self.host.sibling(device, len)?))
    }

    fn swap_host(&mut self, host: Arc<HostBuf>) {
        if self
            .exported
            .as_ref()
            .is_some_and(|shown| Arc::ptr_eq(shown, &host) || shown.exports.get() == 0)
        {
            self.exported = None;
        }
        if !Arc::ptr_eq(&self.host, &host) {
            let before = std::mem::replace(&mut self.host, host);
            if before.exports.get() > 0 && self.exported.is_none() {
                self.exported = Some(before);
            }
        }
    }

    /// Before host code writes a current host copy: moves it back to the buffer that exports show, if it had to leave.
    /// The caller has the block exclusively.
    pub(super) fn rejoin_exported(&mut self, len: usize) {
        let shown = self
            .exported
            .as_ref()
            .filter(|shown| shown.exports.get() > 0 && shown.guards.get() == 0);
        if let Some(shown) = shown.cloned() {
            // SAFETY: the lock is held for writing and `shown` has no guards, so the destination is exclusive; the
            // source is another buffer, which nothing writes meanwhile.
            unsafe { shown.bytes_mut(len).copy_from_slice(self.host.bytes(len)) };
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
