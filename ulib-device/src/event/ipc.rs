//! Events that several processes share.

use super::{Event, Recorded};
use crate::device::Device;
use crate::driver::{check, missing_entry};
use crate::report::{Counted, Kind};
use crate::sys::{CUevent, CUipcEventHandle};
use std::sync::atomic::AtomicU64;
use ulib_core::{Error, Result};

/// How long a handle of an event is, in bytes.
pub const IPC_HANDLE_BYTES: usize = 64;

impl Event {
    /// What another process of this machine makes the same event from with [`from_ipc`](Self::from_ipc). The event is one
    /// made with [`with_flags`](Self::with_flags) for several processes and without a clock.
    ///
    /// # Errors
    /// Kind `Driver` for any other event; kind `Forked` in a forked child.
    pub fn ipc_handle(&self) -> Result<[u8; IPC_HANDLE_BYTES]> {
        let _context = self.device.bind()?;
        let table = self.table();
        let call = table
            .cuIpcGetEventHandle
            .ok_or_else(|| missing_entry("cuIpcGetEventHandle", "4.1"))?;
        let mut handle = CUipcEventHandle {
            reserved: [0; IPC_HANDLE_BYTES],
        };
        // SAFETY: the context is current by the guard; the event is alive; the call writes the handle's bytes.
        let status = unsafe { call(&raw mut handle, self.handle()) };
        check(table, "cuIpcGetEventHandle", status)?;
        Ok(handle.reserved.map(|byte| byte as u8))
    }

    /// The event that another process has on the same device.
    ///
    /// # Errors
    /// Kind `InvalidArgument` for anything but 64 bytes; kind `Driver` when they are no handle of an event, or one of this
    /// process; kind `Forked` in a forked child.
    pub fn from_ipc(device: &Device, handle: &[u8]) -> Result<Self> {
        let bytes: [u8; IPC_HANDLE_BYTES] = handle.try_into().map_err(|_| {
            let found = format!("{} bytes", handle.len());
            Error::invalid("Event::from_ipc", "handle", found, "64 bytes")
        })?;
        let _context = device.bind()?;
        let table = device.table();
        let call = table
            .cuIpcOpenEventHandle
            .ok_or_else(|| missing_entry("cuIpcOpenEventHandle", "4.1"))?;
        let mut raw: CUevent = core::ptr::null_mut();
        let handle = CUipcEventHandle {
            reserved: bytes.map(|byte| byte as _),
        };
        // SAFETY: the context is current by the guard; the call writes one pointer; of bytes that are no handle the driver
        // says so.
        let status = unsafe { call(&raw mut raw, handle) };
        check(table, "cuIpcOpenEventHandle", status)?;
        Ok(Self {
            device: device.clone(),
            raw: raw as usize,
            recorded: AtomicU64::new(Recorded::NEVER),
            // No event of several processes has one.
            has_clock: false,
            _counted: Some(Counted::new(Kind::Event)),
        })
    }
}
