//! Page-locked ("pinned") host memory.
//!
//! Devices copy to and from pinned memory at the full speed of the bus and without the host, so it is what
//! asynchronous copies need. It is ordinary process memory registered with the driver: a forked child can still read
//! it. Pinning is slow and takes memory from the rest of the machine, so buffers come from a [`PinnedPool`] that keeps
//! a bounded number of bytes for later. Kernels reach it too, which is what a [`Mailbox`] for their results is.
//!
//! [`HostMemory`] is for programs that say themselves how it is locked and work with its address; [`HostPool`] keeps such memory,
//! and a [`Registration`] locks memory that a program has already.
//!
//! ```no_run
//! use ulib_device::pinned::PinnedPool;
//!
//! let mut buffer = PinnedPool::global().acquire(1 << 20)?;
//! buffer.fill(0);
//! # Ok::<(), ulib_core::Error>(())
//! ```

mod binned;
mod bytes;
mod classes;
mod host;
mod mailbox;
mod pool;
mod region;

pub use binned::{HostBlock, HostPool};
pub use bytes::PinnedBytes;
pub use host::{HostFlags, HostMemory, Registration, device_pointer};
pub use mailbox::Mailbox;
pub use pool::{PinnedPool, PinnedUse};

use ulib_core::{Error, ErrorKind};

/// Says of an out-of-memory error of the driver which memory it is about: it names the device's otherwise.
fn not_locked(bytes: usize, error: Error) -> Error {
    let ErrorKind::OutOfMemory { .. } = *error.kind() else {
        return error;
    };
    let needs = bytes as u64;
    Error::new(
        ErrorKind::OutOfMemory { needs, free: 0 },
        format!("out of host memory to page-lock: needs {needs} bytes"),
    )
    .with_source(error)
}
