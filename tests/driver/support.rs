//! What the tests of the driver layer share.
#![allow(unsafe_code, reason = "calls the driver directly to look at its state")]

use crate::common;
use ulib_device::compiler::{self, Compiler, ImageKind, Program, Target};
use ulib_device::sys::{CUcontext, CUdeviceptr, CUresult};
use ulib_device::{Device, Driver, Stream};

/// The first device.
pub(crate) fn device() -> Device {
    Device::new(0).expect("a driver is there, since the test was not skipped")
}

/// The compiler of this machine, or nothing (said aloud). That of the project's own environments is found, too.
pub(crate) fn compiler() -> Option<Compiler> {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    for environment in [".venv", "target/kernels-venv"] {
        let libraries = std::fs::read_dir(root.join(environment).join("lib"));
        for library in libraries.into_iter().flatten().flatten() {
            compiler::add_packages(library.path().join("site-packages/nvidia"));
        }
    }
    match Compiler::find() {
        Ok(compiler) => Some(compiler),
        Err(reason) => {
            println!("SKIP: {}: {reason}", common::test_name());
            None
        }
    }
}

/// For which the tests of the compiler compile.
pub(crate) fn ptx() -> Target {
    Target::Ptx("80".into())
}

/// Compiles to PTX text.
pub(crate) fn text(program: &Program<'_>) -> String {
    let image = program.compile(ptx()).unwrap();
    assert_eq!(image.kind(), ImageKind::Ptx);
    String::from_utf8(image.into_bytes()).unwrap()
}

/// The context that is current on this thread, as an integer.
pub(crate) fn current_context() -> usize {
    let table = Driver::get().expect("a driver is there").table();
    let mut context: CUcontext = core::ptr::null_mut();
    // SAFETY: the call writes one pointer.
    let status = unsafe { (table.cuCtxGetCurrent)(&raw mut context) };
    assert!(status == CUresult::CUDA_SUCCESS);
    context as usize
}

/// Makes a context current on this thread; 0 for none.
pub(crate) fn set_current_context(context: usize) {
    let table = Driver::get().expect("a driver is there").table();
    // SAFETY: the contexts used here come from the driver.
    let status = unsafe { (table.cuCtxSetCurrent)(context as CUcontext) };
    assert!(status == CUresult::CUDA_SUCCESS);
}

/// A context that is not a primary one, as another library might make; current on no thread.
pub(crate) struct ForeignContext(pub(crate) usize);

impl ForeignContext {
    pub(crate) fn new(device: &Device) -> Self {
        let before = current_context();
        let create = device
            .driver()
            .table()
            .cuCtxCreate_v2
            .expect("every driver has it");
        let mut context: CUcontext = core::ptr::null_mut();
        // SAFETY: the device handle came from the driver; the call writes one pointer.
        let status = unsafe { create(&raw mut context, 0, device.handle()) };
        assert!(status == CUresult::CUDA_SUCCESS);
        set_current_context(before);
        Self(context as usize)
    }

    pub(crate) fn destroy(self) {
        let destroy = device()
            .driver()
            .table()
            .cuCtxDestroy_v2
            .expect("every driver has it");
        // SAFETY: made by `new` and destroyed once, since this takes it.
        let status = unsafe { destroy(self.0 as CUcontext) };
        assert!(status == CUresult::CUDA_SUCCESS);
    }
}

/// A piece of device memory to have something to work on.
pub(crate) struct Memory {
    device: Device,
    pub(crate) address: CUdeviceptr,
    bytes: usize,
}

impl Memory {
    pub(crate) fn new(device: &Device, bytes: usize) -> Self {
        let _context = device.bind().expect("binds");
        let mut address: CUdeviceptr = 0;
        // SAFETY: the context is current; the call writes one integer.
        let status = unsafe { (device.driver().table().cuMemAlloc_v2)(&raw mut address, bytes) };
        assert!(status == CUresult::CUDA_SUCCESS);
        Self {
            device: device.clone(),
            address,
            bytes,
        }
    }

    /// Queues a fill with one byte value.
    pub(crate) fn fill(&self, value: u8, stream: &Stream) {
        let _context = self.device.bind().expect("binds");
        let table = self.device.driver().table();
        // SAFETY: the context is current; the memory has that many bytes and outlives the work: tests synchronise.
        let status =
            unsafe { (table.cuMemsetD8Async)(self.address, value, self.bytes, stream.handle()) };
        assert!(status == CUresult::CUDA_SUCCESS);
    }

    /// The first byte, as of now: on a stream that waits for nothing, so that a missing order shows.
    pub(crate) fn first_byte(&self, stream: &Stream) -> u8 {
        let _context = self.device.bind().expect("binds");
        let table = self.device.driver().table();
        let mut byte = 0_u8;
        // SAFETY: the context is current; one byte is read from the memory and written to a local, and the stream is
        // synchronised before the local goes.
        let status = unsafe {
            (table.cuMemcpyDtoHAsync_v2)((&raw mut byte).cast(), self.address, 1, stream.handle())
        };
        assert!(status == CUresult::CUDA_SUCCESS);
        stream.synchronize().expect("synchronises");
        byte
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if let Ok(_context) = self.device.bind() {
            // SAFETY: allocated by `new` and freed once.
            unsafe { (self.device.driver().table().cuMemFree_v2)(self.address) };
        }
    }
}
