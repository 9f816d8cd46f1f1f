//! [`Location`]: where data is right now, as a sentence.

use std::fmt;

use super::Reason;

/// Where data is, and why if that is not where its user wants it.
///
/// ```
/// use ulib_core::{Location, Reason};
/// let device = |ordinal| Location::Device { ordinal, name: "Tesla P40".into() };
/// assert_eq!(device(0).to_string(), "Device: Tesla P40");
/// assert_eq!(device(1).to_string(), "Device 1: Tesla P40");
/// assert_eq!(Location::Host.to_string(), "Host");
/// let reason = Reason::Unavailable("no NVIDIA driver library: libcuda.so.1".into());
/// assert_eq!(Location::HostBecause(reason).to_string(), "Host (no NVIDIA driver library: libcuda.so.1)");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Location {
    /// A device holds the newest content.
    Device {
        /// The ordinal of the device.
        ordinal: u32,
        /// The name of the device.
        name: String,
    },
    /// The host holds the newest content, as preferred.
    Host,
    /// The host holds the newest content, though a device is preferred.
    HostBecause(Reason),
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Device { ordinal: 0, name } => write!(f, "Device: {name}"),
            Self::Device { ordinal, name } => write!(f, "Device {ordinal}: {name}"),
            Self::Host | Self::HostBecause(Reason::AsPreferred) => f.write_str("Host"),
            Self::HostBecause(reason) => write!(f, "Host ({reason})"),
        }
    }
}
