//! Launching kernels.
#![allow(
    unsafe_code,
    reason = "a launch hands untyped arguments to device code"
)]

use crate::device::{Device, Limits, same_device};
use crate::driver::{check, missing_entry};
use crate::memory::guard;
use crate::module::Function;
use crate::stream::Stream;
use crate::sys::{CUlaunchAttribute, CUlaunchAttributeID, CUlaunchConfig, CUresult};
use core::ffi::c_void;
use ulib_core::{Error, ErrorKind, Result};

mod arguments;
mod builder;
mod recent;

pub use arguments::Arguments;
pub use builder::{Argument, ArgumentMut, Extents, Launch};
pub(crate) use recent::{Recent, is_late};

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

const AXES: [char; 3] = ['x', 'y', 'z'];

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
    pub(crate) fn check(
        &self,
        limits: &Limits,
        kernel_threads: u32,
        kernel_shared: u32,
    ) -> Result<()> {
        if let Some(axis) = beyond(self.grid, limits.grid) {
            return Err(size_refused("grid", axis, self.grid, limits.grid));
        }
        if let Some(axis) = beyond(self.block, limits.block) {
            return Err(size_refused("block", axis, self.block, limits.block));
        }
        let [x, y, z] = self.block.map(u64::from);
        let threads = x * y * z;
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
        let bound = limits
            .shared_bytes_per_block_optin
            .saturating_sub(kernel_shared);
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

/// The axis along which there are none, or more than the device can have.
#[inline]
fn beyond(sizes: [u32; 3], bounds: [u32; 3]) -> Option<usize> {
    // None, less one, is beyond every bound.
    (0..3).find(|&axis| sizes[axis].wrapping_sub(1) >= bounds[axis])
}

#[cold]
fn size_refused(what: &str, axis: usize, sizes: [u32; 3], bounds: [u32; 3]) -> Error {
    let (size, bound) = (u64::from(sizes[axis]), bounds[axis]);
    invalid(
        format!("{what}.{}", AXES[axis]),
        size,
        format!("1 to {bound}"),
    )
}

#[cold]
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
    // SAFETY: the caller's promise, handed on.
    unsafe { start(function, stream, config, Shape::default(), args) }
}

/// As [`launch`], with arguments whose number, sizes and kinds are checked first, as far as [`Function::parameters`] tells.
///
/// # Errors
/// Kind `InvalidArgument` naming the argument; else as [`launch`], and kind `Unavailable` for a shape that the device or the
/// driver does not have.
///
/// # Safety
/// As [`launch`]; where the parameters are not known, the arguments are as many and as large as they.
pub unsafe fn launch_with(
    function: &Function,
    stream: &Stream,
    config: LaunchConfig,
    shape: Shape,
    arguments: &mut Arguments,
) -> Result<()> {
    arguments.check(function)?;
    arguments.with_pointers(|pointers| {
        // SAFETY: number and sizes are checked, or promised by the caller with the rest.
        unsafe { start(function, stream, config, shape, pointers) }
    })
}

/// How the blocks of a launch belong together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// Whether the blocks of the grid can wait for each other.
    pub cooperative: bool,
    /// Blocks of a cluster along x, y and z.
    pub cluster: Option<[u32; 3]>,
}

impl Shape {
    fn check(self, function: &Function, grid: [u32; 3]) -> Result<()> {
        let limits = function.device().limits();
        let refused = |what: &str| {
            let device = function.device();
            Err(Error::in_op(
                ErrorKind::Unavailable,
                "launch",
                format!("{device} has no {what}"),
            ))
        };
        if self.cooperative && !limits.cooperative {
            return refused("cooperative launches");
        }
        let Some(cluster) = self.cluster else {
            return Ok(());
        };
        if !limits.clusters {
            return refused("clusters of blocks");
        }
        for ((axis, size), blocks) in AXES.into_iter().zip(cluster).zip(grid) {
            if size == 0 || blocks % size != 0 {
                let expected = format!("a divisor of the {blocks} blocks along that axis");
                return Err(invalid(format!("cluster.{axis}"), size.into(), expected));
            }
        }
        Ok(())
    }
}

/// # Safety
/// As [`launch`].
unsafe fn start(
    function: &Function,
    stream: &Stream,
    config: LaunchConfig,
    shape: Shape,
    args: &mut [*mut c_void],
) -> Result<()> {
    let device = function.device();
    same_device("launch", device, stream.device())?;
    let named = |error: Error| error.context(format!("kernel {}", function.name()));
    config
        .check(
            device.limits(),
            function.threads_per_block(),
            function.static_shared_bytes(),
        )
        .and_then(|()| shape.check(function, config.grid))
        .map_err(named)?;
    function.allow_shared(config.shared_bytes)?;
    let context = device.bind()?;
    let table = device.table();
    let _queueing = stream.queueing("launch").map_err(named)?;
    device.recent().note(
        function.name(),
        config.grid,
        config.block,
        stream.handle() as usize,
    );
    let ([gx, gy, gz], [bx, by, bz]) = (config.grid, config.block);
    let (raw, queue, args) = (function.handle(), stream.handle(), args.as_mut_ptr());
    let shared = config.shared_bytes;
    let (call, status) = if shape == Shape::default() {
        // SAFETY: the context is current by the guard; function and stream are alive by the borrows and of this device;
        // the arguments are as the caller promises; the driver copies them before it returns.
        let status = unsafe {
            (table.cuLaunchKernel)(
                raw,
                gx,
                gy,
                gz,
                bx,
                by,
                bz,
                shared,
                queue,
                args,
                core::ptr::null_mut(),
            )
        };
        ("cuLaunchKernel", status)
    } else if let (None, Some(cooperative)) = (shape.cluster, table.cuLaunchCooperativeKernel) {
        // SAFETY: as above.
        let status = unsafe { cooperative(raw, gx, gy, gz, bx, by, bz, shared, queue, args) };
        ("cuLaunchCooperativeKernel", status)
    } else {
        let mut launch = CUlaunchConfig {
            gridDimX: gx,
            gridDimY: gy,
            gridDimZ: gz,
            blockDimX: bx,
            blockDimY: by,
            blockDimZ: bz,
            sharedMemBytes: shared,
            hStream: queue,
            attrs: core::ptr::null_mut(),
            numAttrs: 0,
        };
        // SAFETY: as above.
        ("cuLaunchKernelEx", unsafe {
            extended(function, &mut launch, shape, args)
        }?)
    };
    check(table, call, status).map_err(named)?;
    guard::launched(stream, &context, || {
        named_launch(function.name(), config, stream)
    });
    Ok(())
}

/// How a message names a launch.
fn named_launch(name: &str, config: LaunchConfig, stream: &Stream) -> String {
    let ([gx, gy, gz], [bx, by, bz]) = (config.grid, config.block);
    let on = stream.handle() as usize;
    format!("kernel {name}<<<({gx}, {gy}, {gz}), ({bx}, {by}, {bz})>>> on stream {on:#x}")
}

/// # Safety
/// As [`launch`], with the context current.
unsafe fn extended(
    function: &Function,
    launch: &mut CUlaunchConfig,
    shape: Shape,
    args: *mut *mut c_void,
) -> Result<CUresult> {
    let table = function.device().table();
    let start = table
        .cuLaunchKernelEx
        .ok_or_else(|| missing_entry("cuLaunchKernelEx", "11.8"))?;
    let attribute = |id| {
        // SAFETY: integers and unions of integers and pointers, all of which may be zero.
        let mut made: CUlaunchAttribute = unsafe { core::mem::zeroed() };
        made.id = id;
        made
    };
    let mut attributes = Vec::with_capacity(2);
    if shape.cooperative {
        let mut made = attribute(CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
        made.value.cooperative = 1;
        attributes.push(made);
    }
    if let Some([x, y, z]) = shape.cluster {
        let mut made = attribute(CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
        made.value.clusterDim.x = x;
        made.value.clusterDim.y = y;
        made.value.clusterDim.z = z;
        attributes.push(made);
    }
    launch.attrs = attributes.as_mut_ptr();
    launch.numAttrs = attributes.len() as u32;
    // SAFETY: the configuration and its attributes live through the call; the rest is the caller's promise.
    Ok(unsafe { start(launch, function.handle(), args, core::ptr::null_mut()) })
}

#[cfg(test)]
mod tests;
