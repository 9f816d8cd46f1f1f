//! Modules: programs for the device, loaded from PTX or from machine code.
#![allow(
    unsafe_code,
    reason = "hands program images to the driver and asks for functions in them"
)]

mod cache;
mod function;
mod jit;

pub(crate) use cache::Cache;
pub use cache::Kernel;
pub use function::Function;

use crate::device::Device;
use crate::driver::{check, relaxed_capture};
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
}

impl Module {
    /// Loads a program: PTX text, which the driver translates, or a cubin or fatbin for this kind of device.
    ///
    /// # Errors
    /// Kind `InvalidArgument` for an empty image; kind `Driver` when the driver refuses the program, with the
    /// translator's own messages; kind `Forked` in a forked child.
    pub fn load(device: &Device, image: impl AsRef<[u8]>) -> Result<Self> {
        let image = image.as_ref();
        if image.is_empty() {
            return Err(Error::invalid(
                "Module::load",
                "image",
                "empty",
                "PTX text, a cubin or a fatbin",
            ));
        }
        let _context = device.bind()?;
        // The driver takes PTX as text that ends with NUL; one more byte after a binary changes nothing.
        let mut terminated = Vec::with_capacity(image.len() + 1);
        terminated.extend_from_slice(image);
        terminated.push(0);
        let mut module: CUmodule = core::ptr::null_mut();
        let mut log = jit::Log::new();
        let status = relaxed_capture(|| {
            log.with_options(|count, options, values| {
                // SAFETY: the device's context is current, by the guard; the image ends with NUL and lives through
                // the call, as do the option arrays of `count` entries; the call writes one pointer.
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
        // SAFETY: loaded by `Module::load` and unloaded only here, when no clone and no function is left.
        self.device.in_drop("cuModuleUnload", |table| unsafe {
            (table.cuModuleUnload)(raw)
        });
    }
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
