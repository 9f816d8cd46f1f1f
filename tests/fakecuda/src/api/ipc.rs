//! Memory and events across processes: the entry points exist, as consumers look them up, and answer 801.
#![allow(unsafe_code, reason = "entry points")]

use crate::gate::{code, entries};
use core::ffi::c_uint;
use ulib_device::sys::{CUdeviceptr, CUevent, CUipcEventHandle, CUipcMemHandle};

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

    fn cuIpcGetEventHandle[](_handle: *mut CUipcEventHandle, _event: CUevent) Context |_call| {
        Err(code::NOT_SUPPORTED)
    }

    fn cuIpcOpenEventHandle[](_event: *mut CUevent, _handle: CUipcEventHandle) Context |_call| {
        Err(code::NOT_SUPPORTED)
    }
}
