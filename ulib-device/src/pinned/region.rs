//! One piece of registered memory.
#![allow(
    unsafe_code,
    reason = "allocates pages and registers them with the driver"
)]

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;

use ulib_core::{Error, Result};

use super::not_locked;
use crate::Device;
use crate::block::out_of_host_memory;
use crate::driver::{Driver, check, forked, relaxed_capture};
use crate::sys::{CU_MEMHOSTREGISTER_DEVICEMAP, CU_MEMHOSTREGISTER_PORTABLE};

/// Registration works in whole pages, so that no page is shared with other memory.
pub(super) const PAGE_BYTES: usize = 4096;

/// Whole pages of ordinary zeroed memory, registered with the driver for all contexts.
///
/// The pages come from the Rust allocator and not from the driver, so that a forked child can read them.
#[derive(Debug)]
pub(super) struct Region {
    start: NonNull<u8>,
    layout: Layout,
    device: Device,
    /// Whether it was registered for kernels to reach.
    mapped: bool,
}

// SAFETY: a region is the only owner of its pages and has no interior mutability, like a boxed slice.
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

impl Region {
    /// `bytes` is a positive multiple of the page size.
    pub(super) fn new(device: &Device, bytes: usize) -> Result<Self> {
        let layout = Layout::from_size_align(bytes, PAGE_BYTES)
            .map_err(|_| Error::overflow("pinned memory", format_args!("{bytes} bytes")))?;
        let driver = Driver::ready()?;
        let _context = device.bind()?;
        // SAFETY: the caller asks for at least one page, so the layout is not empty.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) })
            .ok_or_else(|| out_of_host_memory(bytes as u64))?;
        let region = Unregistered { start, layout };
        let (address, mut flags) = (start.as_ptr().cast(), CU_MEMHOSTREGISTER_PORTABLE);
        let mapped = device.limits().maps_host_memory;
        if mapped {
            flags |= CU_MEMHOSTREGISTER_DEVICEMAP;
        }
        // SAFETY: the pages were allocated above, belong to this value alone and stay until they are unregistered; a
        // context is current.
        let status = relaxed_capture(|| unsafe {
            (driver.table().cuMemHostRegister_v2)(address, bytes, flags)
        });
        check(driver.table(), "cuMemHostRegister_v2", status)
            .map_err(|error| not_locked(bytes, error))?;
        std::mem::forget(region);
        Ok(Self {
            start,
            layout,
            device: device.clone(),
            mapped,
        })
    }

    pub(super) fn bytes(&self) -> usize {
        self.layout.size()
    }

    pub(super) fn start(&self) -> usize {
        self.start.as_ptr() as usize
    }

    /// Where kernels of `device` reach the first byte; `None` where they cannot.
    pub(super) fn device_ptr(&self, device: &Device) -> Result<Option<u64>> {
        let limits = device.limits();
        if !self.mapped || !limits.maps_host_memory {
            return Ok(None);
        }
        if limits.reaches_host_addresses {
            return Ok(Some(self.start.as_ptr() as u64));
        }
        let Some(call) = device.table().cuMemHostGetDevicePointer_v2 else {
            return Ok(None);
        };
        let _context = device.bind()?;
        let mut address = 0;
        // SAFETY: the context of `device` is current, by the guard; the pages are registered with all contexts while
        // `self` lives; the call writes one integer.
        let status = unsafe { call(&raw mut address, self.start.as_ptr().cast(), 0) };
        check(device.table(), "cuMemHostGetDevicePointer_v2", status)?;
        Ok(Some(address))
    }

    pub(super) fn as_slice(&self) -> &[u8] {
        // SAFETY: the pages were zeroed when allocated, so they are initialised, and live as long as `self`; shared
        // borrows of `self` exclude `as_mut_slice`.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.layout.size()) }
    }

    pub(super) fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: as in `as_slice`; the exclusive borrow of `self` excludes every other one.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.layout.size()) }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        if !forked() {
            let unregistered = Driver::ready().and_then(|driver| {
                let _context = self.device.bind_to_end()?;
                // SAFETY: `new` registered this address, and this is the only place that unregisters it.
                let status = relaxed_capture(|| unsafe {
                    (driver.table().cuMemHostUnregister)(self.start.as_ptr().cast())
                });
                check(driver.table(), "cuMemHostUnregister", status)
            });
            if let Err(error) = unregistered {
                // The driver may still use the pages: they stay.
                self.device
                    .record_drop_error(error.context("releasing pinned memory"));
                return;
            }
        }
        drop(Unregistered {
            start: self.start,
            layout: self.layout,
        });
    }
}

/// Pages the driver does not know.
struct Unregistered {
    start: NonNull<u8>,
    layout: Layout,
}

impl Drop for Unregistered {
    fn drop(&mut self) {
        // SAFETY: the pages were allocated with this layout in `Region::new`, and whoever drops this value owns them.
        unsafe { dealloc(self.start.as_ptr(), self.layout) }
    }
}
