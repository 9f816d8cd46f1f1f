//! Settings from the environment, read once, before the first call; a [`crate::Session`] starts from them.
//!
//! | variable | meaning |
//! |---|---|
//! | `FAKECUDA_FAIL` | failures, separated by commas: `CALL:N:CODE` (the N-th call fails), `CALL:N+:CODE` (all from the N-th); `*` for any call |
//! | `FAKECUDA_MEMORY_LIMIT` | bytes a device can give out |
//! | `FAKECUDA_HIDE` | names of entry points that do not exist, separated by commas |
//! | `FAKECUDA_VERSION` | the version reported, as 11020; newer entry points are hidden |
//! | `FAKECUDA_DEVICES` | number of devices, 0 to 2 (0: `cuInit` answers 100) |
//! | `FAKECUDA_INIT` | the code `cuInit` answers (34 is what a stub library answers) |
//! | `FAKECUDA_DEFERRED` | 1: streams run only at a synchronise |
//! | `FAKECUDA_BANDWIDTH` | bytes a second that host copies may move |
//! | `FAKECUDA_PEERS` | 0: the devices cannot reach each other |
//! | `FAKECUDA_INTERPRETER` | 1: each call by a thread that holds Python's interpreter is named on standard error |
//!
//! A shared library cannot hide symbols from `dlsym`; hidden names are hidden there from `cuGetProcAddress` only. A test
//! that needs a driver file without some symbols makes one with [`crate::control::command::without_symbols`].

use super::{Config, Rule};

/// The settings that the environment asks for.
pub(crate) fn config() -> Config {
    let mut config = Config::new();
    let value = |name: &str| std::env::var(name).ok();
    let number = |name: &str| value(name).and_then(|text| text.parse::<u64>().ok());
    if let Some(text) = value("FAKECUDA_FAIL") {
        config.rules = text.split(',').filter_map(rule).collect();
    }
    config.memory_limit = number("FAKECUDA_MEMORY_LIMIT");
    if let Some(text) = value("FAKECUDA_HIDE") {
        config.hidden = text.split(',').map(|name| name.trim().to_owned()).collect();
    }
    if let Some(version) =
        number("FAKECUDA_VERSION").and_then(|version| i32::try_from(version).ok())
    {
        config.version = version;
    }
    if let Some(devices) =
        number("FAKECUDA_DEVICES").and_then(|devices| usize::try_from(devices).ok())
    {
        config.devices = devices.min(crate::state::device::COUNT);
    }
    config.init = number("FAKECUDA_INIT").and_then(|code| u32::try_from(code).ok());
    config.deferred = number("FAKECUDA_DEFERRED") == Some(1);
    config.bandwidth = number("FAKECUDA_BANDWIDTH").unwrap_or(0);
    config.peers = number("FAKECUDA_PEERS") != Some(0);
    config.interpreter = number("FAKECUDA_INTERPRETER") == Some(1);
    config
}

/// One failure in the form `CALL:N:CODE` or `CALL:N+:CODE`.
pub(crate) fn rule(text: &str) -> Option<Rule> {
    let mut parts = text.trim().split(':');
    let (call, nth, code) = (parts.next()?, parts.next()?, parts.next()?);
    let (nth, times) = nth
        .strip_suffix('+')
        .map_or((nth, 1), |nth| (nth, u64::MAX));
    let skip = nth.parse::<u64>().ok()?.checked_sub(1)?;
    let call = (call != "*").then(|| call.to_owned());
    Some(Rule {
        call,
        skip,
        times,
        code: code.parse().ok()?,
    })
}
