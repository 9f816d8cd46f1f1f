//! Memory and events across processes. Those of memory exist, as consumers look them up, and answer 801.
#![allow(unsafe_code, reason = "entry points")]

use super::{number, pointer};
use crate::gate::{code, entries};
use crate::state::Tag;
use crate::state::queue::Event;
use core::ffi::c_uint;
use ulib_device::sys::{CUdeviceptr, CUevent, CUipcEventHandle, CUipcMemHandle};

/// The flag of an event that is for several processes.
const INTERPROCESS: u32 = 4;

/// What a handle of an event begins with.
const MARK: &[u8; 8] = b"fakeevnt";

/// A handle's bytes: the mark, the process, the event.
fn written(event: u64) -> [core::ffi::c_char; 64] {
    let mut bytes = [0; 64];
    let parts = MARK
        .iter()
        .copied()
        .chain(std::process::id().to_le_bytes())
        .chain(event.to_le_bytes());
    for (byte, part) in bytes.iter_mut().zip(parts) {
        *byte = part as core::ffi::c_char;
    }
    bytes
}

/// The process that a handle is of.
fn read(handle: &[core::ffi::c_char; 64]) -> Option<u32> {
    let bytes = handle.map(|byte| byte as u8);
    let rest = bytes.strip_prefix(MARK)?;
    Some(u32::from_le_bytes(*rest.first_chunk()?))
}

entries! {
    fn cuIpcGetMemHandle[](_handle: *mut CUipcMemHandle, _address: CUdeviceptr) Context |_call| {
        Err(code::NOT_SUPPORTED)
    }

    fn cuIpcOpenMemHandle_v2[](_address: *mut CUdeviceptr, _handle: CUipcMemHandle, _flags: c_uint) Context |_call| {
        Err(code::NOT_SUPPORTED)
    }

    fn cuIpcCloseMemHandle[](_address: CUdeviceptr) Context |_call| {
        Err(code::NOT_SUPPORTED)
    }

    fn cuIpcGetEventHandle[handle](handle: *mut CUipcEventHandle, event: CUevent) Context |call| {
        let found = call.events.get(&number(event)).ok_or(code::INVALID_HANDLE)?;
        if found.flags & INTERPROCESS == 0 {
            return Err(code::INVALID_HANDLE);
        }
        handle.put(CUipcEventHandle { reserved: written(number(event)) })
    }

    /// An event of another process is one of its own here, which was never recorded.
    fn cuIpcOpenEventHandle[event](event: *mut CUevent, handle: CUipcEventHandle) Context |call| {
        let process = read(&handle.reserved).ok_or(code::INVALID_VALUE)?;
        if process == std::process::id() {
            return Err(code::INVALID_CONTEXT);
        }
        let made = call.new_handle(Tag::Event);
        let (context, session) = (call.context, call.session);
        let flags = INTERPROCESS;
        call.events.insert(made, Event { context, flags, recorded: None, captured: None, time: None, session });
        event.put(pointer(made))
    }
}
