//! A debug mode for managed memory: the host must not touch it between a launch and the wait for it.
//!
//! On devices without concurrent access such an access ends the program, elsewhere it is a race; neither says where. With
//! [`GUARD_VARIABLE`] set, the pages of managed memory are closed to the host after a launch, and opened by the next wait that
//! covers it ([`waited`]). A touch in between is a fault, which [`fault`] turns into a message.
//!
//! The driver itself works on the host's side at times, so the pages are open within every call of it: [`Lifted`] is part of
//! every [`ContextGuard`](crate::ContextGuard). What a launch has closed is remembered by stream, with an event behind the last
//! launch there ([`Pending`]); a wait asks the events, so that a wait for one stream also counts for those it has waited for.

mod fault;
mod pages;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use super::Attachment;
use crate::driver::forked;
use crate::{ContextGuard, Device, Event, Stream};
use fault::Place;

pub(super) use pages::page_bytes;

/// The environment variable that guards managed memory: anything but nothing and `0`, read at the first allocation.
pub const GUARD_VARIABLE: &str = "ULIB_MANAGED_GUARD";

/// Whether managed memory is guarded: closed to the host from each launch on until a wait for it.
///
/// The environment variable [`GUARD_VARIABLE`] says so, on Linux. A touch of closed memory ends the process by `SIGSEGV`, after
/// a line on standard error that names the address and the kernel; whatever handled the signal before is called then. It catches
/// accesses of the program's own instructions while no thread is within a call of the driver, which has to reach the memory:
/// what another thread touches while one waits is not seen, and a system call that is given the memory fails with `EFAULT`
/// instead. What is attached to the host is left open, and what is attached to one stream is closed by launches there only.
///
/// Where the processor has protection keys, the device sees nothing of it. Elsewhere the pages themselves are closed, which a
/// kernel may find that brings a page to the device while it runs.
#[must_use]
pub fn managed_guard() -> bool {
    static ON: OnceLock<bool> = OnceLock::new();
    *ON.get_or_init(|| {
        let value = std::env::var_os(GUARD_VARIABLE).unwrap_or_default();
        pages::CAN_CLOSE && !value.is_empty() && value != "0"
    })
}

/// Whether there is anything to guard, to be asked without the lock.
static ACTIVE: AtomicBool = AtomicBool::new(false);

static STATE: Mutex<State> = Mutex::new(State {
    regions: BTreeMap::new(),
    pending: Vec::new(),
    calls: 0,
});

struct State {
    regions: BTreeMap<u64, Region>,
    /// One for each stream with launches that nobody has waited for.
    pending: Vec<Pending>,
    /// How many calls of the driver are going on.
    calls: usize,
}

/// Managed memory, in whole pages.
struct Region {
    ordinal: u32,
    attachment: Attachment,
    /// The stream that it is attached to alone.
    stream: Option<u64>,
    place: &'static Place,
}

impl Region {
    /// Whether the host must not touch it while work on the stream runs.
    fn is_closed_by(&self, ordinal: u32, stream: u64) -> bool {
        self.ordinal == ordinal
            && match self.attachment {
                Attachment::Global => true,
                Attachment::Host => false,
                Attachment::Single => self.stream == Some(stream),
            }
    }
}

/// Launches on one stream.
struct Pending {
    device: Device,
    /// The stream's identity.
    stream: u64,
    /// Behind the last one; `None` where it could not be recorded, so that only the device can be waited for.
    after: Option<Arc<Event>>,
    /// Where the memory starts that they have closed.
    closed: Vec<u64>,
    /// How the last one is named in a message.
    named: String,
}

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl State {
    /// Opens what is closed, or closes what launches have closed, as fits the calls that are going on.
    fn settle(&mut self) {
        for (start, region) in &self.regions {
            let by = self
                .pending
                .iter()
                .rev()
                .find(|one| one.closed.contains(start));
            match by {
                Some(by) if self.calls == 0 => region.place.close(&by.named),
                _ => region.place.open(),
            }
        }
    }
}

/// Guarded memory is open while this lives: within a call of the driver.
#[derive(Debug)]
pub(crate) struct Lifted(bool);

impl Lifted {
    /// Opens guarded memory, if there is any.
    pub(crate) fn new() -> Self {
        if !ACTIVE.load(Ordering::Acquire) || forked() {
            return Self(false);
        }
        let mut state = state();
        state.calls += 1;
        if state.calls == 1 {
            state.settle();
        }
        Self(true)
    }
}

impl Drop for Lifted {
    fn drop(&mut self) {
        if self.0 && !forked() {
            let mut state = state();
            state.calls -= 1;
            if state.calls == 0 {
                state.settle();
            }
        }
    }
}

/// Guards `len` bytes at `start`, both whole pages, from the next launch on; launches that are not waited for count as well.
pub(super) fn add(device: &Device, start: u64, len: usize, attachment: Attachment) {
    fault::install();
    let region = Region {
        ordinal: device.ordinal(),
        attachment,
        stream: None,
        place: Place::take(start, len),
    };
    let mut state = state();
    for pending in &mut state.pending {
        if region.is_closed_by(pending.device.ordinal(), pending.stream) {
            pending.closed.push(start);
        }
    }
    state.regions.insert(start, region);
    if state.calls == 0 {
        state.settle();
    }
    ACTIVE.store(true, Ordering::Release);
}

/// Opens the memory for good.
pub(super) fn remove(start: u64) {
    if !ACTIVE.load(Ordering::Acquire) {
        return;
    }
    let mut state = state();
    if let Some(region) = state.regions.remove(&start) {
        region.place.open();
        region.place.give_back();
    }
    for pending in &mut state.pending {
        pending.closed.retain(|closed| *closed != start);
    }
}

/// The memory is attached otherwise from the next launch on.
pub(super) fn attached(start: u64, attachment: Attachment, stream: &Stream) {
    if !ACTIVE.load(Ordering::Acquire) {
        return;
    }
    if let Some(region) = state().regions.get_mut(&start) {
        region.attachment = attachment;
        region.stream = (attachment == Attachment::Single).then(|| stream.id());
    }
}

/// A kernel, or a graph of them, was put into the stream, whose device's context is current by the guard.
pub(crate) fn launched(stream: &Stream, context: &ContextGuard, name: impl FnOnce() -> String) {
    if !ACTIVE.load(Ordering::Acquire) {
        return;
    }
    // What is captured does not run; where the driver does not tell, the launch counts.
    if stream.is_capturing_in(context).unwrap_or(false) {
        return;
    }
    let (device, id) = (stream.device(), stream.id());
    let known = state()
        .pending
        .iter()
        .find(|pending| pending.stream == id)
        .and_then(|pending| pending.after.clone());
    let after = match known {
        Some(event) => Some(event),
        None => Event::private(device).ok().map(Arc::new),
    };
    let after = after.filter(|event| event.record(stream).is_ok());
    let mut state = state();
    let closed = state
        .regions
        .iter()
        .filter(|(_, region)| region.is_closed_by(device.ordinal(), id))
        .map(|(start, _)| *start);
    let mut closed: Vec<u64> = closed.collect();
    if let Some(at) = state
        .pending
        .iter()
        .position(|pending| pending.stream == id)
    {
        closed.extend(state.pending.remove(at).closed);
        closed.sort_unstable();
        closed.dedup();
    }
    state.pending.push(Pending {
        device: device.clone(),
        stream: id,
        after,
        closed,
        named: name(),
    });
}

/// The host has waited for something: launches that are over close nothing any more.
pub(crate) fn waited() {
    forget(|pending, context| {
        pending
            .after
            .as_ref()
            .is_some_and(|event| event.is_reached(context).unwrap_or(false))
    });
}

/// The host has waited for all work of the device.
pub(crate) fn waited_for_all(device: &Device) {
    forget(|pending, _| pending.device == *device);
}

fn forget(is_over: impl Fn(&Pending, &ContextGuard) -> bool) {
    if !ACTIVE.load(Ordering::Acquire) || forked() {
        return;
    }
    // One at a time, since whoever comes meanwhile would not see what is taken out here.
    static ASKING: Mutex<()> = Mutex::new(());
    let _one_at_a_time = ASKING.lock().unwrap_or_else(PoisonError::into_inner);
    // Asked without the lock, which every call of the driver takes.
    let pending = std::mem::take(&mut state().pending);
    let mut left = Vec::new();
    for one in pending {
        let bound = one.device.bind();
        if !bound.is_ok_and(|context| is_over(&one, &context)) {
            left.push(one);
        }
    }
    let mut state = state();
    // What was launched meanwhile comes after these.
    left.append(&mut state.pending);
    state.pending = left;
    if state.calls == 0 {
        state.settle();
    }
}
