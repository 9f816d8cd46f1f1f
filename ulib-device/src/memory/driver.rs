//! Memory straight from the driver.
#![allow(unsafe_code, reason = "calls the driver's allocation functions")]

use std::sync::{Arc, Mutex, PoisonError};

use ulib_core::{Error, Result};

use super::room::with_room;
use super::waiting::{Returned, Waiting};
use super::{DeviceBytes, DeviceMemoryResource, Fresh, kept, out_of_memory, scratch};
use crate::driver::{Driver, check, forked, missing_entry, relaxed_capture};
use crate::{Device, Stream};

/// Allocates with `cuMemAlloc` and frees with `cuMemFree`: works on every device, but both calls are slow and freeing
/// waits for the device. [`PoolResource`](super::PoolResource) is better where the device supports pools.
#[derive(Debug)]
pub struct DriverResource {
    device: Device,
    waiting: Waiting,
}

impl DriverResource {
    /// The driver's memory of `device`.
    #[must_use]
    pub fn new(device: &Device) -> Self {
        Self {
            device: device.clone(),
            waiting: Waiting::default(),
        }
    }

    /// The one of `device` that everybody in this process may use.
    #[must_use]
    pub fn shared(device: &Device) -> Arc<Self> {
        static SHARED: Mutex<Vec<Arc<DriverResource>>> = Mutex::new(Vec::new());
        if forked() {
            // The lock may be held by a thread that does not exist here.
            return Arc::new(Self::new(device));
        }
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = shared.iter().find(|found| found.device == *device) {
            return Arc::clone(found);
        }
        let made = Arc::new(Self::new(device));
        shared.push(Arc::clone(&made));
        made
    }

    /// `len` uninitialised bytes that may be used on every stream from now on, as the driver's own allocations may: unlike
    /// [`DeviceBytes::allocate`] in the order of no stream. No bytes give the pointer 0. Where there is no room, what all
    /// pools of the device keep is given back to the driver first.
    ///
    /// # Errors
    ///
    /// As [`DeviceMemoryResource::allocate`].
    pub fn allocate_bytes(self: &Arc<Self>, len: usize) -> Result<DeviceBytes> {
        let stream = Stream::legacy(&self.device);
        let ptr = with_room(&self.device, || self.allocate(len, &stream))?;
        let resource: Arc<dyn DeviceMemoryResource> = Arc::<Self>::clone(self);
        Ok(DeviceBytes::owned(resource, &stream, anywhere(ptr), len))
    }

    /// `height` rows of `width` bytes, each row starting at a multiple of a pitch that suits accesses of `element` bytes (4, 8
    /// or 16); as [`allocate_bytes`](Self::allocate_bytes) otherwise. Answers the memory and the pitch in bytes.
    ///
    /// # Errors
    ///
    /// `InvalidArgument` when there are no bytes; `Driver` for another size of elements; else as
    /// [`DeviceMemoryResource::allocate`].
    pub fn allocate_pitched(
        self: &Arc<Self>,
        width: usize,
        height: usize,
        element: u32,
    ) -> Result<(DeviceBytes, usize)> {
        let table = Driver::ready()?.table();
        let call = table
            .cuMemAllocPitch_v2
            .ok_or_else(|| missing_entry("cuMemAllocPitch_v2", "3.2"))?;
        if width == 0 || height == 0 {
            return Err(Error::invalid(
                "allocate_pitched",
                "extent",
                format_args!("{width} bytes by {height} rows"),
                "at least one byte and one row",
            ));
        }
        self.free_waiting();
        let (ptr, pitch) = with_room(&self.device, || {
            let _context = self.device.bind()?;
            let (mut ptr, mut pitch) = (0, 0_usize);
            // SAFETY: a context of the device is current for this thread, and both pointers are valid for the one value
            // that is written to each.
            let status = relaxed_capture(|| unsafe {
                call(&raw mut ptr, &raw mut pitch, width, height, element)
            });
            check(table, "cuMemAllocPitch_v2", status).map_err(|error| {
                out_of_memory(&self.device, width.saturating_mul(height), error)
            })?;
            Ok((ptr, pitch))
        })?;
        let resource: Arc<dyn DeviceMemoryResource> = Arc::<Self>::clone(self);
        let (stream, len) = (Stream::legacy(&self.device), pitch.saturating_mul(height));
        let bytes = DeviceBytes::owned(resource, &stream, anywhere(ptr), len);
        Ok((bytes, pitch))
    }

    fn try_allocate(&self, bytes: usize) -> Result<u64> {
        let table = Driver::ready()?.table();
        let _context = self.device.bind()?;
        let mut ptr = 0;
        // SAFETY: a context of the device is current for this thread, and `ptr` is valid for the one value written.
        let status = relaxed_capture(|| unsafe { (table.cuMemAlloc_v2)(&raw mut ptr, bytes) });
        check(table, "cuMemAlloc_v2", status)?;
        Ok(ptr)
    }

    /// Frees once what was queued on the device has finished: `cuMemFree` waits for it (its documentation excepts only
    /// memory of the driver's pools).
    fn free(&self, returned: &Returned) -> Result<()> {
        let table = Driver::ready()?.table();
        let _context = self.device.bind()?;
        // SAFETY: a context of the device is current; by the contract of `deallocate` the pointer came from
        // `cuMemAlloc` of this device, is freed once, and its uses are queued, so that the driver waits for them.
        let status = relaxed_capture(|| unsafe { (table.cuMemFree_v2)(returned.ptr) });
        check(table, "cuMemFree_v2", status)
    }

    fn free_waiting(&self) {
        self.waiting.retry(|returned| self.free(returned).is_ok());
    }
}

/// What the driver allocates in the order of no stream.
fn anywhere(ptr: u64) -> Fresh {
    Fresh {
        ptr,
        anywhere: true,
    }
}

// SAFETY: the driver aligns to 256 bytes at least, gives no address out twice and is asked to free one only after the
// stream's work, or keeps it in `waiting`; what fails allocates nothing.
unsafe impl DeviceMemoryResource for DriverResource {
    fn device(&self) -> &Device {
        &self.device
    }

    fn allocate(&self, bytes: usize, _stream: &Stream) -> Result<u64> {
        if bytes == 0 {
            return Ok(0);
        }
        // Before any lock, which in a forked child may be held by a thread that does not exist there.
        Driver::ready()?;
        self.free_waiting();
        self.try_allocate(bytes)
            .map_err(|error| out_of_memory(&self.device, bytes, error))
    }

    fn allocate_fresh(&self, bytes: usize, stream: &Stream) -> Result<Fresh> {
        self.allocate(bytes, stream).map(anywhere)
    }

    unsafe fn deallocate(&self, ptr: u64, _bytes: usize, stream: &Stream) -> Result<()> {
        if ptr == 0 {
            return Ok(());
        }
        self.free_waiting();
        let returned = Returned {
            ptr,
            stream: stream.clone(),
        };
        if stream.is_capturing().unwrap_or(false) {
            self.waiting.push(returned);
            return Ok(());
        }
        self.free(&returned)
            .inspect_err(|_| self.waiting.push(returned))
    }

    fn trim(&self) -> Result<()> {
        Driver::ready()?;
        scratch::clear(&self.device);
        kept::retry();
        self.free_waiting();
        Ok(())
    }

    fn name(&self) -> &'static str {
        "driver"
    }
}
