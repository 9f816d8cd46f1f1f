//! The entry points, by subject.
#![allow(non_snake_case, reason = "the driver API's own names")]

mod array;
mod context;
mod copy;
mod copy_rows;
mod device;
mod event;
mod gl;
pub(crate) mod graph;
mod host;
mod ipc;
mod launch;
mod link;
mod memory;
mod memset;
mod module;
mod pointer;
mod pool;
mod start;
pub(crate) mod stream;
mod texture;

use core::ffi::c_void;
use core::ptr::NonNull;

macro_rules! parts {
    ($($part:ident)*) => {
        /// The entry point of that name.
        pub(crate) fn find(name: &str) -> Option<NonNull<c_void>> {
            None$(.or_else(|| $part::find(name)))*
        }

        /// Names of all entry points.
        pub(crate) fn names() -> Vec<&'static str> {
            [$($part::NAMES),*].concat()
        }
    };
}
parts! { start device context memory pool host ipc pointer copy copy_rows memset stream event graph module launch link array texture gl }

/// A handle as the pointer type the driver API uses for it.
pub(crate) fn pointer<T>(handle: u64) -> *mut T {
    core::ptr::without_provenance_mut(handle as usize)
}

/// The number of a handle.
pub(crate) fn number<T>(handle: *mut T) -> u64 {
    handle.addr() as u64
}
