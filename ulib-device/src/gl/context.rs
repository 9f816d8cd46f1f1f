//! The OpenGL context of the thread, found in the libraries that the process has loaded.
#![allow(
    unsafe_code,
    reason = "looks functions up in loaded libraries, and calls them"
)]

use core::ffi::{CStr, c_char, c_void};

use ulib_core::{Error, ErrorKind, Result};

/// What an object of OpenGL is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Buffer,
    Texture,
    Renderbuffer,
}

impl Kind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Buffer => "buffer",
            Self::Texture => "texture",
            Self::Renderbuffer => "renderbuffer",
        }
    }

    fn question(self) -> &'static CStr {
        match self {
            Self::Buffer => c"glIsBuffer",
            Self::Texture => c"glIsTexture",
            Self::Renderbuffer => c"glIsRenderbuffer",
        }
    }
}

/// The functions of one library through which a context can be current.
#[derive(Clone, Copy)]
struct Api {
    library: &'static str,
    current: &'static str,
    lookup: &'static str,
}

const APIS: [Api; 3] = [
    Api {
        library: "libEGL.so.1",
        current: "eglGetCurrentContext",
        lookup: "eglGetProcAddress",
    },
    Api {
        library: "libGLX.so.0",
        current: "glXGetCurrentContext",
        lookup: "glXGetProcAddressARB",
    },
    Api {
        library: "libGL.so.1",
        current: "glXGetCurrentContext",
        lookup: "glXGetProcAddressARB",
    },
];

/// A context is current on this thread.
pub(super) struct Current {
    /// Answers whether a function of OpenGL is there; `None` on systems where nothing is asked.
    #[cfg(target_os = "linux")]
    library: libloading::os::unix::Library,
    #[cfg(target_os = "linux")]
    api: Api,
}

#[cfg(target_os = "linux")]
impl Current {
    /// The context of this thread.
    ///
    /// # Errors
    /// Kind `InvalidArgument` when there is none.
    pub(super) fn of_thread(op: &'static str) -> Result<Self> {
        /// Finds a library that is loaded, and loads none.
        const NOLOAD: i32 = 4;
        let mut loaded = false;
        for api in APIS {
            let flags = NOLOAD | libloading::os::unix::RTLD_LAZY;
            // SAFETY: the library is in the process already, so no code of it runs because of this.
            let library = unsafe { libloading::os::unix::Library::open(Some(api.library), flags) };
            let Ok(library) = library else { continue };
            loaded = true;
            type Ask = unsafe extern "C" fn() -> *mut c_void;
            // SAFETY: the function of that name has this prototype in every such library.
            let Ok(ask) = (unsafe { library.get::<Ask>(api.current) }) else {
                continue;
            };
            // SAFETY: it only reads a setting of the thread, and the library is loaded.
            let is_there = unsafe { !ask().is_null() };
            if is_there {
                return Ok(Self { library, api });
            }
        }
        let words = if loaded {
            "no OpenGL context is current on this thread"
        } else {
            "no OpenGL context is current on this thread, and no library of OpenGL is loaded in this process"
        };
        Err(Error::in_op(ErrorKind::InvalidArgument, op, words))
    }

    /// Checks that OpenGL knows the object.
    ///
    /// # Errors
    /// Kind `InvalidArgument` when it does not. Where it cannot be asked, the driver is.
    pub(super) fn check(&self, op: &'static str, kind: Kind, name: u32) -> Result<()> {
        type Lookup = unsafe extern "C" fn(*const c_char) -> Option<unsafe extern "C" fn()>;
        type Ask = unsafe extern "C" fn(u32) -> u8;
        // SAFETY: the function of that name has this prototype.
        let Ok(lookup) = (unsafe { self.library.get::<Lookup>(self.api.lookup) }) else {
            return Ok(());
        };
        // SAFETY: the name ends with NUL; the library is loaded.
        let Some(found) = (unsafe { lookup(kind.question().as_ptr()) }) else {
            return Ok(());
        };
        // SAFETY: the three functions asked for have this prototype.
        let ask = unsafe { core::mem::transmute::<unsafe extern "C" fn(), Ask>(found) };
        // SAFETY: a context is current, as `of_thread` has found on this thread.
        if unsafe { ask(name) } != 0 {
            return Ok(());
        }
        let expected = format!("a {} that OpenGL has in the current context", kind.name());
        Err(Error::invalid(op, kind.name(), name, expected))
    }
}

#[cfg(not(target_os = "linux"))]
impl Current {
    /// Nothing is asked here: the driver says what it does not like.
    pub(super) fn of_thread(_op: &'static str) -> Result<Self> {
        let _ = APIS;
        Ok(Self {})
    }

    /// As [`of_thread`](Self::of_thread).
    pub(super) fn check(&self, _op: &'static str, kind: Kind, _name: u32) -> Result<()> {
        let _ = (kind.question(), ErrorKind::InvalidArgument);
        let _: Option<(Error, *const c_void, *const c_char)> = None;
        Ok(())
    }
}
