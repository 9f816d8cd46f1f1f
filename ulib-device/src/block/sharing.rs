//! Device pointers for code outside: leases, whose end is known, and raw exports, whose end is not.

use std::fmt;
use std::sync::Arc;

use ulib_core::{Action, Error, Event, Result, transition};

use super::Block;
use super::device_copy::DeviceCopy;
use super::host::Count;
use super::state::{Sharing, State, View, Wanted};
use super::transfers::Cause;
use crate::Device;

/// The device copy of a block, lent to somebody who may write it. It may outlive the block, be dropped on any thread,
/// and keeps showing the same memory when the block is resized, moved or released.
#[must_use = "the lease ends when it is dropped"]
pub struct Lease {
    copy: Arc<DeviceCopy>,
    leases: Arc<Count>,
}

impl Lease {
    /// The device address; 0 when there are no bytes.
    #[must_use]
    pub fn ptr(&self) -> u64 {
        self.copy.bytes().ptr()
    }

    /// The length in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.copy.bytes().len()
    }

    /// Whether there are no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.copy.bytes().is_empty()
    }

    /// The device whose memory it is.
    #[must_use]
    pub fn device(&self) -> &Device {
        self.copy.device()
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // No lock and no driver call, unless this was the last holder of the memory.
        self.leases.remove();
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease")
            .field("ptr", &format_args!("{:#x}", self.ptr()))
            .field("len", &self.len())
            .field("device", &self.device())
            .finish_non_exhaustive()
    }
}

/// An address of the device copy whose user is not known to us. It is valid until the block is dropped or its device
/// copy is released; after a resize it shows the old content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawExport {
    /// The device address; 0 when there are no bytes.
    pub ptr: u64,
    /// The ordinal of the device.
    pub ordinal: u32,
}

impl Block {
    /// Lends the device copy to somebody who may write it; uploads first if the host has the newer one, and waits for
    /// our own work on it. The block is shared until the lease is dropped.
    ///
    /// # Errors
    /// Kind `Residency` when the preference is not a device; the reason when the data cannot be there (`Unavailable`,
    /// `OutOfMemory`, `InvalidArgument` for an ordinal that does not exist, `Residency` for a policy that says no);
    /// kind `Busy` while a writable host view is open; else whatever the driver says.
    pub fn lease(&self) -> Result<Lease> {
        let mut state = self.inner.state.lock("lease")?;
        let copy = self.share(&mut state, "lease")?;
        state.leases.add();
        Ok(Lease {
            copy,
            leases: Arc::clone(&state.leases),
        })
    }

    /// Gives the address of the device copy to somebody who may write it and will not say when that ends; uploads
    /// first if the host has the newer one, and waits for our own work on it. The block is shared until
    /// [`end_exports`](Self::end_exports) or [`release_device`](Self::release_device). Asking again costs nothing.
    ///
    /// # Errors
    /// As [`lease`](Self::lease).
    pub fn export(&self) -> Result<RawExport> {
        let mut state = self.inner.state.lock("export")?;
        let copy = self.share(&mut state, "export")?;
        state.raw_exported = true;
        Ok(RawExport {
            ptr: copy.bytes().ptr(),
            ordinal: copy.device().ordinal(),
        })
    }

    /// As [`export`](Self::export) where that takes neither a transfer nor a wait: the data is where it is preferred, our
    /// work on it is over and was waited for, and nobody else has the lock. Asks the driver nothing. `None`, with
    /// nothing changed, where more is needed.
    ///
    /// # Examples
    /// ```
    /// use ulib_device::block::Block;
    ///
    /// let block = Block::zeroed(64)?;
    /// assert_eq!(block.export_at_hand(), None); // The host is preferred.
    /// # Ok::<(), ulib_core::Error>(())
    /// ```
    #[must_use]
    pub fn export_at_hand(&self) -> Option<RawExport> {
        let mut state = self.inner.state.lock_at_hand()?;
        let ordinal = state.resident_on()?.ordinal();
        if state.view != View::None {
            return None;
        }
        let Sharing(shared) = state.unsettled_sharing();
        let step = transition(state.residency, shared, true, Event::DevicePointer);
        let copy = state.device.as_ref()?;
        if step.before != [Action::WaitPending] || !copy.bytes().is_idle() {
            return None;
        }
        copy.set_outsiders(true);
        let ptr = copy.bytes().ptr();
        state.residency = step.next;
        state.refusal = None;
        state.raw_exported = true;
        Some(RawExport { ptr, ordinal })
    }

    /// Whether an address was given away by [`export`](Self::export) and that has not ended.
    #[must_use]
    pub fn is_exported(&self) -> bool {
        let state = self.inner.state.peek("is_exported");
        state.is_ok_and(|state| state.raw_exported)
    }

    fn share(&self, state: &mut State, op: &'static str) -> Result<Arc<DeviceCopy>> {
        state.check_no_view(op)?;
        let target = self.device_or_reason(state, op)?;
        let sharing = state.unsettled_sharing();
        let access = self.access(Cause::Implicit(op));
        let run = state.run(
            Event::DevicePointer,
            sharing,
            &access,
            Some(&target),
            Wanted::Nothing,
        );
        self.noting_refusal(state, run, &target)?;
        let copy = Arc::clone(state.device_copy(op)?);
        copy.set_outsiders(true);
        state.refusal = None;
        Ok(copy)
    }

    /// Says that nobody outside uses an address given away by [`export`](Self::export) any more. What they queued may
    /// still run: the next access that needs the data waits for it. Copies kept from before a resize are freed.
    ///
    /// # Errors
    /// Whatever the driver says when it frees those.
    pub fn end_exports(&self) -> Result<()> {
        let retired = {
            let mut state = self.inner.state.lock("end_exports")?;
            state.raw_exported = false;
            std::mem::take(&mut state.retired)
        };
        close_all(retired)
    }
}

/// Frees copies nobody else holds. The first failure is returned, after trying all.
pub(super) fn close_all(copies: Vec<Arc<DeviceCopy>>) -> Result<()> {
    let mut result: Result<(), Error> = Ok(());
    for copy in copies {
        let closed = Arc::into_inner(copy).map_or(Ok(()), DeviceCopy::close);
        result = result.and(closed);
    }
    result
}
