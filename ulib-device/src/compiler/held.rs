//! A program in NVRTC's hands: created, compiled, read, destroyed.
#![allow(unsafe_code, reason = "calls the functions of a C library")]

use super::library::{Nvrtc, RawProgram};
use core::ffi::{CStr, c_char, c_int};
use std::ffi::CString;
use std::thread;
use ulib_core::{Error, Result};

/// A compiler calls itself deeply, and a program that is too deep for it ends the process. Only what is used is taken.
const STACK_BYTES: usize = 64 << 20;

/// A program that NVRTC holds; destroyed with this.
pub(super) struct Held<'a> {
    nvrtc: &'a Nvrtc,
    raw: RawProgram,
}

/// An entry that tells a size, and one that fills a buffer of that size.
type SizeOf = unsafe extern "C" fn(RawProgram, *mut usize) -> c_int;
type Fill = unsafe extern "C" fn(RawProgram, *mut c_char) -> c_int;

impl<'a> Held<'a> {
    pub(super) fn new(
        nvrtc: &'a Nvrtc,
        source: &CStr,
        name: &CStr,
        headers: &[(CString, CString)],
    ) -> Result<Self> {
        let names: Vec<*const c_char> = headers.iter().map(|(name, _)| name.as_ptr()).collect();
        let texts: Vec<*const c_char> = headers.iter().map(|(_, text)| text.as_ptr()).collect();
        let count =
            c_int::try_from(headers.len()).map_err(|_| Error::overflow("compile", "headers"))?;
        let mut raw: RawProgram = core::ptr::null_mut();
        // SAFETY: the strings end with NUL and live through the call, which copies them; both arrays have `count`
        // entries; the call writes one pointer.
        let status = unsafe {
            (nvrtc.nvrtcCreateProgram)(
                &raw mut raw,
                source.as_ptr(),
                name.as_ptr(),
                count,
                texts.as_ptr(),
                names.as_ptr(),
            )
        };
        nvrtc.check("nvrtcCreateProgram", status)?;
        Ok(Self { nvrtc, raw })
    }

    pub(super) fn add_name(&self, expression: &CStr) -> Result<()> {
        // SAFETY: the program is alive; the string ends with NUL and is copied.
        let status = unsafe { (self.nvrtc.nvrtcAddNameExpression)(self.raw, expression.as_ptr()) };
        self.nvrtc.check("nvrtcAddNameExpression", status)
    }

    /// The status, which the log explains.
    pub(super) fn compile(&self, options: &[CString]) -> Result<c_int> {
        let pointers: Vec<*const c_char> = options.iter().map(|text| text.as_ptr()).collect();
        let count =
            c_int::try_from(options.len()).map_err(|_| Error::overflow("compile", "options"))?;
        let entry = self.nvrtc.nvrtcCompileProgram;
        let (raw, texts) = (self.raw as usize, pointers.as_ptr() as usize);
        // SAFETY: the program is alive and nobody else uses it meanwhile; the array has `count` strings that end with NUL and
        // live through the call.
        let compile = move || unsafe { entry(raw as RawProgram, count, texts as *const _) };
        // NVRTC leaves the locale of the thread that calls it changed, which is nobody's business but its own.
        let own = thread::Builder::new().stack_size(STACK_BYTES);
        let status = thread::scope(|scope| {
            let running = own.spawn_scoped(scope, compile).ok()?;
            running.join().ok()
        });
        // Without a thread it is better to compile here than not at all.
        Ok(status.unwrap_or_else(compile))
    }

    fn bytes(&self, call: &'static str, size_of: SizeOf, fill: Fill) -> Result<Vec<u8>> {
        let mut size = 0_usize;
        // SAFETY: the program is alive; the call writes one integer.
        let status = unsafe { size_of(self.raw, &raw mut size) };
        self.nvrtc.check(call, status)?;
        let mut bytes = vec![0_u8; size];
        // SAFETY: the buffer has as many bytes as the library said it writes.
        let status = unsafe { fill(self.raw, bytes.as_mut_ptr().cast()) };
        self.nvrtc.check(call, status)?;
        Ok(bytes)
    }

    fn text(&self, call: &'static str, size_of: SizeOf, fill: Fill) -> Result<Vec<u8>> {
        let mut bytes = self.bytes(call, size_of, fill)?;
        if let Some(end) = bytes.iter().position(|&byte| byte == 0) {
            bytes.truncate(end);
        }
        Ok(bytes)
    }

    pub(super) fn log(&self) -> Result<String> {
        let n = self.nvrtc;
        let log = self.text(
            "nvrtcGetProgramLog",
            n.nvrtcGetProgramLogSize,
            n.nvrtcGetProgramLog,
        )?;
        Ok(String::from_utf8_lossy(&log).trim().to_owned())
    }

    pub(super) fn ptx(&self) -> Result<Vec<u8>> {
        let n = self.nvrtc;
        self.text("nvrtcGetPTX", n.nvrtcGetPTXSize, n.nvrtcGetPTX)
    }

    /// The machine code; `None` where this NVRTC makes none.
    pub(super) fn cubin(&self) -> Result<Option<Vec<u8>>> {
        let (Some(size_of), Some(fill)) = (self.nvrtc.nvrtcGetCUBINSize, self.nvrtc.nvrtcGetCUBIN)
        else {
            return Ok(None);
        };
        let bytes = self.bytes("nvrtcGetCUBIN", size_of, fill)?;
        Ok((!bytes.is_empty()).then_some(bytes))
    }

    pub(super) fn lowered(&self, expression: &CStr) -> Result<String> {
        let mut name: *const c_char = core::ptr::null();
        // SAFETY: the program is alive; the string ends with NUL; the call writes one pointer.
        let status = unsafe {
            (self.nvrtc.nvrtcGetLoweredName)(self.raw, expression.as_ptr(), &raw mut name)
        };
        self.nvrtc.check("nvrtcGetLoweredName", status)?;
        if name.is_null() {
            return Err(self.nvrtc.failed("nvrtcGetLoweredName", -1));
        }
        // SAFETY: on success the name is NUL-terminated and lives as long as the program.
        Ok(unsafe { CStr::from_ptr(name) }
            .to_string_lossy()
            .into_owned())
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        // SAFETY: made by `new` and destroyed once.
        unsafe { (self.nvrtc.nvrtcDestroyProgram)(&raw mut self.raw) };
    }
}
