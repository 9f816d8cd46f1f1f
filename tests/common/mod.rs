//! The driver that integration tests run on.
//!
//! Without settings it is the software one of `tests/fakecuda`, and tests of one process take turns on it. With
//! `ULIB_TEST_DRIVER=real` it is the machine's; without a usable GPU such a run skips aloud (`SKIP: ...`), or fails when
//! `ULIB_REQUIRE_CUDA=1`.
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

use fakecuda::Session;
use std::sync::{Mutex, MutexGuard, PoisonError};
use ulib_device::driver::Driver;

/// Tests on a real card take turns too: they read process-wide counters.
static TURN: Mutex<()> = Mutex::new(());

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
            Ok(_) => Mode::Real(turn),
            Err(reason) if requires_gpu() => panic!("ULIB_REQUIRE_CUDA=1, but there is {reason}"),
            Err(reason) => {
                println!("SKIP: device part of {}: {reason}", test_name());
                Mode::Absent(turn)
            }
        };
    }
    let session = Session::begin();
    if let Err(reason) = fakecuda::install() {
        panic!("the software driver could not be installed: {reason}");
    }
    Mode::Fake(session)
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

/// Whether this process is one that [`child`] started.
pub(crate) fn in_child() -> bool {
    std::env::var_os("ULIB_TEST_CHILD").is_some()
}
