//! What a test sets and reads: failures to inject, limits, hidden entry points, and counters.

pub mod command;
pub mod env;
mod interpreter;
pub(crate) mod session;
mod since;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};
use ulib_device::sys::CUresult;

/// The version this driver reports unless told otherwise: CUDA 13.0.
pub const VERSION: i32 = 13_000;

/// A failure to inject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rule {
    /// The entry point, or any.
    pub(crate) call: Option<String>,
    /// Calls that still succeed, counted from when the rule was made.
    pub(crate) skip: u64,
    /// Calls that then fail.
    pub(crate) times: u64,
    pub(crate) code: u32,
}

#[derive(Clone, Debug)]
pub(crate) struct Config {
    pub(crate) rules: Vec<Rule>,
    pub(crate) memory_limit: Option<u64>,
    pub(crate) hidden: BTreeSet<String>,
    pub(crate) version: i32,
    /// Devices reported.
    pub(crate) devices: usize,
    /// What `cuInit` answers instead of success.
    pub(crate) init: Option<u32>,
    pub(crate) deferred: bool,
    /// Bytes a second that host copies may move; 0 for no bound.
    pub(crate) bandwidth: u64,
    pub(crate) record: bool,
    /// Whether the devices can reach each other at all.
    pub(crate) peers: bool,
    /// Whether calls that hold Python's interpreter are told.
    pub(crate) interpreter: bool,
}

impl Config {
    const fn new() -> Self {
        Self {
            rules: Vec::new(),
            memory_limit: None,
            hidden: BTreeSet::new(),
            version: VERSION,
            devices: crate::state::device::COUNT,
            init: None,
            deferred: false,
            bandwidth: 0,
            record: false,
            peers: true,
            interpreter: false,
        }
    }
}

pub(crate) struct Control {
    pub(crate) config: Config,
    from_environment: bool,
    pub(crate) counts: BTreeMap<&'static str, u64>,
    pub(crate) total: u64,
    pub(crate) log: Vec<&'static str>,
}

static CONTROL: Mutex<Control> = Mutex::new(Control {
    config: Config::new(),
    from_environment: false,
    counts: BTreeMap::new(),
    total: 0,
    log: Vec::new(),
});

/// Works on the controls; the environment is read before the first time.
pub(crate) fn with<R>(work: impl FnOnce(&mut Control) -> R) -> R {
    let mut control = CONTROL.lock().unwrap_or_else(PoisonError::into_inner);
    if !control.from_environment {
        control.from_environment = true;
        control.config = env::config();
    }
    work(&mut control)
}

/// What becomes of a call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Go,
    Fail(CUresult),
}

/// Entry points used while an error is put into words: never made to fail by a rule for any call, and not counted there.
fn puts_errors_into_words(name: &str) -> bool {
    matches!(name, "cuGetErrorName" | "cuGetErrorString")
}

/// Counts a call and says whether it fails.
pub(crate) fn on_call(name: &'static str) -> Verdict {
    with(|control| {
        *control.counts.entry(name).or_insert(0) += 1;
        let quiet = puts_errors_into_words(name);
        if !quiet {
            control.total += 1;
        }
        if control.config.record {
            control.log.push(name);
        }
        if control.config.interpreter && interpreter::is_held() {
            eprintln!("fakecuda: {name} with the interpreter");
        }
        let mut verdict = Verdict::Go;
        for rule in &mut control.config.rules {
            let meant = rule.call.as_deref().map_or(!quiet, |call| call == name);
            if !meant {
                continue;
            }
            if rule.skip > 0 {
                rule.skip -= 1;
            } else if rule.times > 0 && verdict == Verdict::Go {
                rule.times = if rule.times == u64::MAX {
                    rule.times
                } else {
                    rule.times - 1
                };
                verdict = Verdict::Fail(CUresult(rule.code));
            }
        }
        verdict
    })
}

/// Whether an entry point is hidden, by name or because the reported version had not got it.
pub(crate) fn is_hidden(name: &str) -> bool {
    with(|control| {
        control.config.hidden.contains(name) || since::version(name) > control.config.version
    })
}

/// Whether an entry point had not come yet in that version.
pub(crate) fn is_newer(name: &str, version: i32) -> bool {
    since::version(name) > version
}

pub(crate) fn memory_limit() -> Option<u64> {
    with(|control| control.config.memory_limit)
}

pub(crate) fn version() -> i32 {
    with(|control| control.config.version)
}

/// Devices reported.
pub(crate) fn devices() -> usize {
    with(|control| control.config.devices)
}

pub(crate) fn init_answer() -> Option<CUresult> {
    with(|control| control.config.init.map(CUresult))
}

pub(crate) fn peers() -> bool {
    with(|control| control.config.peers)
}

/// Spends the time a host copy of that size takes under the bound a test has set.
pub(crate) fn spend_time_for(bytes: u64) {
    let bandwidth = with(|control| control.config.bandwidth);
    if bandwidth > 0 {
        std::thread::sleep(std::time::Duration::from_secs_f64(
            bytes as f64 / bandwidth as f64,
        ));
    }
}
