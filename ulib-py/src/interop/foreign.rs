//! What is checked of a foreign device array before anything touches it.
//!
//! A protocol's numbers are somebody's claim. The driver knows which memory there is, so it is asked: the array lies in one
//! allocation, from its first byte to its last, on the device that is said to have it.

#![allow(unsafe_code, reason = "asks the driver about an address")]

use std::ffi::c_void;

use ulib_core::{DType, Error, Layout, Result};
use ulib_device::Driver;
use ulib_device::driver::check as check_status;
use ulib_device::sys::types::{CUpointer_attribute, CUresult};

/// The ordinal of the device in whose memory the array lies.
///
/// `start` is the address of element 0 of `layout`. The array must not be empty.
///
/// # Errors
/// Kinds `Layout` and `InvalidArgument` when the elements are misaligned or are not all in one allocation; kind `Driver` when the
/// driver cannot say.
pub(crate) fn check(start: u64, layout: &Layout, dtype: DType) -> Result<u32> {
    let (first, last) = layout
        .span()
        .ok_or_else(|| Error::layout("import", "an empty array has no place"))?;
    let size = dtype.size() as u64;
    let at = |element: usize| (element as u64).checked_mul(size)?.checked_add(start);
    let (Some(lowest), Some(end)) = (at(first), last.checked_add(1).and_then(at)) else {
        return Err(Error::layout(
            "import",
            format!("an array from {start:#x} on reaches beyond every address"),
        ));
    };
    if lowest % dtype.alignment() as u64 != 0 {
        return Err(Error::layout(
            "import",
            format!("address {lowest:#x} is not aligned for {dtype}"),
        ));
    }
    let memory = Memory::around(lowest)?;
    if lowest < memory.start || end > memory.end {
        return Err(Error::layout(
            "import",
            format!(
                "an array from {lowest:#x} to {end:#x} is not inside its memory, {:#x} to {:#x}",
                memory.start, memory.end
            ),
        ));
    }
    Ok(memory.ordinal)
}

/// One allocation of device memory.
struct Memory {
    ordinal: u32,
    start: u64,
    end: u64,
}

impl Memory {
    /// The allocation that `address` lies in.
    fn around(address: u64) -> Result<Self> {
        let (mut ordinal, mut start, mut bytes) = (-1_i32, 0_u64, 0_usize);
        ask(
            address,
            CUpointer_attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
            &mut ordinal,
        )?;
        ask(
            address,
            CUpointer_attribute::CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
            &mut start,
        )?;
        ask(
            address,
            CUpointer_attribute::CU_POINTER_ATTRIBUTE_RANGE_SIZE,
            &mut bytes,
        )?;
        Ok(Memory {
            ordinal: u32::try_from(ordinal).map_err(|_| unknown(address))?,
            start,
            end: start.saturating_add(bytes as u64),
        })
    }
}

/// A type that an attribute of a pointer has.
trait Attribute {}
impl Attribute for i32 {}
impl Attribute for u64 {}
impl Attribute for usize {}

/// Asks the driver for one attribute of an address, into a variable of the attribute's type.
fn ask(address: u64, which: CUpointer_attribute, answer: &mut impl Attribute) -> Result<()> {
    let driver = Driver::ready()?;
    let to: *mut c_void = std::ptr::from_mut(answer).cast();
    // SAFETY: the driver is initialised and only looks the address up; `to` is a variable of the attribute's width, which
    // the three calls above pair: `int`, `CUdeviceptr` and `size_t`.
    let status = unsafe { (driver.table().cuPointerGetAttribute)(to, which, address) };
    match status {
        CUresult::CUDA_SUCCESS => Ok(()),
        CUresult::CUDA_ERROR_INVALID_VALUE => Err(unknown(address)),
        other => check_status(driver.table(), "cuPointerGetAttribute", other),
    }
}

fn unknown(address: u64) -> Error {
    Error::invalid(
        "import",
        "pointer",
        format_args!("{address:#x}"),
        "device memory, and the driver knows none there",
    )
}

/// Strides in bytes as strides in elements.
pub(crate) fn in_elements(bytes: &[isize], dtype: DType) -> Result<Vec<isize>> {
    let size = dtype.size().max(1) as isize;
    bytes
        .iter()
        .map(|&stride| {
            if stride % size != 0 {
                return Err(Error::layout(
                    "import",
                    format!(
                        "a stride of {stride} bytes is no whole number of {size}-byte elements"
                    ),
                ));
            }
            Ok(stride / size)
        })
        .collect()
}

/// The lowest address an array reaches, and its layout from there.
pub(crate) fn place(
    address: u64,
    shape: Vec<usize>,
    strides: Option<Vec<isize>>,
    dtype: DType,
) -> Result<(u64, Layout)> {
    let Some(strides) = strides else {
        return Ok((address, Layout::contiguous(&shape)?));
    };
    if strides.len() != shape.len() {
        return Err(Error::shape("import", &[shape.len()], &[strides.len()]));
    }
    let before = shape
        .iter()
        .zip(&strides)
        .filter(|&(&n, &stride)| n > 1 && stride < 0)
        .try_fold(0_usize, |sum, (&n, &stride)| {
            (n - 1)
                .checked_mul(stride.unsigned_abs())
                .and_then(|reach| sum.checked_add(reach))
        })
        .ok_or_else(|| Error::overflow("import", "the reach of the strides"))?;
    let bytes = before
        .checked_mul(dtype.size())
        .and_then(|bytes| address.checked_sub(bytes as u64))
        .ok_or_else(|| Error::layout("import", "the strides reach below address 0"))?;
    Ok((bytes, Layout::new(shape, strides, before)?))
}
