//! Kernels embedded in the binary, loaded once per device.

use super::{Function, Module};
use crate::device::Device;
use crate::driver::Driver;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
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
    /// By the places of the text and of the name. A name that stands in two places is found under both.
    functions: HashMap<(Text, Text), Function, BuildHasherDefault<OfAddresses>>,
}

/// A hash of a few addresses and lengths, for a look-up before every launch: nobody chooses them to collide.
#[derive(Default)]
struct OfAddresses(u64);

impl Hasher for OfAddresses {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_usize(byte.into());
        }
    }

    fn write_usize(&mut self, number: usize) {
        self.0 = (self.0.rotate_left(5) ^ number as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }

    fn finish(&self) -> u64 {
        // The best bits of a product are its high ones, the table looks at low ones, too.
        self.0 ^ self.0 >> 32
    }
}

impl Cache {
    fn function(&self, kernel: &Kernel, device: &Device) -> Result<Function> {
        // First: in a forked child the lock may be held by a thread that does not exist there.
        Driver::ready()?;
        let [text, name] =
            [kernel.ptx, kernel.entry].map(|text| (text.as_ptr() as usize, text.len()));
        // Held through the load, so that a kernel wanted by several threads at once is translated once.
        let mut loaded = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(function) = loaded.functions.get(&(text, name)) {
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
        loaded.functions.insert((text, name), function.clone());
        Ok(function)
    }
}
