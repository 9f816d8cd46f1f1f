//! Memory from a stream-ordered pool of our own.
#![allow(unsafe_code, reason = "calls the driver's pool functions")]

use std::fmt;
use std::sync::{Arc, OnceLock, Weak};

use ulib_core::{Error, ErrorKind, Result};

use super::pool_handle::PoolHandle;
use super::room::{Pool, register_pool};
use super::waiting::{Returned, Waiting};
use super::{
    DeviceMemoryResource, DriverResource, Fresh, is_out_of_memory, kept, out_of_memory, scratch,
};
use crate::device::ContextGuard;
use crate::driver::{Driver, check, forked, relaxed_capture};
use crate::graph::Queueing;
use crate::stream::check_wait;
use crate::{Device, Stream};

/// Allocates and frees in stream order from a memory pool that belongs to this resource alone, so other users of the
/// driver's default pool neither see nor disturb it.
///
/// Freed memory stays in the pool for later allocations. What exceeds the release threshold goes back to the driver
/// at the next synchronisation; [`trim`](DeviceMemoryResource::trim) gives everything unused back.
pub struct PoolResource {
    device: Device,
    pool: PoolHandle,
    release_threshold_bytes: u64,
    waiting: Waiting,
    /// Where memory is allocated while the caller's stream is being captured.
    side: OnceLock<Stream>,
}

impl PoolResource {
    /// A new pool that keeps up to a sixteenth of the device's memory when unused: enough to make the usual
    /// allocate-and-free loops cheap, little enough to leave room for other libraries' pools.
    ///
    /// # Errors
    ///
    /// `Unavailable`, saying why, when the device or the driver has no pools; else whatever the driver says.
    pub fn new(device: &Device) -> Result<Self> {
        Self::with_release_threshold(device, device.total_bytes() / 16)
    }

    /// A new pool that keeps up to `threshold_bytes` of unused memory.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn with_release_threshold(device: &Device, threshold_bytes: u64) -> Result<Self> {
        Ok(Self {
            device: device.clone(),
            pool: PoolHandle::take(device, threshold_bytes)?,
            release_threshold_bytes: threshold_bytes,
            waiting: Waiting::default(),
            side: OnceLock::new(),
        })
    }

    /// The pool for all who share it. Unlike others it gives way when somebody else runs out of memory.
    #[must_use]
    pub fn shared(self) -> Arc<Self> {
        let pool = Arc::new(self);
        let weak: Weak<Self> = Arc::downgrade(&pool);
        register_pool(weak);
        pool
    }

    /// How many unused bytes the pool keeps across synchronisations.
    #[must_use]
    pub fn release_threshold_bytes(&self) -> u64 {
        self.release_threshold_bytes
    }

    /// Bytes the pool has from the driver, used or not.
    ///
    /// # Errors
    ///
    /// Whatever the driver says.
    pub fn reserved_bytes(&self) -> Result<u64> {
        self.pool.reserved_bytes()
    }

    /// Bytes of the pool that are allocated now.
    ///
    /// # Errors
    ///
    /// Whatever the driver says.
    pub fn used_bytes(&self) -> Result<u64> {
        Driver::ready()?;
        self.free_waiting();
        self.pool.used_bytes()
    }

    fn try_allocate(&self, bytes: usize, stream: &Stream) -> Result<Fresh> {
        let context = self.device.bind()?;
        let none_begins = Queueing::new();
        if !stream.is_capturing_in(&context)? {
            let ptr = self.allocate_on(bytes, stream, &context)?;
            let anywhere = false;
            return Ok(Fresh { ptr, anywhere });
        }
        drop(none_begins);
        // The stream is being captured, or is the legacy one while a stream that waits for it is: an allocation on it
        // would become part of the graph, or fail.
        let side = self.side_stream()?;
        let ptr = self.allocate_on(bytes, side, &context)?;
        // Once this is done, the memory may be used on any stream.
        match side.synchronize() {
            Ok(()) => Ok(Fresh {
                ptr,
                anywhere: true,
            }),
            Err(error) => {
                let stream = side.clone();
                self.give_back(Returned { ptr, stream }, &context)
                    .and(Err(error))
            }
        }
    }

    /// The guard is that of the pool's device.
    fn allocate_on(&self, bytes: usize, stream: &Stream, _context: &ContextGuard) -> Result<u64> {
        let table = Driver::ready()?.table();
        let mut ptr = 0;
        let (pool, handle) = (self.pool.raw.0, stream.handle());
        // SAFETY: pool and stream are live handles of this device, whose context is current; `ptr` is valid for the
        // one value written.
        let status = relaxed_capture(|| unsafe {
            (self.pool.calls.allocate)(&raw mut ptr, bytes, pool, handle)
        });
        check(table, "cuMemAllocFromPoolAsync", status)?;
        Ok(ptr)
    }

    fn release_unused(&self) -> Result<()> {
        self.pool.release_unused()
    }

    fn side_stream(&self) -> Result<&Stream> {
        if let Some(side) = self.side.get() {
            return Ok(side);
        }
        let made = relaxed_capture(|| Stream::non_blocking(&self.device))?;
        Ok(self.side.get_or_init(|| made))
    }

    /// The guard is that of the pool's device.
    fn free(&self, returned: &Returned, _context: &ContextGuard) -> Result<()> {
        let table = Driver::ready()?.table();
        let handle = returned.stream.handle();
        // SAFETY: by the contract of `deallocate` the pointer came from this pool and is freed once; its uses are
        // ordered before what is queued here on a live stream of the current context.
        let status = relaxed_capture(|| unsafe { (self.pool.calls.free)(returned.ptr, handle) });
        check_wait(table, "cuMemFreeAsync", status)
    }

    /// Frees, or keeps for later what cannot be freed now.
    fn give_back(&self, returned: Returned, context: &ContextGuard) -> Result<()> {
        let Err(error) = self.free(&returned, context) else {
            return Ok(());
        };
        self.waiting.push(returned);
        match error.kind() {
            // It ends with the capture that is in the way.
            ErrorKind::Busy => Ok(()),
            _ => Err(error),
        }
    }

    fn free_waiting(&self) {
        self.waiting.retry(|returned| {
            self.device.bind().is_ok_and(|context| {
                let _none_begins = Queueing::new();
                matches!(returned.stream.is_capturing_in(&context), Ok(false))
                    && self.free(returned, &context).is_ok()
            })
        });
    }
}

// SAFETY: the driver's pool aligns to 256 bytes at least, gives no address out twice, allocates and frees in the order
// of the stream given, or on a side stream that was waited for; frees it refuses stay in `waiting`.
unsafe impl DeviceMemoryResource for PoolResource {
    fn device(&self) -> &Device {
        &self.device
    }

    fn allocate(&self, bytes: usize, stream: &Stream) -> Result<u64> {
        self.allocate_fresh(bytes, stream).map(|fresh| fresh.ptr)
    }

    fn allocate_fresh(&self, bytes: usize, stream: &Stream) -> Result<Fresh> {
        if bytes == 0 {
            return Ok(Fresh {
                ptr: 0,
                anywhere: true,
            });
        }
        // Before any lock, which in a forked child may be held by a thread that does not exist there.
        Driver::ready()?;
        self.free_waiting();
        let first = match self.try_allocate(bytes, stream) {
            Err(error) if is_out_of_memory(&error) => error,
            outcome => return outcome,
        };
        // What lies unused in the pool may stand in the way as it is. Failing that, memory freed on other streams
        // becomes available once their work is done.
        for make_room in [Self::release_unused, Self::trim] {
            if make_room(self).is_err() {
                return Err(out_of_memory(&self.device, bytes, first));
            }
            match self.try_allocate(bytes, stream) {
                Err(error) if is_out_of_memory(&error) => {}
                outcome => return outcome,
            }
        }
        Err(out_of_memory(&self.device, bytes, first))
    }

    unsafe fn deallocate(&self, ptr: u64, _bytes: usize, stream: &Stream) -> Result<()> {
        if ptr == 0 {
            return Ok(());
        }
        self.free_waiting();
        let returned = Returned {
            ptr,
            stream: stream.clone(),
        };
        let context = match self.device.bind() {
            Ok(context) => context,
            Err(error) => {
                self.waiting.push(returned);
                return Err(error);
            }
        };
        let _none_begins = Queueing::new();
        match stream.is_capturing_in(&context) {
            Ok(false) => self.give_back(returned, &context),
            // Freeing on a captured stream would become part of the graph.
            Ok(true) => {
                self.waiting.push(returned);
                Ok(())
            }
            Err(error) => {
                self.waiting.push(returned);
                Err(error)
            }
        }
    }

    fn trim(&self) -> Result<()> {
        Driver::ready()?;
        scratch::clear(&self.device);
        kept::retry();
        self.free_waiting();
        self.device.synchronize()?;
        self.release_unused()
    }

    fn name(&self) -> &'static str {
        "pool"
    }
}

impl Drop for PoolResource {
    fn drop(&mut self) {
        if forked() {
            return;
        }
        // The pool goes after its last frees, which the driver may finish later.
        self.free_waiting();
    }
}

impl Pool for PoolResource {
    fn give_way(&self) -> bool {
        let Ok(before) = self.reserved_bytes() else {
            return false;
        };
        // What the driver has taken back, others may have; what streams still use it takes after a wait.
        [Self::release_unused, Self::trim]
            .into_iter()
            .any(|release| {
                release(self).is_ok() && self.reserved_bytes().is_ok_and(|after| after < before)
            })
    }
}

impl fmt::Debug for PoolResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PoolResource")
            .field("device", &self.device)
            .field("release_threshold_bytes", &self.release_threshold_bytes)
            .finish_non_exhaustive()
    }
}

/// The resource a device starts with: a [`PoolResource`], or a [`DriverResource`] where pools are missing, with the
/// reason why.
#[must_use]
pub fn default_resource(device: &Device) -> (Arc<dyn DeviceMemoryResource>, Option<Error>) {
    match PoolResource::new(device) {
        Ok(pool) => (pool.shared(), None),
        Err(reason) => {
            log::info!(
                "device {}: memory comes straight from the driver: {reason}",
                device.ordinal()
            );
            (Arc::new(DriverResource::new(device)), Some(reason))
        }
    }
}
