//! Kernels of a loaded module.

use super::{Module, Parameter, absent, c_name};
use crate::device::Device;
use crate::driver::{Driver, check};
use crate::sys::{CUfunction, CUfunction_attribute, CUresult};
use core::ffi::c_int;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, OnceLock};
use ulib_core::Result;

/// One kernel of a loaded program; keeps the program loaded. Clones are the same kernel.
#[derive(Clone, Debug)]
pub struct Function(pub(super) Arc<Inner>);

#[derive(Debug)]
pub(super) struct Inner {
    module: Module,
    name: String,
    /// The driver's handle as an integer: it is only ever handed to the driver, so any thread may hold it.
    raw: usize,
    threads_per_block: u32,
    static_shared_bytes: u32,
    /// Bytes of dynamic shared memory that a launch may use as things are.
    pub(super) dynamic_shared: AtomicU32,
    /// What it takes, once asked for; nothing where the driver does not tell.
    pub(super) parameters: OnceLock<Option<Box<[Parameter]>>>,
}

impl Function {
    pub(super) fn find(module: &Module, name: &str) -> Result<Self> {
        let text = c_name("Module::function", name)?;
        let device = module.device();
        let table = device.table();
        let _context = device.bind()?;
        let mut raw: CUfunction = core::ptr::null_mut();
        // SAFETY: the context is current by the guard; the module is loaded while `module` lives; the name ends with
        // NUL; the call writes one pointer.
        let status =
            unsafe { (table.cuModuleGetFunction)(&raw mut raw, module.handle(), text.as_ptr()) };
        if status == CUresult::CUDA_ERROR_NOT_FOUND {
            return Err(absent("Module::function", "kernel", name));
        }
        check(table, "cuModuleGetFunction", status)?;
        let ask = |attribute| -> Result<u32> {
            Ok(u32::try_from(attribute_of(device, raw, attribute)?).unwrap_or(0))
        };
        let threads = ask(CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?;
        let shared = ask(CUfunction_attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?;
        Ok(Self(Arc::new(Inner {
            module: module.clone(),
            name: name.to_owned(),
            raw: raw as usize,
            threads_per_block: threads,
            static_shared_bytes: shared,
            dynamic_shared: AtomicU32::new(
                device
                    .limits()
                    .shared_bytes_per_block
                    .saturating_sub(shared),
            ),
            parameters: OnceLock::new(),
        })))
    }

    /// The program it belongs to.
    #[must_use]
    pub fn module(&self) -> &Module {
        &self.0.module
    }

    /// The device it runs on.
    #[must_use]
    pub fn device(&self) -> &Device {
        self.0.module.device()
    }

    /// Its name in the program.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The driver's handle, for calls this crate does not wrap; as an integer, `handle() as usize`.
    #[must_use]
    pub fn handle(&self) -> CUfunction {
        self.0.raw as CUfunction
    }

    /// The most threads one block of this kernel can have, given the registers it needs.
    #[must_use]
    pub fn threads_per_block(&self) -> u32 {
        self.0.threads_per_block
    }

    /// Bytes of shared memory a block uses besides what the launch asks for.
    #[must_use]
    pub fn static_shared_bytes(&self) -> u32 {
        self.0.static_shared_bytes
    }

    /// An attribute by the driver's number for it, such as the number of registers.
    ///
    /// # Errors
    /// Kind `Driver` when the driver does not know the attribute; kind `Forked` in a forked child.
    pub fn attribute(&self, attribute: CUfunction_attribute) -> Result<i32> {
        Driver::ready()?;
        let _context = self.device().bind()?;
        attribute_of(self.device(), self.handle(), attribute)
    }
}

/// The context of `device` is current.
fn attribute_of(
    device: &Device,
    function: CUfunction,
    attribute: CUfunction_attribute,
) -> Result<i32> {
    let mut value: c_int = 0;
    // SAFETY: both callers hold the guard of this device, and the module the function came from; the call writes one
    // integer.
    let status =
        unsafe { (device.table().cuFuncGetAttribute)(&raw mut value, attribute, function) };
    check(device.table(), "cuFuncGetAttribute", status)?;
    Ok(value)
}
