//! Streams: queues of work on a device.
#![allow(
    unsafe_code,
    reason = "creates, asks and destroys the driver's stream objects"
)]

use crate::device::{ContextGuard, Device, same_device};
use crate::driver::{check, forked, relaxed_capture};
use crate::event::Event;
use crate::graph::{self, Queueing};
use crate::memory::guard;
use crate::report::{Counted, Kind};
use crate::sys::{CUresult, CUstream, CUstream_flags, Table};
use core::ffi::{c_int, c_uint};
use std::any::Any;
use std::cell::Cell;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use ulib_core::{Error, ErrorKind, Result};

mod capturing;
mod current;
mod kinds;
mod lasting;
mod notify;

pub(crate) use capturing::{capturing, check_wait, not_capturing, not_capturing_in};
pub use current::StreamScope;
pub use kinds::StreamKind;
pub(crate) use lasting::Lasting;

/// A queue of work on one device: what is put in runs in order. Clones are the same queue.
///
/// The driver destroys a queue made here when the last clone is dropped, after the work in it is done.
///
/// Which to take: the [`legacy`](Self::legacy) stream is what CuPy, PyTorch and numba use unless told otherwise; it and
/// every stream from [`new`](Self::new) wait for each other. A [`non_blocking`](Self::non_blocking) stream is ordered
/// with nothing but the events it waits for. Operations use the [`current`](Self::current) stream, which is the legacy one
/// unless a [`scope`](Self::scope) says otherwise.
///
/// # Examples
/// ```no_run
/// use ulib_device::{Device, Stream};
///
/// # fn main() -> ulib_core::Result<()> {
/// let device = Device::new(0)?;
/// let (first, second) = (Stream::non_blocking(&device)?, Stream::non_blocking(&device)?);
/// // ... work put into `first` ...
/// second.wait_for(&first)?;
/// // ... work put into `second` runs after it, while this thread goes on ...
/// second.synchronize()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Stream(Arc<Inner>);

struct Inner {
    device: Device,
    /// The driver's handle as an integer: it is only ever handed to the driver, so any thread may hold it.
    raw: usize,
    id: u64,
    owned: bool,
    /// Whether nobody outside this crate ever sees it, so that nobody captures it.
    private: bool,
    /// Whether it is known that the driver orders it with the default stream.
    blocking: bool,
    /// What keeps a stream alive that was made elsewhere.
    owner: Option<Box<dyn Any + Send + Sync>>,
    /// Of those made here for others.
    _counted: Option<Counted>,
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inner")
            .field("device", &self.device)
            .field("raw", &format_args!("{:#x}", self.raw))
            .field("id", &self.id)
            .field("owned", &self.owned)
            .finish_non_exhaustive()
    }
}

/// The driver's special handles: the legacy stream under its second name, and the per-thread default stream.
const LEGACY: usize = 1;
const PER_THREAD: usize = 2;

/// Identities below this are those of legacy streams, one per device.
const FIRST_OWN_ID: u64 = 1 << 32;
/// Set in the identities of per-thread streams.
const PER_THREAD_ID: u64 = 1 << 63;

static NEXT_ID: AtomicU64 = AtomicU64::new(FIRST_OWN_ID);

fn next_id() -> u64 {
    NEXT_ID.fetch_add(1, Ordering::Relaxed)
}

impl Stream {
    /// The default stream of `device`, which orders itself with every stream that is not of the non-blocking kind.
    #[must_use]
    pub fn legacy(device: &Device) -> Self {
        Self::lasting_legacy(device).clone()
    }

    /// [`legacy`](Self::legacy), as long as the process lives: its owners are not counted.
    #[must_use]
    pub fn lasting_legacy(device: &Device) -> &'static Self {
        device.legacy_stream(|| Self::wrap(device, 0, false, None))
    }

    /// A new stream that is ordered with the default stream.
    ///
    /// # Errors
    /// Whatever the driver says; kind `Forked` in a forked child.
    pub fn new(device: &Device) -> Result<Self> {
        Self::create(device, CUstream_flags::CU_STREAM_DEFAULT, 0, false)
    }

    /// A new stream that runs beside everything else.
    ///
    /// # Errors
    /// Whatever the driver says; kind `Forked` in a forked child.
    pub fn non_blocking(device: &Device) -> Result<Self> {
        Self::create(device, CUstream_flags::CU_STREAM_NON_BLOCKING, 0, false)
    }

    /// As [`non_blocking`](Self::non_blocking), for who shows it to nobody outside this crate.
    pub(crate) fn private(device: &Device) -> Result<Self> {
        Self::create(device, CUstream_flags::CU_STREAM_NON_BLOCKING, 0, true)
    }

    /// A new non-blocking stream with a priority: lower numbers run first. The driver clamps the number to
    /// [`priority_range`](Self::priority_range).
    ///
    /// # Errors
    /// Whatever the driver says; kind `Forked` in a forked child.
    pub fn with_priority(device: &Device, priority: i32) -> Result<Self> {
        Self::create(
            device,
            CUstream_flags::CU_STREAM_NON_BLOCKING,
            priority,
            false,
        )
    }

    /// The priorities that mean something on `device`: the least urgent and the most urgent number, such as `(0, -5)`.
    ///
    /// # Errors
    /// Whatever the driver says; kind `Forked` in a forked child.
    pub fn priority_range(device: &Device) -> Result<(i32, i32)> {
        let _context = device.bind()?;
        let (mut least, mut greatest): (c_int, c_int) = (0, 0);
        // SAFETY: the device's context is current, by the guard; the call writes two integers.
        let status = unsafe {
            (device.table().cuCtxGetStreamPriorityRange)(&raw mut least, &raw mut greatest)
        };
        check(device.table(), "cuCtxGetStreamPriorityRange", status)?;
        Ok((least, greatest))
    }

    /// A stream that somebody else made and keeps; the integer is its `CUstream` (or `cudaStream_t`). It is not
    /// destroyed here. 0 and 1 are the legacy stream, 2 is the per-thread default stream of whichever thread uses it.
    ///
    /// # Safety
    /// The handle is 0, 1, 2, or a stream of the primary context of `device` that outlives every clone of the result
    /// and all memory used on it.
    #[must_use]
    pub unsafe fn from_raw(device: &Device, handle: usize) -> Self {
        Self::wrap(device, handle, false, None)
    }

    /// As [`from_raw`](Self::from_raw), with what keeps the stream alive: it is dropped with the last clone, and with the
    /// last use of memory that is remembered for the stream, on whichever thread that happens.
    ///
    /// # Safety
    /// The handle is 0, 1, 2, or a stream of the primary context of `device` that lives as long as `owner`.
    #[must_use]
    pub unsafe fn from_raw_kept(
        device: &Device,
        handle: usize,
        owner: Box<dyn Any + Send + Sync>,
    ) -> Self {
        Self::wrap(device, handle, false, Some(owner))
    }

    fn wrap(
        device: &Device,
        raw: usize,
        owned: bool,
        owner: Option<Box<dyn Any + Send + Sync>>,
    ) -> Self {
        Self::from_parts(device, raw, owned, false, raw == PER_THREAD, owner)
    }

    fn from_parts(
        device: &Device,
        raw: usize,
        owned: bool,
        private: bool,
        blocking: bool,
        owner: Option<Box<dyn Any + Send + Sync>>,
    ) -> Self {
        let id = match raw {
            0 | LEGACY => u64::from(device.ordinal()),
            _ => next_id(),
        };
        Self(Arc::new(Inner {
            device: device.clone(),
            raw,
            id,
            owned,
            private,
            blocking,
            owner,
            _counted: (owned && !private).then(|| Counted::new(Kind::Stream)),
        }))
    }

    fn create(
        device: &Device,
        flags: CUstream_flags,
        priority: i32,
        private: bool,
    ) -> Result<Self> {
        let _context = device.bind()?;
        let mut raw: CUstream = core::ptr::null_mut();
        // SAFETY: the device's context is current, by the guard; the call writes one pointer.
        let status = unsafe {
            (device.table().cuStreamCreateWithPriority)(&raw mut raw, flags.0 as c_uint, priority)
        };
        check(device.table(), "cuStreamCreateWithPriority", status)?;
        let blocking = flags == CUstream_flags::CU_STREAM_DEFAULT;
        Ok(Self::from_parts(
            device,
            raw as usize,
            true,
            private,
            blocking,
            None,
        ))
    }

    /// The device the work runs on.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.0.device
    }

    /// The driver's handle, for calls this crate does not wrap; as an integer, `handle() as usize`.
    #[must_use]
    pub fn handle(&self) -> CUstream {
        self.0.raw as CUstream
    }

    /// An identity in this process: equal only for streams whose work is in one order. Two wraps of one foreign handle
    /// may have different identities; the per-thread default stream has one per thread.
    #[must_use]
    pub fn id(&self) -> u64 {
        thread_local!(static THREAD: Cell<u64> = const { Cell::new(0) });
        if self.0.raw != PER_THREAD {
            return self.0.id;
        }
        let thread = THREAD.with(|slot| {
            if slot.get() == 0 {
                slot.set(next_id());
            }
            slot.get()
        });
        PER_THREAD_ID | (u64::from(self.0.device.ordinal()) << 48) | thread
    }

    /// Whether there are clones: those of others, or of memory that remembers its uses.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }

    /// Lets go of it. Where no clone is left, the answer destroys the stream when it is dropped, after a call of the driver.
    #[must_use]
    pub fn into_last(self) -> Option<impl Send + use<>> {
        Arc::into_inner(self.0)
    }

    /// Whether it is the default stream that waits for others and lets them wait.
    pub(crate) fn is_legacy(&self) -> bool {
        matches!(self.0.raw, 0 | LEGACY)
    }

    /// Whether its identity depends on the thread.
    pub(crate) fn is_per_thread(&self) -> bool {
        self.0.raw == PER_THREAD
    }

    /// Whether the stream lives as long as this value and its clones, on any thread, without anybody's promise.
    pub(crate) fn is_kept(&self) -> bool {
        self.0.owned || matches!(self.0.raw, 0 | LEGACY) || self.0.owner.is_some()
    }

    /// Waits until everything put into the stream so far is done.
    ///
    /// # Errors
    /// Kind `Busy` while the stream is being captured, or while a stream that the default stream waits for is; whatever
    /// the driver says, which includes the failure of any kernel before; kind `Forked` in a forked child.
    pub fn synchronize(&self) -> Result<()> {
        self.synchronize_in(&self.0.device.bind()?)
    }

    /// [`synchronize`](Self::synchronize) for who has made the context of the stream's device current already.
    pub(crate) fn synchronize_in(&self, context: &ContextGuard) -> Result<()> {
        not_capturing_in("synchronize", self, context)?;
        if self.is_legacy() && graph::ever_captured() {
            // A wait for the default stream itself would spoil a capture that begins just now.
            let end = Event::private(&self.0.device)?;
            end.record(self)?;
            return end.synchronize();
        }
        let table = self.table();
        // SAFETY: the device's context is current, by the caller's guard, and the stream is alive: made here and not yet
        // destroyed, or kept by its owner as promised to `from_raw`.
        let status = relaxed_capture(|| unsafe { (table.cuStreamSynchronize)(self.handle()) });
        check_wait(table, "cuStreamSynchronize", status)?;
        guard::waited();
        Ok(())
    }

    /// Whether everything put into the stream so far is done.
    ///
    /// # Errors
    /// As [`synchronize`](Self::synchronize).
    pub fn is_done(&self) -> Result<bool> {
        let context = self.0.device.bind()?;
        let _none_begins = Queueing::new();
        not_capturing_in("is_done", self, &context)?;
        let table = self.table();
        // SAFETY: as in `synchronize`.
        let status = relaxed_capture(|| unsafe { (table.cuStreamQuery)(self.handle()) });
        if status == CUresult::CUDA_ERROR_NOT_READY {
            return Ok(false);
        }
        check_wait(table, "cuStreamQuery", status)?;
        guard::waited();
        Ok(true)
    }

    /// Lets everything put into the stream from now on wait for `event`, without blocking the caller. The event may
    /// belong to another device. An event that was never recorded is no reason to wait. One that was recorded in a stream that is
    /// being [captured](Self::capture) takes this one into the capture, to the end of which it has to be waited for in the same way.
    ///
    /// # Errors
    /// Kind `Busy` when the event is of a capture that has ended, or of another one than the stream is part of; and when the stream
    /// is part of one, and the event is not, or when it is the default stream, which cannot become part. The captures stay unharmed.
    /// Whatever the driver says; kind `Forked` in a forked child.
    pub fn wait(&self, event: &Event) -> Result<()> {
        let _context = self.0.device.bind()?;
        let table = self.table();
        graph::wait(self, event, || {
            let _queueing = self.queueing("Stream::wait")?;
            // SAFETY: the stream is alive as in `synchronize`; the event is alive by the borrow, and the driver keeps
            // what it needs of it when it is destroyed later. No flags exist.
            let status = unsafe { (table.cuStreamWaitEvent)(self.handle(), event.handle(), 0) };
            check(table, "cuStreamWaitEvent", status)
        })
    }

    /// A new event (without timing) at the present end of the stream.
    ///
    /// # Errors
    /// Whatever the driver says; kind `Forked` in a forked child.
    pub fn record(&self) -> Result<Event> {
        let event = Event::new(&self.0.device)?;
        event.record(self)?;
        Ok(event)
    }

    /// Lets everything put into this stream from now on wait for what is in `other` now. Costs nothing when they are
    /// the same stream, or when the driver orders them as it does the default stream with those from [`new`](Self::new). Where this one
    /// is being captured, and `other` is not, the host waits, since a graph cannot.
    ///
    /// # Errors
    /// As [`wait`](Self::wait) and [`synchronize`](Self::synchronize).
    pub fn wait_for(&self, other: &Self) -> Result<()> {
        if self.id() == other.id() {
            return Ok(());
        }
        if graph::is_in_ours(self)? && !graph::is_in_ours(other)? {
            return graph::end_outside(other)?.synchronize();
        }
        let one_device = self.device() == other.device();
        if one_device
            && (self.is_legacy() && other.0.blocking || self.0.blocking && other.is_legacy())
        {
            return Ok(());
        }
        // A mark in the default stream would break the captures that it waits for.
        if other.is_legacy() {
            return self.wait(&*graph::end_outside(other)?);
        }
        self.wait(&other.record()?)
    }

    /// Checks that this stream belongs to `device`.
    ///
    /// # Errors
    /// Kind `InvalidArgument` naming both devices.
    pub fn check_device(&self, op: &'static str, device: &Device) -> Result<()> {
        same_device(op, &self.0.device, device)
    }

    /// Checks that a kernel in this stream [reaches](Device::reaches) memory of `device`, for the operation `op`: one that did not
    /// would break the context of this stream's device.
    ///
    /// # Errors
    /// Kind `InvalidArgument`, naming both devices.
    pub fn check_reach(&self, op: &'static str, device: &Device) -> Result<()> {
        let here = &self.0.device;
        if here.reaches(device) {
            return Ok(());
        }
        let what = format!("memory of {device}, to which {here} has no peer access");
        Err(Error::in_op(ErrorKind::InvalidArgument, op, what))
    }

    fn table(&self) -> &'static Table {
        self.0.device.table()
    }
}

impl PartialEq for Stream {
    fn eq(&self, other: &Self) -> bool {
        self.id() == other.id()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if !self.owned {
            if forked() {
                // The stream is the parent's.
                std::mem::forget(self.owner.take());
            }
            return;
        }
        let raw = self.raw as CUstream;
        // SAFETY: made by `create` and destroyed only here, when the last clone goes; the driver finishes the work
        // that is still in it.
        self.device.in_drop("cuStreamDestroy_v2", |table| unsafe {
            (table.cuStreamDestroy_v2)(raw)
        });
    }
}
