//! [`Reason`]: why data is where it is, in words.

use std::fmt;

use crate::error::{Error, ErrorKind};

/// Why a decision came out as it did. Its text is what stands in `Host (...)`.
///
/// ```
/// use ulib_core::Reason;
/// assert_eq!(
///     Reason::NotDeviceStorable { what: "voxels" }.to_string(),
///     "these voxels cannot be copied to a device",
/// );
/// assert_eq!(
///     Reason::OutOfMemory { needs: 4096, free: 1024 }.to_string(),
///     "out of device memory: needs 4096 bytes, 1024 bytes free",
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// The data is where its user wants it.
    AsPreferred,
    /// The host copy is newer than the device copy.
    ChangedOnHost,
    /// The device copy was given up on request; the preference stays.
    Released,
    /// The elements own something outside their bytes.
    NotDeviceStorable {
        /// What the elements are called, in the plural: `voxels`.
        what: &'static str,
    },
    /// No device can be used at all; the text is the whole sentence.
    Unavailable(String),
    /// The machine has no device with this ordinal.
    NoSuchDevice {
        /// The ordinal asked for.
        ordinal: u32,
        /// How many devices there are.
        count: u32,
    },
    /// The allocation failed.
    OutOfMemory {
        /// Bytes needed.
        needs: u64,
        /// Bytes free on the device.
        free: u64,
    },
    /// The policy [`HostOnly`](super::HostOnly) is set.
    HostOnlyPolicy,
    /// The policy answered with a device that is not the preferred one, which it may not.
    NotPreferredDevice {
        /// The ordinal of the device it answered.
        chosen: u32,
        /// The ordinal of the device that is preferred.
        preferred: u32,
    },
    /// The policy wants to leave a margin free, and this would not.
    DoesNotFit {
        /// Bytes needed.
        needs: u64,
        /// Bytes free on the device.
        free: u64,
        /// Bytes that have to stay free.
        margin: u64,
    },
    /// The policy expects the host to be done sooner than the transfer.
    NotWorthTransfer {
        /// Estimated time on the host, in nanoseconds.
        host_ns: u64,
        /// Estimated time with the device, transfers included, in nanoseconds.
        device_ns: u64,
    },
    /// This process is a forked child of one that used the driver.
    Forked,
    /// The driver failed; the text is the driver's own.
    Driver(String),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AsPreferred => f.write_str("as preferred"),
            Self::ChangedOnHost => {
                f.write_str("changed on the host; back on the device at the next update")
            }
            Self::Released => f.write_str("released; back on the device at the next update"),
            Self::NotDeviceStorable { what } => {
                write!(f, "these {what} cannot be copied to a device")
            }
            Self::Unavailable(sentence) | Self::Driver(sentence) => f.write_str(sentence),
            Self::NoSuchDevice { ordinal, count } => {
                let noun = if *count == 1 { "device" } else { "devices" };
                write!(f, "no device {ordinal}: this machine has {count} {noun}")
            }
            Self::OutOfMemory { needs, free } => write!(
                f,
                "out of device memory: needs {needs} bytes, {free} bytes free"
            ),
            Self::HostOnlyPolicy => f.write_str("kept on the host by the placement policy"),
            Self::NotPreferredDevice { chosen, preferred } => write!(
                f,
                "the placement policy chose device {chosen}, and device {preferred} is preferred"
            ),
            Self::DoesNotFit {
                needs,
                free,
                margin,
            } => write!(
                f,
                "does not fit on the device: needs {needs} bytes, {free} bytes free, {margin} bytes to be left free"
            ),
            Self::NotWorthTransfer { host_ns, device_ns } => write!(
                f,
                "not worth the transfer: about {host_ns} ns on the host, {device_ns} ns on the device"
            ),
            Self::Forked => {
                f.write_str("the driver cannot be used in a forked child of a process that used it")
            }
        }
    }
}

/// For operations that need the data on a device and cannot do without.
impl From<Reason> for Error {
    fn from(reason: Reason) -> Self {
        let kind = match &reason {
            Reason::OutOfMemory { needs, free } => return Self::out_of_memory(*needs, *free),
            Reason::AsPreferred
            | Reason::ChangedOnHost
            | Reason::Released
            | Reason::NotDeviceStorable { .. }
            | Reason::HostOnlyPolicy
            | Reason::NotPreferredDevice { .. }
            | Reason::DoesNotFit { .. }
            | Reason::NotWorthTransfer { .. } => ErrorKind::Residency,
            Reason::Unavailable(_) | Reason::Driver(_) => ErrorKind::Unavailable,
            Reason::NoSuchDevice { .. } => ErrorKind::InvalidArgument,
            Reason::Forked => ErrorKind::Forked,
        };
        Self::new(kind, reason.to_string())
    }
}
