//! A pool that keeps blocks by size.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use ulib_core::{Error, Result};

use super::bins::{Bins, PoolStatistics, bin_bytes, bin_number};
use super::order::{On, Use};
use super::room::{Pool, register_pool, release_pools};
use super::{
    DeviceBytes, DeviceMemoryResource, DriverResource, Fresh, is_out_of_memory, kept, scratch,
};
use crate::driver::{Driver, forked};
use crate::{Device, Stream};

/// Keeps what is given back, in bins of similar sizes, and hands it out again without asking anybody: allocating and freeing
/// costs two short locks.
///
/// A block that comes back is in use until the work that was queued on its stream has finished. Handed out on the same stream it
/// needs no wait; on another one, that stream waits for an event. So no block is ever in two pieces of work at a time.
///
/// It keeps everything until [`free_held`](Self::free_held), [`stop_holding`](Self::stop_holding) or
/// [`trim`](DeviceMemoryResource::trim), or until an allocation of this crate on the device finds no room. A
/// [limit](Self::set_limit) bounds what it has from the resource below, handed out or not.
///
/// # Examples
/// ```no_run
/// use std::sync::Arc;
/// use ulib_device::memory::{BinnedPool, DeviceBytes};
/// use ulib_device::{Device, Stream};
///
/// # fn main() -> ulib_core::Result<()> {
/// let stream = Stream::legacy(&Device::new(0)?);
/// let pool = BinnedPool::new(stream.device());
/// for _ in 0..1000 {
///     // The memory of the first round serves all others.
///     let block = DeviceBytes::allocate_from(Arc::clone(&pool) as _, &stream, 1000)?;
///     // ... work on `stream` ...
/// }
/// assert_eq!(pool.statistics().managed_bytes, 1023);
/// # Ok(())
/// # }
/// ```
pub struct BinnedPool {
    below: Arc<dyn DeviceMemoryResource>,
    bins: Mutex<Bins<Block>>,
    /// Whether `bins` keep what comes back, to be asked without the lock.
    holding: AtomicBool,
}

/// A block that is kept, with the stream of the work that used it last.
#[derive(Debug)]
struct Block {
    ptr: u64,
    last: On,
}

impl BinnedPool {
    /// A pool over the driver's own allocations.
    #[must_use]
    pub fn new(device: &Device) -> Arc<Self> {
        Self::over(DriverResource::shared(device))
    }

    /// A pool over another resource.
    #[must_use]
    pub fn over(below: Arc<dyn DeviceMemoryResource>) -> Arc<Self> {
        let pool = Arc::new(Self {
            below,
            bins: Mutex::default(),
            holding: AtomicBool::new(true),
        });
        let weak: Weak<Self> = Arc::downgrade(&pool);
        register_pool(weak);
        pool
    }

    /// What it has done and holds.
    #[must_use]
    pub fn statistics(&self) -> PoolStatistics {
        self.bins().counts
    }

    /// The largest number of bytes that it may have from the resource below; `None` for no limit.
    #[must_use]
    pub fn limit(&self) -> Option<u64> {
        self.bins().limit_bytes
    }

    /// Sets the [limit](Self::limit). What is kept beyond it is given back; what is handed out stays.
    pub fn set_limit(&self, bytes: Option<u64>) {
        self.bins().limit_bytes = bytes;
        self.give_back_while(|bins| bytes.is_some_and(|limit| bins.counts.managed_bytes > limit));
    }

    /// Gives all blocks that are kept back to the resource below. Failures are on record in [`Device::errors`].
    pub fn free_held(&self) {
        self.give_back_while(|_| true);
    }

    /// Gives all blocks back, and from now on every block as soon as it comes back. There is no way back.
    pub fn stop_holding(&self) {
        self.holding.store(false, Ordering::Relaxed);
        self.bins().holding = false;
        self.free_held();
    }

    /// As [`DeviceBytes::allocate_from`], but that no bytes are a block as well.
    ///
    /// # Errors
    /// `InvalidArgument` when `stream` is of another device, else as [`allocate`](DeviceMemoryResource::allocate).
    pub fn allocate_bytes(self: &Arc<Self>, len: usize, stream: &Stream) -> Result<DeviceBytes> {
        stream.check_device("BinnedPool", self.device())?;
        kept::retry();
        let fresh = self.take(len, stream)?;
        Ok(DeviceBytes::owned(
            Arc::clone(self) as _,
            stream,
            fresh,
            len,
        ))
    }

    /// [`allocate_bytes`](Self::allocate_bytes), if a block is kept that needs no wait on `stream`, and so no call of the driver.
    #[must_use]
    pub fn reuse_bytes(self: &Arc<Self>, len: usize, stream: &Stream) -> Option<DeviceBytes> {
        if forked() || stream.device() != self.device() {
            return None;
        }
        let ptr = self.reuse(bin_number(len as u64), len, stream)?;
        let fresh = ordered(ptr);
        Some(DeviceBytes::owned(
            Arc::clone(self) as _,
            stream,
            fresh,
            len,
        ))
    }

    /// The address of a block for `bytes` bytes, of which zero are one, if one is kept that needs no wait on `stream`.
    fn reuse(&self, bin: u32, bytes: usize, stream: &Stream) -> Option<u64> {
        // Dropped without the lock, since a stream may go with it.
        let block;
        let mut bins = self.bins();
        block = bins.take(bin, false, |block| block.last.is(stream))?;
        bins.started(bytes as u64, true);
        Some(block.ptr)
    }

    /// Makes `stream` wait for a block of other streams; `None` where there is none, or none that can be waited for.
    fn reuse_after(&self, bin: u32, bytes: usize, stream: &Stream) -> Option<u64> {
        let Block { ptr, last } = self.bins().take(bin, true, |_| false)?;
        let mut last = Use::from(last);
        let waits = last.before(stream);
        let mut bins = self.bins();
        match waits {
            Ok(()) => {
                bins.started(bytes as u64, true);
                Some(ptr)
            }
            Err(reason) => {
                // A capture is in the way, or the driver is broken, as whoever calls it next will hear.
                log::debug!(
                    "{}: a block that was kept is left alone: {reason}",
                    self.device()
                );
                let kept = bins.keep(bin, Block { ptr, last: last.on });
                drop(bins);
                if let Err(block) = kept {
                    self.give_back(bin, block);
                }
                None
            }
        }
    }

    /// As [`allocate_fresh`](DeviceMemoryResource::allocate_fresh), but that no bytes are a block as well.
    ///
    /// # Errors
    /// As [`allocate`](DeviceMemoryResource::allocate).
    pub fn take(&self, bytes: usize, stream: &Stream) -> Result<Fresh> {
        // Before the lock, which in a forked child may be held by a thread that does not exist there.
        Driver::ready()?;
        let bin = bin_number(bytes as u64);
        if let Some(ptr) = self.reuse(bin, bytes, stream) {
            return Ok(ordered(ptr));
        }
        if let Some(ptr) = self.reuse_after(bin, bytes, stream) {
            return Ok(ordered(ptr));
        }
        let size = usize::try_from(bin_bytes(bin))
            .map_err(|_| Error::overflow("BinnedPool", format_args!("{bytes} bytes")))?;
        self.reserve(bin, bytes)?;
        let made = match self.below.allocate_fresh(size, stream) {
            Err(error) if is_out_of_memory(&error) && release_pools(self.device()) => {
                self.below.allocate_fresh(size, stream)
            }
            outcome => outcome,
        };
        let mut bins = self.bins();
        bins.unreserve(bin);
        match made {
            Ok(fresh) => {
                bins.made(bin);
                bins.started(bytes as u64, false);
                Ok(fresh)
            }
            Err(error) => {
                drop(bins);
                Err(asked_for(bytes, error))
            }
        }
    }

    /// Counts a new block, after what is kept has made room for it below the limit.
    fn reserve(&self, bin: u32, bytes: usize) -> Result<()> {
        loop {
            let mut bins = self.bins();
            if bins.reserve(bin) {
                return Ok(());
            }
            let Some((of, block)) = bins.take_largest() else {
                let (limit, used) = (bins.limit_bytes, bins.counts.managed_bytes);
                drop(bins);
                let limit = limit.unwrap_or(u64::MAX);
                let error = Error::out_of_memory(bytes as u64, limit.saturating_sub(used));
                return Err(error.context(format!("a pool limited to {limit} bytes")));
            };
            drop(bins);
            self.give_back(of, block);
        }
    }

    /// Gives blocks back, the largest first, while `more` says so. Answers whether there were any.
    fn give_back_while(&self, more: impl Fn(&Bins<Block>) -> bool) -> bool {
        let mut some = false;
        loop {
            let taken = {
                let mut bins = self.bins();
                if more(&bins) {
                    bins.take_largest()
                } else {
                    None
                }
            };
            let Some((bin, block)) = taken else {
                return some;
            };
            some = true;
            self.give_back(bin, block);
        }
    }

    /// Gives a block that is counted no more to the resource below.
    fn give_back(&self, bin: u32, block: Block) {
        let freed = self.free_below(block.ptr, bin, block.last.stream());
        if let Err(error) = freed {
            kept::record(self.device(), error);
        }
    }

    fn free_below(&self, ptr: u64, bin: u32, stream: &Stream) -> Result<()> {
        // It fits, since the block was allocated with it.
        let size = bin_bytes(bin) as usize;
        // SAFETY: `ptr` came from `allocate(size, ..)` of the resource below, in `take`, and its owner gave it up, or it was
        // taken out of the bins: it is here once. Uses on other streams are ordered before `stream` by the promise that
        // `deallocate` was given.
        #[allow(unsafe_code, reason = "frees what the pool owns")]
        unsafe {
            self.below.deallocate(ptr, size, stream)
        }
    }

    fn bins(&self) -> MutexGuard<'_, Bins<Block>> {
        self.bins.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A block that was used before.
fn ordered(ptr: u64) -> Fresh {
    Fresh {
        ptr,
        anywhere: false,
    }
}

/// The error with the number of bytes that the caller asked for, which the block's own are more than.
fn asked_for(bytes: usize, error: Error) -> Error {
    match *error.kind() {
        ulib_core::ErrorKind::OutOfMemory { free, .. } => Error::out_of_memory(bytes as u64, free),
        _ => error,
    }
}

// SAFETY: blocks come from the resource below, which aligns them, and are as large as their bin, which is at least as large as
// what was asked for. One is in the bins, or handed out, never both, and is handed out on a stream that is ordered after the
// work queued on the stream it came back on.
#[allow(unsafe_code, reason = "promises what callers rely on")]
unsafe impl DeviceMemoryResource for BinnedPool {
    fn device(&self) -> &Device {
        self.below.device()
    }

    fn allocate(&self, bytes: usize, stream: &Stream) -> Result<u64> {
        if bytes == 0 {
            return Ok(0);
        }
        self.take(bytes, stream).map(|fresh| fresh.ptr)
    }

    fn allocate_fresh(&self, bytes: usize, stream: &Stream) -> Result<Fresh> {
        match bytes {
            0 => Ok(ordered(0)),
            _ => self.take(bytes, stream),
        }
    }

    unsafe fn deallocate(&self, ptr: u64, bytes: usize, stream: &Stream) -> Result<()> {
        if ptr == 0 {
            return Ok(());
        }
        let bin = bin_number(bytes as u64);
        let block = Block {
            ptr,
            last: On::new(stream),
        };
        let mut bins = self.bins();
        bins.ended(bytes as u64);
        let kept = bins.keep(bin, block);
        drop(bins);
        match kept {
            Ok(()) => Ok(()),
            Err(block) => self.free_below(block.ptr, bin, stream),
        }
    }

    fn trim(&self) -> Result<()> {
        Driver::ready()?;
        scratch::clear(self.device());
        kept::retry();
        self.free_held();
        self.below.trim()
    }

    fn keeps_what_it_gets(&self) -> bool {
        self.holding.load(Ordering::Relaxed)
    }

    fn name(&self) -> &'static str {
        "binned"
    }
}

impl Pool for BinnedPool {
    fn give_way(&self) -> bool {
        self.give_back_while(|_| true)
    }
}

impl Drop for BinnedPool {
    fn drop(&mut self) {
        // What is handed out holds the pool, so that all there is is kept.
        if !forked() {
            self.free_held();
        }
    }
}

impl fmt::Debug for BinnedPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("BinnedPool");
        debug.field("below", &self.below);
        if let Ok(bins) = self.bins.try_lock() {
            debug.field("counts", &bins.counts);
        }
        debug.finish_non_exhaustive()
    }
}
