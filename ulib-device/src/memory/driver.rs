//! Memory straight from the driver.
#![allow(unsafe_code, reason = "calls the driver's allocation functions")]

use ulib_core::Result;

use super::waiting::{Returned, Waiting};
use super::{DeviceMemoryResource, kept, out_of_memory, scratch};
use crate::driver::{Driver, check, relaxed_capture};
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

    fn try_allocate(&self, bytes: usize) -> Result<u64> {
        let table = Driver::ready()?.table();
        let _context = self.device.bind()?;
        let mut ptr = 0;
        // SAFETY: a context of the device is current for this thread, and `ptr` is valid for the one value written.
        let status = relaxed_capture(|| unsafe { (table.cuMemAlloc_v2)(&raw mut ptr, bytes) });
        check(table, "cuMemAlloc_v2", status)?;
        Ok(ptr)
    }

    /// Frees once what was queued on the stream has finished. `cuMemFree` waits for the device in practice, but its
    /// documentation does not promise it.
    fn free(&self, returned: &Returned) -> Result<()> {
        returned.stream.synchronize()?;
        let table = Driver::ready()?.table();
        let _context = self.device.bind()?;
        // SAFETY: a context of the device is current; by the contract of `deallocate` the pointer came from
        // `cuMemAlloc` of this device, is freed once, and all its uses ended with the stream's queued work above.
        let status = relaxed_capture(|| unsafe { (table.cuMemFree_v2)(returned.ptr) });
        check(table, "cuMemFree_v2", status)
    }

    fn free_waiting(&self) {
        self.waiting.retry(|returned| self.free(returned).is_ok());
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
