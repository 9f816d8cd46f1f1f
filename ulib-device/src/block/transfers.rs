//! Counting transfers between host and device, and saying what an implicit one may do.
//!
//! A transfer is *explicit* when somebody asked for the data to move: setting a preference, updating, releasing. It is
//! *implicit* when an access needed the data somewhere else: a host read, a host write, a kernel, a pointer asked for.
//! Both are counted, per block and for the process; implicit ones obey [`ImplicitTransfers`].

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use ulib_core::{Error, ErrorKind, Result};

/// Transfers between host and device so far.
///
/// # Examples
/// ```
/// let before = ulib_device::transfers::total();
/// assert!(before.bytes_up >= before.uploads || before.uploads == 0);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Transfers {
    /// Copies from host to device that succeeded.
    pub uploads: u64,
    /// Copies from device to host that succeeded.
    pub downloads: u64,
    /// Bytes of all uploads together.
    pub bytes_up: u64,
    /// Bytes of all downloads together.
    pub bytes_down: u64,
}

/// What happens when an access needs data on the other side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ImplicitTransfers {
    /// The data moves. The setting at start.
    #[default]
    Allow,
    /// The data moves, with a line at level `debug` in the log.
    Log,
    /// The data moves, with a line at level `warn` in the log.
    Warn,
    /// The access fails with kind `Residency`, naming the direction and the bytes, and nothing changes.
    Forbid,
}

impl ImplicitTransfers {
    const ALL: [Self; 4] = [Self::Allow, Self::Log, Self::Warn, Self::Forbid];
}

static IMPLICIT: AtomicU8 = AtomicU8::new(0);
static TOTAL: Counters = Counters::new();

/// The transfers of every block of this process, dropped ones included.
#[must_use]
pub fn total() -> Transfers {
    TOTAL.snapshot()
}

/// What implicit transfers of this process do now.
#[must_use]
pub fn implicit_transfers() -> ImplicitTransfers {
    let index = usize::from(IMPLICIT.load(Ordering::Relaxed));
    ImplicitTransfers::ALL
        .get(index)
        .copied()
        .unwrap_or_default()
}

/// Sets what implicit transfers of this process do from now, and returns the setting before.
///
/// # Examples
/// ```
/// use ulib_device::transfers::{ImplicitTransfers, implicit_transfers, set_implicit_transfers};
/// assert_eq!(set_implicit_transfers(ImplicitTransfers::Forbid), ImplicitTransfers::Allow);
/// assert_eq!(implicit_transfers(), ImplicitTransfers::Forbid);
/// set_implicit_transfers(ImplicitTransfers::Allow);
/// ```
pub fn set_implicit_transfers(setting: ImplicitTransfers) -> ImplicitTransfers {
    let before = implicit_transfers();
    IMPLICIT.store(setting as u8, Ordering::Relaxed);
    before
}

/// Which way bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Up,
    Down,
}

/// Whether somebody asked for the data to move, or an access needs it elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    Explicit,
    /// The operation that needs it.
    Implicit(&'static str),
}

/// Lets a transfer pass, or says why not. Called before it.
pub(super) fn admit(cause: Cause, direction: Direction, bytes: usize) -> Result<()> {
    let Cause::Implicit(op) = cause else {
        return Ok(());
    };
    let way = match direction {
        Direction::Up => "from host to device",
        Direction::Down => "from device to host",
    };
    match implicit_transfers() {
        ImplicitTransfers::Allow => {}
        ImplicitTransfers::Log => log::debug!("{op}: implicit transfer of {bytes} bytes {way}"),
        ImplicitTransfers::Warn => log::warn!("{op}: implicit transfer of {bytes} bytes {way}"),
        ImplicitTransfers::Forbid => {
            let message = format!(
                "implicit transfers are forbidden, and this one needs {bytes} bytes moved {way}"
            );
            return Err(Error::in_op(ErrorKind::Residency, op, message));
        }
    }
    Ok(())
}

/// The counters of one block, or of the process.
#[derive(Debug, Default)]
pub(super) struct Counters {
    uploads: AtomicU64,
    downloads: AtomicU64,
    bytes_up: AtomicU64,
    bytes_down: AtomicU64,
}

impl Counters {
    const fn new() -> Self {
        Self {
            uploads: AtomicU64::new(0),
            downloads: AtomicU64::new(0),
            bytes_up: AtomicU64::new(0),
            bytes_down: AtomicU64::new(0),
        }
    }

    /// Counts one transfer here and for the process.
    pub(super) fn count(&self, direction: Direction, bytes: usize) {
        self.add(direction, bytes as u64);
        TOTAL.add(direction, bytes as u64);
    }

    fn add(&self, direction: Direction, bytes: u64) {
        let (times, sum) = match direction {
            Direction::Up => (&self.uploads, &self.bytes_up),
            Direction::Down => (&self.downloads, &self.bytes_down),
        };
        times.fetch_add(1, Ordering::Relaxed);
        sum.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn snapshot(&self) -> Transfers {
        Transfers {
            uploads: self.uploads.load(Ordering::Relaxed),
            downloads: self.downloads.load(Ordering::Relaxed),
            bytes_up: self.bytes_up.load(Ordering::Relaxed),
            bytes_down: self.bytes_down.load(Ordering::Relaxed),
        }
    }
}
