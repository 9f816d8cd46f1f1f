//! Every reason why there is no compiler.

use std::fmt;
use ulib_core::{Error, ErrorKind};

/// Why there is no usable NVRTC. `Display` is one sentence for the user.
///
/// # Examples
/// ```
/// use ulib_device::compiler::NoCompiler;
///
/// let reason = NoCompiler::Disabled { by: "ULIB_NVRTC".into() };
/// assert_eq!(reason.to_string(), "the CUDA compiler is disabled by ULIB_NVRTC");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoCompiler {
    /// Switched off by the user.
    Disabled {
        /// The environment variable that did it.
        by: String,
    },
    /// None of the libraries is there.
    NotFound {
        /// The places looked at, in order.
        tried: Vec<String>,
    },
    /// A library is there, but the system's loader refuses it.
    Unloadable {
        /// The file, as it was asked for.
        path: String,
        /// The loader's words.
        detail: String,
    },
    /// A library is there, but lacks something that every NVRTC has.
    MissingSymbol {
        /// The library.
        library: String,
        /// The first entry point that was not found.
        symbol: String,
    },
}

impl fmt::Display for NoCompiler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disabled { by } => write!(f, "the CUDA compiler is disabled by {by}"),
            Self::NotFound { tried } => write!(
                f,
                "no CUDA compiler: NVRTC is in none of {}; `pip install nvidia-cuda-nvrtc-cu12 nvidia-cuda-runtime-cu12` \
                 (CUDA 13: nvidia-cuda-nvrtc nvidia-cuda-runtime nvidia-cuda-crt) brings it, which is found in a virtual \
                 environment that is active, and nvidia-cuda-cccl-cu12 (nvidia-cuda-cccl) what there is of C++'s standard library; \
                 ULIB_NVRTC names one elsewhere",
                tried.join(", ")
            ),
            Self::Unloadable { path, detail } => {
                let detail = detail.strip_prefix(path.as_str()).unwrap_or(detail);
                let detail = detail.trim_start_matches([':', ' ']);
                write!(f, "the CUDA compiler cannot be loaded: {path}: {detail}")
            }
            Self::MissingSymbol { library, symbol } => {
                write!(f, "the CUDA compiler {library} lacks {symbol}")
            }
        }
    }
}

impl std::error::Error for NoCompiler {}

impl From<NoCompiler> for Error {
    fn from(reason: NoCompiler) -> Self {
        Self::new(ErrorKind::Unavailable, reason.to_string()).with_source(reason)
    }
}
