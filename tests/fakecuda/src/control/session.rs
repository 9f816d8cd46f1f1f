//! One test's hold on the driver.

use super::{Rule, env, with};
use crate::state::{STATE, State};
use std::cell::Cell;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Tests of one process take turns.
static TURN: Mutex<()> = Mutex::new(());

thread_local! {
    static OPEN: Cell<bool> = const { Cell::new(false) };
}

/// What kind of thing is still alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Device memory, from a pool or not.
    Memory,
    /// Host memory made by the driver.
    Pinned,
    /// Host memory registered with the driver.
    Registered,
    /// A stream.
    Stream,
    /// An event.
    Event,
    /// A module.
    Module,
    /// A memory pool.
    Pool,
    /// A graph, ready to be launched or not.
    Graph,
    /// An array; the levels of a mipmapped one are not counted apart.
    Array,
    /// A mipmapped array.
    MipmappedArray,
    /// A texture object.
    Texture,
    /// A surface object.
    Surface,
    /// A registered object of OpenGL.
    Graphics,
    /// A linker.
    Link,
}

/// Something alive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Live {
    /// What it is.
    pub kind: Kind,
    /// Its address or handle.
    pub handle: u64,
    /// Its bytes; 0 for what is not memory.
    pub bytes: u64,
}

impl fmt::Display for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?} {:#x} of {} bytes",
            self.kind, self.handle, self.bytes
        )
    }
}

/// A test's turn with the driver: settings and counters start fresh, and go back to the environment's at the end.
///
/// Objects that outlive a session (what the library under test caches for the whole process) stay valid; [`live`] lists only
/// what was made during this one. Codes are the numbers of `CUresult`, known or not.
///
/// [`live`]: Session::live
#[derive(Debug)]
pub struct Session {
    at_end: Option<fn(&Self)>,
    _turn: MutexGuard<'static, ()>,
}

pub(super) fn state<R>(work: impl FnOnce(&mut State) -> R) -> R {
    work(&mut STATE.lock().unwrap_or_else(PoisonError::into_inner))
}

/// A fresh start: the settings [`restored`](restore), counters at zero, no mistakes seen.
pub(super) fn reset() {
    restore();
    with(|control| {
        control.counts.clear();
        control.total = 0;
        control.log.clear();
    });
    state(|state| {
        state.session += 1;
        state.faults.clear();
    });
}

/// Back to the environment's settings, everything given to a stream done, no broken contexts and no captures.
fn restore() {
    let deferred = with(|control| {
        control.config = env::config();
        control.config.deferred
    });
    state(|state| {
        state.deferred = false;
        for context in state.contexts.keys().copied().collect::<Vec<_>>() {
            state.drain_context(context);
        }
        state.deferred = deferred;
        for context in state.contexts.values_mut() {
            context.broken = None;
        }
        for stream in state.streams.values_mut() {
            stream.capture = None;
        }
        state.captures.clear();
    });
}

impl Session {
    /// Waits for its turn and starts fresh.
    #[must_use]
    pub fn begin() -> Self {
        assert!(
            !OPEN.get(),
            "this thread already has a session; a second one would wait for it for ever"
        );
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        OPEN.set(true);
        reset();
        Self {
            at_end: None,
            _turn: turn,
        }
    }

    /// `check` is called at the end, unless the test has failed, when everything made after this has gone.
    pub fn at_end(&mut self, check: fn(&Self)) {
        self.at_end = Some(check);
    }

    /// Takes back all that was set; what was counted stays.
    pub fn restore(&self) {
        restore();
    }

    /// The `nth` call of `call` from now on (1 is the next) returns `code`.
    pub fn fail(&self, call: &str, nth: u64, code: u32) {
        add(Some(call), nth, 1, code);
    }

    /// Every call of `call` from the `nth` on returns `code`.
    pub fn fail_from(&self, call: &str, nth: u64, code: u32) {
        add(Some(call), nth, u64::MAX, code);
    }

    /// The `nth` call of anything from now on returns `code`; `cuGetErrorName` and `cuGetErrorString` do not count.
    pub fn fail_any(&self, nth: u64, code: u32) {
        add(None, nth, 1, code);
    }

    /// Every call of anything from the `nth` on returns `code`.
    pub fn fail_any_from(&self, nth: u64, code: u32) {
        add(None, nth, u64::MAX, code);
    }

    /// Takes back all failures asked for.
    pub fn fail_nothing(&self) {
        with(|control| control.config.rules.clear());
    }

    /// Bytes each device can give out in all.
    pub fn memory_limit(&self, bytes: u64) {
        with(|control| control.config.memory_limit = Some(bytes));
    }

    /// Whether streams wait until something synchronises. Turning it off runs what waits.
    pub fn deferred(&self, on: bool) {
        Self::set_deferred(on);
    }

    pub(super) fn set_deferred(on: bool) {
        state(|state| {
            state.deferred = on;
            if !on {
                for context in state.contexts.keys().copied().collect::<Vec<_>>() {
                    state.drain_context(context);
                }
            }
        });
    }

    /// Hides entry points from [`crate::resolve`] and `cuGetProcAddress`; tables filled before keep theirs.
    pub fn hide(&self, names: &[&str]) {
        with(|control| {
            control
                .config
                .hidden
                .extend(names.iter().map(|name| (*name).to_owned()))
        });
    }

    /// Reports an older version and hides what came later.
    pub fn version(&self, version: i32) {
        with(|control| control.config.version = version);
    }

    /// Number of devices reported; with 0, `cuInit` answers 100.
    pub fn devices(&self, count: usize) {
        with(|control| control.config.devices = count.min(crate::state::device::COUNT));
    }

    /// What `cuInit` answers (34 for a stub library); `None` for success.
    pub fn init(&self, code: Option<u32>) {
        with(|control| control.config.init = code);
    }

    /// Whether the two devices can reach each other.
    pub fn peers(&self, can: bool) {
        with(|control| control.config.peers = can);
    }

    /// Bytes a second that copies from or to the host may move; 0 for no bound.
    pub fn bandwidth(&self, bytes_per_second: u64) {
        with(|control| control.config.bandwidth = bytes_per_second);
    }

    /// Calls of one entry point since the session began.
    #[must_use]
    pub fn count(&self, call: &str) -> u64 {
        with(|control| control.counts.get(call).copied().unwrap_or(0))
    }

    /// Calls since the session began; `cuGetErrorName` and `cuGetErrorString` do not count.
    #[must_use]
    pub fn total_calls(&self) -> u64 {
        with(|control| control.total)
    }

    /// Sets all counters to zero.
    pub fn reset_counts(&self) {
        with(|control| {
            control.counts.clear();
            control.total = 0;
            control.log.clear();
        });
    }

    /// Whether to note the order of calls.
    pub fn record(&self, on: bool) {
        with(|control| control.config.record = on);
    }

    /// The calls noted so far, in order.
    #[must_use]
    pub fn calls(&self) -> Vec<&'static str> {
        with(|control| control.log.clone())
    }

    /// What was made in this session and is still alive, device memory first.
    #[must_use]
    pub fn live(&self) -> Vec<Live> {
        state(|state| live(state, Some(state.session)))
    }

    /// Everything alive in this process.
    #[must_use]
    pub fn live_in_process(&self) -> Vec<Live> {
        state(|state| live(state, None))
    }

    /// Bytes of device memory made in this session and still alive.
    #[must_use]
    pub fn live_bytes(&self) -> u64 {
        self.live()
            .iter()
            .filter(|live| live.kind == Kind::Memory)
            .map(|live| live.bytes)
            .sum()
    }

    /// Work given to streams and not run yet.
    #[must_use]
    pub fn pending(&self) -> usize {
        state(|state| state.pending())
    }

    /// Mistakes seen: guards overwritten by kernels, queued work on memory freed before it ran.
    #[must_use]
    pub fn faults(&self) -> Vec<String> {
        state(|state| state.faults.clone())
    }

    /// The bytes at a device address as they are now, whatever is pending; `None` outside allocations.
    #[must_use]
    pub fn peek(&self, address: u64, bytes: usize) -> Option<Vec<u8>> {
        state(|state| state.peek(address, bytes))
    }

    /// Breaks a device's primary context, as a consumer's faulty kernel does: every later call returns `code`.
    pub fn break_device(&self, ordinal: usize, code: u32) {
        Self::set_broken(ordinal, code);
    }

    pub(super) fn set_broken(ordinal: usize, code: u32) {
        state(|state| {
            for context in state
                .contexts
                .values_mut()
                .filter(|context| context.device == ordinal)
            {
                context.broken = Some(ulib_device::sys::CUresult(code));
            }
        });
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // Also when the check fails.
        let _closed = Closed;
        if let Some(check) = self.at_end
            && !std::thread::panicking()
        {
            check(self);
        }
    }
}

/// The end of a session, when it is dropped.
struct Closed;

impl Drop for Closed {
    fn drop(&mut self) {
        OPEN.set(false);
        reset();
    }
}

fn add(call: Option<&str>, nth: u64, times: u64, code: u32) {
    let rule = Rule {
        call: call.map(str::to_owned),
        skip: nth.saturating_sub(1),
        times,
        code,
    };
    with(|control| control.config.rules.push(rule));
}

pub(super) fn live(state: &State, session: Option<u64>) -> Vec<Live> {
    let wanted = |made: u64| session.is_none_or(|session| session == made);
    let mut found = Vec::new();
    let mut push = |kind, handle, bytes| {
        found.push(Live {
            kind,
            handle,
            bytes,
        })
    };
    for device in &state.devices {
        for (address, made) in device
            .arena
            .live()
            .filter(|(_, made)| wanted(made.session) && !made.freeing && !made.internal)
        {
            push(Kind::Memory, address, made.bytes);
        }
    }
    for (address, made) in state.pinned.iter().filter(|(_, made)| wanted(made.session)) {
        push(
            if made.owned {
                Kind::Pinned
            } else {
                Kind::Registered
            },
            *address,
            made.bytes,
        );
    }
    for (handle, stream) in &state.streams {
        let users = !stream.destroyed
            && matches!(
                stream.kind,
                crate::state::queue::Kind::Blocking | crate::state::queue::Kind::NonBlocking
            );
        if users && wanted(stream.session) {
            push(Kind::Stream, *handle, 0);
        }
    }
    for (handle, _) in state
        .events
        .iter()
        .filter(|(_, event)| wanted(event.session))
    {
        push(Kind::Event, *handle, 0);
    }
    for (handle, _) in state
        .modules
        .iter()
        .filter(|(_, module)| wanted(module.session))
    {
        push(Kind::Module, *handle, 0);
    }
    for (handle, _) in state.links.iter().filter(|(_, link)| wanted(link.session)) {
        push(Kind::Link, *handle, 0);
    }
    for (handle, pool) in state
        .pools
        .iter()
        .filter(|(_, pool)| wanted(pool.session) && pool.is_owned())
    {
        push(Kind::Pool, *handle, pool.reserved);
    }
    for (handle, array) in &state.arrays {
        if array.whole == 0 && !array.graphics && wanted(array.session) {
            let bytes = array.row() * array.rows() * array.slices();
            push(Kind::Array, *handle, bytes);
        }
    }
    for (handle, _) in state
        .mipmaps
        .iter()
        .filter(|(_, made)| wanted(made.session))
    {
        push(Kind::MipmappedArray, *handle, 0);
    }
    for (handle, made) in state
        .objects
        .iter()
        .filter(|(_, made)| wanted(made.session))
    {
        let kind = if made.texture.is_some() {
            Kind::Texture
        } else {
            Kind::Surface
        };
        push(kind, *handle, 0);
    }
    for (handle, _) in state
        .graphs
        .iter()
        .filter(|(_, graph)| wanted(graph.session))
    {
        push(Kind::Graph, *handle, 0);
    }
    for (handle, _) in state
        .graphics
        .iter()
        .filter(|(_, made)| wanted(made.session))
    {
        push(Kind::Graphics, *handle, 0);
    }
    found
}
