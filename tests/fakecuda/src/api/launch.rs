//! Launches.
//!
//! A kernel is found in the registry of emulated ones by its entry name. A module may also have the entry `fakecuda_break`:
//! its launch succeeds, and when it has run its context is broken for good with 700, as by a consumer's faulty kernel.
//! Another built-in one, `fakecuda_store`, writes where it is told (see `emulation`). Any other entry loads and cannot
//! run: 801.
#![allow(unsafe_code, reason = "entry points, parameter bytes")]

use super::{number, stream};
use crate::emulation;
use crate::gate::{Call, Outcome, code, entries};
use crate::state::work::{Launch, Work};
use core::ffi::{c_uint, c_void};
use std::sync::Arc;
use ulib_device::sys::{CUfunction, CUlaunchConfig, CUstream};

/// The kernel that breaks its context.
const BREAK: &str = "fakecuda_break";
/// Dynamic shared memory a launch may ask for.
const SHARED: u32 = 99 << 10;

struct Shape {
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
}

/// Queues a launch.
///
/// # Safety
/// `parameters` points to a pointer to the kernel's one parameter, as large as the registry says.
unsafe fn launch(
    call: &mut Call<'_>,
    function: CUfunction,
    shape: &Shape,
    on: CUstream,
    parameters: *mut *mut c_void,
) -> Outcome {
    let found = call
        .functions
        .get(&number(function))
        .ok_or(code::INVALID_HANDLE)?;
    let name = Arc::clone(&found.name);
    let home = call
        .modules
        .get(&found.module)
        .ok_or(code::INVALID_HANDLE)?
        .context;
    let handle = stream::meant(call, on)?;
    if home != call.context || call.streams[&handle].context != home {
        return Err(code::INVALID_HANDLE);
    }
    let ([gx, gy, gz], [bx, by, bz]) = (shape.grid, shape.block);
    let threads = u64::from(bx) * u64::from(by) * u64::from(bz);
    let grid =
        (1..=0x7FFF_FFFF).contains(&gx) && (1..=65_535).contains(&gy) && (1..=65_535).contains(&gz);
    if !grid || !(1..=1024).contains(&threads) || bz > 64 || shape.shared > SHARED {
        return Err(code::INVALID_VALUE);
    }
    if &*name == BREAK {
        return call.enqueue(handle, Work::Break(code::ILLEGAL_ADDRESS), Vec::new());
    }
    let (run, bytes) = emulation::find(&name).ok_or(code::NOT_SUPPORTED)?;
    let mut copied = vec![0_u128; bytes.div_ceil(16)];
    if bytes > 0 {
        if parameters.is_null() {
            return Err(code::INVALID_VALUE);
        }
        // SAFETY: the caller promises a pointer to a parameter of this many bytes; the vector has room for them.
        unsafe {
            core::ptr::copy_nonoverlapping(
                (*parameters).cast::<u8>(),
                copied.as_mut_ptr().cast::<u8>(),
                bytes,
            )
        };
    }
    let context = call.context;
    let (grid, block, shared) = (shape.grid, shape.block, shape.shared);
    let launch = Launch {
        name,
        run,
        parameters: copied,
        grid,
        block,
        shared,
        context,
    };
    call.enqueue(handle, Work::Kernel(Arc::new(launch)), Vec::new())
}

entries! {
    fn cuLaunchKernel[](
        function: CUfunction, gx: c_uint, gy: c_uint, gz: c_uint, bx: c_uint, by: c_uint, bz: c_uint,
        shared: c_uint, on: CUstream, parameters: *mut *mut c_void, extra: *mut *mut c_void,
    ) Context |call| {
        if !extra.is_null() {
            return Err(code::NOT_SUPPORTED);
        }
        let shape = Shape { grid: [gx, gy, gz], block: [bx, by, bz], shared };
        // SAFETY: the caller passes the kernel's parameters.
        unsafe { launch(call, function, &shape, on, parameters) }
    }

    fn cuLaunchCooperativeKernel[](
        function: CUfunction, gx: c_uint, gy: c_uint, gz: c_uint, bx: c_uint, by: c_uint, bz: c_uint,
        shared: c_uint, on: CUstream, parameters: *mut *mut c_void,
    ) Context |call| {
        let shape = Shape { grid: [gx, gy, gz], block: [bx, by, bz], shared };
        // SAFETY: the caller passes the kernel's parameters.
        unsafe { launch(call, function, &shape, on, parameters) }
    }

    fn cuLaunchKernelEx[](
        config: *const CUlaunchConfig, function: CUfunction, parameters: *mut *mut c_void,
        extra: *mut *mut c_void,
    ) Context |call| {
        if config.is_null() {
            return Err(code::INVALID_VALUE);
        }
        if !extra.is_null() {
            return Err(code::NOT_SUPPORTED);
        }
        // SAFETY: not null, and the caller passes a configuration it filled.
        let c = unsafe { config.read() };
        let grid = [c.gridDimX, c.gridDimY, c.gridDimZ];
        let block = [c.blockDimX, c.blockDimY, c.blockDimZ];
        let shape = Shape { grid, block, shared: c.sharedMemBytes };
        // SAFETY: the caller passes the kernel's parameters.
        unsafe { launch(call, function, &shape, c.hStream, parameters) }
    }
}
