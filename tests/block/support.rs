//! What the tests of the block share.
#![allow(
    unsafe_code,
    reason = "plays the outsiders that write device memory with raw driver calls"
)]

use ulib_core::PreferredDevice;
use ulib_device::block::{Block, Transfers};
use ulib_device::sys::CUresult;
use ulib_device::transfers::{ImplicitTransfers, set_implicit_transfers};
use ulib_device::{Device, Stream};

pub(crate) const DEVICE: PreferredDevice = PreferredDevice::Device(0);
pub(crate) const HOST: PreferredDevice = PreferredDevice::Host;
pub(crate) const RELEASED: &str = "Host (released; back on the device at the next update)";
pub(crate) const CHANGED: &str =
    "Host (changed on the host; back on the device at the next update)";

pub(crate) fn device() -> Device {
    Device::new(0).expect("a device is there, since the test was not skipped")
}

/// `n` different numbers.
pub(crate) fn numbers(n: u32) -> Vec<u32> {
    (0..n)
        .map(|i| i.wrapping_mul(2_654_435_761) ^ 0x5A5A)
        .collect()
}

/// A block of `n` different numbers on the host.
pub(crate) fn on_host(n: u32) -> Block {
    Block::from_slice(&numbers(n)).expect("host memory")
}

/// A block of `n` different numbers on the device, in sync.
pub(crate) fn on_device(n: u32) -> Block {
    let block = on_host(n);
    assert!(
        block.set_preferred(DEVICE).expect("no fault"),
        "{}",
        block.location()
    );
    block
}

/// The content as the host reads it.
pub(crate) fn values(block: &Block) -> Vec<u32> {
    bytemuck::cast_slice(&block.read().expect("reads")).to_vec()
}

/// Element `index` as the host reads it.
pub(crate) fn value(block: &Block, index: usize) -> u32 {
    let mut bytes = [0; 4];
    block.read_at(4 * index, &mut bytes).expect("reads");
    u32::from_ne_bytes(bytes)
}

pub(crate) fn set(block: &mut Block, index: usize, value: u32) {
    block
        .write_at(4 * index, &value.to_ne_bytes())
        .expect("writes");
}

fn check(status: CUresult) {
    assert!(status == CUresult::CUDA_SUCCESS, "status {}", status.0);
}

/// Somebody outside who knows device addresses and works on a stream of his own that nothing orders.
pub(crate) struct Outsider {
    stream: Stream,
}

impl Outsider {
    pub(crate) fn new() -> Self {
        Self::on(&device())
    }

    pub(crate) fn on(device: &Device) -> Self {
        Self {
            stream: Stream::non_blocking(device).expect("a stream"),
        }
    }

    /// Queues a kernel, so to speak, that sets `count` numbers from `ptr` on to `value`, and does not wait.
    pub(crate) fn fill(&self, ptr: u64, value: u32, count: usize) {
        fill(&self.stream, ptr, value, count);
    }

    /// Queues a copy inside device memory, and does not wait.
    pub(crate) fn copy(&self, to: u64, from: u64, bytes: usize) {
        let _context = self.stream.device().bind().expect("binds");
        let table = self.stream.device().driver().table();
        // SAFETY: the context is current; the tests name ranges inside live allocations.
        check(unsafe { (table.cuMemcpyDtoDAsync_v2)(to, from, bytes, self.stream.handle()) });
    }

    /// Reads numbers from device memory, after everything the outsider queued.
    pub(crate) fn read(&self, ptr: u64, count: usize) -> Vec<u32> {
        let mut numbers = vec![0_u32; count];
        let _context = self.stream.device().bind().expect("binds");
        let table = self.stream.device().driver().table();
        // SAFETY: the context is current; the host range is the vector, which outlives the synchronise below.
        check(unsafe {
            (table.cuMemcpyDtoHAsync_v2)(
                numbers.as_mut_ptr().cast(),
                ptr,
                4 * count,
                self.stream.handle(),
            )
        });
        self.stream.synchronize().expect("synchronises");
        numbers
    }
}

/// Queues a fill of device memory.
pub(crate) fn fill(stream: &Stream, ptr: u64, value: u32, count: usize) {
    let _context = stream.device().bind().expect("binds");
    check(raw_fill(stream, ptr, value, count));
}

/// Queues a fill of device memory and answers what the driver said. The caller has made the device's context current.
pub(crate) fn raw_fill(stream: &Stream, ptr: u64, value: u32, count: usize) -> CUresult {
    let table = stream.device().driver().table();
    // SAFETY: the driver checks the context; the tests name ranges inside live allocations.
    unsafe { (table.cuMemsetD32Async)(ptr, value, count, stream.handle()) }
}

/// One of our own kernels, so to speak: sets every number of the block on `stream`.
pub(crate) fn kernel_fill(block: &mut Block, stream: &Stream, value: u32) {
    let count = block.len() / 4;
    let guard = block
        .device_write(stream)
        .expect("the block is on the device");
    fill(stream, guard.ptr(), value, count);
    guard.finish().expect("finishes");
}

/// What moved between two readings of the counters: uploads, downloads, bytes up, bytes down.
pub(crate) fn moved(block: &Block, since: Transfers) -> (u64, u64, u64, u64) {
    let now = block.transfers();
    (
        now.uploads - since.uploads,
        now.downloads - since.downloads,
        now.bytes_up - since.bytes_up,
        now.bytes_down - since.bytes_down,
    )
}

pub(crate) const NOTHING: (u64, u64, u64, u64) = (0, 0, 0, 0);

/// A setting of the process for implicit transfers, taken back at the end of the test.
pub(crate) struct Implicit(ImplicitTransfers);

impl Implicit {
    pub(crate) fn set(setting: ImplicitTransfers) -> Self {
        Self(set_implicit_transfers(setting))
    }
}

impl Drop for Implicit {
    fn drop(&mut self) {
        set_implicit_transfers(self.0);
    }
}
