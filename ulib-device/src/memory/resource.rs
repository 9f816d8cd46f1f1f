//! The trait every source of device memory implements.

use std::fmt::Debug;

use ulib_core::Result;

use crate::{Device, Stream};

/// Memory that a resource has given out, and what has to be known before its first use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fresh {
    /// Its address.
    pub ptr: u64,
    /// Whether it may be used on every stream at once; if not, other streams must be ordered after that of the allocation.
    pub anywhere: bool,
}

/// A source of device memory: allocates blocks of bytes on one device, in the order of a stream.
///
/// Resources are shared (`Arc<dyn DeviceMemoryResource>`) by every thread, and stack: an adaptor such as
/// [`Limiting`](crate::memory::Limiting) holds another resource and passes calls on. `Device::set_memory_resource`
/// makes one the source of all later allocations on a device; memory already given out goes back to the
/// resource that gave it.
///
/// A resource may be called while the lock of a block is held: it must not use the blocks of [`crate::block`], nor wait
/// for a thread that does, and neither must what it calls, such as the function of a
/// [`Logging`](crate::memory::Logging) adaptor or the logger behind the `log` crate.
///
/// # Safety
///
/// Safe code copies to and from the addresses a resource gives out, so an implementation promises:
///
/// 1. A pointer from [`allocate`](Self::allocate) is the start of `bytes` bytes of memory of [`device`](Self::device),
///    which is always the same one. It is aligned to 256 bytes, overlaps nothing else that is in use, is not handed out
///    again before it is deallocated, and may be used by work queued later on `stream`. Other streams must be ordered
///    after `stream`.
/// 2. Zero bytes give the pointer 0 without any driver call, and deallocating it is a no-op.
/// 3. When `allocate` fails nothing is allocated. Memory exhausted is the error kind
///    [`OutOfMemory`](ulib_core::ErrorKind::OutOfMemory) with the bytes asked for and the bytes free.
/// 4. Memory is reused, or ceases to exist, only after it was given to [`deallocate`](Self::deallocate) and the work
///    queued on the `stream` given there, as of that call, has finished.
/// 5. When `deallocate` fails the memory stays with the resource, which tries again at its next call; the caller
///    must not use or deallocate it again in any case.
/// 6. Every method may be called from any thread, with or without a current context. Allocating and deallocating leave
///    a stream capture of another thread alone, as long as there is memory; see `Device::synchronize` for `trim`.
///
/// Without the promise it does not compile:
///
/// ```compile_fail,E0200
/// use ulib_device::memory::DeviceMemoryResource;
/// use ulib_device::{Device, Stream};
///
/// #[derive(Debug)]
/// struct HandsOutAnything(Device);
///
/// #[allow(unsafe_code)]
/// impl DeviceMemoryResource for HandsOutAnything {
///     fn device(&self) -> &Device {
///         &self.0
///     }
///     fn allocate(&self, _bytes: usize, _stream: &Stream) -> ulib_core::Result<u64> {
///         Ok(4096)
///     }
///     unsafe fn deallocate(&self, _: u64, _: usize, _: &Stream) -> ulib_core::Result<()> {
///         Ok(())
///     }
///     fn trim(&self) -> ulib_core::Result<()> {
///         Ok(())
///     }
///     fn name(&self) -> &'static str {
///         "anything"
///     }
/// }
/// ```
#[allow(
    unsafe_code,
    reason = "what an implementation promises cannot be checked"
)]
pub unsafe trait DeviceMemoryResource: Send + Sync + Debug {
    /// The device whose memory this is.
    fn device(&self) -> &Device;

    /// Allocates `bytes` of uninitialised device memory, ordered on `stream` (a stream of the same device).
    ///
    /// # Errors
    ///
    /// `OutOfMemory` when the device, or a limit, has too little left; `Forked` in a forked child; `Driver` for
    /// anything else the driver says.
    fn allocate(&self, bytes: usize, stream: &Stream) -> Result<u64>;

    /// [`allocate`](Self::allocate), and whether the memory may be used on other streams without being ordered after `stream`, such
    /// as in a graph.
    ///
    /// # Errors
    ///
    /// As [`allocate`](Self::allocate).
    fn allocate_fresh(&self, bytes: usize, stream: &Stream) -> Result<Fresh> {
        let ptr = self.allocate(bytes, stream)?;
        Ok(Fresh {
            ptr,
            anywhere: false,
        })
    }

    /// Gives memory back once the work queued on `stream` so far has finished.
    ///
    /// # Safety
    ///
    /// `ptr` came from `allocate(bytes, ..)` of this resource and has not been deallocated; every use of the memory
    /// on a stream other than `stream` has finished or is ordered before the present end of `stream`.
    ///
    /// # Errors
    ///
    /// Whatever the driver says; see condition 5.
    #[allow(unsafe_code, reason = "the caller's promise cannot be checked")]
    unsafe fn deallocate(&self, ptr: u64, bytes: usize, stream: &Stream) -> Result<()>;

    /// Returns cached memory that nobody uses to the driver, with what [operations](crate::memory::Scratch) have left behind. Waits for the device's queued work, because memory
    /// freed in stream order is in use until that work is done.
    ///
    /// # Errors
    ///
    /// Whatever the driver says.
    fn trim(&self) -> Result<()>;

    /// Whether memory that it gets back stays with it, so that giving it back calls neither the driver nor anybody who may wait.
    fn keeps_what_it_gets(&self) -> bool {
        false
    }

    /// A short name for logs and messages, such as `"driver"` or `"pool"`.
    fn name(&self) -> &'static str;
}
