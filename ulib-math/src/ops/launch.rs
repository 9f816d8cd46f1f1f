//! Launching an operation's kernel: one struct by value, a one-dimensional grid.
#![allow(unsafe_code, reason = "hands device addresses to kernels")]

use std::collections::HashMap;
use std::ffi::c_void;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use ulib_core::{Error, Result};
use ulib_device::{Device, Kernel, LaunchConfig, Stream, launch};

/// Threads of a block of an elementwise kernel.
pub(crate) const THREADS: u32 = 256;

/// Single elements that a thread of an elementwise kernel has in flight; one round of them is all a thread does where the grid
/// may be that large, which measured faster than fewer blocks that go round.
const IN_FLIGHT: u64 = 4;

/// Blocks per multiprocessor for kernels whose threads have a start worth sharing among several units.
const WALKING_BLOCKS: u64 = 32;

static GRID_LIMIT: AtomicU32 = AtomicU32::new(u32::MAX);

/// Bounds the number of blocks of every later launch, or lifts the bound. Results do not depend on it; tests show that.
#[doc(hidden)]
pub fn set_grid_limit(blocks: Option<u32>) {
    GRID_LIMIT.store(blocks.unwrap_or(u32::MAX).max(1), Ordering::Relaxed);
}

/// `wanted` blocks, but at least one and no more than a grid may have.
pub(crate) fn blocks(wanted: u64) -> u32 {
    let limit = GRID_LIMIT
        .load(Ordering::Relaxed)
        .min(i32::MAX.cast_unsigned());
    u32::try_from(wanted).unwrap_or(u32::MAX).clamp(1, limit)
}

/// Blocks for `units` evenly spaced units, of which a thread has several in flight.
pub(crate) fn blocks_for_line(units: usize) -> u32 {
    blocks((units as u64).div_ceil(u64::from(THREADS) * IN_FLIGHT))
}

/// Blocks for `units` evenly spaced units, one for each thread.
pub(crate) fn blocks_for_wide(units: usize) -> u32 {
    blocks((units as u64).div_ceil(u64::from(THREADS)))
}

/// Blocks for `units` units reached by walking over axes.
pub(crate) fn blocks_for_axes(device: &Device, units: usize) -> u32 {
    let busy = u64::from(device.multiprocessors()) * WALKING_BLOCKS;
    blocks((units as u64).div_ceil(u64::from(THREADS)).min(busy))
}

/// The kernels of one operation: its `.ptx` file, in which every kernel is a module of its own after a line
/// `// entry NAME`, so that a device translates only what is launched.
#[derive(Debug)]
pub(crate) struct Library {
    text: &'static str,
    modules: OnceLock<HashMap<&'static str, &'static str, BuildHasherDefault<OfNames>>>,
}

/// A hash of kernel names, for a look-up before every launch: nobody chooses them to collide.
#[derive(Default)]
struct OfNames(u64);

impl Hasher for OfNames {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            let word = u64::from_le_bytes(word);
            self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        }
    }

    fn finish(&self) -> u64 {
        // The best bits of a product are its high ones, the table looks at low ones, too.
        self.0 ^ self.0 >> 32
    }
}

impl Library {
    pub(crate) const fn new(text: &'static str) -> Self {
        Self {
            text,
            modules: OnceLock::new(),
        }
    }

    /// The kernel of this name.
    ///
    /// # Errors
    /// Kind `InvalidArgument` when there is none, which is a mistake of the operation.
    pub(crate) fn kernel(&self, entry: &'static str) -> Result<Kernel> {
        let split = || {
            let modules = self.text.split("// entry ").skip(1);
            modules
                .filter_map(|module| module.split_once('\n'))
                .collect()
        };
        let ptx = self.modules.get_or_init(split).get(entry).copied();
        let missing = || {
            Error::invalid(
                "launch",
                "kernel",
                entry,
                "one of the operation's .ptx file",
            )
        };
        Ok(Kernel {
            ptx: ptx.ok_or_else(missing)?,
            entry,
        })
    }
}

/// Puts one kernel into `stream`.
///
/// # Errors
/// Whatever loading or launching the kernel gives.
///
/// # Safety
/// 1. `P` is the struct that the kernel takes, mirrored field by field.
/// 2. Every address that the kernel reaches under `params` is in memory that stays valid until the kernel is done, and
///    that `stream` has been made to wait for.
pub(crate) unsafe fn run<P: Copy>(
    kernel: Kernel,
    stream: &Stream,
    blocks: u32,
    threads: u32,
    mut params: P,
) -> Result<()> {
    let function = kernel.function(stream.device())?;
    let config = LaunchConfig {
        grid: [blocks, 1, 1],
        block: [threads, 1, 1],
        shared_bytes: 0,
    };
    let mut args = [std::ptr::from_mut(&mut params).cast::<c_void>()];
    // SAFETY: one parameter, of the kernel's type by condition 1; what it reaches is the caller's condition 2.
    unsafe { launch(&function, stream, config, &mut args) }
}
