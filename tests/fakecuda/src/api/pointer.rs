//! What a pointer points to.
#![allow(unsafe_code, reason = "entry points")]

use crate::gate::{Call, Outcome, code, entries};
use core::ffi::{c_int, c_uint, c_void};
use ulib_device::sys::{CUdeviceptr, CUmemorytype, CUpointer_attribute as Attribute};

/// An answer, with the width it is stored in.
enum Answer {
    Word(u32),
    Long(u64),
    Byte(bool),
}

struct Found {
    start: u64,
    bytes: u64,
    device: usize,
    context: u64,
    serial: u64,
    pool: u64,
    host: bool,
    managed: bool,
}

fn look(call: &Call<'_>, address: u64) -> Outcome<Found> {
    if let Some(device) = call.owner(address) {
        let (start, made) = call.devices[device]
            .arena
            .containing(address)
            .ok_or(code::INVALID_VALUE)?;
        let context = call.devices[device].primary.unwrap_or(0);
        let (bytes, serial, pool) = (made.bytes, made.serial, made.pool);
        return Ok(Found {
            start,
            bytes,
            device,
            context,
            serial,
            pool,
            host: false,
            managed: false,
        });
    }
    let (start, made) = call.pinned_at(address, 1).ok_or(code::INVALID_VALUE)?;
    let device = call
        .contexts
        .get(&made.context)
        .map_or(0, |context| context.device);
    let (bytes, context, managed) = (made.bytes, made.context, made.managed);
    Ok(Found {
        start,
        bytes,
        device,
        context,
        serial: start,
        pool: 0,
        host: true,
        managed,
    })
}

fn answer(found: &Found, which: Attribute, address: u64) -> Outcome<Answer> {
    Ok(match which {
        Attribute::CU_POINTER_ATTRIBUTE_CONTEXT => Answer::Long(found.context),
        Attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE => {
            Answer::Word(if found.host && !found.managed {
                CUmemorytype::CU_MEMORYTYPE_HOST.0
            } else {
                CUmemorytype::CU_MEMORYTYPE_DEVICE.0
            })
        }
        Attribute::CU_POINTER_ATTRIBUTE_DEVICE_POINTER => Answer::Long(address),
        Attribute::CU_POINTER_ATTRIBUTE_HOST_POINTER if found.host => Answer::Long(address),
        Attribute::CU_POINTER_ATTRIBUTE_BUFFER_ID => Answer::Long(found.serial),
        Attribute::CU_POINTER_ATTRIBUTE_IS_MANAGED => Answer::Byte(found.managed),
        Attribute::CU_POINTER_ATTRIBUTE_SYNC_MEMOPS => Answer::Byte(false),
        Attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL => Answer::Word(found.device as u32),
        Attribute::CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE => Answer::Byte(false),
        Attribute::CU_POINTER_ATTRIBUTE_RANGE_START_ADDR => Answer::Long(found.start),
        Attribute::CU_POINTER_ATTRIBUTE_RANGE_SIZE => Answer::Long(found.bytes),
        Attribute::CU_POINTER_ATTRIBUTE_MAPPED => Answer::Byte(true),
        Attribute::CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES => Answer::Long(0),
        Attribute::CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE => Answer::Long(found.pool),
        _ => return Err(code::INVALID_VALUE),
    })
}

/// Stores an answer in the attribute's width.
///
/// # Safety
/// `data` is null or valid for a write of the attribute's type.
unsafe fn store(data: *mut c_void, answer: &Answer) -> Outcome {
    if data.is_null() {
        return Err(code::INVALID_VALUE);
    }
    // SAFETY: not null, and of the attribute's width by the caller's promise.
    unsafe {
        match answer {
            Answer::Word(value) => data.cast::<u32>().write(*value),
            Answer::Long(value) => data.cast::<u64>().write(*value),
            Answer::Byte(value) => data.cast::<u8>().write(u8::from(*value)),
        }
    }
    Ok(())
}

entries! {
    fn cuPointerGetAttribute[](data: *mut c_void, which: Attribute, address: CUdeviceptr) Context |call| {
        let found = look(call, address)?;
        let answer = answer(&found, which, address)?;
        // SAFETY: the caller passes room for the attribute's type.
        unsafe { store(data, &answer) }
    }

    /// Unknown pointers get zeros, as the real one gives.
    fn cuPointerGetAttributes[](
        count: c_uint, which: *mut Attribute, data: *mut *mut c_void, address: CUdeviceptr,
    ) Init |call| {
        if which.is_null() || data.is_null() {
            return Err(code::INVALID_VALUE);
        }
        let found = look(call, address);
        for index in 0..count as usize {
            // SAFETY: both arrays hold `count` entries by the caller's promise.
            let (which, data) = unsafe { (which.add(index).read(), data.add(index).read()) };
            let given = match &found {
                Ok(found) => answer(found, which, address).unwrap_or(Answer::Byte(false)),
                Err(_) if which == Attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL => Answer::Word(c_int::from(-2i8) as u32),
                Err(_) if which == Attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE => Answer::Word(0),
                Err(_) => Answer::Byte(false),
            };
            // SAFETY: the caller passes room for each attribute's type.
            unsafe { store(data, &given) }?;
        }
        Ok(())
    }
}
