//! Whether a call is made by a thread that holds Python's interpreter, and so keeps all other threads of Python waiting.
#![allow(unsafe_code, reason = "asks Python by its C interface")]

use core::ffi::c_int;
use std::sync::OnceLock;

type Check = unsafe extern "C" fn() -> c_int;

/// Whether this thread holds the interpreter of this process, if there is one.
pub(super) fn is_held() -> bool {
    static CHECK: OnceLock<Option<Check>> = OnceLock::new();
    let check = CHECK.get_or_init(|| {
        // SAFETY: looks for a name in what is loaded.
        let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"PyGILState_Check".as_ptr()) };
        // SAFETY: Python declares it so: no arguments, an int.
        (!found.is_null())
            .then(|| unsafe { core::mem::transmute::<*mut libc::c_void, Check>(found) })
    });
    // SAFETY: may be called by any thread, whatever it holds.
    check.is_some_and(|check| unsafe { check() } == 1)
}
