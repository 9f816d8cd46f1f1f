//! What the driver knows about an address.
#![allow(unsafe_code, reason = "asks the driver about addresses")]

use core::ffi::c_void;

use ulib_core::{Error, Result};

use crate::Device;
use crate::driver::{Driver, check};
use crate::sys::{CUmemorytype, CUpointer_attribute as Attribute, CUresult};

/// Which memory an address is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PointerKind {
    /// Memory of a device.
    Device,
    /// Page-locked host memory.
    Host,
    /// Managed memory, which moves between the two.
    Managed,
}

/// What the driver knows about an address: one of memory that it has made, or that was registered with it.
///
/// # Examples
/// ```no_run
/// use ulib_device::memory::{DeviceMemory, PointerInfo, PointerKind};
/// use ulib_device::{Device, Stream};
///
/// # fn main() -> ulib_core::Result<()> {
/// let values = DeviceMemory::<f32>::zeroed(&Stream::legacy(&Device::new(0)?), 1000)?;
/// let info = PointerInfo::of(values.ptr() + 8)?.expect("the driver's own memory");
/// assert_eq!((info.kind, info.start), (PointerKind::Device, values.ptr()));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PointerInfo {
    /// Which memory it is.
    pub kind: PointerKind,
    /// The device it was made on, or registered through.
    pub ordinal: u32,
    /// Where the allocation starts.
    pub start: u64,
    /// Its length in bytes.
    pub len: u64,
    /// Where the host reaches the address; `None` where it cannot.
    pub host: Option<u64>,
    /// Where kernels reach the address.
    pub device: Option<u64>,
    /// A number that no other allocation of this process ever has.
    pub id: u64,
}

impl PointerInfo {
    /// What is known about `address`; `None` where the driver knows nothing, as of ordinary host memory. No context is made for
    /// the question: while none is current and no device has a primary one, nothing is known.
    ///
    /// # Errors
    /// Whatever the driver says; kind `Forked` in a forked child.
    pub fn of(address: u64) -> Result<Option<Self>> {
        // The driver answers only where some context is current, whichever.
        let _context = match Device::current()? {
            Some(_) => None,
            None => match first_in_use()? {
                Some(device) => Some(device.bind()?),
                None => return Ok(None),
            },
        };
        let mut kind = 0_u32;
        if !ask(
            address,
            Attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
            &mut kind,
        )? {
            return Ok(None);
        }
        let (mut ordinal, mut managed) = (0_i32, 0_u32);
        let (mut start, mut len, mut id) = (address, 0_u64, 0_u64);
        let (mut host, mut device) = (0_u64, 0_u64);
        ask(
            address,
            Attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
            &mut ordinal,
        )?;
        ask(
            address,
            Attribute::CU_POINTER_ATTRIBUTE_IS_MANAGED,
            &mut managed,
        )?;
        ask(
            address,
            Attribute::CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
            &mut start,
        )?;
        ask(
            address,
            Attribute::CU_POINTER_ATTRIBUTE_RANGE_SIZE,
            &mut len,
        )?;
        ask(address, Attribute::CU_POINTER_ATTRIBUTE_BUFFER_ID, &mut id)?;
        let on_host = ask(
            address,
            Attribute::CU_POINTER_ATTRIBUTE_HOST_POINTER,
            &mut host,
        )?;
        let on_device = ask(
            address,
            Attribute::CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
            &mut device,
        )?;
        Ok(Some(Self {
            kind: match (managed != 0, CUmemorytype(kind)) {
                (true, _) => PointerKind::Managed,
                (false, CUmemorytype::CU_MEMORYTYPE_HOST) => PointerKind::Host,
                (false, _) => PointerKind::Device,
            },
            ordinal: u32::try_from(ordinal).unwrap_or(0),
            start,
            len,
            host: (on_host && host != 0).then_some(host),
            device: (on_device && device != 0).then_some(device),
            id,
        }))
    }
}

/// The first device whose primary context exists.
fn first_in_use() -> Result<Option<Device>> {
    for device in Device::all() {
        if device.primary_state()?.active {
            return Ok(Some(device));
        }
    }
    Ok(None)
}

/// Asks for one attribute of an address, into a variable of the attribute's type. False where the driver has no answer.
fn ask<T: Copy>(address: u64, which: Attribute, answer: &mut T) -> Result<bool> {
    let table = Driver::ready()?.table();
    let to: *mut c_void = std::ptr::from_mut(answer).cast();
    // SAFETY: a context is current, by the caller, and the driver only looks the address up; `to` is a variable of the attribute's width, which the
    // calls above pair: 4 bytes for a kind, an ordinal and a flag (which is
    // of one or four, so that the variable starts as zero), 8 for addresses, sizes and the number.
    let status = unsafe { (table.cuPointerGetAttribute)(to, which, address) };
    if matches!(status, CUresult::CUDA_ERROR_INVALID_VALUE) {
        return Ok(false);
    }
    check(table, "cuPointerGetAttribute", status)?;
    Ok(true)
}

/// Where the allocation that `address` lies in starts, and its length in bytes.
///
/// # Errors
/// `InvalidArgument` when the driver knows no memory there; whatever else it says; kind `Forked` in a forked child.
pub fn address_range(device: &Device, address: u64) -> Result<(u64, usize)> {
    let table = Driver::ready()?.table();
    let _context = device.bind()?;
    let (mut start, mut len) = (0, 0_usize);
    // SAFETY: a context is current; the driver looks the address up and writes one value through each pointer.
    let status = unsafe { (table.cuMemGetAddressRange_v2)(&raw mut start, &raw mut len, address) };
    if matches!(
        status,
        CUresult::CUDA_ERROR_INVALID_VALUE | CUresult::CUDA_ERROR_NOT_FOUND
    ) {
        return Err(Error::invalid(
            "address_range",
            "address",
            format_args!("{address:#x}"),
            "one in memory that the driver knows",
        ));
    }
    check(table, "cuMemGetAddressRange_v2", status)?;
    Ok((start, len))
}
