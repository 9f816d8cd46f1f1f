//! What every entry point passes through: fork check, counting, injected failures, context check, and a net for panics.
#![allow(unsafe_code, reason = "output pointers come across the C ABI")]

use crate::control::{self, Verdict};
use crate::state::{STATE, State};
use std::cell::{Cell, RefCell};
use std::ops::{Deref, DerefMut};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU32, Ordering};
use ulib_device::sys::CUresult;

/// A value, or the status code to return.
pub(crate) type Outcome<T = ()> = Result<T, CUresult>;

/// Status codes used here, under short names.
pub(crate) mod code {
    use ulib_device::sys::CUresult;
    macro_rules! short { ($($name:ident = $long:ident),* $(,)?) => { $(pub(crate) const $name: CUresult = CUresult::$long;)* } }
    short! {
        SUCCESS = CUDA_SUCCESS,
        INVALID_VALUE = CUDA_ERROR_INVALID_VALUE,
        OUT_OF_MEMORY = CUDA_ERROR_OUT_OF_MEMORY,
        NOT_INITIALIZED = CUDA_ERROR_NOT_INITIALIZED,
        NO_DEVICE = CUDA_ERROR_NO_DEVICE,
        INVALID_DEVICE = CUDA_ERROR_INVALID_DEVICE,
        INVALID_IMAGE = CUDA_ERROR_INVALID_IMAGE,
        INVALID_CONTEXT = CUDA_ERROR_INVALID_CONTEXT,
        NO_BINARY_FOR_GPU = CUDA_ERROR_NO_BINARY_FOR_GPU,
        UNSUPPORTED_LIMIT = CUDA_ERROR_UNSUPPORTED_LIMIT,
        PEER_ACCESS_UNSUPPORTED = CUDA_ERROR_PEER_ACCESS_UNSUPPORTED,
        INVALID_PTX = CUDA_ERROR_INVALID_PTX,
        UNSUPPORTED_PTX_VERSION = CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
        OPERATING_SYSTEM = CUDA_ERROR_OPERATING_SYSTEM,
        INVALID_HANDLE = CUDA_ERROR_INVALID_HANDLE,
        NOT_FOUND = CUDA_ERROR_NOT_FOUND,
        FILE_NOT_FOUND = CUDA_ERROR_FILE_NOT_FOUND,
        NOT_READY = CUDA_ERROR_NOT_READY,
        ILLEGAL_ADDRESS = CUDA_ERROR_ILLEGAL_ADDRESS,
        PEER_ACCESS_ALREADY_ENABLED = CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED,
        PEER_ACCESS_NOT_ENABLED = CUDA_ERROR_PEER_ACCESS_NOT_ENABLED,
        CONTEXT_IS_DESTROYED = CUDA_ERROR_CONTEXT_IS_DESTROYED,
        HOST_MEMORY_ALREADY_REGISTERED = CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
        HOST_MEMORY_NOT_REGISTERED = CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED,
        LAUNCH_FAILED = CUDA_ERROR_LAUNCH_FAILED,
        COOPERATIVE_TOO_LARGE = CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
        NOT_PERMITTED = CUDA_ERROR_NOT_PERMITTED,
        NOT_SUPPORTED = CUDA_ERROR_NOT_SUPPORTED,
        CAPTURE_UNSUPPORTED = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
        CAPTURE_INVALIDATED = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
        CAPTURE_MERGE = CUDA_ERROR_STREAM_CAPTURE_MERGE,
        CAPTURE_UNJOINED = CUDA_ERROR_STREAM_CAPTURE_UNJOINED,
        CAPTURE_ISOLATION = CUDA_ERROR_STREAM_CAPTURE_ISOLATION,
        CAPTURED_EVENT = CUDA_ERROR_CAPTURED_EVENT,
        CAPTURE_UNMATCHED = CUDA_ERROR_STREAM_CAPTURE_UNMATCHED,
        CAPTURE_IMPLICIT = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
        CAPTURE_WRONG_THREAD = CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD,
        GRAPH_EXEC_UPDATE_FAILURE = CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE,
        ILLEGAL_STATE = CUDA_ERROR_ILLEGAL_STATE,
        UNKNOWN = CUDA_ERROR_UNKNOWN,
    }
}

/// What must hold before the body of an entry point runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// Works before `cuInit`.
    Nothing,
    /// Wants `cuInit` to have succeeded.
    Init,
    /// Wants a living, unbroken context current on this thread.
    Context,
}

/// One call in progress: the state, locked, and the context current on this thread.
pub(crate) struct Call<'a> {
    state: &'a mut State,
    /// Handle of the current context; 0 unless the entry needs a context.
    pub(crate) context: u64,
    /// Ordinal of the current context's device; 0 unless the entry needs a context.
    pub(crate) device: usize,
}

impl Deref for Call<'_> {
    type Target = State;
    fn deref(&self) -> &State {
        self.state
    }
}

impl DerefMut for Call<'_> {
    fn deref_mut(&mut self) -> &mut State {
        self.state
    }
}

/// An output pointer of an entry point.
#[derive(Clone, Copy)]
pub(crate) struct Out<T>(*mut T);

impl<T> Out<T> {
    /// # Safety
    /// `pointer` is null or valid for one write for as long as the call lasts.
    pub(crate) unsafe fn new(pointer: *mut T) -> Self {
        Self(pointer)
    }

    /// Stores the value; a null pointer is an invalid value.
    pub(crate) fn put(self, value: T) -> Outcome {
        if self.0.is_null() {
            return Err(code::INVALID_VALUE);
        }
        // SAFETY: not null, hence valid for one write by the promise given to `new`.
        unsafe { self.0.write(value) };
        Ok(())
    }

    /// Stores the value unless the pointer is null.
    pub(crate) fn put_if_wanted(self, value: T) -> Outcome {
        if self.0.is_null() {
            Ok(())
        } else {
            self.put(value)
        }
    }
}

/// Process that called `cuInit`; 0 before.
static INITIALISED_IN: AtomicU32 = AtomicU32::new(0);

thread_local! {
    static STACK: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
    static IN_HOST_FUNCTION: Cell<bool> = const { Cell::new(false) };
}

/// Works on this thread's stack of contexts.
pub(crate) fn with_stack<R>(work: impl FnOnce(&mut Vec<u64>) -> R) -> R {
    STACK.with(|stack| work(&mut stack.borrow_mut()))
}

/// Marks this process as the one that initialised the driver.
pub(crate) fn mark_initialised() {
    INITIALISED_IN.store(std::process::id(), Ordering::Release);
}

/// Runs a user's host function; calls of the driver from within are refused, as by the real one.
pub(crate) fn in_host_function(work: impl FnOnce()) {
    IN_HOST_FUNCTION.set(true);
    work();
    IN_HOST_FUNCTION.set(false);
}

/// Runs the body of the entry point `name`, or does not.
pub(crate) fn enter(
    name: &'static str,
    need: Need,
    body: impl FnOnce(&mut Call<'_>) -> Outcome,
) -> CUresult {
    let owner = INITIALISED_IN.load(Ordering::Acquire);
    if owner != 0 && owner != std::process::id() {
        // A forked child of an initialised process; no lock is touched, the parent may have held it.
        return code::NOT_INITIALIZED;
    }
    if IN_HOST_FUNCTION.get() {
        return code::NOT_PERMITTED;
    }
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        if let Verdict::Fail(result) = control::on_call(name) {
            return Err(result);
        }
        let mut state = STATE.lock().unwrap_or_else(PoisonError::into_inner);
        if need != Need::Nothing && !state.initialised {
            return Err(code::NOT_INITIALIZED);
        }
        let (mut context, mut device) = (0, 0);
        if need == Need::Context {
            context = with_stack(|stack| stack.last().copied().unwrap_or(0));
            if context == 0 {
                return Err(code::INVALID_CONTEXT);
            }
            let current = state
                .contexts
                .get(&context)
                .ok_or(code::CONTEXT_IS_DESTROYED)?;
            if let Some(broken) = current.broken {
                return Err(broken);
            }
            device = current.device;
        }
        body(&mut Call {
            state: &mut state,
            context,
            device,
        })
    }));
    match outcome {
        Ok(Ok(())) => code::SUCCESS,
        Ok(Err(result)) => result,
        Err(_) => {
            eprintln!("fakecuda: internal error in {name}");
            code::UNKNOWN
        }
    }
}

/// Declares entry points: `fn NAME [OUTPUT POINTERS] (ARGUMENTS) NEED |call| BODY`.
///
/// Each becomes an `extern "C"` function of exactly the generated prototype (checked by the compiler) that runs its body
/// through [`enter`]; the names in brackets become [`Out`] values. `find` and `NAMES` list them.
macro_rules! entries {
    ($(
        $(#[$doc:meta])*
        fn $name:ident [$($out:ident),*] ($($arg:ident : $ty:ty),* $(,)?) $need:ident |$call:ident| $body:block
    )*) => {
        $(
            $(#[$doc])*
            pub(crate) unsafe extern "C" fn $name($($arg: $ty),*) -> ulib_device::sys::CUresult {
                // SAFETY: the driver API asks its caller for output pointers that are null or valid for one write.
                $(let $out = unsafe { $crate::gate::Out::new($out) };)*
                $crate::gate::enter(stringify!($name), $crate::gate::Need::$need, |$call| $body)
            }
            const _: ulib_device::sys::proto::$name = $name;

            // A second function under the plain name: nothing in this crate refers to it, so no other library that
            // exports the same name can take its place in here.
            const _: () = {
                #[unsafe(no_mangle)]
                unsafe extern "C" fn $name($($arg: $ty),*) -> ulib_device::sys::CUresult {
                    // SAFETY: the caller's promises, handed on.
                    unsafe { self::$name($($arg),*) }
                }
            };
        )*

        /// The entry point of that name declared in this file.
        pub(crate) fn find(name: &str) -> Option<core::ptr::NonNull<core::ffi::c_void>> {
            match name {
                $(stringify!($name) => core::ptr::NonNull::new($name as *mut core::ffi::c_void),)*
                _ => None,
            }
        }

        /// Names of the entry points declared in this file.
        pub(crate) const NAMES: &[&str] = &[$(stringify!($name)),*];
    };
}
pub(crate) use entries;
