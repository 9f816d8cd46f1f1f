//! The driver that integration tests run on.
//!
//! Without settings it is the software one of `tests/fakecuda`, and tests of one process take turns on it. With
//! `ULIB_TEST_DRIVER=real` it is the machine's; without a usable GPU such a run skips aloud (`SKIP: ...`), or fails when
//! `ULIB_REQUIRE_CUDA=1`.
//!
//! Tests run in any order, so each begins from the same state (nothing is kept from tests before, see `settle`), and ends with no
//! device memory in use (`nothing_is_left`). One that has to leave something behind runs in a process of its own: [`alone`].
//!
//! - A test that runs on either: `let _driver = common::driver();`, kept to the end of the test.
//! - A test that has nothing to say without a GPU: `let Some(driver) = common::gpu() else { return };`.
//! - A test of faults that only the software driver can show: `let Some(session) = common::fake_only() else { return };`.
//!   On a real card it is not run, and that is no skip: there is nothing to do there.
#![allow(dead_code, reason = "every test binary uses its own part")]
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot run has failed"
)]

pub(crate) mod folder;

use fakecuda::{Kind, Live, Session};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use ulib_device::Device;
use ulib_device::driver::Driver;
use ulib_device::memory::release_pools;

/// Tests on a real card take turns too: they read process-wide counters.
static TURN: Mutex<()> = Mutex::new(());

/// Whether a test of this process had its turn already.
static EARLIER: AtomicBool = AtomicBool::new(false);

/// The driver of a test, and its turn on it.
#[derive(Debug)]
pub(crate) enum Mode {
    /// The software driver, with its controls.
    Fake(Session),
    /// The machine's own.
    Real(MutexGuard<'static, ()>),
    /// The machine's own was asked for, and there is none: objects stay on the host.
    Absent(MutexGuard<'static, ()>),
}

impl Mode {
    /// The controls of the software driver, if the test runs on it.
    pub(crate) fn session(&self) -> Option<&Session> {
        if let Self::Fake(session) = self {
            Some(session)
        } else {
            None
        }
    }

    /// Whether a real card is used.
    pub(crate) fn is_real(&self) -> bool {
        matches!(self, Self::Real(_))
    }

    /// Whether there is a device at all.
    pub(crate) fn has_device(&self) -> bool {
        !matches!(self, Self::Absent(_))
    }
}

/// Whether the run is for the machine's own driver.
pub(crate) fn wants_real() -> bool {
    std::env::var("ULIB_TEST_DRIVER").is_ok_and(|value| value == "real")
}

fn requires_gpu() -> bool {
    std::env::var("ULIB_REQUIRE_CUDA").is_ok_and(|value| value == "1")
}

/// The driver of this run. Keep the answer until the test ends.
///
/// # Panics
/// When a real card is required and there is none, or the software driver could not be installed.
pub(crate) fn driver() -> Mode {
    if wants_real() {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        return match Driver::get() {
            Ok(_) => {
                settle();
                Mode::Real(turn)
            }
            Err(reason) if requires_gpu() => panic!("ULIB_REQUIRE_CUDA=1, but there is {reason}"),
            Err(reason) => {
                println!("SKIP: device part of {}: {reason}", test_name());
                Mode::Absent(turn)
            }
        };
    }
    let mut session = Session::begin();
    if let Err(reason) = fakecuda::install() {
        panic!("the software driver could not be installed: {reason}");
    }
    // The first of a process finds nothing, and may be about how the driver begins.
    if EARLIER.swap(true, Ordering::Relaxed) {
        settle();
        session.reset_counts();
    }
    session.at_end(nothing_is_left);
    Mode::Fake(session)
}

/// Gives back what is kept from tests before, and forgets errors of destructors that nobody asked for.
fn settle() {
    for device in Device::all() {
        release_pools(&device);
        let _ = device.errors();
    }
}

/// Fails where a test leaves device memory behind: those after it would find less, or count more, than in a fresh process.
fn nothing_is_left(session: &Session) {
    let left = || {
        let mut live = session.live();
        live.retain(|live| live.kind == Kind::Memory);
        live
    };
    if in_child() || left().is_empty() {
        return;
    }
    // A pool may still have it, or have been refused.
    session.restore();
    settle();
    assert_eq!(left(), Vec::<Live>::new(), "device memory is left behind");
}

/// The driver of this run, or nothing (said aloud) where the machine's own was asked for and there is none.
pub(crate) fn gpu() -> Option<Mode> {
    let mode = driver();
    mode.has_device().then_some(mode)
}

/// The controls of the software driver; nothing on a real card, where such a test has nothing to do.
pub(crate) fn fake_only() -> Option<Session> {
    if wants_real() {
        println!("software driver only: {}", test_name());
        return None;
    }
    match driver() {
        Mode::Fake(session) => Some(session),
        Mode::Real(_) | Mode::Absent(_) => None,
    }
}

/// The name of the running test, which is that of its thread.
pub(crate) fn test_name() -> String {
    std::thread::current().name().unwrap_or("a test").to_owned()
}

/// Runs one test of this binary alone in a child process with these variables set, the software driver's among them.
///
/// The test asks [`in_child`] first and returns when it is not in the child. The output is the child's, for the caller to judge.
pub(crate) fn child(test: &str, variables: &[(&str, &str)]) -> std::process::Output {
    let mut command =
        std::process::Command::new(std::env::current_exe().expect("path of this test"));
    command
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env("ULIB_TEST_CHILD", "1");
    for (name, value) in variables {
        command.env(name, value);
    }
    command.output().expect("a child process")
}

/// Runs `work` in a fresh process that has this test alone, and passes its failure on. `test` is the full path of the
/// test that calls this.
pub(crate) fn alone(test: &str, variables: &[(&str, &str)], work: impl FnOnce()) {
    if in_child() {
        work();
        return;
    }
    // On a card the other process takes memory that tests of this one measure.
    let _turn = wants_real().then(|| TURN.lock().unwrap_or_else(PoisonError::into_inner));
    let output = child(test, variables);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{test} in a child: {}\n{text}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Whether this process is one that [`child`] started.
pub(crate) fn in_child() -> bool {
    std::env::var_os("ULIB_TEST_CHILD").is_some()
}
