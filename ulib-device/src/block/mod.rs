//! The coherent block: bytes with a host copy, a device copy, and the truth about both.
//!
//! A [`Block`] lives where its [`PreferredDevice`] says, if it can, and says in words why it is where it is. Host code
//! reads and writes it through guards ([`HostRef`], [`HostMut`]), our kernels through [`DeviceRef`] and [`DeviceMut`],
//! outsiders through pointers that are counted ([`Lease`], [`HostExport`], [`HostView`]) or not ([`RawExport`]). What
//! each access costs is the table of [`ulib_core::residency`]; this module executes it.
//!
//! | concept | here |
//! |---|---|
//! | where it should live, where it is, why | [`Block::set_preferred`], [`Block::location`] |
//! | host bytes | [`Block::read`], [`Block::read_at`], [`Block::write`], [`Block::write_at`] |
//! | a kernel's bytes | [`Block::device_read`], [`Block::device_write`] |
//! | a pointer whose end is known | [`Block::lease`] |
//! | a pointer whose end is not known | [`Block::export`], [`Block::end_exports`] |
//! | what moved | [`Block::transfers`], [`transfers`] |
//!
//! A block is *shared* while somebody outside may write its device copy. Then the device is the only truth: every
//! host read waits for the whole context and fetches what it asks for, every host write is passed through. A block
//! that is not shared fetches once and reads without a lock to speak of afterwards.
//!
//! # When the driver fails
//! An error of kind `Driver` from a read, a move or a release means that nothing has changed. From a write while
//! shared it does not say whether the write happened: the failure may be that of the copy, or of the wait after it,
//! and of work that somebody else queued. The device has the old bytes or the new ones (of a large write, part of each),
//! and what it has is the truth. The same goes for a kernel of ours on a shared block: an error of
//! [`DeviceMut::finish`] may come after the kernel ran. So ask for the content before repeating what is not idempotent.
//!
//! # Examples
//! ```
//! use ulib_core::PreferredDevice;
//! use ulib_device::block::Block;
//!
//! let mut block = Block::from_slice(&[1.0_f32, 2.0, 3.0])?;
//! let there = block.set_preferred(PreferredDevice::Device(0))?;
//! assert_eq!(there, block.is_device_resident());
//! // The same on any machine: with a GPU, or with a sentence that says why not.
//! block.write_at(4, &5.0_f32.to_ne_bytes())?;
//! let numbers = block.read()?;
//! assert_eq!(bytemuck::cast_slice::<u8, f32>(&numbers), [1.0, 5.0, 3.0]);
//! # Ok::<(), ulib_core::Error>(())
//! ```

mod captured;
mod device;
mod device_copy;
mod guards;
mod host;
mod host_copy;
mod lock;
mod placement;
mod resize;
mod sharing;
mod state;
mod target;
pub mod transfers;
mod view;
mod visits;

use std::fmt;
use std::sync::Arc;

use ulib_core::{DeviceStorable, PreferredDevice, Residency, Result, bytemuck};

pub(crate) use captured::{Alive, Captured, Held};
pub use device::{DeviceMut, DeviceRef};
pub use guards::{HostMut, HostRef};
pub use host::out_of_host_memory;
pub use placement::Released;
pub use sharing::{Lease, RawExport};
pub use transfers::Transfers;
pub use view::{HostExport, HostHold, HostView};
pub use visits::{Visit, Visits};

use host::{Count, HostBuf};
use lock::StateLock;
use state::{Access, State};
use transfers::{Cause, Counters};

/// One coherent allocation of bytes.
///
/// Reading, moving and sharing take `&self` and may happen on any thread; what they change is locked inside. Writing
/// and resizing take `&mut self`, so no guard of a reader lives meanwhile. Nothing here panics or waits for another
/// holder: what excludes an access makes it fail with kind `Busy`. Threads wait only for each other's transfers, during
/// which the block is locked; a watch ([`crate::hooks`]) that runs meanwhile must not access the block it watches.
///
/// Host bytes start at a multiple of 64, so [`HostRef`] can be cast to any element type whose alignment is at most that.
/// With an element type of a larger one, `bytemuck::try_cast_slice` says whether the bytes happen to suit it.
///
/// After `fork` the child reads and writes host data as before; data that was only on the device is an error of kind
/// `Forked` there, and destructors leave the driver alone. The same goes for a block that another thread was moving,
/// reading or changing at the moment of the fork, since that thread will never be done: questions about it get the
/// answer that was true before, accesses an error of kind `Forked`. Nothing waits for a thread that is not there.
pub struct Block {
    inner: Arc<Inner>,
    len: usize,
}

/// What views that outlive a borrow of the block reach, too.
struct Inner {
    state: StateLock,
    counters: Counters,
    /// Live read-only exports of any host buffer of the block.
    exports: Arc<Count>,
}

impl Block {
    /// `len` zeroed bytes on the host, preferring the host.
    ///
    /// # Errors
    /// Kind `OutOfMemory` or `Overflow` when the host has not that much memory.
    pub fn zeroed(len: usize) -> Result<Self> {
        Ok(Self::with_host(HostBuf::zeroed(len)?, len))
    }

    /// `len` zeroed bytes with the preference and the policy of this block. Nothing is moved: they are on the host until
    /// an access puts them where they are preferred.
    ///
    /// # Errors
    /// As [`zeroed`](Self::zeroed); kind `Forked` in a forked child when a thread of the parent was using this block.
    pub fn zeroed_like(&self, len: usize) -> Result<Self> {
        let mut state = State::new(HostBuf::zeroed(len)?);
        {
            let like = self.inner.state.peek("zeroed_like")?;
            state.preferred = like.preferred;
            state.policy.clone_from(&like.policy);
        }
        Ok(Self::with_state(state, len))
    }

    /// The bytes of `elements`, on the host, preferring the host.
    ///
    /// # Errors
    /// Kind `OutOfMemory` when the host has not that much memory.
    pub fn from_slice<T: DeviceStorable>(elements: &[T]) -> Result<Self> {
        Self::from_bytes(bytemuck::cast_slice(elements))
    }

    /// A copy of `bytes`, on the host, preferring the host.
    ///
    /// # Errors
    /// Kind `OutOfMemory` when the host has not that much memory.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Ok(Self::with_host(
            HostBuf::copy_of(bytes, bytes.len())?,
            bytes.len(),
        ))
    }

    fn with_host(host: HostBuf, len: usize) -> Self {
        Self::with_state(State::new(host), len)
    }

    fn with_state(state: State, len: usize) -> Self {
        let inner = Inner {
            state: StateLock::new(state),
            counters: Counters::default(),
            exports: Arc::default(),
        };
        Self {
            inner: Arc::new(inner),
            len,
        }
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

    /// Which copy is the newer one, for diagnosis.
    #[must_use]
    pub fn residency(&self) -> Residency {
        match self.inner.state.peek("residency") {
            Ok(state) => state.residency,
            Err(_) => self.inner.state.remembered().residency,
        }
    }

    /// Where the user wants the data.
    #[must_use]
    pub fn preferred(&self) -> PreferredDevice {
        match self.inner.state.peek("preferred") {
            Ok(state) => state.preferred,
            Err(_) => self.inner.state.remembered().preferred,
        }
    }

    /// The transfers of this block so far.
    #[must_use]
    pub fn transfers(&self) -> Transfers {
        self.inner.counters.snapshot()
    }

    /// Whether somebody outside may write the device copy.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        let state = self.inner.state.peek("is_shared");
        state.is_ok_and(|state| state.is_shared())
    }

    /// How many leases of the present device copy live.
    #[must_use]
    pub fn leases(&self) -> usize {
        let state = self.inner.state.peek("leases");
        state.map_or(0, |state| state.leases.get())
    }

    fn access(&self, cause: Cause) -> Access<'_> {
        Access {
            len: self.len,
            counters: &self.inner.counters,
            cause,
        }
    }
}

impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Block")
            .field("len", &self.len)
            .field("preferred", &self.preferred())
            .field("residency", &self.residency())
            .field("shared", &self.is_shared())
            .finish_non_exhaustive()
    }
}
