//! Device memory shared with other processes.
#![allow(
    unsafe_code,
    reason = "calls the driver's functions for other processes"
)]

use ulib_core::{Error, Result};

use crate::Device;
use crate::driver::{Driver, check, missing_entry, relaxed_capture};
use crate::report::{Counted, Kind};
use crate::sys::CUipcMemHandle;

/// The bytes by which another process finds an allocation.
pub type MemoryHandle = [u8; 64];

/// The handle of the allocation of the driver that starts at `address`, as [`DriverResource`](super::DriverResource) makes them;
/// memory of stream-ordered pools has none.
///
/// # Errors
/// Whatever the driver says; `Unavailable` with one that cannot; kind `Forked` in a forked child.
pub fn export_memory(device: &Device, address: u64) -> Result<MemoryHandle> {
    let table = Driver::ready()?.table();
    let call = table
        .cuIpcGetMemHandle
        .ok_or_else(|| missing_entry("cuIpcGetMemHandle", "4.1"))?;
    let _context = device.bind()?;
    let mut handle = CUipcMemHandle { reserved: [0; 64] };
    // SAFETY: a context is current; the call writes 64 bytes and looks the address up.
    let status = relaxed_capture(|| unsafe { call(&raw mut handle, address) });
    check(table, "cuIpcGetMemHandle", status)?;
    Ok(handle.reserved.map(|byte| byte as u8))
}

/// Memory of another process, mapped into this one while this lives. The process that made it keeps it.
#[derive(Debug)]
pub struct ImportedMemory {
    address: u64,
    device: Device,
    open: bool,
    _counted: Counted,
}

impl ImportedMemory {
    /// Maps the allocation with this handle on `device`; `flags` are the driver's own, of which 1 makes another device's memory
    /// accessible when it is first needed.
    ///
    /// # Errors
    /// Whatever the driver says, such as of a handle of this same process; `Unavailable` with one that cannot; kind `Forked` in a
    /// forked child.
    pub fn open(device: &Device, handle: &MemoryHandle, flags: u32) -> Result<Self> {
        let table = Driver::ready()?.table();
        let call = table
            .cuIpcOpenMemHandle_v2
            .ok_or_else(|| missing_entry("cuIpcOpenMemHandle_v2", "11.0"))?;
        let _context = device.bind()?;
        let handle = CUipcMemHandle {
            reserved: handle.map(|byte| byte as core::ffi::c_char),
        };
        let mut address = 0;
        // SAFETY: a context is current; the call writes one address, and refuses bytes that are no handle.
        let status = relaxed_capture(|| unsafe { call(&raw mut address, handle, flags) });
        check(table, "cuIpcOpenMemHandle_v2", status)?;
        Ok(Self {
            address,
            device: device.clone(),
            open: true,
            _counted: Counted::new(Kind::Imported),
        })
    }

    /// The address in this process.
    #[must_use]
    pub fn ptr(&self) -> u64 {
        self.address
    }

    /// The device it is mapped on.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Unmaps it and says what went wrong, where dropping would only record it.
    ///
    /// # Errors
    /// Whatever the driver says.
    pub fn close(mut self) -> Result<()> {
        let table = Driver::ready()?.table();
        let call = table
            .cuIpcCloseMemHandle
            .ok_or_else(|| missing_entry("cuIpcCloseMemHandle", "4.1"))?;
        let _context = self.device.bind()?;
        self.open = false;
        // SAFETY: opened by `open`, and neither this nor `drop` closes it again.
        let status = relaxed_capture(|| unsafe { call(self.address) });
        check(table, "cuIpcCloseMemHandle", status)
    }
}

impl Drop for ImportedMemory {
    fn drop(&mut self) {
        let Some(call) = self.device.table().cuIpcCloseMemHandle else {
            return;
        };
        if self.open {
            let address = self.address;
            self.device.in_drop("cuIpcCloseMemHandle", |_| {
                // SAFETY: as in `close`.
                relaxed_capture(|| unsafe { call(address) })
            });
        }
    }
}

/// Bytes that somebody else sent as a handle.
///
/// # Errors
/// `InvalidArgument` when there are not 64.
pub fn memory_handle(bytes: &[u8]) -> Result<MemoryHandle> {
    bytes.try_into().map_err(|_| {
        Error::invalid(
            "memory_handle",
            "bytes",
            format_args!("{} bytes", bytes.len()),
            "the 64 bytes of a handle",
        )
    })
}
