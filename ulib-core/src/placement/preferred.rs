//! [`PreferredDevice`]: what the user asked for, and the words for it.

use std::fmt;
use std::str::FromStr;

use super::Placement;
use crate::error::{Error, ErrorKind};

/// Where the user wants the data to live. It is remembered even where it cannot be honoured.
///
/// The words are `Host`, `Device` and `Device:N`, in exactly this case; `Device` is `Device:0`.
///
/// ```
/// use ulib_core::PreferredDevice;
/// assert_eq!("Device".parse::<PreferredDevice>()?, PreferredDevice::Device(0));
/// assert_eq!("Device:1".parse::<PreferredDevice>()?, PreferredDevice::Device(1));
/// assert_eq!(PreferredDevice::Device(0).to_string(), "Device");
/// let error = "cuda:0".parse::<PreferredDevice>().unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "unknown device word 'cuda:0', expected 'Host', 'Device' or 'Device:N' with an ordinal N",
/// );
/// # Ok::<(), ulib_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PreferredDevice {
    /// Host memory.
    #[default]
    Host,
    /// The memory of the device with this ordinal.
    Device(u32),
}

impl PreferredDevice {
    /// The ordinal, for a device.
    pub const fn ordinal(self) -> Option<u32> {
        match self {
            Self::Host => None,
            Self::Device(ordinal) => Some(ordinal),
        }
    }

    /// The place that was asked for.
    pub const fn placement(self) -> Placement {
        match self {
            Self::Host => Placement::Host,
            Self::Device(ordinal) => Placement::Device(ordinal),
        }
    }
}

impl fmt::Display for PreferredDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host => f.pad("Host"),
            Self::Device(0) => f.pad("Device"),
            Self::Device(ordinal) => write!(f, "Device:{ordinal}"),
        }
    }
}

impl FromStr for PreferredDevice {
    type Err = Error;

    fn from_str(word: &str) -> Result<Self, Error> {
        match word {
            "Host" => return Ok(Self::Host),
            "Device" => return Ok(Self::Device(0)),
            _ => {}
        }
        word.strip_prefix("Device:")
            .and_then(plain_number)
            .map(Self::Device)
            .ok_or_else(|| {
                Error::new(
                    ErrorKind::InvalidArgument,
                    format!(
                        "unknown device word '{}', expected 'Host', 'Device' or 'Device:N' with an ordinal N",
                        word.escape_debug()
                    ),
                )
            })
    }
}

/// Digits only, no sign, and one spelling for each number.
fn plain_number(digits: &str) -> Option<u32> {
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    let padded = digits.len() > 1 && digits.starts_with('0');
    if plain && !padded {
        digits.parse().ok()
    } else {
        None
    }
}
