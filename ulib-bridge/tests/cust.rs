//! Memory and streams passed between uLib and cust.
//!
//! They run on whatever `libcuda.so.1` the loader finds, the software driver's in `scripts/test.sh`.
#![allow(
    unsafe_code,
    missing_docs,
    clippy::unwrap_used,
    reason = "a test that unwraps fails by panicking"
)]

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use cust::memory::{CopyDestination, DeviceBuffer};
use cust::stream::{Stream as CustStream, StreamFlags};
use ulib_bridge::{Element, cust as bridge};
use ulib_core::device_storable;
use ulib_device::memory::DeviceMemory;
use ulib_device::{Device, Stream};

device_storable! {
    /// A record of its own kind of fields.
    #[derive(Debug, PartialEq)]
    pub struct Voxel { pub value: f32, pub count: u32 }
}

/// Tests take turns: one of them looks at how much memory is free.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn our_memory_is_read_and_changed_where_it_is() {
    let _turn = turn();
    let device = Device::new(0).unwrap();
    let _context = device.bind().unwrap();
    let stream = Stream::legacy(&device);
    let mut memory = DeviceMemory::from_slice(&[1_u32, 2, 3], &stream).unwrap();
    let mut values = [0; 3];
    // SAFETY: no copy of the slice is made.
    let lent = unsafe { bridge::lend(&memory, &stream) }.unwrap();
    lent.copy_to(&mut values).unwrap();
    assert_eq!(values, [1, 2, 3]);
    // SAFETY: as above.
    let mut lent = unsafe { bridge::lend_mut(&mut memory, &stream) }.unwrap();
    lent.copy_from(&[7, 8, 9]).unwrap();
    assert_eq!(memory.to_vec(&stream).unwrap(), [7, 8, 9]);
}

#[test]
fn their_memory_becomes_ours_and_stays_theirs_to_free() {
    let _turn = turn();
    let device = Device::new(0).unwrap();
    let memory = {
        let _context = device.bind().unwrap();
        let buffer = DeviceBuffer::from_slice(&[0.5_f64, 1.5]).unwrap();
        let address = buffer.as_device_ptr().as_raw();
        // SAFETY: made in the primary context; `from_slice` waits for its copy.
        let memory = unsafe { bridge::adopt(&device, buffer) }.unwrap();
        assert_eq!((memory.ptr(), memory.len()), (address, 2));
        memory
    };
    let stream = Stream::non_blocking(&device).unwrap();
    assert_eq!(memory.to_vec(&stream).unwrap(), [0.5, 1.5]);
    let free = device.memory_info().unwrap().free;
    // A thread without a context frees it all the same.
    thread::spawn(move || memory.close())
        .join()
        .unwrap()
        .unwrap();
    assert!(device.memory_info().unwrap().free >= free);
    assert!(device.errors().is_empty());
}

#[test]
fn work_of_their_streams_is_in_order_with_ours() {
    let _turn = turn();
    let device = Device::new(0).unwrap();
    let _context = device.bind().unwrap();
    let theirs = Arc::new(CustStream::new(StreamFlags::NON_BLOCKING, None).unwrap());
    // SAFETY: made in the primary context.
    let adopted = unsafe { bridge::adopt_stream(&device, &theirs) };
    let ours = Stream::non_blocking(&device).unwrap();
    let mut memory = DeviceMemory::<u32>::zeroed(&ours, 1000).unwrap();
    // SAFETY: no copy of the slice is made.
    let mut lent = unsafe { bridge::lend_mut(&mut memory, &adopted) }.unwrap();
    // SAFETY: the memory outlives the work, since its owner knows of the stream.
    unsafe { lent.set_32_async(7, &theirs) }.unwrap();
    assert_eq!(memory.to_vec(&ours).unwrap(), [7; 1000]);
    let count = Arc::strong_count(&theirs);
    drop(adopted);
    drop(memory);
    assert!(Arc::strong_count(&theirs) < count);
}

#[test]
fn records_pass_as_elements() {
    let _turn = turn();
    let device = Device::new(0).unwrap();
    let _context = device.bind().unwrap();
    let voxels = [Element(Voxel {
        value: 1.5,
        count: 1,
    })];
    let buffer = DeviceBuffer::from_slice(&voxels).unwrap();
    // SAFETY: made in the primary context; `from_slice` waits for its copy.
    let memory = unsafe { bridge::adopt(&device, buffer) }.unwrap();
    let memory: DeviceMemory<Voxel> = memory.into_bytes().try_into().unwrap();
    let stream = Stream::legacy(&device);
    assert_eq!(memory.to_vec(&stream).unwrap(), [voxels[0].0]);
}
