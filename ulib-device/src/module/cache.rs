//! Kernels embedded in the binary, loaded once per device.

use super::{Function, Module};
use crate::device::Device;
use crate::driver::Driver;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use ulib_core::{Context, Result};

/// A kernel embedded in the binary: the PTX text and the name of the kernel in it.
///
/// Loaded on a device the first time [`function`](Self::function) asks, and kept until the process ends; kernels with
/// the same text share one module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// The PTX text.
    pub ptx: &'static str,
    /// The name of the kernel.
    pub entry: &'static str,
}

impl Kernel {
    /// The kernel, ready to launch on `device`.
    ///
    /// # Errors
    /// As [`Module::load`] and [`Module::function`]; failures are not remembered.
    pub fn function(&self, device: &Device) -> Result<Function> {
        device
            .module_cache()
            .function(self, device)
            .with_context(|| format!("kernel {}", self.entry))
    }
}

/// Where a text is and how long it is: embedded texts never move.
type Text = (usize, usize);

/// What has been loaded on one device.
#[derive(Default)]
pub(crate) struct Cache(Mutex<Loaded>);

#[derive(Default)]
struct Loaded {
    modules: HashMap<Text, Module>,
    functions: HashMap<(Text, &'static str), Function>,
}

impl Cache {
    fn function(&self, kernel: &Kernel, device: &Device) -> Result<Function> {
        // First: in a forked child the lock may be held by a thread that does not exist there.
        Driver::ready()?;
        let text = (kernel.ptx.as_ptr() as usize, kernel.ptx.len());
        // Held through the load, so that a kernel wanted by several threads at once is translated once.
        let mut loaded = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(function) = loaded.functions.get(&(text, kernel.entry)) {
            return Ok(function.clone());
        }
        let module = match loaded.modules.get(&text) {
            Some(module) => module.clone(),
            None => {
                let module = Module::load(device, kernel.ptx)?;
                loaded.modules.insert(text, module.clone());
                module
            }
        };
        let function = module.function(kernel.entry)?;
        loaded
            .functions
            .insert((text, kernel.entry), function.clone());
        Ok(function)
    }
}
