//! A device copy whose outsiders cannot be waited for when its last holder lets go.
#![allow(unsafe_code, reason = "makes captures by calling the driver directly")]

use ulib_device::block::{Block, Lease};
use ulib_device::memory::DeviceBytes;
use ulib_device::sys::{CUresult, CUstreamCaptureMode};
use ulib_device::{Stream, copy};

use crate::common;
use crate::support::{Outsider, device, kernel_fill, on_device, set, values};

const N: u32 = 1024;

/// A lease that alone keeps a device copy on which an outsider has queued work.
fn lease_in_use(outsider: &Outsider) -> (Block, Lease) {
    let mut block = on_device(N);
    let lease = block.lease().unwrap();
    block.resize(8).unwrap();
    outsider.fill(lease.ptr(), 9, N as usize);
    (block, lease)
}

/// Memory of the size of the copy, written and read, and what happens in between.
fn write_and_read_elsewhere(in_between: impl FnOnce()) {
    let (len, stream) = (4 * N as usize, Stream::non_blocking(&device()).unwrap());
    let other = DeviceBytes::allocate(&stream, len).unwrap();
    copy::upload(&other, 0, &vec![7; len], &stream).unwrap();
    in_between();
    let mut back = vec![0; len];
    copy::download(&other, 0, &mut back, &stream).unwrap();
    assert!(back.iter().all(|&byte| byte == 7));
}

fn begin_capture(stream: &Stream) {
    let _context = device().bind().unwrap();
    let begin = device().driver().table().cuStreamBeginCapture_v2.unwrap();
    let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL;
    // SAFETY: the context is current and the stream alive.
    assert!(unsafe { begin(stream.handle(), mode) } == CUresult::CUDA_SUCCESS);
}

/// Ends the capture, which nothing has spoilt.
fn end_capture(stream: &Stream) {
    let _context = device().bind().unwrap();
    let table = device().driver().table();
    let mut graph = core::ptr::null_mut();
    // SAFETY: the context is current and the stream alive; the call writes one pointer.
    let status = unsafe { table.cuStreamEndCapture.unwrap()(stream.handle(), &raw mut graph) };
    assert!(status == CUresult::CUDA_SUCCESS, "spoilt: {}", status.0);
    // SAFETY: made just now and destroyed once.
    unsafe { table.cuGraphDestroy.unwrap()(graph) };
}

#[test]
fn a_lease_dropped_during_a_capture_keeps_the_copy_until_its_outsiders_are_done() {
    let Some(driver) = common::gpu() else { return };
    let outsider = Outsider::new();
    let blocking = Stream::new(&device()).unwrap();
    if let Some(fake) = driver.session() {
        fake.deferred(true);
    }
    let (block, lease) = lease_in_use(&outsider);
    begin_capture(&blocking);
    let pending = driver.session().map(fakecuda::Session::pending);
    drop(lease);
    assert_eq!(driver.session().map(fakecuda::Session::pending), pending);
    write_and_read_elsewhere(|| {});
    end_capture(&blocking);
    // What is freed in the order of the default stream would be free now, and the outsider still at work.
    let legacy = Stream::legacy(&device());
    drop(DeviceBytes::allocate(&legacy, 4).unwrap());
    legacy.synchronize().unwrap();
    // The outsider gets on with it, which must not reach memory that somebody else got meanwhile.
    write_and_read_elsewhere(|| {
        if let Some(fake) = driver.session() {
            fake.deferred(false);
        }
    });
    drop(block);
    device().memory_resource().trim().unwrap();
    let errors = device().errors();
    assert!(errors.is_empty(), "{errors:?}");
    if let Some(fake) = driver.session() {
        assert_eq!((fake.faults(), fake.live_bytes()), (Vec::new(), 0));
    }
}

#[test]
fn a_copy_is_not_freed_when_the_wait_for_its_outsiders_fails() {
    let Some(session) = common::fake_only() else {
        return;
    };
    for (call, code) in [
        ("cuStreamIsCapturing", 906),
        ("cuCtxSynchronize", 900),
        ("cuCtxSynchronize", 999),
    ] {
        let outsider = Outsider::new();
        session.deferred(true);
        let (block, lease) = lease_in_use(&outsider);
        session.fail_from(call, 1, code);
        drop(lease);
        session.fail_nothing();
        assert!(session.pending() > 0, "{call} {code}");
        write_and_read_elsewhere(|| session.deferred(false));
        drop(block);
        device().memory_resource().trim().unwrap();
        assert_eq!(session.faults(), Vec::<String>::new(), "{call} {code}");
        assert_eq!(session.live_bytes(), 0, "{call} {code}");
        // What a capture explains is no error.
        assert_eq!(device().errors().len(), usize::from(code == 999));
    }
}

#[test]
fn bytes_go_to_the_device_beside_a_capture_that_stays_whole() {
    let Some(driver) = common::gpu() else { return };
    let mut block = on_device(N);
    let blocking = Stream::new(&device()).unwrap();
    begin_capture(&blocking);
    set(&mut block, 0, 7);
    assert!(block.update().unwrap(), "nothing else uses the memory");
    let exported = block.export().unwrap();
    end_capture(&blocking);
    assert_eq!(Outsider::new().read(exported.ptr, 1), [7]);
    if let Some(fake) = driver.session() {
        assert_eq!(fake.faults(), Vec::<String>::new());
    }
}

#[test]
fn a_copy_beside_our_own_work_is_ordered_after_it() {
    let Some(driver) = common::gpu() else { return };
    let stream = Stream::non_blocking(&device()).unwrap();
    let mut block = on_device(N);
    set(&mut block, 0, 7);
    assert!(block.update().unwrap());
    if let Some(fake) = driver.session() {
        fake.deferred(true);
    }
    kernel_fill(&mut block, &stream, 5);
    assert_eq!(values(&block), [5; N as usize]);
    set(&mut block, 1, 6);
    assert!(block.update().unwrap());
    kernel_fill(&mut block, &Stream::legacy(&device()), 8);
    kernel_fill(&mut block, &stream, 9);
    block.overwrite().unwrap().fill(3);
    assert!(block.update().unwrap());
    let exported = block.export().unwrap();
    assert_eq!(Outsider::new().read(exported.ptr, 1), [0x0303_0303]);
    if let Some(fake) = driver.session() {
        fake.deferred(false);
        assert_eq!(fake.faults(), Vec::<String>::new());
    }
}
