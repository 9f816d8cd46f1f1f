//! Every reason why there is no usable driver or device.

use std::fmt;
use ulib_core::{Error, ErrorKind};

/// Why there is no usable NVIDIA driver, or why a device of it cannot be used. `Display` is one sentence for the user.
///
/// # Examples
/// ```
/// use ulib_device::driver::Unavailable;
///
/// let reason = Unavailable::NoDriverLibrary { tried: vec!["libcuda.so.1".into(), "libcuda.so".into()] };
/// assert_eq!(reason.to_string(), "no NVIDIA driver library: libcuda.so.1");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unavailable {
    /// Switched off by the user.
    Disabled {
        /// The environment variable that did it.
        by: String,
    },
    /// None of the libraries is there.
    NoDriverLibrary {
        /// The names looked for, in order.
        tried: Vec<String>,
    },
    /// A library is there, but the system's loader refuses it.
    DriverUnloadable {
        /// The file, as it was asked for.
        path: String,
        /// The loader's words.
        detail: String,
    },
    /// A library is there, but lacks something that every driver has.
    MissingSymbol {
        /// The library.
        library: String,
        /// The first entry point that was not found.
        symbol: String,
    },
    /// The library is the toolkit's stub for linking, not a driver.
    StubLibrary {
        /// The library.
        path: String,
    },
    /// `cuInit` (or a call just around it) failed.
    Init {
        /// The status code.
        code: i32,
        /// Its name, or the number in words when it has none.
        name: String,
    },
    /// The driver is older than [`super::MINIMUM_VERSION`].
    DriverTooOld {
        /// The version found: 1000 x major + 10 x minor.
        found: i32,
        /// The version needed.
        need: i32,
    },
    /// The driver works, but there is no device, or none is visible to this process.
    NoDevice,
    /// The device is older than the kernels of this library support.
    DeviceTooOld {
        /// Which device.
        ordinal: u32,
        /// Its name.
        name: String,
        /// Its compute capability, major and minor.
        found: (i32, i32),
        /// The compute capability needed.
        need: (i32, i32),
    },
    /// This process was forked from one that had initialised the driver.
    Forked,
}

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disabled { by } => write!(f, "the GPU is disabled by {by}"),
            Self::NoDriverLibrary { tried } => {
                let first = tried.first().map_or("libcuda.so.1", String::as_str);
                write!(f, "no NVIDIA driver library: {first}")
            }
            Self::DriverUnloadable { path, detail } => {
                // Loaders usually start their sentence with the path themselves.
                let detail = detail.strip_prefix(path.as_str()).unwrap_or(detail);
                let detail = detail.trim_start_matches([':', ' ']);
                write!(
                    f,
                    "the NVIDIA driver library cannot be loaded: {path}: {detail}"
                )
            }
            Self::MissingSymbol { library, symbol } => {
                write!(f, "the NVIDIA driver library {library} lacks {symbol}")
            }
            Self::StubLibrary { path } => {
                write!(
                    f,
                    "{path} is the CUDA toolkit's stub library, not an NVIDIA driver"
                )
            }
            Self::Init { code, name } => {
                write!(f, "the NVIDIA driver does not start: {name} ({code})")
            }
            Self::DriverTooOld { found, need } => write!(
                f,
                "the NVIDIA driver is too old: it supports CUDA {}, and CUDA {} is needed",
                Version(*found),
                Version(*need)
            ),
            Self::NoDevice => {
                f.write_str("no NVIDIA GPU in this machine, or none visible to this process")
            }
            Self::DeviceTooOld {
                ordinal,
                name,
                found,
                need,
            } => write!(
                f,
                "GPU {ordinal} ({name}) is too old: compute capability {}.{}, and {}.{} is needed",
                found.0, found.1, need.0, need.1
            ),
            Self::Forked => ulib_core::Reason::Forked.fmt(f),
        }
    }
}

impl std::error::Error for Unavailable {}

impl From<&Unavailable> for Error {
    fn from(reason: &Unavailable) -> Self {
        let kind = match reason {
            Unavailable::Forked => ErrorKind::Forked,
            _ => ErrorKind::Unavailable,
        };
        Self::new(kind, reason.to_string()).with_source(reason.clone())
    }
}

impl From<Unavailable> for Error {
    fn from(reason: Unavailable) -> Self {
        Self::from(&reason)
    }
}

/// A CUDA version number in the usual notation.
struct Version(i32);

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0 / 1000, self.0 % 1000 / 10)
    }
}
