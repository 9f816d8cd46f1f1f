//! Our own kernels: when they wait, what they cost, and what happens to a launch that fails.

use crate::common;
use crate::support::{
    CHANGED, DEVICE, HOST, Outsider, device, fill, kernel_fill, moved, numbers, on_device, on_host,
    set, values,
};
use ulib_core::{ErrorKind, PreferredDevice, Residency};
use ulib_device::block::Released;
use ulib_device::{Device, Stream};

#[test]
fn a_kernel_uploads_what_the_host_changed() {
    let Some(_driver) = common::gpu() else { return };
    let mut block = on_device(4);
    let stream = Stream::non_blocking(&device()).unwrap();
    set(&mut block, 0, 1);
    let since = block.transfers();
    let guard = block.device_read(&stream).unwrap();
    assert_ne!(guard.ptr(), 0);
    assert_eq!(guard.device(), &device());
    guard.finish().unwrap();
    assert_eq!(block.residency(), Residency::InSync);
    kernel_fill(&mut block, &stream, 2);
    assert_eq!(moved(&block, since), (1, 0, 16, 0));
    assert_eq!(block.residency(), Residency::DeviceNewer);
    assert_eq!(values(&block), [2; 4]);
}

#[test]
fn a_kernel_on_a_side_stream_is_waited_for_by_the_next_read() {
    let Some(driver) = common::gpu() else { return };
    if let Some(session) = driver.session() {
        session.deferred(true);
    }
    let mut block = on_device(4);
    let (one, two) = (
        Stream::non_blocking(&device()).unwrap(),
        Stream::non_blocking(&device()).unwrap(),
    );
    kernel_fill(&mut block, &one, 1);
    kernel_fill(&mut block, &two, 2);
    kernel_fill(&mut block, &one, 3);
    assert_eq!(values(&block), [3; 4]);
}

#[test]
fn a_kernel_that_sets_everything_uploads_nothing() {
    let Some(_driver) = common::gpu() else { return };
    let mut block = on_host(4);
    assert!(block.target_device().is_none(), "the host is preferred");
    block.set_preferred(DEVICE).unwrap();
    set(&mut block, 0, 0);
    let since = block.transfers();
    let stream = Stream::legacy(&device());
    let guard = block.device_overwrite(&stream).unwrap();
    fill(&stream, guard.ptr(), 6, 4);
    guard.finish().unwrap();
    assert_eq!(moved(&block, since), (0, 0, 0, 0));
    assert_eq!(values(&block), [6; 4]);
}

#[test]
fn an_overwrite_that_is_never_launched_loses_nothing() {
    let Some(_driver) = common::gpu() else { return };
    let stream = Stream::legacy(&device());
    let mut block = on_device(4);
    drop(block.device_overwrite(&stream).unwrap());
    assert_eq!(
        block.location().to_string(),
        CHANGED,
        "what the device has is not known"
    );
    assert_eq!(values(&block), numbers(4));
    // Where only the device had the data, that is what there is.
    block.update().unwrap();
    kernel_fill(&mut block, &stream, 3);
    drop(block.device_overwrite(&stream).unwrap());
    assert_eq!(values(&block), [3; 4]);
}

#[test]
fn while_shared_the_context_is_waited_for_before_and_our_stream_after() {
    let Some(session) = common::fake_only() else {
        return;
    };
    session.deferred(true);
    let mut block = on_device(4);
    let lease = block.lease().unwrap();
    let outsider = Outsider::new();
    let stream = Stream::non_blocking(&device()).unwrap();
    outsider.fill(lease.ptr(), 5, 4);
    let guard = block.device_read(&stream).unwrap();
    assert_eq!(session.pending(), 0, "the outsider's kernel is over");
    fill(&stream, guard.ptr(), 6, 1);
    assert_eq!(session.pending(), 1);
    guard.finish().unwrap();
    assert_eq!(session.pending(), 0, "and so is ours");
    outsider.fill(lease.ptr(), 7, 4);
    kernel_fill(&mut block, &stream, 8);
    assert_eq!(session.pending(), 0);
    assert_eq!(values(&block), [8; 4]);
    assert_eq!(block.residency(), Residency::DeviceNewer);
}

#[test]
fn after_sharing_has_ended_the_first_kernel_waits_too() {
    let Some(session) = common::fake_only() else {
        return;
    };
    session.deferred(true);
    let mut block = on_device(4);
    let lease = block.lease().unwrap();
    Outsider::new().fill(lease.ptr(), 5, 4);
    drop(lease);
    let stream = Stream::non_blocking(&device()).unwrap();
    kernel_fill(&mut block, &stream, 6);
    assert_eq!(values(&block), [6; 4]);
}

#[test]
fn a_use_is_not_forgotten_when_somebody_waits_between_guard_and_launch() {
    let Some(session) = common::fake_only() else {
        return;
    };
    session.deferred(true);
    let block = on_device(4);
    let stream = Stream::non_blocking(&device()).unwrap();
    let guard = block.device_read(&stream).unwrap();
    // Waits for our pending work, of which there is none yet.
    assert!(block.update().unwrap());
    fill(&stream, guard.ptr(), 6, 1);
    guard.finish().unwrap();
    // The memory must not go before the kernel is over: its free is ordered after it.
    session.reset_counts();
    assert!(block.set_preferred(HOST).unwrap());
    assert_eq!(session.count("cuStreamWaitEvent"), 1);
    drop(block);
    assert_eq!(session.faults(), Vec::<String>::new());
}

#[test]
fn a_stream_of_another_device_is_refused() {
    let Some(_session) = common::fake_only() else {
        return;
    };
    let mut block = on_device(4);
    let other = Stream::legacy(&Device::new(1).unwrap());
    let error = block.device_write(&other).unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::InvalidArgument);
    assert!(
        error.to_string().contains("Device 1: Fake GPU 1"),
        "{error}"
    );
    assert!(error.to_string().contains("Device: Fake GPU 0"), "{error}");
    block.set_preferred(HOST).unwrap();
    let error = block.device_read(&other).unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Residency);
    block.set_preferred(PreferredDevice::Device(1)).unwrap();
    block.device_write(&other).unwrap().finish().unwrap();
}

#[test]
fn a_target_is_only_named_when_there_is_room() {
    let Some(session) = common::fake_only() else {
        return;
    };
    let mut block = on_device(1024);
    assert_eq!(block.target_device(), Some(device()));
    block.resize(8192).unwrap();
    session.memory_limit(4096);
    assert_eq!(block.target_device(), None);
    assert!(
        block
            .location()
            .to_string()
            .starts_with("Host (out of device memory: needs 8192 bytes")
    );
    session.memory_limit(1 << 20);
    assert_eq!(block.target_device(), Some(device()), "a later try works");
    let since = block.transfers();
    kernel_fill(&mut block, &Stream::legacy(&device()), 1);
    assert_eq!(moved(&block, since), (1, 0, 8192, 0));
    assert_eq!(values(&block), [1; 2048]);
}

#[test]
fn releasing_under_a_kernels_guard_says_that_the_memory_is_held() {
    let Some(_driver) = common::gpu() else { return };
    let block = on_device(1024);
    let stream = Stream::non_blocking(&device()).unwrap();
    let guard = block.device_read(&stream).unwrap();
    let released = block.release_device().unwrap();
    assert_eq!(released, Released::WhenUsesEnd(1));
    assert!(!released.is_complete() && device().held().bytes == 4096);
    assert!(block.update().unwrap());
    let lease = block.lease().unwrap();
    assert_eq!(block.release_device().unwrap(), Released::WhenUsesEnd(2));
    guard.finish().unwrap();
    assert_eq!(block.release_device().unwrap(), Released::WhenLeasesEnd(1));
    drop(lease);
    assert_eq!(block.release_device().unwrap(), Released::Nothing);
    assert_eq!(device().held().allocations, 0);
    assert!(block.update().unwrap());
    assert_eq!(block.release_device().unwrap(), Released::Freed);
}
