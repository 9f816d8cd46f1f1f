//! Memory and streams passed between uLib and cudarc.
//!
//! They run on whatever `libcuda.so.1` the loader finds, the software driver's in `scripts/test.sh`.
#![allow(
    unsafe_code,
    missing_docs,
    clippy::unwrap_used,
    reason = "a test that unwraps fails by panicking"
)]

use std::sync::Arc;
use std::thread;

use cudarc::driver::{CudaContext, CudaSlice, DevicePtr, DeviceSlice};
use ulib_bridge::{Element, cudarc as bridge};
use ulib_core::{ErrorKind, device_storable};
use ulib_device::memory::DeviceMemory;
use ulib_device::{Device, Stream};

device_storable! {
    /// A record of its own kind of fields.
    #[derive(Debug, PartialEq)]
    pub struct Voxel { pub value: f32, pub count: u32 }
}

fn device() -> Device {
    Device::new(0).unwrap()
}

#[test]
fn both_use_one_context() {
    let device = device();
    let context = bridge::context(&device).unwrap();
    assert_eq!(context.cu_ctx() as usize, device.primary_context().unwrap());
    assert!(context.is_primary());
}

#[test]
fn our_memory_is_read_and_changed_where_it_is() {
    let device = device();
    let ours = Stream::non_blocking(&device).unwrap();
    let context = bridge::context(&device).unwrap();
    let theirs = context.new_stream().unwrap();
    let mut memory = DeviceMemory::from_slice(&[1_u32, 2, 3, 4, 5], &ours).unwrap();
    let address = memory.ptr();

    let lent = bridge::lend(&memory, &theirs).unwrap();
    assert_eq!((lent.len(), *lent.argument()), (5, address));
    assert_eq!(theirs.clone_dtoh(&lent).unwrap(), [1, 2, 3, 4, 5]);
    // Another of their streams than it was lent for.
    let other = context.new_stream().unwrap();
    assert_eq!(other.clone_dtoh(&lent).unwrap(), [1, 2, 3, 4, 5]);
    drop(lent);

    let mut lent = bridge::lend_mut(&mut memory, &theirs).unwrap();
    theirs.memset_zeros(&mut lent).unwrap();
    theirs.memcpy_htod(&[9_u32, 8], &mut lent).unwrap();
    drop(lent);
    assert_eq!(memory.to_vec(&ours).unwrap(), [9, 8, 0, 0, 0]);
    assert_eq!(memory.ptr(), address);
}

#[test]
fn their_memory_becomes_ours_and_stays_theirs_to_free() {
    let device = device();
    let context = bridge::context(&device).unwrap();
    let theirs = context.new_stream().unwrap();
    let slice: CudaSlice<f64> = theirs.clone_htod(&[0.5, 1.5, 2.5]).unwrap();
    let address = slice.device_ptr(&theirs).0;
    let mut memory = bridge::adopt(slice).unwrap();
    assert_eq!((memory.ptr(), memory.len()), (address, 3));
    let stream = Stream::non_blocking(&device).unwrap();
    assert_eq!(memory.to_vec(&stream).unwrap(), [0.5, 1.5, 2.5]);
    memory.copy_from_slice(&[4.0, 5.0, 6.0], &stream).unwrap();
    assert_eq!(memory.to_vec(&stream).unwrap(), [4.0, 5.0, 6.0]);
    let before = device.errors().len();
    // A thread without a context frees it all the same.
    thread::spawn(move || memory.close())
        .join()
        .unwrap()
        .unwrap();
    assert_eq!(device.errors().len(), before);
    assert!(context.check_err().is_ok());
}

#[test]
fn streams_go_both_ways() {
    let device = device();
    let context = bridge::context(&device).unwrap();
    let theirs = context.new_stream().unwrap();
    let ours = bridge::adopt_stream(&theirs).unwrap();
    assert_eq!(ours.handle() as usize, theirs.cu_stream() as usize);
    let count = Arc::strong_count(&theirs);
    drop(ours);
    assert_eq!(Arc::strong_count(&theirs), count - 1);

    let ours = Stream::non_blocking(&device).unwrap();
    // SAFETY: `ours` lives to the end of the test.
    let lent = unsafe { bridge::lend_stream(&ours, &context) }.unwrap();
    let slice = lent.clone_htod(&[1_u8, 2, 3]).unwrap();
    assert_eq!(lent.clone_dtoh(&slice).unwrap(), [1, 2, 3]);
    drop(slice);
    drop(lent);
    ours.synchronize().unwrap();
}

#[test]
fn records_pass_as_elements() {
    let device = device();
    let context = bridge::context(&device).unwrap();
    let theirs = context.default_stream();
    let voxels = [
        Element(Voxel {
            value: 1.5,
            count: 1,
        }),
        Element(Voxel {
            value: -2.0,
            count: 7,
        }),
    ];
    let slice = theirs.clone_htod(&voxels).unwrap();
    let memory: DeviceMemory<Voxel> = bridge::adopt(slice)
        .unwrap()
        .into_bytes()
        .try_into()
        .unwrap();
    let stream = Stream::legacy(&device);
    assert_eq!(memory.to_vec(&stream).unwrap(), voxels.map(|voxel| voxel.0));
}

#[test]
fn another_context_than_the_primary_one_is_refused() {
    // The software driver has primary contexts only.
    if std::env::var("ULIB_TEST_DRIVER").as_deref() != Ok("real") {
        return;
    }
    let _kept = device().bind().unwrap();
    let context = CudaContext::new_non_primary(0, 0).unwrap();
    let stream = context.default_stream();
    let error = bridge::adopt_stream(&stream).unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Residency);
    assert!(error.to_string().contains("not the primary one"), "{error}");
}
