//! Page-locked host memory with the flags that a program asks for, and memory of a program that is page-locked for a while.
#![allow(
    unsafe_code,
    reason = "page-locks host memory and hands out its address"
)]

use std::ptr::NonNull;

use ulib_core::{Error, Result};

use super::not_locked;
use super::region::{PAGE_BYTES, Region};
use crate::Device;
use crate::block::out_of_host_memory;
use crate::driver::{Driver, check, missing_entry, relaxed_capture};
use crate::report::{Counted, Kind};
use crate::sys::{
    CU_MEMHOSTALLOC_DEVICEMAP, CU_MEMHOSTALLOC_PORTABLE, CU_MEMHOSTALLOC_WRITECOMBINED,
};

/// What page-locked memory is for: the driver's own bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct HostFlags(pub u32);

impl HostFlags {
    /// Page-locked for every device.
    pub const PORTABLE: Self = Self(CU_MEMHOSTALLOC_PORTABLE);
    /// Kernels can reach it.
    pub const DEVICE_MAP: Self = Self(CU_MEMHOSTALLOC_DEVICEMAP);
    /// Written fast and read very slowly by the host.
    pub const WRITE_COMBINED: Self = Self(CU_MEMHOSTALLOC_WRITECOMBINED);

    const ALL: u32 = Self::PORTABLE.0 | Self::DEVICE_MAP.0 | Self::WRITE_COMBINED.0;

    /// Whether there is every one of these flags; else the error of `op`, which calls them `name`.
    ///
    /// # Errors
    /// Kind `InvalidArgument`.
    pub fn check(self, op: &'static str, name: &'static str) -> Result<()> {
        if self.0 & !Self::ALL != 0 {
            return Err(Error::invalid(
                op,
                name,
                format_args!("{:#x}", self.0),
                "a combination of PORTABLE (1), DEVICEMAP (2) and WRITECOMBINED (4)",
            ));
        }
        Ok(())
    }

    /// Whether all of `other` is part of these.
    #[must_use]
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl std::ops::BitOr for HostFlags {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// Page-locked memory of the host, zeroed when it is made. Who has its address may access it as long as it lives; nothing here
/// does.
///
/// Without [`WRITE_COMBINED`](HostFlags::WRITE_COMBINED) it is ordinary memory that is registered with the driver, for every
/// device and for kernels, whatever the flags say: that is faster than what the driver allocates, and a forked child can read it.
///
/// # Examples
/// ```no_run
/// use ulib_device::Device;
/// use ulib_device::pinned::{HostFlags, HostMemory};
///
/// # fn main() -> ulib_core::Result<()> {
/// let device = Device::new(0)?;
/// let memory = HostMemory::new(&device, 1 << 20, HostFlags::PORTABLE | HostFlags::DEVICE_MAP)?;
/// // What a kernel gets to work on the memory in place.
/// let argument: u64 = memory.device_ptr(&device)?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct HostMemory {
    pages: Pages,
    len: usize,
    flags: HostFlags,
    _counted: Counted,
}

#[derive(Debug)]
enum Pages {
    Registered(Region),
    Driver(DriverPages),
}

/// What the driver has allocated.
#[derive(Debug)]
struct DriverPages {
    start: NonNull<u8>,
    device: Device,
}

// SAFETY: it is the only owner of its pages, whose address is all that it gives away.
unsafe impl Send for DriverPages {}
// SAFETY: as above.
unsafe impl Sync for DriverPages {}

impl HostMemory {
    /// `len` bytes, made through `device`.
    ///
    /// # Errors
    /// `InvalidArgument` for a flag that there is not; `Overflow` for more bytes than can exist; `OutOfMemory` when there is
    /// none to lock; else whatever the driver says; kind `Forked` in a forked child.
    pub fn new(device: &Device, len: usize, flags: HostFlags) -> Result<Self> {
        flags.check("HostMemory", "flags")?;
        let size = len
            .max(1)
            .checked_next_multiple_of(PAGE_BYTES)
            .filter(|&size| isize::try_from(size).is_ok())
            .ok_or_else(|| Error::overflow("HostMemory", format_args!("{len} bytes")))?;
        let pages = if flags.contains(HostFlags::WRITE_COMBINED) {
            Pages::Driver(DriverPages::new(device, size, flags)?)
        } else {
            Pages::Registered(Region::new(device, size)?)
        };
        Ok(Self {
            pages,
            len,
            flags,
            _counted: Counted::sized(Kind::HostMemory, len),
        })
    }

    /// The address.
    #[must_use]
    pub fn as_ptr(&self) -> *mut u8 {
        match &self.pages {
            Pages::Registered(region) => region.start() as *mut u8,
            Pages::Driver(pages) => pages.start.as_ptr(),
        }
    }

    /// The length in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The flags that were asked for.
    #[must_use]
    pub fn flags(&self) -> HostFlags {
        self.flags
    }

    /// Where kernels of `device` reach it.
    ///
    /// # Errors
    /// As [`device_pointer`].
    pub fn device_ptr(&self, device: &Device) -> Result<u64> {
        device_pointer(device, self.as_ptr() as u64)
    }
}

impl DriverPages {
    fn new(device: &Device, size: usize, flags: HostFlags) -> Result<Self> {
        let table = Driver::ready()?.table();
        let _context = device.bind()?;
        let mut start = std::ptr::null_mut();
        // SAFETY: a context of the device is current; the call writes one pointer.
        let status =
            relaxed_capture(|| unsafe { (table.cuMemHostAlloc)(&raw mut start, size, flags.0) });
        check(table, "cuMemHostAlloc", status).map_err(|error| not_locked(size, error))?;
        let start =
            NonNull::new(start.cast::<u8>()).ok_or_else(|| out_of_host_memory(size as u64))?;
        // SAFETY: the driver has just made `size` writable bytes there, of which nobody else knows.
        unsafe { start.as_ptr().write_bytes(0, size) };
        Ok(Self {
            start,
            device: device.clone(),
        })
    }
}

impl Drop for DriverPages {
    fn drop(&mut self) {
        let start = self.start.as_ptr();
        self.device.in_drop("cuMemFreeHost", |table| {
            // SAFETY: made by `new` and freed only here; the driver waits for the work that uses it.
            relaxed_capture(|| unsafe { (table.cuMemFreeHost)(start.cast()) })
        });
    }
}

/// Where kernels of `device` reach the page-locked host memory at `address`.
///
/// # Errors
/// Kind `Driver` when it is not page-locked, or kernels cannot reach it; `Unavailable` with a driver that cannot tell; kind
/// `Forked` in a forked child.
pub fn device_pointer(device: &Device, address: u64) -> Result<u64> {
    let table = Driver::ready()?.table();
    let call = table
        .cuMemHostGetDevicePointer_v2
        .ok_or_else(|| missing_entry("cuMemHostGetDevicePointer_v2", "3.2"))?;
    let _context = device.bind()?;
    let mut pointer = 0;
    // SAFETY: the context of `device` is current; the driver looks the address up and writes one integer.
    let status = unsafe { call(&raw mut pointer, address as *mut _, 0) };
    check(table, "cuMemHostGetDevicePointer_v2", status)?;
    Ok(pointer)
}

/// Memory of somebody else that is page-locked while this lives.
#[derive(Debug)]
pub struct Registration {
    address: u64,
    len: usize,
    device: Device,
    registered: bool,
    _counted: Counted,
}

impl Registration {
    /// Page-locks `len` bytes at `address`, for every device and, where they can, for kernels, whatever else `flags` say. The
    /// system locks whole pages.
    ///
    /// # Errors
    /// `InvalidArgument` when there are no bytes; kind `Driver` when some of them are page-locked already, or cannot be; kind
    /// `Forked` in a forked child.
    ///
    /// # Safety
    /// The memory stays where it is while this lives.
    pub unsafe fn new(device: &Device, address: u64, len: usize, flags: HostFlags) -> Result<Self> {
        if len == 0 || address == 0 {
            return Err(Error::invalid(
                "Registration",
                "len",
                len,
                "at least one byte",
            ));
        }
        let table = Driver::ready()?.table();
        let mut flags = flags | HostFlags::PORTABLE;
        if device.limits().maps_host_memory {
            flags = flags | HostFlags::DEVICE_MAP;
        }
        let _context = device.bind()?;
        // SAFETY: the memory stays until it is unregistered, by the caller's promise; a context is current.
        let status = relaxed_capture(|| unsafe {
            (table.cuMemHostRegister_v2)(address as *mut _, len, flags.0)
        });
        check(table, "cuMemHostRegister_v2", status).map_err(|error| not_locked(len, error))?;
        Ok(Self {
            address,
            len,
            device: device.clone(),
            registered: true,
            _counted: Counted::sized(Kind::Registration, len),
        })
    }

    /// The length in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no bytes; there always are some.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Ends it and says what went wrong, where dropping would only record it. After an error the memory is still page-locked:
    /// it can be tried again, and the memory must stay. Ended already, there is nothing to do.
    ///
    /// # Errors
    /// Whatever the driver says; kind `Forked` in a forked child.
    pub fn release(&mut self) -> Result<()> {
        if !self.registered {
            return Ok(());
        }
        let table = Driver::ready()?.table();
        let _context = self.device.bind()?;
        // SAFETY: `new` registered this address, and nobody has unregistered it since.
        let status =
            relaxed_capture(|| unsafe { (table.cuMemHostUnregister)(self.address as *mut _) });
        check(table, "cuMemHostUnregister", status)?;
        self.registered = false;
        Ok(())
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        if !self.registered {
            return;
        }
        let address = self.address;
        self.device.in_drop("cuMemHostUnregister", |table| {
            // SAFETY: as in `release`.
            relaxed_capture(|| unsafe { (table.cuMemHostUnregister)(address as *mut _) })
        });
    }
}
