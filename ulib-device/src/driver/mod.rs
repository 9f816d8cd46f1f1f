//! The driver library: opened at run time, once, when something first needs it.
//!
//! [`Driver::get`] looks for the library, checks its version, initialises it and remembers the answer, good or bad.
//! Every reason why there is no driver is a value of [`Unavailable`] with its own sentence. Nothing is opened when
//! the program starts, and a machine without a GPU pays one failed look-up per process.
//!
//! The library opened is `libcuda.so.1`, then the one of the Windows subsystem for Linux, then `libcuda.so`
//! (`nvcuda.dll` on Windows). The environment variable [`DRIVER_VARIABLE`] names another one, or switches the GPU
//! off when it is empty or `none`.
#![allow(
    unsafe_code,
    reason = "the driver is a C library: looking up and calling its functions is unsafe"
)]

mod capture;
mod ending;
mod fork;
mod loader;
mod status;
mod unavailable;

pub use capture::relaxed_capture;
pub(crate) use ending::{Visit, watch_for_the_end};
pub use fork::forked;
pub use loader::DRIVER_VARIABLE;
pub(crate) use loader::{file_of, loader_words, lookup};
pub use status::{check, missing_entry};
pub use unavailable::Unavailable;

use crate::sys::Table;
use core::ffi::c_void;
use core::ptr::NonNull;
use std::sync::OnceLock;
use ulib_core::{Error, Result};

/// The oldest driver that is accepted, as `cuDriverGetVersion` counts: CUDA 11.0.
pub const MINIMUM_VERSION: i32 = 11_000;

/// The answer for this process, once somebody has asked.
static DRIVER: OnceLock<std::result::Result<Driver, Unavailable>> = OnceLock::new();

/// What a forked child of a process that initialised the driver is told.
static FORKED: Unavailable = Unavailable::Forked;

pub(crate) type SharedResolver = Box<dyn Fn(&str) -> Option<NonNull<c_void>> + Send + Sync>;

/// The initialised driver of this process.
pub struct Driver {
    table: Table,
    version: i32,
    library: String,
    devices: u32,
    resolver: SharedResolver,
}

impl std::fmt::Debug for Driver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Driver")
            .field("library", &self.library)
            .field("version", &self.version)
            .field("devices", &self.devices)
            .finish_non_exhaustive()
    }
}

impl Driver {
    /// The driver of this process; opened and initialised by the first call, remembered afterwards.
    ///
    /// # Errors
    /// The reason why there is none. It stays the same for the life of the process, except that a child forked after
    /// initialisation gets [`Unavailable::Forked`].
    pub fn get() -> std::result::Result<&'static Self, &'static Unavailable> {
        Self::get_or_open(loader::open)
    }

    /// The driver, as [`Driver::get`], with the reason turned into an error.
    ///
    /// # Errors
    /// Kind `Unavailable`, or `Forked` in a child forked after initialisation.
    pub fn ready() -> Result<&'static Self> {
        Self::get().map_err(Error::from)
    }

    /// Makes the driver of this process from entry points that are already in memory, such as a software driver
    /// linked into a test, instead of opening a library. It must come before the first [`Driver::get`]; later it only
    /// returns the answer that is already there.
    ///
    /// # Errors
    /// As [`Driver::get`].
    ///
    /// # Safety
    /// Every address that `resolver` returns is, for the rest of the process, a function of that name's prototype in
    /// [`crate::sys::proto`] that behaves as the driver's documentation says.
    #[doc(hidden)]
    pub unsafe fn install<F>(
        resolver: F,
    ) -> std::result::Result<&'static Self, &'static Unavailable>
    where
        F: Fn(&str) -> Option<NonNull<c_void>> + Send + Sync + 'static,
    {
        // SAFETY: the caller's promise is the one `start` asks for.
        Self::get_or_open(|| unsafe { loader::start("installed entry points", Box::new(resolver)) })
    }

    /// Whether somebody has asked for the driver already.
    pub(crate) fn is_asked_for() -> bool {
        DRIVER.get().is_some()
    }

    fn get_or_open(
        open: impl FnOnce() -> std::result::Result<Self, Unavailable>,
    ) -> std::result::Result<&'static Self, &'static Unavailable> {
        match DRIVER.get() {
            Some(Err(reason)) => return Err(reason),
            // Also when another thread of the parent was half way through opening: nobody would ever finish it here.
            _ if forked() => return Err(&FORKED),
            _ => {}
        }
        DRIVER.get_or_init(open).as_ref()
    }

    /// The entry points.
    #[must_use]
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// The newest CUDA version the driver supports: 1000 x major + 10 x minor, such as 12080.
    #[must_use]
    pub fn version(&self) -> i32 {
        self.version
    }

    /// The file the driver was loaded from.
    #[must_use]
    pub fn library(&self) -> &str {
        &self.library
    }

    /// Number of devices, at least 1.
    #[must_use]
    pub fn device_count(&self) -> u32 {
        self.devices
    }

    /// Looks up an entry point that the table does not have.
    ///
    /// `F` must be as wide as a pointer; anything else does not compile.
    ///
    /// # Safety
    /// `F` is the function-pointer type of the entry point `name`.
    #[must_use]
    pub unsafe fn symbol<F: Copy>(&self, name: &str) -> Option<F> {
        const { assert!(size_of::<F>() == size_of::<*const c_void>()) };
        (self.resolver)(name).map(|address| {
            // SAFETY: same width, checked at compile time; the caller says that `F` is this function's type.
            unsafe { std::mem::transmute_copy::<NonNull<c_void>, F>(&address) }
        })
    }
}

#[cfg(test)]
mod tests;
