//! What a program is compiled for.

use crate::device::Device;
use std::fmt;
use ulib_core::{Error, Result};

/// The hardware a program is compiled for, and whether to machine code or to PTX.
///
/// # Examples
/// ```
/// use ulib_device::compiler::Target;
///
/// assert_eq!(Target::parse("sm_90")?, Target::Cubin("90".into()));
/// assert_eq!(Target::parse("compute_60")?, Target::Ptx("60".into()));
/// assert_eq!(Target::Ptx("90a".into()).to_string(), "compute_90a");
/// assert!(Target::parse("pascal").is_err());
/// # Ok::<(), ulib_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// Machine code for one architecture, such as `90`; PTX when the compiler is older than the hardware.
    Cubin(String),
    /// PTX, which the driver translates for this architecture and newer ones.
    Ptx(String),
}

impl Target {
    /// Machine code for exactly this device.
    #[must_use]
    pub fn of(device: &Device) -> Self {
        let (major, minor) = device.compute_capability();
        Self::Cubin(format!("{major}{minor}"))
    }

    /// `sm_90` is machine code, `compute_90` PTX.
    ///
    /// # Errors
    /// Kind `InvalidArgument` for anything else.
    pub fn parse(text: &str) -> Result<Self> {
        let good = |rest: &str| {
            let digits = rest.trim_end_matches(|c: char| c.is_ascii_lowercase());
            (2..=3).contains(&digits.len())
                && rest.len() <= digits.len() + 1
                && digits.bytes().all(|b| b.is_ascii_digit())
        };
        match (text.strip_prefix("sm_"), text.strip_prefix("compute_")) {
            (Some(rest), _) if good(rest) => Ok(Self::Cubin(rest.to_owned())),
            (_, Some(rest)) if good(rest) => Ok(Self::Ptx(rest.to_owned())),
            _ => Err(Error::invalid(
                "compile",
                "the architecture",
                format!("{text:?}"),
                "one such as sm_90 or compute_90",
            )),
        }
    }

    /// The same architecture as PTX.
    #[must_use]
    pub fn as_ptx(&self) -> Self {
        Self::Ptx(self.architecture().to_owned())
    }

    /// The architecture without its prefix, such as `90` or `90a`.
    #[must_use]
    pub fn architecture(&self) -> &str {
        match self {
            Self::Cubin(name) | Self::Ptx(name) => name,
        }
    }

    /// The architecture as a number, such as 90.
    pub(super) fn number(&self) -> i32 {
        self.architecture()
            .trim_end_matches(|c: char| c.is_ascii_lowercase())
            .parse()
            .unwrap_or(0)
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cubin(name) => write!(f, "sm_{name}"),
            Self::Ptx(name) => write!(f, "compute_{name}"),
        }
    }
}
