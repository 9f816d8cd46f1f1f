//! Events: points in a stream that can be waited for and timed.
#![allow(
    unsafe_code,
    reason = "creates, asks and destroys the driver's event objects"
)]

use crate::device::{ContextGuard, Device, same_device};
use crate::driver::{check, missing_entry, relaxed_capture};
use crate::graph::place_of;
use crate::memory::guard;
use crate::report::{Counted, Kind};
use crate::stream::{Stream, check_wait};
use crate::sys::{CUevent, CUevent_flags, CUresult, Table};
use std::sync::atomic::{AtomicU64, Ordering};
use ulib_core::{Error, Result};

mod ipc;

pub use ipc::IPC_HANDLE_BYTES;

/// A point in a stream. Until it is [recorded](Self::record) it counts as reached.
///
/// Recorded in a stream that is being [captured](Stream::capture), it stands for a point of the graph: a stream that [waits](Stream::wait)
/// for it becomes part of the capture, and nobody else can wait for it, or ask about it, until it is recorded elsewhere.
///
/// # Examples
/// ```no_run
/// use ulib_device::{Device, Event, Stream};
///
/// # fn main() -> ulib_core::Result<()> {
/// let device = Device::new(0)?;
/// let stream = Stream::legacy(&device);
/// let (before, after) = (Event::timed(&device)?, Event::timed(&device)?);
/// before.record(&stream)?;
/// // ... work put into `stream` ...
/// after.record(&stream)?;
/// after.synchronize()?;
/// println!("{} ms", after.elapsed_ms(&before)?);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Event {
    device: Device,
    /// The driver's handle as an integer: it is only ever handed to the driver, so any thread may hold it.
    raw: usize,
    /// What it stands for, as a number of [`Recorded`].
    recorded: AtomicU64,
    has_clock: bool,
    /// Of those made for others.
    _counted: Option<Counted>,
}

/// What an event stands for since it was recorded here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Recorded {
    /// It was not, as far as is known.
    Never,
    /// For work that runs; or for a capture of somebody else's.
    Outside,
    /// For a point of the graph of a capture of ours, by the driver's number.
    InCapture(u64),
}

impl Recorded {
    const NEVER: u64 = 0;
    const OUTSIDE: u64 = u64::MAX;

    fn number(self) -> u64 {
        match self {
            Self::Never => Self::NEVER,
            Self::Outside => Self::OUTSIDE,
            Self::InCapture(capture) => capture,
        }
    }

    fn of_number(number: u64) -> Self {
        match number {
            Self::NEVER => Self::Never,
            Self::OUTSIDE => Self::Outside,
            capture => Self::InCapture(capture),
        }
    }
}

impl Event {
    /// An event for ordering work, without a clock.
    ///
    /// # Errors
    /// Whatever the driver says; kind `Forked` in a forked child.
    pub fn new(device: &Device) -> Result<Self> {
        Self::create(device, CUevent_flags::CU_EVENT_DISABLE_TIMING, true)
    }

    /// An event that remembers when it was reached.
    ///
    /// # Errors
    /// Whatever the driver says; kind `Forked` in a forked child.
    pub fn timed(device: &Device) -> Result<Self> {
        Self::create(device, CUevent_flags::CU_EVENT_DEFAULT, true)
    }

    /// An event with the driver's flags: how the host waits for it, whether it has a clock, whether it is for several
    /// processes (which then excludes the clock).
    ///
    /// # Errors
    /// Kind `Driver` for flags that do not go together; kind `Forked` in a forked child.
    pub fn with_flags(device: &Device, flags: CUevent_flags) -> Result<Self> {
        Self::create(device, flags, true)
    }

    /// As [`new`](Self::new), for who shows it to nobody outside this crate.
    pub(crate) fn private(device: &Device) -> Result<Self> {
        Self::create(device, CUevent_flags::CU_EVENT_DISABLE_TIMING, false)
    }

    fn create(device: &Device, flags: CUevent_flags, counted: bool) -> Result<Self> {
        let _context = device.bind()?;
        let mut raw: CUevent = core::ptr::null_mut();
        // SAFETY: the device's context is current, by the guard; the call writes one pointer.
        let status = unsafe { (device.table().cuEventCreate)(&raw mut raw, flags.0) };
        check(device.table(), "cuEventCreate", status)?;
        Ok(Self {
            device: device.clone(),
            raw: raw as usize,
            recorded: AtomicU64::new(Recorded::NEVER),
            has_clock: flags.0 & CUevent_flags::CU_EVENT_DISABLE_TIMING.0 == 0,
            _counted: counted.then(|| Counted::new(Kind::Event)),
        })
    }

    /// The device the event belongs to.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The driver's handle, for calls this crate does not wrap; as an integer, `handle() as usize`.
    #[must_use]
    pub fn handle(&self) -> CUevent {
        self.raw as CUevent
    }

    /// Puts the event at the present end of `stream`; an earlier point is forgotten.
    ///
    /// # Errors
    /// Kind `InvalidArgument` when the stream belongs to another device; whatever the driver says; kind `Forked` in a
    /// forked child.
    pub fn record(&self, stream: &Stream) -> Result<()> {
        same_device("Event::record", &self.device, stream.device())?;
        let _context = self.device.bind()?;
        let _queueing = stream.queueing("Event::record")?;
        let place = place_of(stream)?;
        // SAFETY: the context is current by the guard; the event is alive, and the stream is kept alive by the borrow
        // (or by its owner, as promised to `Stream::from_raw`); both are of this device.
        let status = unsafe { (self.table().cuEventRecord)(self.handle(), stream.handle()) };
        check(self.table(), "cuEventRecord", status)?;
        self.recorded.store(place.number(), Ordering::Release);
        Ok(())
    }

    /// What it stands for.
    pub(crate) fn recorded(&self) -> Recorded {
        Recorded::of_number(self.recorded.load(Ordering::Acquire))
    }

    /// The named error where it stands for a point of a graph: the driver would spoil the capture over the question.
    fn not_of_capture(&self, op: &'static str) -> Result<()> {
        match self.recorded() {
            Recorded::InCapture(_) => Err(of_capture(op)),
            Recorded::Never | Recorded::Outside => Ok(()),
        }
    }

    /// Waits until the event is reached.
    ///
    /// # Errors
    /// Kind `Busy` when the event was recorded in a stream that was being captured; whatever the driver says, which
    /// includes the failure of any kernel before; kind `Forked` in a forked child.
    pub fn synchronize(&self) -> Result<()> {
        let _context = self.device.bind()?;
        self.not_of_capture("Event::synchronize")?;
        // SAFETY: the context is current by the guard; the event is alive.
        let status =
            relaxed_capture(|| unsafe { (self.table().cuEventSynchronize)(self.handle()) });
        check_event_wait(self.table(), "cuEventSynchronize", status)?;
        guard::waited();
        Ok(())
    }

    /// Whether the event is reached.
    ///
    /// # Errors
    /// As [`synchronize`](Self::synchronize).
    pub fn is_done(&self) -> Result<bool> {
        let done = self.is_reached(&self.device.bind()?)?;
        if done {
            guard::waited();
        }
        Ok(done)
    }

    /// [`is_done`](Self::is_done) for who has made the context of the event's device current already, and tells nobody.
    pub(crate) fn is_reached(&self, context: &ContextGuard) -> Result<bool> {
        debug_assert_eq!(context.device(), &self.device, "its own context");
        self.not_of_capture("Event::is_done")?;
        // SAFETY: the context is current by the guard; the event is alive.
        let status = relaxed_capture(|| unsafe { (self.table().cuEventQuery)(self.handle()) });
        if status == CUresult::CUDA_ERROR_NOT_READY {
            return Ok(false);
        }
        check_event_wait(self.table(), "cuEventQuery", status)?;
        Ok(true)
    }

    /// Milliseconds on the device's clock from `since` to this event. Both are [`timed`](Self::timed) and reached.
    ///
    /// # Errors
    /// Kind `InvalidArgument` when the events belong to different devices; `Busy` when one was recorded in a stream that was being
    /// captured; kind `Driver` when one has no clock, was never recorded (which is then said, and of which one), or is not reached
    /// yet; kind `Forked` in a forked child.
    pub fn elapsed_ms(&self, since: &Self) -> Result<f32> {
        same_device("Event::elapsed_ms", &self.device, &since.device)?;
        let _context = self.device.bind()?;
        for event in [since, self] {
            event.not_of_capture("Event::elapsed_ms")?;
        }
        let table = self.table();
        let (call, entry) = match (table.cuEventElapsedTime_v2, table.cuEventElapsedTime) {
            (Some(entry), _) => ("cuEventElapsedTime_v2", entry),
            (None, Some(entry)) => ("cuEventElapsedTime", entry),
            (None, None) => return Err(missing_entry("cuEventElapsedTime_v2", "12.8")),
        };
        let mut milliseconds = 0.0_f32;
        // SAFETY: the context is current by the guard; both events are alive; the call writes one number.
        let status = unsafe { entry(&raw mut milliseconds, since.handle(), self.handle()) };
        check_event_wait(table, call, status).map_err(|error| {
            let refused = status == CUresult::CUDA_ERROR_INVALID_HANDLE;
            let events = [(since, "counted from"), (self, "counted to")];
            let reason = events.into_iter().find_map(|(event, role)| {
                let lack = event.lack_of_time()?;
                Some(format!("the event that is {role} {lack}"))
            });
            match reason.filter(|_| refused) {
                Some(reason) => error.context(reason),
                None => error,
            }
        })?;
        Ok(milliseconds)
    }

    /// Why it may have no time, as far as is known here.
    fn lack_of_time(&self) -> Option<&'static str> {
        if !self.has_clock {
            return Some("was made without a clock");
        }
        (self.recorded() == Recorded::Never).then_some("was never recorded")
    }

    fn table(&self) -> &'static Table {
        self.device.table()
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        let raw = self.handle();
        // SAFETY: made by `create` and destroyed only here; the driver keeps what queued waits still need.
        self.device.in_drop("cuEventDestroy_v2", |table| unsafe {
            (table.cuEventDestroy_v2)(raw)
        });
    }
}

/// Of an event of a capture, whosever that was, nobody is told anything.
fn check_event_wait(table: &Table, call: &'static str, status: CUresult) -> Result<()> {
    match status {
        CUresult::CUDA_ERROR_CAPTURED_EVENT => Err(of_capture(call)),
        _ => check_wait(table, call, status),
    }
}

/// The named error for what cannot be done with an event of a capture.
pub(crate) fn of_capture(op: &'static str) -> Error {
    Error::busy(
        op,
        "the event was last recorded in a stream that was being captured: it stands for a point of the graph, and for nothing outside \
         it until it is recorded elsewhere",
    )
}
