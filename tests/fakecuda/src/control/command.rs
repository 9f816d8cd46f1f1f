//! Control by text, for a consumer that loads the shared library: `fakecuda_control(const char *command) -> int64_t`.
//!
//! | command | answer |
//! |---|---|
//! | `reset` | 0; settings of the environment, counters at zero, broken contexts whole again |
//! | `fail CALL:N:CODE`, `fail CALL:N+:CODE` | 0; `*` for any call |
//! | `fail none` | 0; no failures any more |
//! | `memory_limit BYTES`, `memory_limit none` | 0 |
//! | `deferred 0`, `deferred 1` | 0 |
//! | `bandwidth BYTES_PER_SECOND` | 0 |
//! | `break ORDINAL CODE` | 0; every context of that device answers CODE from now on |
//! | `count CALL`, `count *` | calls so far |
//! | `live_bytes`, `live_memory`, `live_pinned`, `live_registered`, `live_streams`, `live_events`, `live_modules`, `live_pools`, `live_graphs`, `live_arrays`, `live_mipmapped_arrays`, `live_textures`, `live_surfaces`, `live_graphics`, `live_links` | what is alive since the last `reset` |
//! | `pending` | pieces of work given to streams and not run |
//! | `faults` | mistakes seen so far, see [`crate::Session::faults`] |
//!
//! Anything else answers -1.

use super::session::{Kind, Session, live, reset, state};
use super::{env, with};
use std::path::Path;

/// Runs one command; -1 when it is not understood.
#[must_use]
pub fn run(command: &str) -> i64 {
    understand(command).unwrap_or(-1)
}

fn understand(command: &str) -> Option<i64> {
    let mut words = command.split_whitespace();
    let (verb, argument) = (words.next()?, words.next());
    let number = || argument?.parse::<u64>().ok();
    match verb {
        "reset" => reset(),
        "fail" if argument == Some("none") => with(|control| control.config.rules.clear()),
        "fail" => {
            let rule = env::rule(argument?)?;
            with(|control| control.config.rules.push(rule));
        }
        "memory_limit" => {
            let limit = if argument == Some("none") {
                None
            } else {
                Some(number()?)
            };
            with(|control| control.config.memory_limit = limit);
        }
        "deferred" => Session::set_deferred(number()? == 1),
        "bandwidth" => {
            let bound = number()?;
            with(|control| control.config.bandwidth = bound);
        }
        "break" => Session::set_broken(
            usize::try_from(number()?).ok()?,
            words.next()?.parse().ok()?,
        ),
        "count" if argument == Some("*") => {
            return i64::try_from(with(|control| control.total)).ok();
        }
        "count" => {
            let call = argument?;
            return i64::try_from(with(|control| {
                control.counts.get(call).copied().unwrap_or(0)
            }))
            .ok();
        }
        "pending" => return i64::try_from(state(|state| state.pending())).ok(),
        "faults" => return i64::try_from(state(|state| state.faults.len())).ok(),
        "live_bytes" => {
            let all = state(|state| live(state, Some(state.session)));
            let memory = all.iter().filter(|live| live.kind == Kind::Memory);
            return i64::try_from(memory.map(|live| live.bytes).sum::<u64>()).ok();
        }
        _ => {
            let kind = match verb {
                "live_memory" => Kind::Memory,
                "live_pinned" => Kind::Pinned,
                "live_registered" => Kind::Registered,
                "live_streams" => Kind::Stream,
                "live_events" => Kind::Event,
                "live_modules" => Kind::Module,
                "live_pools" => Kind::Pool,
                "live_graphs" => Kind::Graph,
                "live_arrays" => Kind::Array,
                "live_mipmapped_arrays" => Kind::MipmappedArray,
                "live_textures" => Kind::Texture,
                "live_surfaces" => Kind::Surface,
                "live_graphics" => Kind::Graphics,
                "live_links" => Kind::Link,
                _ => return None,
            };
            let all = state(|state| live(state, Some(state.session)));
            return i64::try_from(all.iter().filter(|live| live.kind == kind).count()).ok();
        }
    }
    Some(0)
}

/// Writes a copy of a shared library in which `dlsym` does not find these names: the old driver's file.
///
/// The names are altered in the copy's string table, where the hash lookup then misses them.
///
/// # Errors
/// When the file cannot be read or written, or a name does not occur in it.
pub fn without_symbols(library: &Path, copy: &Path, names: &[&str]) -> std::io::Result<()> {
    let mut bytes = std::fs::read(library)?;
    for name in names {
        let wanted: Vec<u8> = [b"\0", name.as_bytes(), b"\0"].concat();
        let places: Vec<usize> = bytes
            .windows(wanted.len())
            .enumerate()
            .filter(|(_, window)| *window == wanted)
            .map(|(at, _)| at)
            .collect();
        if places.is_empty() {
            return Err(std::io::Error::other(format!(
                "{name} does not occur in {}",
                library.display()
            )));
        }
        for at in places {
            bytes[at + 1] = b'x';
        }
    }
    std::fs::write(copy, bytes)
}

mod export {
    #![allow(unsafe_code, reason = "a C function")]

    use core::ffi::{CStr, c_char};

    /// The C face of [`super::run`].
    ///
    /// # Safety
    /// `command` is null or a string that ends with a zero byte.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn fakecuda_control(command: *const c_char) -> i64 {
        if command.is_null() {
            return -1;
        }
        // SAFETY: not null, and ends with a zero byte by the caller's promise.
        let command = unsafe { CStr::from_ptr(command) };
        let run = || command.to_str().map_or(-1, super::run);
        std::panic::catch_unwind(run).unwrap_or(-1)
    }
}
