//! Where an operation runs: one place for all its operands, and one record in the log that says so.

use std::fmt;
use std::time::Duration;

use ulib_core::words::counted;
use ulib_core::{DeviceStorable, Error, ErrorKind, Location, PreferredDevice, Result};
use ulib_device::block::{Block, Transfers};
use ulib_device::{Device, Stream};

use crate::view::{Array, ViewMut};

/// The target of the records: at level `debug`, one for each operation.
pub const PLACEMENT_LOG: &str = "ulib::placement";

/// A block of an operation, and what the operation calls it: `("a", block)`.
pub(crate) type Operand<'a> = (&'static str, &'a Block);

/// Where one run of an operation happens. Made at the operation's one point of dispatch, after everything that can be
/// refused without looking at blocks, and given to [`finish`](Self::finish) with the outcome:
///
/// ```ignore
/// let mut place = Place::of("add", &[("a", a.block()), ("out", out.block())])?;
/// let done = match place.device() {
///     // `false`: an input is not to be on the device any more, since another thread changed its preference.
///     Some(device) => match device::add(a, &mut out, device) {
///         Ok(false) => {
///             place.ran_on_host();
///             host::add(a, &mut out)
///         }
///         done => done.map(drop),
///     },
///     None => host::add(a, &mut out),
/// };
/// place.finish(&[("a", a.block()), ("out", out.block())], done)
/// ```
///
/// While nobody listens this costs one look at the log's level beside the question where the blocks are.
#[derive(Debug)]
#[must_use = "the record is written by `finish`"]
pub(crate) struct Place {
    op: &'static str,
    device: Option<Device>,
    /// What had been transferred before; `None` when nobody listens.
    before: Option<Transfers>,
    /// Bytes moved past the blocks' own copies.
    up: u64,
    down: u64,
}

impl Place {
    /// The place that all operands share: the device that all of them prefer and can be on, or the host.
    ///
    /// # Errors
    /// Kind `Residency`, naming two operands that are to be worked on in different places and where they are; what
    /// keeps a block from being accessed at all, such as kind `Busy` while a writable host view of it is open.
    pub(crate) fn of(op: &'static str, operands: &[Operand<'_>]) -> Result<Self> {
        let before = transfers_if_heard(operands);
        let device = match operands {
            [] => None,
            [first, others @ ..] => {
                let device = first.1.target_device();
                for other in others {
                    // An operand that is named twice is in one place.
                    if !std::ptr::eq(first.1, other.1) && other.1.target_device() != device {
                        return Err(apart(op, first, other));
                    }
                }
                device
            }
        };
        Ok(Self {
            op,
            device,
            before,
            up: 0,
            down: 0,
        })
    }

    /// For an operation that also works across places: as [`of`](Self::of), and the host where the operands have no
    /// place in common.
    pub(crate) fn of_any(op: &'static str, operands: &[Operand<'_>]) -> Self {
        let before = transfers_if_heard(operands);
        let mut devices = operands.iter().map(|(_, block)| block.target_device());
        let first = devices.next().flatten();
        let device = first.filter(|first| devices.all(|other| other.as_ref() == Some(first)));
        Self {
            op,
            device,
            before,
            up: 0,
            down: 0,
        }
    }

    /// The device to run on; `None` for the host.
    pub(crate) fn device(&self) -> Option<&Device> {
        self.device.as_ref()
    }

    /// Notes that the host did the work after all, or that `device` did.
    pub(crate) fn ran_on(&mut self, device: Option<&Device>) {
        self.device = device.cloned();
    }

    /// Notes that the host did the work after all: the device function found that an input is not to be there any more.
    pub(crate) fn ran_on_host(&mut self) {
        self.device = None;
    }

    /// Notes bytes sent to a device that no block counts.
    pub(crate) fn sent(&mut self, bytes: usize) {
        self.up += bytes as u64;
    }

    /// Notes bytes fetched from a device that no block counts.
    pub(crate) fn fetched(&mut self, bytes: usize) {
        self.down += bytes as u64;
    }

    /// Writes the record and gives an error the operation's name. `operands` are those of [`of`](Self::of).
    pub(crate) fn finish<R>(self, operands: &[Operand<'_>], outcome: Result<R>) -> Result<R> {
        let outcome = outcome.map_err(|error| error.context(self.op));
        if let Some(before) = self.before {
            let after = transfers(operands);
            let record = Record {
                op: self.op,
                device: self.device,
                operands: operands
                    .iter()
                    .map(|(name, block)| (*name, block.location()))
                    .collect(),
                up: self.up + after.bytes_up.saturating_sub(before.bytes_up),
                down: self.down + after.bytes_down.saturating_sub(before.bytes_down),
                error: outcome.as_ref().err(),
            };
            log::debug!(target: PLACEMENT_LOG, "{record}");
        }
        outcome
    }
}

/// How often a new array is made anew, because the block it is made from is to be somewhere else by then.
const TRIES: u64 = 64;

/// A new array that `work` fills from `block` alone, where `block` is: again when another thread has changed its preference
/// since the array was made.
pub(crate) fn new_array<T: DeviceStorable>(
    block: &Block,
    shape: &[usize],
    work: impl Fn(ViewMut<'_, T>) -> Result<()>,
) -> Result<Array<T>> {
    for attempt in 1..TRIES {
        match array_beside(block, shape, &work) {
            // Not in step with a thread that changes it again and again.
            Err(error) if *error.kind() == ErrorKind::Residency => {
                std::thread::sleep(Duration::from_micros(attempt));
            }
            done => return done,
        }
    }
    array_beside(block, shape, work)
}

/// A new array that `work` fills, where `block` is: on the host, too, when the device that `block` prefers has no room for it
/// but would have for the array.
pub(crate) fn array_beside<T: DeviceStorable>(
    block: &Block,
    shape: &[usize],
    work: impl FnOnce(ViewMut<'_, T>) -> Result<()>,
) -> Result<Array<T>> {
    let mut array = match block.target_device() {
        Some(_) => Array::zeros_like(block, shape)?,
        None => Array::zeros(shape)?,
    };
    work(array.view_mut())?;
    Ok(array)
}

/// The error for two operands that are to be worked on in different places, or what keeps one of them from its own.
fn apart(op: &'static str, first: &Operand<'_>, second: &Operand<'_>) -> Error {
    for (_, block) in [first, second] {
        let PreferredDevice::Device(ordinal) = block.preferred() else {
            continue;
        };
        // A preference that no device honours keeps nothing from the host.
        let Ok(device) = Device::new(ordinal) else {
            continue;
        };
        if let Err(error) = block.device_read_if_placed(&Stream::current(&device)) {
            return error.context(op);
        }
    }
    let side = |(name, block): &Operand<'_>| {
        let at = match block.target_device() {
            // What the location says of a block that the host has changed is not where it is going to be.
            Some(device) => device.to_string(),
            None => block.location().to_string(),
        };
        format!("{name} is to be used on {at}")
    };
    Error::residency(
        op,
        format!(
            "{}, {}: prefer one place for both",
            side(first),
            side(second)
        ),
    )
}

/// Asks the log first, so that an operation pays for records only when somebody reads them.
fn transfers_if_heard(operands: &[Operand<'_>]) -> Option<Transfers> {
    log::log_enabled!(target: PLACEMENT_LOG, log::Level::Debug).then(|| transfers(operands))
}

/// The transfers so far of all blocks together, each counted once.
fn transfers(operands: &[Operand<'_>]) -> Transfers {
    let mut sum = Transfers::default();
    for (i, (_, block)) in operands.iter().enumerate() {
        if operands[..i]
            .iter()
            .any(|(_, earlier)| std::ptr::eq(*earlier, *block))
        {
            continue;
        }
        let one = block.transfers();
        sum.uploads += one.uploads;
        sum.downloads += one.downloads;
        sum.bytes_up += one.bytes_up;
        sum.bytes_down += one.bytes_down;
    }
    sum
}

/// `add: Device: NVIDIA H200; uploaded 4096 bytes`.
struct Record<'a> {
    op: &'static str,
    device: Option<Device>,
    operands: Vec<(&'static str, Location)>,
    up: u64,
    down: u64,
    error: Option<&'a Error>,
}

impl fmt::Display for Record<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.op)?;
        let mut sentences = self.operands.iter().map(|(_, location)| location);
        let first = sentences.next();
        let common = first.filter(|first| sentences.all(|other| other == *first));
        match (&self.device, common) {
            // Where the data is explains where the operation ran.
            (None, Some(location @ (Location::Host | Location::HostBecause(_)))) => {
                write!(f, "{location}")?;
            }
            (Some(device), Some(Location::Device { ordinal, .. }))
                if *ordinal == device.ordinal() =>
            {
                write!(f, "{device}")?;
            }
            (place, _) => {
                match place {
                    Some(device) => write!(f, "{device}")?,
                    None => f.write_str("Host")?,
                }
                for (i, (name, location)) in self.operands.iter().enumerate() {
                    let before = if i == 0 { "; " } else { ", " };
                    write!(f, "{before}{name}: {location}")?;
                }
            }
        }
        if self.up > 0 {
            write!(f, "; uploaded {}", counted(self.up, "byte"))?;
        }
        if self.down > 0 {
            write!(f, "; downloaded {}", counted(self.down, "byte"))?;
        }
        self.error
            .map_or(Ok(()), |error| write!(f, "; failed: {error}"))
    }
}
