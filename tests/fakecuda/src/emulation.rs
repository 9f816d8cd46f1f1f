//! The registry of emulated kernels: name, function, and size of the one parameter each kernel takes.
//!
//! It is compiled from the project's own `.cu` files by `build.rs`, which sets the configuration `fakecuda_emulation` when it
//! links the registry; without it there are no kernels, and a launch answers `CUDA_ERROR_NOT_SUPPORTED`.
#![allow(unsafe_code, reason = "the registry is C++")]

use core::ffi::{c_int, c_void};

/// Runs a whole grid: pointers to the parameters, grid, block, bytes of dynamic shared memory. 0, or an error.
pub(crate) type Run = unsafe extern "C" fn(*mut *mut c_void, *const u32, *const u32, u32) -> c_int;

/// The function and the parameter bytes of an emulated kernel.
#[cfg(fakecuda_emulation)]
pub(crate) fn find(name: &str) -> Option<(Run, usize)> {
    use core::ffi::{CStr, c_char};

    unsafe extern "C" {
        fn fakecuda_emulated_count() -> usize;
        fn fakecuda_emulated_get(
            index: usize,
            name: *mut *const c_char,
            run: *mut Option<Run>,
            param_bytes: *mut usize,
        ) -> c_int;
    }
    // SAFETY: takes nothing and returns a number.
    let count = unsafe { fakecuda_emulated_count() };
    (0..count).find_map(|index| {
        let (mut entry, mut run, mut bytes) = (core::ptr::null(), None, 0);
        // SAFETY: the three pointers are valid for one write each, and the index is below the count.
        let status = unsafe { fakecuda_emulated_get(index, &mut entry, &mut run, &mut bytes) };
        // SAFETY: the registry's names are string literals.
        let found = status == 0
            && !entry.is_null()
            && unsafe { CStr::from_ptr(entry) }.to_bytes() == name.as_bytes();
        if found {
            run.map(|run| (run, bytes))
        } else {
            None
        }
    })
}

/// The function and the parameter bytes of an emulated kernel: there are none in this build.
#[cfg(not(fakecuda_emulation))]
pub(crate) fn find(_name: &str) -> Option<(Run, usize)> {
    None
}
