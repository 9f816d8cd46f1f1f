//! Questions about a device.

use super::{Device, MemoryInfo};
use crate::driver::{Driver, check, missing_entry};
use crate::sys::{self, CUdevice, CUdevice_attribute, CUresult, Table};
use core::ffi::{CStr, c_char, c_int};
use std::ffi::CString;
use ulib_core::{Error, Result};

impl Device {
    /// The device at an address on the PCI bus, such as `0000:01:00.0`.
    ///
    /// # Errors
    /// Kind `InvalidArgument` for text that is no address, or when no device that this process sees is there; else as
    /// [`new`](Self::new).
    pub fn by_pci_bus_id(address: &str) -> Result<Self> {
        let table = Driver::ready()?.table();
        let call = table
            .cuDeviceGetByPCIBusId
            .ok_or_else(|| missing_entry("cuDeviceGetByPCIBusId", "4.1"))?;
        let none = || {
            let expected = "the address of a device, such as 0000:01:00.0";
            Error::invalid(
                "Device::by_pci_bus_id",
                "address",
                format!("{address:?}"),
                expected,
            )
        };
        let text = CString::new(address).map_err(|_| none())?;
        let mut raw: CUdevice = 0;
        // SAFETY: the driver is initialised; the text ends with NUL; the call writes one integer.
        let status = unsafe { call(&raw mut raw, text.as_ptr()) };
        if matches!(
            status,
            CUresult::CUDA_ERROR_INVALID_DEVICE | CUresult::CUDA_ERROR_INVALID_VALUE
        ) {
            return Err(none());
        }
        check(table, "cuDeviceGetByPCIBusId", status)?;
        Self::with_handle(raw)?.ok_or_else(none)
    }

    /// The device with the driver's handle, if this process sees it.
    pub(super) fn with_handle(raw: CUdevice) -> Result<Option<Self>> {
        for ordinal in 0..Self::count()? {
            let device = Self::new(ordinal)?;
            if device.handle() == raw {
                return Ok(Some(device));
            }
        }
        Ok(None)
    }

    /// An attribute by the driver's number for it.
    ///
    /// # Errors
    /// Kind `Driver` when the driver does not know the attribute, `Forked` in a forked child.
    pub fn attribute(&self, attribute: CUdevice_attribute) -> Result<i32> {
        Driver::ready()?;
        attribute_of(self.table(), self.0.raw, attribute)
    }

    /// Free and total memory now.
    ///
    /// # Errors
    /// Whatever the driver says; kind `Forked` in a forked child.
    pub fn memory_info(&self) -> Result<MemoryInfo> {
        let _context = self.bind()?;
        let (mut free, mut total) = (0_usize, 0_usize);
        // SAFETY: this device's context is current, by the guard; the call writes two integers.
        let status = unsafe { (self.table().cuMemGetInfo_v2)(&raw mut free, &raw mut total) };
        check(self.table(), "cuMemGetInfo_v2", status)?;
        Ok(MemoryInfo {
            free: free as u64,
            total: total as u64,
        })
    }

    /// The address on the PCI bus, such as `0000:01:00.0`.
    ///
    /// # Errors
    /// Whatever the driver says; kind `Forked` in a forked child.
    pub fn pci_bus_id(&self) -> Result<String> {
        let table = Driver::ready()?.table();
        let mut text = [0 as c_char; 32];
        // SAFETY: the buffer is writable for the 32 bytes announced; the device handle came from the driver.
        let status = unsafe { (table.cuDeviceGetPCIBusId)(text.as_mut_ptr(), 32, self.0.raw) };
        check(table, "cuDeviceGetPCIBusId", status)?;
        Ok(string_of(&text))
    }

    /// Whether kernels on this device could reach memory of `other` directly. A device always reaches itself.
    ///
    /// # Errors
    /// Whatever the driver says; kind `Forked` in a forked child.
    pub fn can_access_peer(&self, other: &Self) -> Result<bool> {
        let table = Driver::ready()?.table();
        if self == other {
            return Ok(true);
        }
        let mut answer: c_int = 0;
        // SAFETY: both handles came from the driver; the call writes one integer.
        let status =
            unsafe { (table.cuDeviceCanAccessPeer)(&raw mut answer, self.0.raw, other.0.raw) };
        check(table, "cuDeviceCanAccessPeer", status)?;
        Ok(answer != 0)
    }
}

pub(super) fn attribute_of(
    table: &Table,
    device: CUdevice,
    attribute: CUdevice_attribute,
) -> Result<i32> {
    let mut value: c_int = 0;
    // SAFETY: the handle came from the driver; the call writes one integer.
    let status = unsafe { (table.cuDeviceGetAttribute)(&raw mut value, attribute, device) };
    check(table, "cuDeviceGetAttribute", status)?;
    Ok(value)
}

pub(super) fn compute_capability(table: &Table, device: CUdevice) -> Result<(i32, i32)> {
    Ok((
        attribute_of(
            table,
            device,
            CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
        )?,
        attribute_of(
            table,
            device,
            CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
        )?,
    ))
}

pub(super) fn name(table: &Table, device: CUdevice) -> Result<String> {
    let mut text = [0 as c_char; 256];
    // SAFETY: the buffer is writable for the 256 bytes announced; the handle came from the driver.
    let status = unsafe { (table.cuDeviceGetName)(text.as_mut_ptr(), 256, device) };
    check(table, "cuDeviceGetName", status)?;
    Ok(string_of(&text))
}

pub(super) fn total_bytes(table: &Table, device: CUdevice) -> Result<u64> {
    let mut bytes = 0_usize;
    // SAFETY: the handle came from the driver; the call writes one integer.
    let status = unsafe { (table.cuDeviceTotalMem_v2)(&raw mut bytes, device) };
    check(table, "cuDeviceTotalMem_v2", status)?;
    Ok(bytes as u64)
}

/// The second version of the call tells parts of a partitioned device apart; older drivers have only the first.
pub(super) fn uuid(table: &Table, device: CUdevice) -> Result<[u8; 16]> {
    let mut uuid = sys::CUuuid { bytes: [0; 16] };
    let (call, status) = match (table.cuDeviceGetUuid_v2, table.cuDeviceGetUuid) {
        // SAFETY: the handle came from the driver; the call writes 16 bytes.
        (Some(call), _) => ("cuDeviceGetUuid_v2", unsafe { call(&raw mut uuid, device) }),
        // SAFETY: as above.
        (None, Some(call)) => ("cuDeviceGetUuid", unsafe { call(&raw mut uuid, device) }),
        (None, None) => return Ok([0; 16]),
    };
    check(table, call, status)?;
    Ok(uuid.bytes.map(|byte| byte as u8))
}

/// The text up to the first NUL, or all of the buffer when there is none.
fn string_of(text: &[c_char]) -> String {
    let bytes: Vec<u8> = text.iter().map(|&c| c as u8).collect();
    match CStr::from_bytes_until_nul(&bytes) {
        Ok(text) => text.to_string_lossy().into_owned(),
        Err(_) => String::from_utf8_lossy(&bytes).into_owned(),
    }
}
