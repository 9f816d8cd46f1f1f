//! Launching kernels.
#![allow(
    unsafe_code,
    reason = "a launch hands untyped arguments to device code"
)]

use crate::device::{Device, Limits, same_device};
use crate::driver::check;
use crate::module::Function;
use crate::stream::Stream;
use core::ffi::c_void;
use ulib_core::{Error, Result};

/// How many blocks of how many threads run a kernel.
///
/// # Examples
/// ```
/// use ulib_device::LaunchConfig;
///
/// let config = LaunchConfig { grid: [16, 1, 1], block: [256, 1, 1], shared_bytes: 0 };
/// assert_eq!(config.threads(), 4096);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchConfig {
    /// Blocks along x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block along x, y and z.
    pub block: [u32; 3],
    /// Shared memory per block in bytes, besides what the kernel declares itself.
    pub shared_bytes: u32,
}

/// Blocks per multiprocessor of a grid-stride launch: enough that the last ones to finish cost little.
const BLOCKS_PER_MULTIPROCESSOR: u64 = 32;

impl LaunchConfig {
    /// One axis of `block`-thread blocks for a kernel that strides over `elements`: no more blocks than elements need,
    /// and no more than keep the device busy. At least one block, also for no elements.
    #[must_use]
    pub fn strided(device: &Device, elements: u64, block: u32) -> Self {
        Self::strided_over(device.multiprocessors(), elements, block)
    }

    fn strided_over(multiprocessors: u32, elements: u64, block: u32) -> Self {
        let needed = elements.div_ceil(u64::from(block.max(1))).max(1);
        let busy = (u64::from(multiprocessors) * BLOCKS_PER_MULTIPROCESSOR).max(1);
        let blocks = u32::try_from(needed.min(busy)).unwrap_or(u32::MAX);
        Self {
            grid: [blocks, 1, 1],
            block: [block, 1, 1],
            shared_bytes: 0,
        }
    }

    /// Threads in all; `u128::MAX` for numbers beyond it, which no device can launch.
    #[must_use]
    pub fn threads(&self) -> u128 {
        self.grid
            .iter()
            .chain(&self.block)
            .fold(1, |threads, &n| threads.saturating_mul(u128::from(n)))
    }

    /// Checks the numbers against what a device, and a kernel on it, can do.
    fn check(&self, limits: &Limits, kernel_threads: u32, kernel_shared: u32) -> Result<()> {
        const AXES: [char; 3] = ['x', 'y', 'z'];
        for (what, sizes, bounds) in [
            ("grid", self.grid, limits.grid),
            ("block", self.block, limits.block),
        ] {
            for ((axis, size), bound) in AXES.into_iter().zip(sizes).zip(bounds) {
                if size == 0 || size > bound {
                    return Err(invalid(
                        format!("{what}.{axis}"),
                        u64::from(size),
                        format!("1 to {bound}"),
                    ));
                }
            }
        }
        let threads: u64 = self.block.iter().map(|&n| u64::from(n)).product();
        // A kernel that needs many registers may allow fewer threads than the device.
        let bound = match kernel_threads {
            0 => limits.threads_per_block,
            threads => threads.min(limits.threads_per_block),
        };
        if threads > u64::from(bound) {
            return Err(invalid(
                "block".to_owned(),
                threads,
                format!("at most {bound} threads in all"),
            ));
        }
        let bound = limits.shared_bytes_per_block.saturating_sub(kernel_shared);
        if self.shared_bytes > bound {
            let expected =
                format!("at most {bound} bytes, since the kernel declares {kernel_shared} itself");
            return Err(invalid(
                "shared_bytes".to_owned(),
                u64::from(self.shared_bytes),
                expected,
            ));
        }
        Ok(())
    }
}

fn invalid(argument: String, value: u64, expected: String) -> Error {
    Error::invalid("launch", argument, value, expected)
}

/// Puts a kernel into `stream` and returns without waiting for it.
///
/// `args` has one pointer per parameter of the kernel, to the parameter's value; the values are copied before the call
/// returns.
///
/// # Errors
/// Kind `InvalidArgument` when kernel and stream belong to different devices, or when a size is zero or more than the
/// device or the kernel allows, naming the value and the bound; whatever the driver says, which includes the failure
/// of any kernel before; kind `Forked` in a forked child.
///
/// # Safety
/// 1. `args` has exactly as many entries as the kernel has parameters, each pointing to a readable value of the
///    parameter's size and alignment.
/// 2. Every device address among the values stays valid until the kernel is done, reaches as far as the kernel uses
///    it, and is not used in conflict by other work that is not ordered with this stream.
/// 3. The kernel does what the caller's types say: it may write anything it has an address of, while borrows of that
///    memory exist on the host side.
///
/// # Examples
/// ```no_run
/// use ulib_device::{Device, Kernel, LaunchConfig, Stream, launch};
///
/// const NOTHING: Kernel = Kernel {
///     ptx: ".version 7.0\n.target sm_60\n.address_size 64\n.visible .entry nothing() { ret; }\n",
///     entry: "nothing",
/// };
///
/// # fn main() -> ulib_core::Result<()> {
/// let device = Device::new(0)?;
/// let stream = Stream::legacy(&device);
/// let function = NOTHING.function(&device)?;
/// let config = LaunchConfig::strided(&device, 1_000_000, 256);
/// // SAFETY: the kernel has no parameters and touches no memory.
/// unsafe { launch(&function, &stream, config, &mut []) }?;
/// stream.synchronize()?;
/// # Ok(())
/// # }
/// ```
pub unsafe fn launch(
    function: &Function,
    stream: &Stream,
    config: LaunchConfig,
    args: &mut [*mut c_void],
) -> Result<()> {
    let device = function.device();
    same_device("launch", device, stream.device())?;
    config
        .check(
            device.limits(),
            function.threads_per_block(),
            function.static_shared_bytes(),
        )
        .map_err(|error| error.context(format!("kernel {}", function.name())))?;
    let _context = device.bind()?;
    let ([gx, gy, gz], [bx, by, bz]) = (config.grid, config.block);
    // SAFETY: the context is current by the guard; function and stream are alive by the borrows and of this device;
    // the arguments are as the caller promises; the driver copies them before it returns.
    let status = unsafe {
        (device.table().cuLaunchKernel)(
            function.handle(),
            gx,
            gy,
            gz,
            bx,
            by,
            bz,
            config.shared_bytes,
            stream.handle(),
            args.as_mut_ptr(),
            core::ptr::null_mut(),
        )
    };
    check(device.table(), "cuLaunchKernel", status)
        .map_err(|error| error.context(format!("kernel {}", function.name())))
}

#[cfg(test)]
mod tests;
