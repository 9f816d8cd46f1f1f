//! One record per call to a resource.

use std::fmt;
use std::sync::Arc;

use ulib_core::{Error, Result};

use super::DeviceMemoryResource;
use crate::{Device, Stream};

/// One call that went through a [`Logging`] adaptor, after it returned.
#[derive(Debug)]
#[non_exhaustive]
pub struct MemoryRecord<'a> {
    /// What was called.
    pub call: MemoryCall,
    /// The name of the resource below, such as `"pool"`.
    pub resource: &'static str,
    /// The ordinal of the device.
    pub ordinal: u32,
    /// The bytes asked for or given back; 0 for a trim.
    pub bytes: usize,
    /// The pointer given out or given back; 0 for a failed allocation and for a trim.
    pub ptr: u64,
    /// The id of the stream; `None` for a trim.
    pub stream: Option<u64>,
    /// Why the call failed; `None` when it succeeded.
    pub error: Option<&'a Error>,
}

impl fmt::Display for MemoryRecord<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            call,
            resource,
            ordinal,
            bytes,
            ptr,
            ..
        } = self;
        write!(
            f,
            "device {ordinal} {resource}: {call} {bytes} bytes at {ptr:#x}"
        )?;
        if let Some(stream) = self.stream {
            write!(f, " on stream {stream:#x}")?;
        }
        match self.error {
            Some(error) => write!(f, " failed: {error}"),
            None => Ok(()),
        }
    }
}

/// The calls a [`Logging`] adaptor records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MemoryCall {
    /// [`DeviceMemoryResource::allocate`].
    Allocate,
    /// [`DeviceMemoryResource::deallocate`].
    Deallocate,
    /// [`DeviceMemoryResource::trim`].
    Trim,
}

impl fmt::Display for MemoryCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Allocate => "allocate",
            Self::Deallocate => "deallocate",
            Self::Trim => "trim",
        })
    }
}

type Sink = dyn Fn(&MemoryRecord<'_>) + Send + Sync;

/// Passes everything on and hands a [`MemoryRecord`] of each call to a sink: the `log` crate at debug level, or a
/// function of the caller's.
pub struct Logging {
    inner: Arc<dyn DeviceMemoryResource>,
    sink: Box<Sink>,
}

impl Logging {
    /// Logs through the `log` crate, at debug level.
    #[must_use]
    pub fn new(inner: Arc<dyn DeviceMemoryResource>) -> Self {
        Self::with_sink(inner, |record| log::debug!("{record}"))
    }

    /// Hands each record to `sink`, on the thread that made the call. Destructors call it too, so it must not panic.
    ///
    /// A block allocates and frees its device memory under its own lock: `sink` must not use a block of
    /// [`crate::block`], not even to ask where it is, nor wait for a thread that does. It would wait for itself. The same
    /// goes for the logger behind [`new`](Self::new).
    #[must_use]
    pub fn with_sink(
        inner: Arc<dyn DeviceMemoryResource>,
        sink: impl Fn(&MemoryRecord<'_>) + Send + Sync + 'static,
    ) -> Self {
        Self {
            inner,
            sink: Box::new(sink),
        }
    }

    fn record(
        &self,
        call: MemoryCall,
        bytes: usize,
        ptr: u64,
        stream: Option<&Stream>,
        error: Option<&Error>,
    ) {
        (self.sink)(&MemoryRecord {
            call,
            resource: self.inner.name(),
            ordinal: self.inner.device().ordinal(),
            bytes,
            ptr,
            stream: stream.map(Stream::id),
            error,
        });
    }
}

impl fmt::Debug for Logging {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Logging")
            .field("inner", &self.inner)
            .finish_non_exhaustive()
    }
}

// SAFETY: every pointer comes from the inner resource and goes back to it with the same bytes and stream, so the inner
// resource's promises hold; the device is the inner one's.
#[allow(unsafe_code, reason = "promises what callers rely on")]
unsafe impl DeviceMemoryResource for Logging {
    fn device(&self) -> &Device {
        self.inner.device()
    }

    fn allocate(&self, bytes: usize, stream: &Stream) -> Result<u64> {
        let outcome = self.inner.allocate(bytes, stream);
        let ptr = outcome.as_ref().copied().unwrap_or(0);
        self.record(
            MemoryCall::Allocate,
            bytes,
            ptr,
            Some(stream),
            outcome.as_ref().err(),
        );
        outcome
    }

    #[allow(unsafe_code, reason = "passes the caller's promise on")]
    unsafe fn deallocate(&self, ptr: u64, bytes: usize, stream: &Stream) -> Result<()> {
        // SAFETY: the caller's promise for this resource is the one the inner resource asks for, since every
        // pointer given out here came from the inner resource unchanged.
        let outcome = unsafe { self.inner.deallocate(ptr, bytes, stream) };
        self.record(
            MemoryCall::Deallocate,
            bytes,
            ptr,
            Some(stream),
            outcome.as_ref().err(),
        );
        outcome
    }

    fn trim(&self) -> Result<()> {
        let outcome = self.inner.trim();
        self.record(MemoryCall::Trim, 0, 0, None, outcome.as_ref().err());
        outcome
    }

    fn name(&self) -> &'static str {
        "logging"
    }
}
