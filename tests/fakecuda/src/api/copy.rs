//! Copies of one run of bytes.
//!
//! As with the real driver: a copy from pageable memory has taken its bytes when the call returns, a copy to pageable memory
//! has arrived then; with page-locked memory an asynchronous copy reads and writes when the stream runs.
#![allow(unsafe_code, reason = "entry points")]

use super::stream;
use crate::control::spend_time_for;
use crate::gate::{Call, Outcome, code, entries};
use crate::state::work::{Place, Side, Transfer, Work};
use core::ffi::c_void;
use std::sync::Arc;
use ulib_device::sys::{CUcontext, CUdeviceptr, CUstream};

/// Whether the host may go on before a copy is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// On the legacy stream; waited for when the host takes part.
    Blocking,
    On(CUstream),
}

fn host(place: &Place) -> Option<u64> {
    if let Place::Host(address) = place {
        Some(*address)
    } else {
        None
    }
}

/// A host side's bytes, packed, with the side that then describes them.
fn take(call: &Call<'_>, copy: &Transfer, address: u64) -> Side {
    let mut bytes = Vec::with_capacity(copy.bytes() as usize);
    for slice in 0..copy.depth {
        for row in 0..copy.height {
            let start = address + slice * copy.from.slice + row * copy.from.pitch;
            // SAFETY: the caller of the copy promises that its host side can be read; device windows were ruled out.
            bytes.extend_from_slice(unsafe {
                core::slice::from_raw_parts(start as *const u8, copy.width as usize)
            });
        }
    }
    debug_assert!(call.owner(address).is_none());
    Side {
        place: Place::Taken(Arc::from(bytes)),
        pitch: copy.width,
        slice: copy.width * copy.height,
    }
}

/// Does or queues a copy.
pub(crate) fn perform(call: &mut Call<'_>, mut copy: Transfer, mode: Mode) -> Outcome {
    let (handle, blocking) = match mode {
        Mode::Blocking => {
            stream::refuse(call)?;
            (stream::meant(call, core::ptr::null_mut())?, true)
        }
        Mode::On(on) => (stream::meant(call, on)?, false),
    };
    if copy.is_empty() {
        return Ok(());
    }
    call.check_copy(&copy)?;
    let span = copy.bytes();
    let (from, to) = (host(&copy.from.place), host(&copy.to.place));
    let pageable = |address: u64| call.pinned_at(address, 1).is_none();
    let arrives = to.is_some_and(|to| blocking || pageable(to));
    let waits = arrives || (blocking && from.is_some());
    if let Some(address) = from
        && !waits
        && pageable(address)
        && call.deferred
    {
        copy.from = take(call, &copy, address);
    }
    call.enqueue(handle, Work::Copy(Arc::new(copy)), Vec::new())?;
    if waits {
        if blocking {
            stream::finish(call, handle);
        } else {
            call.drain_stream(handle);
        }
        stream::broken(call)?;
    }
    if from.is_some() || to.is_some() {
        spend_time_for(span);
    }
    Ok(())
}

/// What an address of unified addressing stands for.
pub(crate) fn unified(call: &Call<'_>, address: u64) -> Place {
    if call.owner(address).is_some() {
        Place::Device(address)
    } else {
        Place::Host(address)
    }
}

/// A device address: in a window, or page-locked memory seen from the device.
pub(crate) fn device(call: &Call<'_>, address: u64) -> Outcome<Place> {
    match unified(call, address) {
        Place::Host(address) => call
            .pinned_at(address, 1)
            .map(|_| Place::Host(address))
            .ok_or(code::INVALID_VALUE),
        place => Ok(place),
    }
}

fn run(call: &mut Call<'_>, to: Place, from: Place, bytes: usize, mode: Mode) -> Outcome {
    let (width, height, depth) = (bytes as u64, 1, 1);
    perform(
        call,
        Transfer {
            to: Side::linear(to),
            from: Side::linear(from),
            width,
            height,
            depth,
        },
        mode,
    )
}

fn up(call: &mut Call<'_>, to: u64, from: *const c_void, bytes: usize, mode: Mode) -> Outcome {
    let to = if bytes == 0 {
        Place::Device(to)
    } else {
        device(call, to)?
    };
    run(call, to, Place::Host(from.addr() as u64), bytes, mode)
}

fn down(call: &mut Call<'_>, to: *mut c_void, from: u64, bytes: usize, mode: Mode) -> Outcome {
    let from = if bytes == 0 {
        Place::Device(from)
    } else {
        device(call, from)?
    };
    run(call, Place::Host(to.addr() as u64), from, bytes, mode)
}

fn across(call: &mut Call<'_>, to: u64, from: u64, bytes: usize, mode: Mode) -> Outcome {
    if bytes == 0 {
        return run(call, Place::Device(to), Place::Device(from), bytes, mode);
    }
    let (to, from) = (device(call, to)?, device(call, from)?);
    run(call, to, from, bytes, mode)
}

fn any(call: &mut Call<'_>, to: u64, from: u64, bytes: usize, mode: Mode) -> Outcome {
    let (to, from) = (unified(call, to), unified(call, from));
    run(call, to, from, bytes, mode)
}

fn peers(call: &Call<'_>, pairs: [(u64, CUcontext); 2]) -> Outcome {
    for (address, context) in pairs {
        let found = call
            .contexts
            .get(&super::number(context))
            .ok_or(code::INVALID_CONTEXT)?;
        if call.owner(address) != Some(found.device) {
            return Err(code::INVALID_VALUE);
        }
    }
    Ok(())
}

entries! {
    fn cuMemcpy[](to: CUdeviceptr, from: CUdeviceptr, bytes: usize) Context |call| {
        any(call, to, from, bytes, Mode::Blocking)
    }

    fn cuMemcpyAsync[](to: CUdeviceptr, from: CUdeviceptr, bytes: usize, on: CUstream) Context |call| {
        any(call, to, from, bytes, Mode::On(on))
    }

    fn cuMemcpyHtoD_v2[](to: CUdeviceptr, from: *const c_void, bytes: usize) Context |call| {
        up(call, to, from, bytes, Mode::Blocking)
    }

    fn cuMemcpyDtoH_v2[](to: *mut c_void, from: CUdeviceptr, bytes: usize) Context |call| {
        down(call, to, from, bytes, Mode::Blocking)
    }

    fn cuMemcpyDtoD_v2[](to: CUdeviceptr, from: CUdeviceptr, bytes: usize) Context |call| {
        across(call, to, from, bytes, Mode::Blocking)
    }

    fn cuMemcpyHtoDAsync_v2[](
        to: CUdeviceptr, from: *const c_void, bytes: usize, on: CUstream,
    ) Context |call| {
        up(call, to, from, bytes, Mode::On(on))
    }

    fn cuMemcpyDtoHAsync_v2[](to: *mut c_void, from: CUdeviceptr, bytes: usize, on: CUstream) Context |call| {
        down(call, to, from, bytes, Mode::On(on))
    }

    fn cuMemcpyDtoDAsync_v2[](to: CUdeviceptr, from: CUdeviceptr, bytes: usize, on: CUstream) Context |call| {
        across(call, to, from, bytes, Mode::On(on))
    }

    fn cuMemcpyPeer[](
        to: CUdeviceptr, to_context: CUcontext, from: CUdeviceptr, from_context: CUcontext, bytes: usize,
    ) Context |call| {
        peers(call, [(to, to_context), (from, from_context)])?;
        across(call, to, from, bytes, Mode::Blocking)
    }

    fn cuMemcpyPeerAsync[](
        to: CUdeviceptr, to_context: CUcontext, from: CUdeviceptr, from_context: CUcontext, bytes: usize,
        on: CUstream,
    ) Context |call| {
        peers(call, [(to, to_context), (from, from_context)])?;
        across(call, to, from, bytes, Mode::On(on))
    }
}
