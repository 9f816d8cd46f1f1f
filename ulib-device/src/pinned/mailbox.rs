//! Host memory that kernels write small results to, so that they come home without a copy.

use std::fmt;

use ulib_core::Result;

use super::{PinnedBytes, PinnedPool};
use crate::Stream;
use crate::copy::{Over, until_over};
use crate::driver::forked;
use crate::memory::Scratch;
use crate::stream::not_capturing;

/// A piece of page-locked host memory that kernels of one stream reach at a device address.
///
/// For a few results a copy costs more than it moves: here the kernels write them straight to the host, and
/// [`wait`](Self::wait) waits for the stream. Every write crosses the bus by itself, so kernels should write each byte
/// once and read none.
///
/// The memory comes from the [`PinnedPool`] and goes back to it when the stream has done what was queued: dropping waits
/// for that. It stays out of use for ever where nobody can tell.
///
/// # Examples
/// ```no_run
/// use ulib_device::pinned::Mailbox;
/// use ulib_device::{Device, Stream};
///
/// # fn main() -> ulib_core::Result<()> {
/// let stream = Stream::legacy(&Device::new(0)?);
/// if let Some(mailbox) = Mailbox::open(&stream, 8)? {
///     // ... launch kernels on `stream` that write eight bytes to `mailbox.ptr()` ...
///     let bytes = mailbox.wait()?;
///     println!("{bytes:?}");
/// }
/// # Ok(())
/// # }
/// ```
#[must_use = "dropping it waits for the stream"]
pub struct Mailbox {
    /// `None` once given away.
    bytes: Option<PinnedBytes>,
    stream: Stream,
    ptr: u64,
    len: usize,
}

impl Mailbox {
    /// More bytes than this come home faster by a copy.
    pub const MOST_BYTES: usize = 64 << 10;

    /// `len` bytes with unspecified content for kernels on `stream`. `None` for no bytes or more than
    /// [`MOST_BYTES`](Self::MOST_BYTES), where the device cannot reach host memory, and where no memory can be
    /// page-locked: results come home by a copy then.
    ///
    /// # Errors
    ///
    /// `Busy` while `stream` is being captured, since a graph would write the memory for ever; `Forked` in a forked
    /// child; else whatever the driver says.
    pub fn open(stream: &Stream, len: usize) -> Result<Option<Self>> {
        let device = stream.device();
        if len == 0 || len > Self::MOST_BYTES || !device.limits().maps_host_memory {
            return Ok(None);
        }
        not_capturing("mailbox", stream)?;
        let opened = PinnedPool::global()
            .acquire_for(device, len)
            .and_then(|bytes| Ok((bytes.device_ptr(device)?, bytes)));
        match opened {
            Ok((Some(ptr), bytes)) => Ok(Some(Self {
                bytes: Some(bytes),
                stream: stream.clone(),
                ptr,
                len,
            })),
            Ok((None, _)) => Ok(None),
            Err(error) => {
                log::debug!("{device}: no mailbox of {len} bytes: {error}");
                Ok(None)
            }
        }
    }

    /// At least `len` bytes of [`Scratch`] for kernels on the stream of this mailbox, which was asked about captures when
    /// the mailbox was opened.
    ///
    /// # Errors
    /// As [`Scratch::take`], but for a capture.
    pub fn scratch(&self, len: usize) -> Result<Scratch> {
        Scratch::take_outside(&self.stream, len)
    }

    /// The device address of the first byte.
    #[must_use]
    pub fn ptr(&self) -> u64 {
        self.ptr
    }

    /// The length in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no bytes; there always are some.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Waits for everything that was put into the stream and gives the bytes; also for the length of a capture that
    /// another thread begins meanwhile, if it makes waiting impossible. Do not begin one on this thread before.
    ///
    /// # Errors
    ///
    /// Whatever the driver says, including failures of work queued before on the stream.
    pub fn wait(mut self) -> Result<PinnedBytes> {
        match (until_over(&self.stream), self.bytes.take()) {
            (Over::Yes(finished), Some(bytes)) => finished.map(|()| bytes),
            (Over::Unknown(error), bytes) => {
                std::mem::forget(bytes);
                Err(error)
            }
            // Only `wait` and `drop` take the bytes, and both end the value.
            (Over::Yes(finished), None) => finished.and_then(|()| {
                Err(ulib_core::Error::busy(
                    "Mailbox::wait",
                    "the bytes were given away already",
                ))
            }),
        }
    }
}

impl Drop for Mailbox {
    fn drop(&mut self) {
        let Some(bytes) = self.bytes.take() else {
            return;
        };
        if forked() {
            return;
        }
        let failed = match until_over(&self.stream) {
            Over::Yes(finished) => finished.err(),
            Over::Unknown(error) => {
                std::mem::forget(bytes);
                Some(error)
            }
        };
        if let Some(error) = failed {
            self.stream
                .device()
                .record_drop_error(error.context("waiting for the kernels of a mailbox"));
        }
    }
}

impl fmt::Debug for Mailbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mailbox")
            .field("ptr", &format_args!("{:#x}", self.ptr))
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}
