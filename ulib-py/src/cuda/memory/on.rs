//! Which stream a call means.

use std::borrow::Cow;

use pyo3::prelude::*;
use ulib_core::{Context, Result};
use ulib_device::{Device, Stream};

use crate::cuda::errors::logic;
use crate::cuda::stream::PyStream;
use crate::detached::Detached;
use crate::stream::handle_of;

/// What a program gives as a stream, before the device is known.
pub(crate) enum On {
    /// The default stream.
    Legacy,
    /// One of ours.
    Ours(Detached<Stream>),
    /// One of somebody else, with the object that keeps it.
    Foreign(usize, Option<Py<PyAny>>),
}

impl On {
    /// `None` for the default stream; else a stream of this package, an object with `__cuda_stream__`, `handle`, `ptr` or
    /// `cuda_stream`, or the integer of a handle.
    pub(crate) fn of(op: &'static str, stream: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let Some(stream) = stream.filter(|stream| !stream.is_none()) else {
            return Ok(Self::Legacy);
        };
        if let Ok(ours) = stream.cast::<PyStream>() {
            return Ok(Self::Ours(ours.get().inner(op)?));
        }
        if let Ok(ours) = stream.cast::<crate::stream::Stream>() {
            return Ok(Self::Ours(ours.get().inner(op)?));
        }
        let (handle, keep) = handle_of(op, stream)?;
        let handle = usize::try_from(handle.0)
            .map_err(|_| logic(format!("{op}: {handle} is no handle of a stream")))?;
        Ok(Self::Foreign(handle, keep.then(|| stream.clone().unbind())))
    }

    /// [`stream`](Self::stream) for who is attached.
    pub(crate) fn stream_attached(
        self,
        py: Python<'_>,
        op: &'static str,
        device: &Device,
    ) -> Result<Detached<Stream>> {
        match self {
            Self::Foreign(..) => py.detach(|| self.stream(op, device)),
            _ => self.stream(op, device),
        }
        .map(|stream| Detached::new(stream.into_owned()))
    }

    /// The stream, for memory of `device`, for who is detached.
    #[allow(unsafe_code, reason = "wraps a handle that the caller vouches for")]
    pub(crate) fn stream(self, op: &'static str, device: &Device) -> Result<Cow<'static, Stream>> {
        let own = match self {
            // Without counting its owners, for which every launch would pay.
            Self::Legacy => return Ok(Cow::Borrowed(Stream::lasting_legacy(device))),
            Self::Ours(stream) => {
                stream.check_device(op, device)?;
                stream.into_inner()
            }
            Self::Foreign(handle, Some(owner)) => {
                // SAFETY: the object that gave the handle keeps its stream alive, and is kept.
                let stream = unsafe { Stream::from_raw_kept(device, handle, Box::new(owner)) };
                known(op, stream)?
            }
            Self::Foreign(handle, None) => {
                // SAFETY: who gives a bare handle vouches for its stream, as the documentation of streams says.
                known(op, unsafe { Stream::from_raw(device, handle) })?
            }
        };
        Ok(Cow::Owned(own))
    }
}

/// A stream that the driver knows: memory remembers the streams that it was used on.
fn known(op: &'static str, stream: Stream) -> Result<Stream> {
    stream
        .is_capturing()
        .with_context(|| format!("{op}: stream {:#x}", stream.handle() as usize))?;
    Ok(stream)
}
