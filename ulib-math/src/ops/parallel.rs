//! Whether host operations can use rayon's threads.

use std::error::Error;
use std::process;
use std::sync::OnceLock;

/// Whether the global pool could be started, and the process that asked.
static POOL: OnceLock<(bool, u32)> = OnceLock::new();

/// Whether work handed to rayon now will be done: not in a forked child, where the threads of the pool stayed in the
/// parent and joining them would wait for ever, and not where the system gave no threads to the global pool, which then
/// panics at every use. Results do not depend on it, only the time does.
///
/// Asked for work worth more than [`GRAIN`](super::runs::GRAIN) elements, before any of it.
pub(crate) fn available() -> bool {
    let process = process::id();
    if POOL
        .get()
        .is_some_and(|(_, started_in)| *started_in != process)
    {
        return false;
    }
    // A thread of a pool, perhaps one of the caller's.
    if rayon::current_thread_index().is_some() {
        return true;
    }
    POOL.get_or_init(|| (start(), process)).0
}

/// Starts the global pool as its first use would; one that the application has configured stays.
fn start() -> bool {
    match rayon::ThreadPoolBuilder::new().build_global() {
        Ok(()) => true,
        // Without a source it is there already; with one the system refused a thread.
        Err(error) => error.source().is_none(),
    }
}
