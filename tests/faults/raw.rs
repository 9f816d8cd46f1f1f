//! The entry points of the software driver, called as a C program would.

use crate::common;
use core::ffi::c_void;
use fakecuda::Session;
use std::ptr::null_mut;
use ulib_device::sys::{CUcontext, CUdeviceptr, CUevent, CUfunction, CUmodule, CUstream, Table};

/// Status codes.
pub(crate) const OK: u32 = 0;
pub(crate) const INVALID_VALUE: u32 = 1;
pub(crate) const OUT_OF_MEMORY: u32 = 2;
pub(crate) const INVALID_CONTEXT: u32 = 201;
pub(crate) const INVALID_HANDLE: u32 = 400;
pub(crate) const NOT_FOUND: u32 = 500;
pub(crate) const NOT_READY: u32 = 600;
pub(crate) const ILLEGAL_ADDRESS: u32 = 700;
pub(crate) const CAPTURE_UNSUPPORTED: u32 = 900;

/// Calls a required entry point and gives its code.
macro_rules! call {
    ($raw:expr, $name:ident($($argument:expr),* $(,)?)) => {{
        let function = $raw.table.$name;
        // SAFETY: pointers handed over are to living locals of the prototype's types, or null where null is refused.
        unsafe { function($($argument),*) }.0
    }};
}

/// Calls an optional entry point and gives its code.
macro_rules! optional {
    ($raw:expr, $name:ident($($argument:expr),* $(,)?)) => {{
        let function = $raw.table.$name.expect(stringify!($name));
        // SAFETY: pointers handed over are to living locals of the prototype's types, or null where null is refused.
        unsafe { function($($argument),*) }.0
    }};
}

/// A session, the driver's table, and device 0's primary context current on this thread.
pub(crate) struct Raw {
    pub(crate) table: Table,
    pub(crate) session: Session,
    pub(crate) context: CUcontext,
}

impl Raw {
    /// Takes a turn; `None` on a real card.
    pub(crate) fn begin() -> Option<Self> {
        if common::wants_real() {
            println!("software driver only: {}", common::test_name());
            return None;
        }
        let session = Session::begin();
        let mut raw = Self {
            table: table(),
            session,
            context: null_mut(),
        };
        assert_eq!(call!(raw, cuInit(0)), OK);
        raw.context = raw.retain(0);
        assert_eq!(call!(raw, cuCtxSetCurrent(raw.context)), OK);
        raw.session.reset_counts();
        Some(raw)
    }

    /// The primary context of a device.
    pub(crate) fn retain(&self, device: i32) -> CUcontext {
        let mut context = null_mut();
        assert_eq!(
            call!(self, cuDevicePrimaryCtxRetain(&mut context, device)),
            OK
        );
        context
    }

    pub(crate) fn allocate(&self, bytes: usize) -> CUdeviceptr {
        let mut address = 0;
        assert_eq!(call!(self, cuMemAlloc_v2(&mut address, bytes)), OK);
        address
    }

    pub(crate) fn free(&self, address: CUdeviceptr) {
        assert_eq!(call!(self, cuMemFree_v2(address)), OK);
    }

    /// Blocking upload; the code.
    pub(crate) fn up(&self, to: CUdeviceptr, from: &[u8]) -> u32 {
        call!(self, cuMemcpyHtoD_v2(to, from.as_ptr().cast(), from.len()))
    }

    /// Blocking download.
    pub(crate) fn down(&self, from: CUdeviceptr, bytes: usize) -> Result<Vec<u8>, u32> {
        let mut to = vec![0_u8; bytes];
        match call!(self, cuMemcpyDtoH_v2(to.as_mut_ptr().cast(), from, bytes)) {
            OK => Ok(to),
            code => Err(code),
        }
    }

    /// A stream; flag 1 for the non-blocking kind.
    pub(crate) fn stream(&self, flags: u32) -> CUstream {
        let mut stream = null_mut();
        assert_eq!(call!(self, cuStreamCreate(&mut stream, flags)), OK);
        stream
    }

    pub(crate) fn event(&self, flags: u32) -> CUevent {
        let mut event = null_mut();
        assert_eq!(call!(self, cuEventCreate(&mut event, flags)), OK);
        event
    }

    /// Fills asynchronously with one byte.
    pub(crate) fn set(&self, to: CUdeviceptr, value: u8, bytes: usize, stream: CUstream) {
        assert_eq!(call!(self, cuMemsetD8Async(to, value, bytes, stream)), OK);
    }

    pub(crate) fn load(&self, ptx: &str) -> Result<CUmodule, u32> {
        let text = std::ffi::CString::new(ptx).expect("no zero bytes");
        let mut module = null_mut();
        let image = text.as_ptr().cast::<c_void>();
        match call!(
            self,
            cuModuleLoadDataEx(&mut module, image, 0, null_mut(), null_mut())
        ) {
            OK => Ok(module),
            code => Err(code),
        }
    }

    pub(crate) fn function(&self, module: CUmodule, name: &str) -> Result<CUfunction, u32> {
        let text = std::ffi::CString::new(name).expect("no zero bytes");
        let mut function = null_mut();
        match call!(
            self,
            cuModuleGetFunction(&mut function, module, text.as_ptr())
        ) {
            OK => Ok(function),
            code => Err(code),
        }
    }

    /// One block of one thread with no parameters.
    pub(crate) fn launch(&self, function: CUfunction, stream: CUstream) -> u32 {
        call!(
            self,
            cuLaunchKernel(
                function,
                1,
                1,
                1,
                1,
                1,
                1,
                0,
                stream,
                null_mut(),
                null_mut()
            )
        )
    }

    /// The device's bytes as they are now, whatever waits.
    pub(crate) fn now(&self, address: CUdeviceptr, bytes: usize) -> Vec<u8> {
        self.session.peek(address, bytes).expect("allocated memory")
    }
}

/// The table, filled from the software driver as it now is.
pub(crate) fn table() -> Table {
    // SAFETY: the software driver's addresses are checked against the prototypes when it is compiled, and stay.
    unsafe { Table::load(&fakecuda::resolve) }.expect("all required entry points")
}

/// A module text with one entry.
pub(crate) fn ptx(entry: &str) -> String {
    format!(
        ".version 7.0\n.target sm_60\n.address_size 64\n.visible .entry {entry}()\n{{\n\tret;\n}}\n"
    )
}
