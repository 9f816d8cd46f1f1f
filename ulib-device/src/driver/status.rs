//! Status codes of the driver, turned into errors.

use crate::Device;
use crate::launch::is_late;
use crate::sys::{CUresult, Table};
use core::ffi::{CStr, c_char};
use ulib_core::{Error, ErrorKind, Result};

/// Turns the status that `call` returned into a result.
///
/// # Errors
/// Kind `Driver` with the code and the name of the call, or `OutOfMemory` (with both byte counts 0, as the status
/// does not tell them) for code 2. The message has the driver's own name and text for the code; a code that the
/// driver does not know is printed as a number. Where a kernel has failed that was launched before, the launch is named that
/// has most likely done it.
#[inline]
pub fn check(table: &Table, call: &'static str, status: CUresult) -> Result<()> {
    match status {
        CUresult::CUDA_SUCCESS => Ok(()),
        _ => Err(failed(table, call, status)),
    }
}

#[cold]
fn failed(table: &Table, call: &'static str, status: CUresult) -> Error {
    let mut words = describe(table, status);
    if is_late(status)
        && let Some(blame) = Device::last_bound().and_then(|device| device.recent().blame())
    {
        words = format!("{words} ({blame})");
    }
    match status {
        CUresult::CUDA_ERROR_OUT_OF_MEMORY => {
            Error::in_op(ErrorKind::OutOfMemory { needs: 0, free: 0 }, call, words)
        }
        _ => Error::driver(status.0.cast_signed(), call, words),
    }
}

/// The error for an entry point that this driver lacks; `since` is the CUDA version that brought it, such as `11.2`.
#[must_use]
pub fn missing_entry(call: &'static str, since: &str) -> Error {
    Error::new(
        ErrorKind::Unavailable,
        format!("the NVIDIA driver has no {call}: it came with CUDA {since}"),
    )
}

/// `CUDA_ERROR_NAME (700): text`, or `unknown status 1234`.
pub(super) fn describe(table: &Table, status: CUresult) -> String {
    let name = text(table.cuGetErrorName, status);
    let description = text(table.cuGetErrorString, status);
    match (name, description) {
        (Some(name), Some(description)) => format!("{name} ({}): {description}", status.0),
        (Some(name), None) => format!("{name} ({})", status.0),
        (None, _) => format!("unknown status {}", status.0),
    }
}

type Lookup = unsafe extern "C" fn(CUresult, *mut *const c_char) -> CUresult;

/// Asks one of the driver's two tables of texts.
pub(super) fn text(lookup: Lookup, status: CUresult) -> Option<String> {
    let mut text: *const c_char = core::ptr::null();
    // SAFETY: the table's entry has this prototype, works before initialisation, and writes one pointer.
    let answer = unsafe { lookup(status, &raw mut text) };
    if answer != CUresult::CUDA_SUCCESS || text.is_null() {
        return None;
    }
    // SAFETY: on success the driver returns a NUL-terminated string constant of its own.
    let text = unsafe { CStr::from_ptr(text) };
    Some(text.to_string_lossy().into_owned())
}
