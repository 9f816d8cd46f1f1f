//! A software `libcuda.so.1` for tests: the driver API in ordinary memory, with everything a test wants to know or break.
//!
//! - Device memory is a window of addresses mapped without access rights; its bytes live in a second mapping of the same
//!   memory file. A host dereference of a device pointer faults, copies are translated and bounds-checked. The window is
//!   opened only while an emulated kernel runs. *What a kernel itself touches cannot be checked*; a guard behind every
//!   allocation is looked at when it is freed, and a broken one is reported by [`Session::faults`].
//! - New memory holds `0xCD`, freed memory `0xDD`.
//! - Every call is counted and can be made to fail ([`Session::fail`] and its kin); what is still alive can be listed.
//! - With [`Session::deferred`] work given to a stream runs only when something synchronises, so a missing synchronise
//!   shows as wrong data.
//!
//! Used as a library through [`install`] and [`Session`], or as a shared library through
//! `ULIB_CUDA_DRIVER=/path/to/libfakecuda.so`. The shared library reads the variables listed at [`control::env`] and
//! exports `fakecuda_control`, see [`control::command`].
//!
//! It shows nothing about a real JIT, real timing or real concurrency: label tests that ran here as emulated.

#![allow(unsafe_code, reason = "handing entry points to the library under test")]

pub mod control;

mod api;
mod emulation;
mod errors;
mod gate;
mod ptx;
mod state;

pub use control::session::{Kind, Live, Session};
pub use emulation::{Store, emulated_kernels};

use core::ffi::c_void;
use core::ptr::NonNull;

/// The entry point of that name, or `None` when this driver has none or a test hides it.
#[must_use]
pub fn resolve(name: &str) -> Option<NonNull<c_void>> {
    if control::is_hidden(name) {
        return None;
    }
    api::find(name)
}

/// Names of all entry points, hidden or not.
#[must_use]
pub fn entry_points() -> Vec<&'static str> {
    api::names()
}

/// Makes this driver the one that `ulib_device` uses in this process; before its first use.
///
/// # Errors
/// Why the library under test finds no GPU (a setting of this driver, or another driver was in use already).
pub fn install()
-> Result<&'static ulib_device::driver::Driver, &'static ulib_device::driver::Unavailable> {
    // SAFETY: every address this crate resolves is a function checked against the generated prototype of its name, and
    // stays for the whole process.
    unsafe { ulib_device::driver::Driver::install(resolve) }
}
