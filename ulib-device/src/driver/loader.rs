//! Finding and starting the driver library.

use super::{Driver, MINIMUM_VERSION, SharedResolver, Unavailable, fork, status};
use crate::sys::{CUresult, Table, proto};
use core::ffi::{c_int, c_void};
use core::ptr::NonNull;
use std::error::Error as _;

/// The environment variable that names the driver library; empty or `none` disables the GPU.
pub const DRIVER_VARIABLE: &str = "ULIB_CUDA_DRIVER";

#[cfg(not(windows))]
const CANDIDATES: &[&str] = &[
    "libcuda.so.1",
    "/usr/lib/wsl/lib/libcuda.so.1",
    "libcuda.so",
];
#[cfg(windows)]
const CANDIDATES: &[&str] = &["nvcuda.dll"];

/// Where to look, as the environment says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Search {
    Disabled,
    Only(String),
    Usual,
}

/// What the value of [`DRIVER_VARIABLE`] means.
pub(super) fn search(variable: Option<&str>) -> Search {
    match variable.map(str::trim) {
        None => Search::Usual,
        Some("" | "none") => Search::Disabled,
        Some(path) => Search::Only(path.to_owned()),
    }
}

/// Opens the driver library as the environment and the platform say.
pub(super) fn open() -> Result<Driver, Unavailable> {
    let variable = std::env::var_os(DRIVER_VARIABLE);
    match search(
        variable
            .as_ref()
            .map(|value| value.to_string_lossy())
            .as_deref(),
    ) {
        Search::Disabled => Err(Unavailable::Disabled {
            by: DRIVER_VARIABLE.to_owned(),
        }),
        Search::Only(path) => open_first(&[&path]),
        Search::Usual => open_first(CANDIDATES),
    }
}

/// Takes the first candidate that works. A candidate that is not there is passed over, and so is one that is there
/// but is no driver (a stub beside the real library, a file for another machine); of those the first is reported if
/// nothing works.
fn open_first(candidates: &[&str]) -> Result<Driver, Unavailable> {
    let mut failure = None;
    for candidate in candidates {
        match open_one(candidate) {
            Ok(driver) => return Ok(driver),
            Err(Unavailable::NoDriverLibrary { .. }) => {}
            Err(
                reason @ (Unavailable::DriverUnloadable { .. }
                | Unavailable::MissingSymbol { .. }
                | Unavailable::StubLibrary { .. }),
            ) => {
                failure.get_or_insert(reason);
            }
            Err(reason) => return Err(reason),
        }
    }
    Err(failure.unwrap_or_else(|| Unavailable::NoDriverLibrary {
        tried: candidates.iter().map(|&name| name.to_owned()).collect(),
    }))
}

fn open_one(name: &str) -> Result<Driver, Unavailable> {
    // SAFETY: loading a library runs its initialisers. The names are those under which NVIDIA installs its driver,
    // or one that the user gave for this purpose.
    let library = match unsafe { libloading::Library::new(name) } {
        Ok(library) => library,
        Err(error) => {
            return Err(classify(name, loader_words(&error)));
        }
    };
    let resolver: SharedResolver = Box::new(move |symbol| lookup(&library, symbol));
    // SAFETY: a library under the driver's name exports the driver's functions with the prototypes of the driver's
    // header. The resolver owns the library; `start` leaks it where the driver has been called, so the addresses
    // stay good.
    unsafe { start(name, resolver) }
}

/// What the system's loader said: the error itself says only that opening failed.
pub(crate) fn loader_words(error: &libloading::Error) -> String {
    error
        .source()
        .map_or_else(|| error.to_string(), ToString::to_string)
}

/// Tells "not there" from "there, but refused", by the loader's words.
pub(super) fn classify(name: &str, detail: String) -> Unavailable {
    // The words name the file that is missing: it may also be a library that the driver itself needs.
    let absent = detail.contains("No such file or directory") && detail.starts_with(name)
        || cfg!(windows) && detail.contains("os error 126");
    if absent {
        Unavailable::NoDriverLibrary {
            tried: vec![name.to_owned()],
        }
    } else {
        Unavailable::DriverUnloadable {
            path: name.to_owned(),
            detail,
        }
    }
}

/// The address of a function of `library`, good while it is loaded.
pub(crate) fn lookup(library: &libloading::Library, symbol: &str) -> Option<NonNull<c_void>> {
    // SAFETY: the type asked for is a function pointer, never called under this type; only its address is taken.
    let found = unsafe { library.get::<unsafe extern "C" fn()>(symbol.as_bytes()) }.ok()?;
    NonNull::new(*found as *mut c_void)
}

/// Checks the version, fills the table, initialises the driver and counts the devices.
///
/// # Safety
/// Every address that `resolver` returns is, while the resolver lives, a function of that name's prototype.
pub(super) unsafe fn start(name: &str, resolver: SharedResolver) -> Result<Driver, Unavailable> {
    let missing = |symbol: &str| Unavailable::MissingSymbol {
        library: name.to_owned(),
        symbol: symbol.to_owned(),
    };
    let address = resolver("cuDriverGetVersion").ok_or_else(|| missing("cuDriverGetVersion"))?;
    // Once called, a library may have threads and exit handlers of its own: it is never unloaded, whatever happens.
    let resolver: &'static SharedResolver = Box::leak(Box::new(resolver));
    let library = file_of(address).unwrap_or_else(|| name.to_owned());
    // SAFETY: the caller promises the prototype that goes with the name.
    let driver_version =
        unsafe { core::mem::transmute::<NonNull<c_void>, proto::cuDriverGetVersion>(address) };
    let mut version: c_int = 0;
    // SAFETY: this entry works before initialisation and writes one integer.
    let answer = unsafe { driver_version(&raw mut version) };
    if answer == CUresult::CUDA_ERROR_STUB_LIBRARY {
        return Err(Unavailable::StubLibrary { path: library });
    }
    // Before the table: a driver that is too old lacks entries, and its age is the better reason.
    if answer == CUresult::CUDA_SUCCESS && version < MINIMUM_VERSION {
        return Err(Unavailable::DriverTooOld {
            found: version,
            need: MINIMUM_VERSION,
        });
    }
    // SAFETY: the caller's promise, handed on; the resolver lives as long as the process.
    let table = unsafe { Table::load(&**resolver) }.map_err(missing)?;
    let fails = |status: CUresult| match status {
        CUresult::CUDA_ERROR_STUB_LIBRARY => Unavailable::StubLibrary {
            path: library.clone(),
        },
        CUresult::CUDA_ERROR_NO_DEVICE => Unavailable::NoDevice,
        _ => Unavailable::Init {
            code: status.0.cast_signed(),
            name: status::text(table.cuGetErrorName, status)
                .unwrap_or_else(|| "unknown status".to_owned()),
        },
    };
    fork::watch_for_fork();
    // SAFETY: the flag must be 0, and is; any thread may call this at any time.
    let status = unsafe { (table.cuInit)(0) };
    if status != CUresult::CUDA_SUCCESS {
        return Err(fails(status));
    }
    let mut devices: c_int = 0;
    // SAFETY: the driver is initialised; the call writes one integer.
    let status = unsafe { (table.cuDeviceGetCount)(&raw mut devices) };
    if status != CUresult::CUDA_SUCCESS {
        return Err(fails(status));
    }
    let devices = u32::try_from(devices).unwrap_or(0);
    if devices == 0 {
        return Err(Unavailable::NoDevice);
    }
    Ok(Driver {
        table,
        version,
        library,
        devices,
        resolver: Box::new(resolver),
    })
}

/// The file that contains a function.
#[cfg(unix)]
pub(crate) fn file_of(address: NonNull<c_void>) -> Option<String> {
    let mut info = core::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: any address may be asked about; the call writes the structure, all of whose fields may be zero.
    let found = unsafe { libc::dladdr(address.as_ptr(), info.as_mut_ptr()) };
    // SAFETY: zeroed above, which is a valid value of this structure of integers and pointers.
    let info = unsafe { info.assume_init() };
    if found == 0 || info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: on success the name is a NUL-terminated string of the loader's, alive while the library is loaded.
    let name = unsafe { core::ffi::CStr::from_ptr(info.dli_fname) };
    Some(name.to_string_lossy().into_owned())
}

#[cfg(not(unix))]
pub(crate) fn file_of(_address: NonNull<c_void>) -> Option<String> {
    None
}
