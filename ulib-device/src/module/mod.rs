//! Modules: programs for the device, loaded from PTX or from machine code.
#![allow(
    unsafe_code,
    reason = "hands program images to the driver and asks for functions in them"
)]

mod attributes;
mod binary;
mod cache;
mod function;
mod jit;
mod linker;
mod signature;

pub use attributes::Parameter;
pub(crate) use cache::Cache;
pub use cache::Kernel;
pub use function::Function;
pub use jit::{JitLog, JitOptions};
pub use linker::Linker;
pub use signature::ParameterKind;
pub(crate) use signature::{Declared, Signatures};

use crate::compiler::Image;
use crate::device::Device;
use crate::driver::{check, relaxed_capture};
use crate::report::{Counted, Kind};
use crate::sys::{CUdeviceptr, CUmodule, CUresult};
use std::ffi::CString;
use std::sync::Arc;
use ulib_core::{Context, Error, ErrorKind, Result};

/// A program loaded on one device. Clones are the same program; it is unloaded when the last clone, and the last
/// [`Function`] of it, is dropped.
#[derive(Clone, Debug)]
pub struct Module(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    device: Device,
    /// The driver's handle as an integer: it is only ever handed to the driver, so any thread may hold it.
    raw: usize,
    /// What its kernels take, as far as its text told.
    signatures: Signatures,
    _counted: Counted,
}

impl Module {
    /// Loads a program from PTX text, which the driver translates.
    ///
    /// # Errors
    /// Kind `InvalidArgument` for no text, and for text with a character that no text has, such as NUL or the first one
    /// of a cubin; kind `Driver` when the driver refuses the program, with the translator's own messages; kind `Forked`
    /// in a forked child.
    pub fn load(device: &Device, ptx: impl AsRef<str>) -> Result<Self> {
        let ptx = ptx.as_ref();
        not_empty("Module::load", "ptx", ptx.as_bytes())?;
        // The driver takes what begins like a binary for one, and believes the sizes in it.
        if let Some(at) = ptx.find(|c: char| c.is_ascii_control() && !c.is_ascii_whitespace()) {
            let found = format!("{:?} at {at}", &ptx[at..=at]);
            return Err(Error::invalid("Module::load", "ptx", found, "PTX text"));
        }
        // SAFETY: no binary is UTF-8 without control characters, so the driver reads this as text, up to the NUL.
        unsafe { Self::load_terminated(device, ptx.as_bytes()) }
    }

    /// Loads a program from machine code for this kind of device: a cubin or a fatbin. PTX text will do as well.
    ///
    /// # Safety
    /// The image is complete and well formed, as the tools that make such images write it: the driver is not told how
    /// long it is, and trusts the sizes it finds in it.
    ///
    /// # Errors
    /// Kind `InvalidArgument` for an empty image, and one that is shorter than its headers say; else as [`load`](Self::load).
    pub unsafe fn load_image(device: &Device, image: &[u8]) -> Result<Self> {
        binary::check_program("Module::load_image", image)?;
        // SAFETY: the caller promises what is asked for.
        unsafe { Self::load_terminated(device, image) }
    }

    /// As [`load_image`](Self::load_image), with options for the translator, and with what it said, also where it failed.
    ///
    /// # Safety
    /// As [`load_image`](Self::load_image).
    ///
    /// # Errors
    /// In the first part, as [`load_image`](Self::load_image).
    pub unsafe fn load_image_with(
        device: &Device,
        image: &[u8],
        options: &JitOptions,
    ) -> (Result<Self>, JitLog) {
        let mut log = jit::Log::new(options);
        let loaded = binary::check_program("Module::load_image", image)
            // SAFETY: the caller promises what is asked for.
            .and_then(|()| unsafe {
                Self::load_logged(device, image, Signatures::of_image(image), &mut log)
            });
        (loaded, log.read())
    }

    /// Loads a program that was compiled in this process, or was once and is in the cache.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn from_image(device: &Device, image: &Image) -> Result<Self> {
        not_empty("Module::from_image", "image", image.as_bytes())?;
        let mut log = jit::Log::new(&JitOptions::new());
        // SAFETY: the image is what the compiler made, whole: in memory since, or kept with a hash of itself.
        unsafe { Self::load_logged(device, image.as_bytes(), image.signatures(), &mut log) }
    }

    /// # Safety
    /// The image is text, or a binary as [`load_image`](Self::load_image) wants it.
    unsafe fn load_terminated(device: &Device, image: &[u8]) -> Result<Self> {
        // SAFETY: the caller's promise, handed on.
        unsafe {
            let signatures = Signatures::of_image(image);
            Self::load_logged(
                device,
                image,
                signatures,
                &mut jit::Log::new(&JitOptions::new()),
            )
        }
    }

    /// # Safety
    /// As `load_terminated`.
    unsafe fn load_logged(
        device: &Device,
        image: &[u8],
        signatures: Signatures,
        log: &mut jit::Log,
    ) -> Result<Self> {
        let _context = device.bind()?;
        // The driver takes PTX as text that ends with NUL; one more byte after a binary changes nothing.
        let mut terminated = Vec::with_capacity(image.len() + 1);
        terminated.extend_from_slice(image);
        terminated.push(0);
        let mut module: CUmodule = core::ptr::null_mut();
        let status = relaxed_capture(|| {
            log.with_options(|count, options, values| {
                // SAFETY: the device's context is current, by the guard; the image ends with NUL, or is a binary that
                // ends where it says, by the caller's promise; it lives through the call, as do the option arrays of
                // `count` entries; the call writes one pointer.
                unsafe {
                    (device.table().cuModuleLoadDataEx)(
                        &raw mut module,
                        terminated.as_ptr().cast(),
                        count,
                        options,
                        values,
                    )
                }
            })
        });
        check(device.table(), "cuModuleLoadDataEx", status)
            .map_err(|error| log.explain(error))
            .with_context(|| format!("loading a program on {device}"))?;
        Ok(Self(Arc::new(Inner {
            device: device.clone(),
            raw: module as usize,
            signatures,
            _counted: Counted::new(Kind::Module),
        })))
    }

    /// The device the program is loaded on.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.0.device
    }

    /// The driver's handle, for calls this crate does not wrap; as an integer, `handle() as usize`.
    #[must_use]
    pub fn handle(&self) -> CUmodule {
        self.0.raw as CUmodule
    }

    /// The kernel with this (unmangled) name.
    ///
    /// # Errors
    /// Kind `InvalidArgument` when the program has no such kernel; whatever the driver says; kind `Forked` in a forked
    /// child.
    pub fn function(&self, name: &str) -> Result<Function> {
        Function::find(self, name)
    }

    /// Address and size in bytes of a variable of the program, which lives as long as the program is loaded.
    ///
    /// # Errors
    /// Kind `InvalidArgument` when the program has no such variable; whatever the driver says; kind `Forked` in a
    /// forked child.
    pub fn global(&self, name: &str) -> Result<(u64, usize)> {
        let text = c_name("Module::global", name)?;
        let _context = self.0.device.bind()?;
        let (mut address, mut bytes): (CUdeviceptr, usize) = (0, 0);
        let table = self.0.device.table();
        // SAFETY: the context is current by the guard; the module is loaded while `self` lives; the name ends with
        // NUL; the call writes two integers.
        let status = unsafe {
            (table.cuModuleGetGlobal_v2)(
                &raw mut address,
                &raw mut bytes,
                self.handle(),
                text.as_ptr(),
            )
        };
        if status == CUresult::CUDA_ERROR_NOT_FOUND {
            return Err(absent("Module::global", "variable", name));
        }
        check(table, "cuModuleGetGlobal_v2", status)?;
        Ok((address, bytes))
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let raw = self.raw as CUmodule;
        self.device.in_drop("cuModuleUnload", |table| {
            // SAFETY: loaded by `Module::load` and unloaded only here, when no clone and no function is left.
            relaxed_capture(|| unsafe { (table.cuModuleUnload)(raw) })
        });
    }
}

fn not_empty(op: &'static str, argument: &'static str, image: &[u8]) -> Result<()> {
    if image.is_empty() {
        return Err(Error::invalid(op, argument, "empty", "a program"));
    }
    Ok(())
}

fn c_name(op: &'static str, name: &str) -> Result<CString> {
    CString::new(name)
        .map_err(|_| Error::invalid(op, "name", format!("{name:?}"), "a name without NUL"))
}

fn absent(op: &'static str, what: &str, name: &str) -> Error {
    Error::in_op(
        ErrorKind::InvalidArgument,
        op,
        format!("the program has no {what} {name:?}"),
    )
}
