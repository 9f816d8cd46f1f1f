//! Kernels that can run here: name, function, and size of the one parameter each takes.
//!
//! Those of the project come from its own `.cu` files, compiled by `build.rs` into a registry that is read through two C
//! functions. One more is built in for tests of what a consumer's kernel does to our memory: `fakecuda_store`, which
//! writes `count` bytes of `value` from `address` on, wherever that is (parameter: [`Store`]). Another is for tests of how
//! arguments are packed: `fakecuda_parameters`, with any parameters of which the first is an address, where it writes all of
//! them as they lie in the kernel's memory of parameters.
#![allow(
    unsafe_code,
    reason = "the registry is C++, and kernels write through addresses"
)]

use core::ffi::{CStr, c_char, c_int, c_void};

/// Runs a whole grid: pointers to the parameters, grid, block, bytes of dynamic shared memory. 0, or an error.
pub(crate) type Run = unsafe extern "C" fn(*mut *mut c_void, *const u32, *const u32, u32) -> c_int;

/// The parameter of the kernel `fakecuda_store`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Store {
    /// First byte to write.
    pub address: u64,
    /// Bytes to write.
    pub count: u64,
    /// What to write: the low byte.
    pub value: u64,
}

const STORE: &str = "fakecuda_store";

unsafe extern "C" fn store(
    parameters: *mut *mut c_void,
    _grid: *const u32,
    _block: *const u32,
    _shared: u32,
) -> c_int {
    // SAFETY: a launch hands over one pointer to a parameter of this kernel's size.
    let Store {
        address,
        count,
        value,
    } = unsafe { (*parameters).cast::<Store>().read() };
    for index in 0..count {
        // SAFETY: windows are open while a kernel runs; whoever launches this kernel answers for the addresses.
        unsafe { ((address + index) as *mut u8).write_volatile(value as u8) };
    }
    0
}

/// The kernel that writes its own parameters.
pub(crate) const PARAMETERS: &str = "fakecuda_parameters";

/// Runs [`PARAMETERS`]: its one parameter here is a length, and behind it the parameters.
pub(crate) unsafe extern "C" fn write_parameters(
    parameters: *mut *mut c_void,
    _grid: *const u32,
    _block: *const u32,
    _shared: u32,
) -> c_int {
    // SAFETY: the launch put a length of 16 bytes and so many bytes behind it there, at least eight.
    unsafe {
        let length = (*parameters).cast::<u128>().read() as usize;
        let block = (*parameters).cast::<u8>().add(16);
        let to = block.cast::<u64>().read() as *mut u8;
        core::ptr::copy_nonoverlapping(block, to, length);
    }
    0
}

#[cfg(fakecuda_emulation)]
mod registry {
    use super::{Run, c_char, c_int};

    unsafe extern "C" {
        pub(super) fn fakecuda_emulated_count() -> usize;
        pub(super) fn fakecuda_emulated_get(
            index: usize,
            name: *mut *const c_char,
            run: *mut Option<Run>,
            param_bytes: *mut usize,
        ) -> c_int;
    }
}

/// The registry's entry of that number.
#[cfg(fakecuda_emulation)]
fn entry(index: usize) -> Option<(&'static CStr, Run, usize)> {
    let (mut name, mut run, mut bytes) = (core::ptr::null::<c_char>(), None, 0);
    // SAFETY: takes nothing and returns a number.
    if index >= unsafe { registry::fakecuda_emulated_count() } {
        return None;
    }
    // SAFETY: the three pointers are valid for one write each, and the index is below the count.
    let status = unsafe { registry::fakecuda_emulated_get(index, &mut name, &mut run, &mut bytes) };
    if status != 0 || name.is_null() {
        return None;
    }
    // SAFETY: the registry's names are string literals.
    Some((unsafe { CStr::from_ptr(name) }, run?, bytes))
}

/// The registry's entry of that number: this build has none.
#[cfg(not(fakecuda_emulation))]
fn entry(_index: usize) -> Option<(&'static CStr, Run, usize)> {
    None
}

fn entries() -> impl Iterator<Item = (&'static CStr, Run, usize)> {
    (0..).map_while(entry)
}

/// The function and the parameter bytes of a kernel.
pub(crate) fn find(name: &str) -> Option<(Run, usize)> {
    if name == STORE {
        return Some((store, size_of::<Store>()));
    }
    let found = entries().find(|(entry, ..)| entry.to_bytes() == name.as_bytes())?;
    Some((found.1, found.2))
}

/// Names of the project's kernels that can run here.
#[must_use]
pub fn emulated_kernels() -> Vec<String> {
    entries()
        .map(|(name, ..)| name.to_string_lossy().into_owned())
        .collect()
}
