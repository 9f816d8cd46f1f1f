//! Launches.
//!
//! A kernel is found in the registry of emulated ones by its entry name. A module may also have the entry `fakecuda_break`:
//! its launch succeeds, and when it has run its context is broken for good with 700, as by a consumer's faulty kernel.
//! Two more built-in ones, `fakecuda_store` and `fakecuda_parameters`, write where they are told (see `emulation`). Any other entry loads and cannot
//! run: 801.
#![allow(unsafe_code, reason = "entry points, parameter bytes")]

use super::{number, stream};
use crate::emulation;
use crate::gate::{Call, Outcome, code, entries};
use crate::state::work::{Launch, Work};
use core::ffi::{c_int, c_uint, c_void};
use std::sync::Arc;
use ulib_device::sys::{CUfunction, CUlaunchConfig, CUstream};

/// The kernel that breaks its context.
const BREAK: &str = "fakecuda_break";

pub(super) struct Shape {
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
    pub(super) shared: u32,
}

/// Queues a launch.
///
/// # Safety
/// As [`prepared`].
unsafe fn launch(
    call: &mut Call<'_>,
    function: CUfunction,
    shape: &Shape,
    on: CUstream,
    parameters: *mut *mut c_void,
) -> Outcome {
    // SAFETY: the caller's promise.
    let work = unsafe { prepared(call, function, shape, parameters) }?;
    let handle = stream::meant(call, on)?;
    if call.streams[&handle].context != call.context {
        return Err(code::INVALID_HANDLE);
    }
    call.enqueue(handle, work, Vec::new())
}

/// A launch, checked, with its parameters copied.
///
/// # Safety
/// `parameters` points to a pointer to the kernel's one parameter, as large as the registry says.
pub(super) unsafe fn prepared(
    call: &Call<'_>,
    function: CUfunction,
    shape: &Shape,
    parameters: *mut *mut c_void,
) -> Outcome<Work> {
    let found = call
        .functions
        .get(&number(function))
        .ok_or(code::INVALID_HANDLE)?;
    let name = Arc::clone(&found.name);
    let dynamic = found.dynamic_shared;
    let module = call
        .modules
        .get(&found.module)
        .ok_or(code::INVALID_HANDLE)?;
    let home = module.context;
    let takes = module.program.parameters_of(&name).to_vec();
    if home != call.context {
        return Err(code::INVALID_HANDLE);
    }
    let ([gx, gy, gz], [bx, by, bz]) = (shape.grid, shape.block);
    let threads = u64::from(bx) * u64::from(by) * u64::from(bz);
    let grid =
        (1..=0x7FFF_FFFF).contains(&gx) && (1..=65_535).contains(&gy) && (1..=65_535).contains(&gz);
    if !grid || !(1..=1024).contains(&threads) || bz > 64 || shape.shared > dynamic {
        return Err(code::INVALID_VALUE);
    }
    if &*name == BREAK {
        return Ok(Work::Break(code::ILLEGAL_ADDRESS));
    }
    let dump = &*name == emulation::PARAMETERS;
    let (run, bytes) = if dump {
        (emulation::write_parameters as emulation::Run, 0)
    } else {
        emulation::find(&name).ok_or(code::NOT_SUPPORTED)?
    };
    let mut copied = vec![0_u128; bytes.div_ceil(16)];
    if dump {
        // SAFETY: the caller passes a pointer to each parameter, as large as the program says.
        copied = unsafe { lay_out(&takes, parameters) }?;
    } else if bytes > 0 {
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
    Ok(Work::Kernel(Arc::new(launch)))
}

/// The length of all parameters, and the parameters as they lie in the kernel's memory; what is between them is 0xEE.
///
/// # Safety
/// `values` points to one pointer for each parameter, to as many bytes as it has.
unsafe fn lay_out(takes: &[(usize, usize)], values: *mut *mut c_void) -> Outcome<Vec<u128>> {
    let length = takes.last().map_or(0, |(offset, size)| offset + size);
    if length < 8 || values.is_null() {
        return Err(code::INVALID_VALUE);
    }
    let gap = u128::from_ne_bytes([0xEE; 16]);
    let mut block = vec![gap; 1 + length.div_ceil(16)];
    block[0] = length as u128;
    let start = block.as_mut_ptr().cast::<u8>().wrapping_add(16);
    for (index, &(offset, size)) in takes.iter().enumerate() {
        // SAFETY: as many pointers as parameters, by the caller's promise; the block has room up to its last one.
        unsafe {
            let value = values.add(index).read().cast::<u8>();
            core::ptr::copy_nonoverlapping(value, start.add(offset), size);
        }
    }
    Ok(block)
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
        let threads = (bx * by * bz).max(1) as c_int;
        let together = super::device::MULTIPROCESSORS * super::module::blocks_at_once(threads);
        if u64::from(gx) * u64::from(gy) * u64::from(gz) > together as u64 {
            return Err(code::COOPERATIVE_TOO_LARGE);
        }
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
