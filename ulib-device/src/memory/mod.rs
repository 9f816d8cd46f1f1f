//! Device memory: where it comes from and who owns it.
//!
//! [`DeviceBytes`] owns a piece of the memory of one device, [`DeviceMemory`] gives it an element type, and [`Scratch`] is one
//! for the time of an operation. They get it from a [`DeviceMemoryResource`]: the driver ([`DriverResource`]), a stream-ordered pool of the driver's ([`PoolResource`], the
//! default where the device has pools) or one that keeps blocks by size ([`BinnedPool`]), below any stack of adaptors:
//!
//! | adaptor | does |
//! |---|---|
//! | [`Limiting`] | refuses what would exceed a number of bytes in use |
//! | [`Statistics`] | counts calls and bytes, current and peak |
//! | [`Logging`] | hands a record of each call to the `log` crate or a function |
//! | [`Failing`] | makes the n-th allocation fail, for tests |
//!
//! ```no_run
//! use std::sync::Arc;
//! use ulib_device::memory::{DeviceMemory, Limiting, PoolResource};
//! use ulib_device::{Device, Stream};
//!
//! let device = Device::new(0)?;
//! let pool = Arc::new(PoolResource::new(&device)?);
//! device.set_memory_resource(Arc::new(Limiting::new(pool, 1 << 30)))?;
//! let stream = Stream::legacy(&device);
//! let values = DeviceMemory::from_slice(&[1.0_f32, 2.0, 3.0], &stream)?;
//! assert_eq!(values.to_vec(&stream)?, [1.0, 2.0, 3.0]);
//! # Ok::<(), ulib_core::Error>(())
//! ```

mod binned;
mod bins;
mod bytes;
mod driver;
mod failing;
pub(crate) mod guard;
mod held;
mod ipc;
mod kept;
mod limiting;
mod logging;
mod managed;
mod order;
mod pool;
mod pool_handle;
mod query;
mod resource;
mod room;
mod scratch;
mod statistics;
mod typed;
mod uses;
mod waiting;

pub use binned::BinnedPool;
pub(crate) use bins::Bins;
pub use bins::{PoolStatistics, bin_bytes, bin_number};
pub use bytes::{Access, DeviceBytes};
pub use driver::DriverResource;
pub use failing::Failing;
pub use guard::{GUARD_VARIABLE, managed_guard};
pub use held::Held;
pub(crate) use held::HeldCounts;
pub use ipc::{ImportedMemory, MemoryHandle, export_memory, memory_handle};
pub use limiting::Limiting;
pub use logging::{Logging, MemoryCall, MemoryRecord};
pub use managed::{Advice, Attachment, Managed, ManagedRange, managed_range};
pub(crate) use order::{Order, SharedOrder};
pub use pool::{PoolResource, default_resource};
pub use query::{PointerInfo, PointerKind, address_range};
pub use resource::{DeviceMemoryResource, Fresh};
pub use room::{Pool, register_pool, release_pools, with_room};
pub use scratch::Scratch;
pub(crate) use scratch::clear as clear_scratch;
pub use statistics::{MemoryStatistics, Statistics};
pub use typed::DeviceMemory;

use crate::Device;
use ulib_core::{Error, ErrorKind};

/// Puts both byte counts into an out-of-memory error of the driver; other errors stay as they are.
fn out_of_memory(device: &Device, bytes: usize, error: Error) -> Error {
    if !is_out_of_memory(&error) {
        return error;
    }
    let free = device.memory_info().map_or(0, |info| info.free);
    Error::out_of_memory(bytes as u64, free)
}

fn is_out_of_memory(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::OutOfMemory { .. })
}

/// Whether the error only says that the driver is shutting down with the process, which nobody needs to hear.
fn is_shutdown(error: &Error) -> bool {
    let code = crate::sys::CUresult::CUDA_ERROR_DEINITIALIZED
        .0
        .cast_signed();
    matches!(error.kind(), ErrorKind::Driver { code: found, .. } if *found == code)
}
