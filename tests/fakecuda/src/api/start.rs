//! Start, versions, errors in words, entry points by name.
#![allow(unsafe_code, reason = "entry points")]

use crate::control;
use crate::errors;
use crate::gate::{code, entries, mark_initialised};
use core::ffi::{CStr, c_char, c_int, c_uint, c_void};
use ulib_device::sys::{CUdriverProcAddressQueryResult, CUresult, CUuuid, cuuint64_t};

/// The address for a base name or a full one, the newest variant that the asked version has.
fn address_of(symbol: &CStr, version: c_int) -> *mut c_void {
    let Ok(symbol) = symbol.to_str() else {
        return core::ptr::null_mut();
    };
    for suffix in ["_v4", "_v3", "_v2", ""] {
        let name = format!("{symbol}{suffix}");
        if control::is_newer(&name, version) {
            continue;
        }
        if let Some(found) = crate::resolve(&name) {
            return found.as_ptr();
        }
    }
    core::ptr::null_mut()
}

entries! {
    fn cuInit[](_flags: c_uint) Nothing |call| {
        if let Some(answer) = control::init_answer() {
            return Err(answer);
        }
        if control::devices() == 0 {
            return Err(code::NO_DEVICE);
        }
        if call.devices.is_empty() {
            call.make_devices()?;
        }
        call.initialised = true;
        mark_initialised();
        Ok(())
    }

    fn cuDriverGetVersion[version](version: *mut c_int) Nothing |_call| {
        version.put(control::version())
    }

    /// No table is there. Compilers from CUDA 12.9 on ask for one, and take a driver without the call for one that gave it.
    fn cuGetExportTable[](_table: *mut *const c_void, _id: *const CUuuid) Nothing |_call| {
        Err(code::NOT_FOUND)
    }

    fn cuGetErrorName[text](error: CUresult, text: *mut *const c_char) Nothing |_call| {
        let found = errors::describe(error);
        text.put(found.map_or(core::ptr::null(), |(name, _)| name.as_ptr()))?;
        found.map(drop).ok_or(code::INVALID_VALUE)
    }

    fn cuGetErrorString[text](error: CUresult, text: *mut *const c_char) Nothing |_call| {
        let found = errors::describe(error);
        text.put(found.map_or(core::ptr::null(), |(_, words)| words.as_ptr()))?;
        found.map(drop).ok_or(code::INVALID_VALUE)
    }

    fn cuGetProcAddress[address](
        symbol: *const c_char, address: *mut *mut c_void, version: c_int, _flags: cuuint64_t,
    ) Nothing |_call| {
        if symbol.is_null() {
            return Err(code::INVALID_VALUE);
        }
        // SAFETY: not null, and the caller passes a string that ends with a zero byte.
        let found = address_of(unsafe { CStr::from_ptr(symbol) }, version);
        address.put(found)?;
        if found.is_null() { Err(code::NOT_FOUND) } else { Ok(()) }
    }

    fn cuGetProcAddress_v2[address, status](
        symbol: *const c_char, address: *mut *mut c_void, version: c_int, _flags: cuuint64_t,
        status: *mut CUdriverProcAddressQueryResult,
    ) Nothing |_call| {
        if symbol.is_null() {
            return Err(code::INVALID_VALUE);
        }
        // SAFETY: not null, and the caller passes a string that ends with a zero byte.
        let found = address_of(unsafe { CStr::from_ptr(symbol) }, version);
        address.put(found)?;
        status.put_if_wanted(if found.is_null() {
            CUdriverProcAddressQueryResult::CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND
        } else {
            CUdriverProcAddressQueryResult::CU_GET_PROC_ADDRESS_SUCCESS
        })
    }
}
