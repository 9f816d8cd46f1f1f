//! Asynchronous copies that own their host buffer.

use ulib_core::Result;

use super::bounds::check_range;
use super::linear::{Over, queue_download, queue_upload, until_over};
use crate::driver::forked;
use crate::memory::{Access, DeviceBytes};
use crate::pinned::PinnedBytes;
use crate::stream::not_capturing;
use crate::{Event, Stream};

/// A copy that has been queued, and the host buffer it uses.
///
/// Dropping it waits for the copy, because the buffer must outlive it; [`wait`](Self::wait) gives the buffer back. The
/// buffer goes back to its pool when the copy is known to be over, and is leaked where nothing can be waited for.
#[derive(Debug)]
#[must_use = "dropping it waits for the copy"]
pub struct Pending {
    /// `None` once given back.
    buffer: Option<PinnedBytes>,
    stream: Stream,
    /// Recorded after the copy.
    after: Event,
}

impl Pending {
    /// Queues the copy and keeps the buffer, also when recording the event fails.
    fn queue(
        mut buffer: PinnedBytes,
        stream: &Stream,
        copy: impl FnOnce(&mut PinnedBytes) -> Result<()>,
    ) -> Result<Self> {
        let after = Event::new(stream.device())?;
        let queued = copy(&mut buffer).and_then(|()| after.record(stream));
        let pending = Self {
            buffer: Some(buffer),
            stream: stream.clone(),
            after,
        };
        match queued {
            Ok(()) => Ok(pending),
            Err(error) => {
                // The buffer may be in use all the same.
                pending.let_go();
                Err(error)
            }
        }
    }

    /// Gives the buffer back to its pool once the copy no longer uses it.
    fn let_go(mut self) {
        if let Some(buffer) = self.buffer.take() {
            // Its failure follows from the one that the caller returns.
            let _ = give_back(buffer, until_over(&self.stream));
        }
    }

    /// Whether the copy has finished; does not wait.
    ///
    /// # Errors
    ///
    /// Whatever the driver says, including failures of work queued before on the stream.
    pub fn is_done(&self) -> Result<bool> {
        self.after.is_done()
    }

    /// Waits for the copy and gives the buffer back, filled when it was a download.
    ///
    /// # Errors
    ///
    /// As [`is_done`](Self::is_done). The buffer goes back to its pool then.
    pub fn wait(mut self) -> Result<PinnedBytes> {
        self.after.synchronize()?;
        match self.buffer.take() {
            Some(buffer) => Ok(buffer),
            // Only a value that was waited for or dropped has no buffer, and both consume it.
            None => Err(ulib_core::Error::busy(
                "Pending::wait",
                "the buffer was given back already",
            )),
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        let Some(buffer) = self.buffer.take() else {
            return;
        };
        if forked() || self.after.synchronize().is_ok() {
            return;
        }
        if let Err(error) = give_back(buffer, until_over(&self.stream)) {
            self.stream
                .device()
                .record_drop_error(error.context("waiting for an asynchronous copy"));
        }
    }
}

/// Nobody gets the buffer again where it cannot be known whether the copy still uses it.
fn give_back(buffer: PinnedBytes, over: Over) -> Result<()> {
    match over {
        Over::Yes(finished) => finished,
        Over::Unknown(error) => {
            std::mem::forget(buffer);
            Err(error)
        }
    }
}

/// Queues a copy of the whole of `src` to the bytes of `dst` from `offset` on, ordered on `stream`. Does not block.
///
/// # Errors
///
/// `Index` when `dst` is too short, `InvalidArgument` when `stream` is of another device; `Busy` while `stream` is being
/// captured, since a graph would use the buffer for ever; else whatever the driver says. `src` goes back to its pool then.
pub fn upload_async(
    dst: &DeviceBytes,
    offset: usize,
    src: PinnedBytes,
    stream: &Stream,
) -> Result<Pending> {
    check_range(
        "upload_async",
        "the device memory",
        offset,
        src.len(),
        dst.len(),
    )?;
    stream.check_device("upload_async", dst.device())?;
    not_capturing("upload_async", stream)?;
    let to = dst.ptr() + offset as u64;
    Pending::queue(src, stream, |src| match src.len() {
        0 => Ok(()),
        len => dst.queue_on(stream, Access::Write, || {
            let context = stream.device().bind()?;
            queue_upload(to, src.as_ptr(), len, stream, &context)
        }),
    })
}

/// Queues a copy of the bytes of `src` from `offset` on that fills `dst`, ordered on `stream`. Does not block.
///
/// # Errors
///
/// `Index` when `src` is too short, `InvalidArgument` when `stream` is of another device; `Busy` while `stream` is being
/// captured, since a graph would use the buffer for ever; else whatever the driver says. `dst` goes back to its pool then.
pub fn download_async(
    src: &DeviceBytes,
    offset: usize,
    dst: PinnedBytes,
    stream: &Stream,
) -> Result<Pending> {
    check_range(
        "download_async",
        "the device memory",
        offset,
        dst.len(),
        src.len(),
    )?;
    stream.check_device("download_async", src.device())?;
    not_capturing("download_async", stream)?;
    let from = src.ptr() + offset as u64;
    Pending::queue(dst, stream, |dst| match dst.len() {
        0 => Ok(()),
        len => src.queue_on(stream, Access::Read, || {
            let context = stream.device().bind()?;
            queue_download(dst.as_mut_ptr(), from, len, stream, &context)
        }),
    })
}
