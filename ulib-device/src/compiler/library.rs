//! The NVRTC library: found once, opened when something has to be compiled.
#![allow(
    unsafe_code,
    reason = "NVRTC is a C library: looking up and calling its functions is unsafe"
)]

use super::absence::NoCompiler;
use super::program::Program;
use super::search::{self, Found, NAMES};
use super::toolkit;
use crate::device::Device;
use crate::driver::{file_of, loader_words, lookup};
use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr::NonNull;
use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::UNIX_EPOCH;
use ulib_core::{Error, ErrorKind, Result};

/// The environment variable that names the NVRTC library; empty or `none` disables compiling.
pub const COMPILER_VARIABLE: &str = "ULIB_NVRTC";

/// NVRTC as it is installed here. Clones are the same library, which is never unloaded.
///
/// Finding it opens nothing: a program that is in the cache is not compiled, and needs only the identity of the compiler.
///
/// The order in which it is looked for: the file that [`COMPILER_VARIABLE`] names; one that is loaded in this process
/// already; the folders of [`add_packages`](super::add_packages) and of the virtual environment; conda's; the system's;
/// those of `CUDA_HOME`, `CUDA_PATH` and `/usr/local/cuda`.
#[derive(Clone)]
pub struct Compiler(Arc<Inner>);

struct Inner {
    path: PathBuf,
    identity: String,
    headers: Vec<PathBuf>,
    loaded: OnceLock<Result<Nvrtc, NoCompiler>>,
}

impl fmt::Debug for Compiler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Compiler").field(&self.0.path).finish()
    }
}

impl Compiler {
    /// The compiler of this process; looked for by the first call that finds one.
    ///
    /// # Errors
    /// Kind `Unavailable` with a [`NoCompiler`] as its source.
    pub fn find() -> Result<Self> {
        Self::found(None)
    }

    /// As [`find`](Self::find), but rather one that is no newer than the driver of `device`, which may refuse what newer
    /// ones make.
    ///
    /// # Errors
    /// As [`find`](Self::find).
    pub fn for_device(device: &Device) -> Result<Self> {
        Self::found(Some(device.driver().version() / 1000))
    }

    fn found(newest: Option<i32>) -> Result<Self> {
        static KNOWN: Mutex<Option<HashMap<Option<i32>, Compiler>>> = Mutex::new(None);
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known.get_or_insert_default();
        if let Some(compiler) = known.get(&newest) {
            return Ok(compiler.clone());
        }
        let compiler = Self::search(newest)?;
        known.insert(newest, compiler.clone());
        Ok(compiler)
    }

    fn search(newest: Option<i32>) -> Result<Self, NoCompiler> {
        let named = std::env::var_os(COMPILER_VARIABLE).is_some();
        if !named && let Some(path) = loaded_already(newest) {
            return Ok(Self::at(path));
        }
        match search::find(newest)? {
            Found::File(path) => Ok(Self::at(path)),
            Found::Loader => {
                let mut refused = None;
                for (name, _) in NAMES {
                    match open(name) {
                        Ok(library) => {
                            let path = lookup(&library, "nvrtcVersion").and_then(file_of);
                            let compiler = Self::at(path.unwrap_or_else(|| (*name).to_owned()));
                            // Keeps it from being unloaded and loaded again.
                            core::mem::forget(library);
                            return Ok(compiler);
                        }
                        Err(NoCompiler::NotFound { .. }) => {}
                        Err(reason) => refused = refused.or(Some(reason)),
                    }
                }
                Err(refused.unwrap_or_else(|| NoCompiler::NotFound {
                    tried: search::places(),
                }))
            }
        }
    }

    /// The compiler at `path`; opened when something has to be compiled.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        Self(Arc::new(Inner {
            identity: identity_of(&path),
            headers: toolkit::headers(&path),
            path,
            loaded: OnceLock::new(),
        }))
    }

    /// The library's file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Folders of the toolkit's headers (`cuda_fp16.h`, `curand_kernel.h`, ...) that programs can include, in the order in
    /// which they count: those that belong to the compiler, then those of installed toolkits of its major version, which
    /// have what its package may lack; none where only the compiler is installed.
    #[must_use]
    pub fn header_folders(&self) -> &[PathBuf] {
        &self.0.headers
    }

    /// What a cached image has to have been made by.
    pub(super) fn identity(&self) -> &str {
        &self.0.identity
    }

    /// Its version: major and minor, such as `(12, 9)`. Opens the library.
    ///
    /// # Errors
    /// Kind `Unavailable` when the library cannot be used.
    pub fn version(&self) -> Result<(i32, i32)> {
        Ok(self.nvrtc()?.version)
    }

    /// The architectures it makes machine code for, such as 90, ascending; empty when it does not tell.
    ///
    /// # Errors
    /// As [`version`](Self::version).
    pub fn architectures(&self) -> Result<&[i32]> {
        Ok(&self.nvrtc()?.architectures)
    }

    /// A program of this name and text, to be compiled.
    #[must_use]
    pub fn program<'a>(&self, name: &'a str, source: &'a str) -> Program<'a> {
        Program::new(self.clone(), name, source)
    }

    pub(super) fn nvrtc(&self) -> Result<&Nvrtc> {
        self.0
            .loaded
            .get_or_init(|| Nvrtc::open(&self.0.path))
            .as_ref()
            .map_err(|reason| reason.clone().into())
    }
}

/// File, size and time of the library, so that an update of it is another compiler.
fn identity_of(path: &Path) -> String {
    let file = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let (size, time) = std::fs::metadata(&file).map_or((0, 0), |data| {
        let time = data
            .modified()
            .ok()
            .and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        (data.len(), time.map_or(0, |time| time.as_nanos()))
    });
    format!("{} {size} {time}", file.display())
}

/// The file of an NVRTC that is in this process already, as PyTorch or CuPy bring one.
#[cfg(unix)]
fn loaded_already(newest: Option<i32>) -> Option<PathBuf> {
    use libloading::os::unix::Library;
    for &(name, of) in NAMES {
        if newest.is_some_and(|newest| of > newest) {
            continue;
        }
        // SAFETY: with this flag nothing is loaded that is not loaded already, so no initialiser runs.
        let found = unsafe { Library::open(Some(name), libc::RTLD_NOW | libc::RTLD_NOLOAD) };
        if let Ok(library) = found {
            let library = libloading::Library::from(library);
            let path = lookup(&library, "nvrtcVersion").and_then(file_of);
            core::mem::forget(library);
            return path.map(PathBuf::from);
        }
    }
    None
}

#[cfg(not(unix))]
fn loaded_already(_newest: Option<i32>) -> Option<PathBuf> {
    None
}

fn open(name: &str) -> Result<libloading::Library, NoCompiler> {
    // SAFETY: loading a library runs its initialisers. The names are those under which NVIDIA installs NVRTC, or one that
    // the user gave for this purpose.
    unsafe { libloading::Library::new(name) }.map_err(|error| {
        let detail = loader_words(&error);
        let absent = detail.contains("No such file or directory") && detail.starts_with(name);
        if absent {
            NoCompiler::NotFound {
                tried: vec![name.to_owned()],
            }
        } else {
            NoCompiler::Unloadable {
                path: name.to_owned(),
                detail,
            }
        }
    })
}

/// `nvrtcProgram`: an opaque pointer.
pub(super) type RawProgram = *mut c_void;

/// Status codes of NVRTC; integers, since newer libraries have more.
pub(super) const SUCCESS: c_int = 0;
/// The program was refused; the log says why.
pub(super) const COMPILATION: c_int = 6;
/// An option was refused; the log names it.
pub(super) const INVALID_OPTION: c_int = 5;

macro_rules! entries {
    (required { $($req:ident : $req_type:ty;)* } optional { $($opt:ident : $opt_type:ty;)* }) => {
        /// The entry points of NVRTC.
        #[allow(non_snake_case, reason = "names are NVRTC's own")]
        pub(super) struct Nvrtc {
            $(pub(super) $req: $req_type,)*
            $(pub(super) $opt: Option<$opt_type>,)*
            pub(super) version: (i32, i32),
            pub(super) architectures: Vec<i32>,
        }

        impl Nvrtc {
            /// # Safety
            /// `resolve` gives functions of these prototypes, good for as long as the process lives.
            unsafe fn fill(
                resolve: impl Fn(&str) -> Option<NonNull<c_void>>,
            ) -> Result<Self, &'static str> {
                Ok(Self {
                    $($req: {
                        let address = resolve(stringify!($req)).ok_or(stringify!($req))?;
                        // SAFETY: the caller promises the prototype that goes with the name.
                        unsafe { core::mem::transmute::<NonNull<c_void>, $req_type>(address) }
                    },)*
                    $($opt: resolve(stringify!($opt)).map(|address| {
                        // SAFETY: as above.
                        unsafe { core::mem::transmute::<NonNull<c_void>, $opt_type>(address) }
                    }),)*
                    version: (0, 0),
                    architectures: Vec::new(),
                })
            }
        }
    };
}

type Texts = *const *const c_char;

entries! {
    required {
        nvrtcVersion: unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int;
        nvrtcGetErrorString: unsafe extern "C" fn(c_int) -> *const c_char;
        nvrtcCreateProgram: unsafe extern "C" fn(*mut RawProgram, *const c_char, *const c_char, c_int, Texts, Texts) -> c_int;
        nvrtcDestroyProgram: unsafe extern "C" fn(*mut RawProgram) -> c_int;
        nvrtcCompileProgram: unsafe extern "C" fn(RawProgram, c_int, Texts) -> c_int;
        nvrtcGetProgramLogSize: unsafe extern "C" fn(RawProgram, *mut usize) -> c_int;
        nvrtcGetProgramLog: unsafe extern "C" fn(RawProgram, *mut c_char) -> c_int;
        nvrtcGetPTXSize: unsafe extern "C" fn(RawProgram, *mut usize) -> c_int;
        nvrtcGetPTX: unsafe extern "C" fn(RawProgram, *mut c_char) -> c_int;
        nvrtcAddNameExpression: unsafe extern "C" fn(RawProgram, *const c_char) -> c_int;
        nvrtcGetLoweredName: unsafe extern "C" fn(RawProgram, *const c_char, *mut *const c_char) -> c_int;
    }
    optional {
        nvrtcGetCUBINSize: unsafe extern "C" fn(RawProgram, *mut usize) -> c_int;
        nvrtcGetCUBIN: unsafe extern "C" fn(RawProgram, *mut c_char) -> c_int;
        nvrtcGetNumSupportedArchs: unsafe extern "C" fn(*mut c_int) -> c_int;
        nvrtcGetSupportedArchs: unsafe extern "C" fn(*mut c_int) -> c_int;
    }
}

impl Nvrtc {
    fn open(path: &Path) -> Result<Self, NoCompiler> {
        // Some packages leave it to the program to find the second library.
        if let Some(folder) = path.parent().filter(|folder| folder.is_absolute()) {
            let builtins = std::fs::read_dir(folder).into_iter().flatten().flatten();
            for file in builtins {
                let name = file.file_name();
                if name.to_string_lossy().starts_with("libnvrtc-builtins.so.")
                    && let Ok(library) = open(&file.path().to_string_lossy())
                {
                    core::mem::forget(library);
                }
            }
        }
        let name = path.to_string_lossy();
        let library = open(&name)?;
        // SAFETY: a library under NVRTC's name exports its functions with its prototypes; it is never unloaded, below.
        let filled = unsafe { Self::fill(|symbol| lookup(&library, symbol)) };
        core::mem::forget(library);
        let mut nvrtc = filled.map_err(|symbol| NoCompiler::MissingSymbol {
            library: name.into_owned(),
            symbol: symbol.to_owned(),
        })?;
        let (mut major, mut minor): (c_int, c_int) = (0, 0);
        // SAFETY: the call writes two integers.
        unsafe { (nvrtc.nvrtcVersion)(&raw mut major, &raw mut minor) };
        nvrtc.version = (major, minor);
        nvrtc.architectures = nvrtc.ask_architectures();
        Ok(nvrtc)
    }

    fn ask_architectures(&self) -> Vec<i32> {
        let (Some(count_of), Some(list)) =
            (self.nvrtcGetNumSupportedArchs, self.nvrtcGetSupportedArchs)
        else {
            return Vec::new();
        };
        let mut count: c_int = 0;
        // SAFETY: the call writes one integer.
        if unsafe { count_of(&raw mut count) } != SUCCESS {
            return Vec::new();
        }
        let mut found = vec![0; usize::try_from(count).unwrap_or(0)];
        // SAFETY: the vector has as many integers as the library said it writes.
        if unsafe { list(found.as_mut_ptr()) } != SUCCESS {
            return Vec::new();
        }
        found.sort_unstable();
        found
    }

    /// The error for a status of `call`.
    pub(super) fn failed(&self, call: &'static str, status: c_int) -> Error {
        // SAFETY: the call takes any status and returns a string constant, or null.
        let text = unsafe { (self.nvrtcGetErrorString)(status) };
        let text = if text.is_null() {
            "unknown status".into()
        } else {
            // SAFETY: not null, hence a NUL-terminated constant of the library.
            unsafe { CStr::from_ptr(text) }
                .to_string_lossy()
                .into_owned()
        };
        Error::new(
            ErrorKind::InvalidArgument,
            format!("{call}: {text} ({status})"),
        )
    }

    /// Fails unless `status` is success.
    pub(super) fn check(&self, call: &'static str, status: c_int) -> Result<()> {
        if status == SUCCESS {
            Ok(())
        } else {
            Err(self.failed(call, status))
        }
    }
}
