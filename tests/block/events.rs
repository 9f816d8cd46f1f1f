//! Every event of the table, not shared: what moves, and what is true afterwards.

use crate::common;
use crate::support::{
    CHANGED, DEVICE, HOST, NOTHING, RELEASED, device, kernel_fill, moved, numbers, on_device,
    on_host, set, value, values,
};
use ulib_core::{ErrorKind, PreferredDevice, Residency};
use ulib_device::Stream;
use ulib_device::block::{Block, Released};

#[test]
fn preferring_the_device_uploads_once() {
    let Some(_driver) = common::gpu() else { return };
    let block = on_host(256);
    assert!(block.set_preferred(DEVICE).unwrap());
    assert_eq!(moved(&block, Default::default()), (1, 0, 1024, 0));
    assert!(block.set_preferred(DEVICE).unwrap());
    assert!(block.update().unwrap());
    assert_eq!(moved(&block, Default::default()), (1, 0, 1024, 0));
    assert_eq!(values(&block), numbers(256));
}

#[test]
fn preferring_the_host_brings_home_and_frees() {
    let Some(_driver) = common::gpu() else { return };
    let before = device().held();
    let mut block = on_device(256);
    assert_eq!(device().held().bytes, before.bytes + 1024);
    kernel_fill(&mut block, &Stream::legacy(&device()), 7);
    let since = block.transfers();
    assert!(block.set_preferred(HOST).unwrap());
    assert_eq!(moved(&block, since), (0, 1, 0, 1024));
    assert_eq!(device().held(), before);
    assert_eq!(values(&block), [7; 256]);
}

#[test]
fn a_host_read_brings_home_once_and_costs_no_upload_later() {
    let Some(_driver) = common::gpu() else { return };
    let mut block = on_device(256);
    let held = device().held();
    kernel_fill(&mut block, &Stream::legacy(&device()), 7);
    let since = block.transfers();
    // One element is asked for, but the block comes home: the next reads are free.
    assert_eq!(value(&block, 3), 7);
    assert_eq!(values(&block), [7; 256]);
    assert_eq!(moved(&block, since), (0, 1, 0, 1024));
    assert_eq!(block.residency(), Residency::InSync);
    assert_eq!(device().held(), held, "the block stays allocated");
    block
        .device_read(&Stream::legacy(&device()))
        .unwrap()
        .finish()
        .unwrap();
    assert!(block.update().unwrap());
    assert_eq!(moved(&block, since), (0, 1, 0, 1024));
}

#[test]
fn a_host_write_brings_home_first() {
    let Some(_driver) = common::gpu() else { return };
    for through_guard in [false, true] {
        let mut block = on_device(4);
        kernel_fill(&mut block, &Stream::legacy(&device()), 7);
        let since = block.transfers();
        if through_guard {
            let mut bytes = block.write().unwrap();
            assert_eq!(bytemuck::cast_slice::<u8, u32>(&bytes), [7; 4]);
            bytes[..4].copy_from_slice(&9_u32.to_ne_bytes());
        } else {
            set(&mut block, 0, 9);
        }
        assert_eq!(moved(&block, since), (0, 1, 0, 16));
        assert_eq!(block.location().to_string(), CHANGED);
        assert_eq!(values(&block), [9, 7, 7, 7]);
        assert!(block.update().unwrap());
        assert_eq!(moved(&block, since), (1, 1, 16, 16));
    }
}

#[test]
fn an_overwrite_fetches_nothing() {
    let Some(_driver) = common::gpu() else { return };
    let mut block = on_device(4);
    kernel_fill(&mut block, &Stream::legacy(&device()), 7);
    let since = block.transfers();
    block
        .overwrite()
        .unwrap()
        .copy_from_slice(bytemuck::cast_slice(&[1_u32, 2, 3, 4]));
    assert_eq!(values(&block), [1, 2, 3, 4]);
    block.update().unwrap();
    kernel_fill(&mut block, &Stream::legacy(&device()), 8);
    // Setting all bytes at once is the same thing.
    block
        .write_at(0, bytemuck::cast_slice(&[4_u32, 3, 2, 1]))
        .unwrap();
    assert_eq!(values(&block), [4, 3, 2, 1]);
    assert_eq!(moved(&block, since), (1, 0, 16, 0));
}

#[test]
fn update_puts_a_change_back() {
    let Some(_driver) = common::gpu() else { return };
    let mut block = on_device(4);
    set(&mut block, 1, 11);
    let since = block.transfers();
    assert!(block.update().unwrap());
    assert_eq!(moved(&block, since), (1, 0, 16, 0));
    assert!(block.is_device_resident());
    let mut expected = numbers(4);
    expected[1] = 11;
    assert_eq!(values(&block), expected);
}

#[test]
fn release_gives_the_memory_back_to_the_driver() {
    let Some(driver) = common::gpu() else { return };
    let device = device();
    // The first allocation makes what the process keeps.
    drop(on_device(256));
    let _ = on_device(256).release_device().unwrap();
    let free = device.memory_info().unwrap().free;
    // Large enough to show on a card that others use as well.
    let mut block = on_device(if driver.is_real() { 1 << 26 } else { 1 << 20 });
    let used = device.memory_info().unwrap().free;
    assert!(
        used < free,
        "{used} bytes free with the block, {free} without"
    );
    kernel_fill(&mut block, &Stream::legacy(&device), 3);
    assert_eq!(block.release_device().unwrap(), Released::Freed);
    if let Some(session) = driver.session() {
        assert_eq!(device.memory_info().unwrap().free, free);
        assert_eq!(session.live_bytes(), 0);
    }
    assert_eq!(block.release_device().unwrap(), Released::Nothing);
    assert_eq!(block.preferred(), DEVICE, "the preference stays");
    assert_eq!(block.location().to_string(), RELEASED);
    assert_eq!(value(&block, 77), 3);
    assert!(
        block.update().unwrap(),
        "and is honoured at the next update"
    );
}

#[test]
fn small_blocks_on_a_device_are_pinned_and_ordinary_again_at_home() {
    let Some(_driver) = common::gpu() else { return };
    let pool = ulib_device::pinned::PinnedPool::global();
    let before = pool.held().in_use_bytes;
    let block = on_device(4096);
    assert!(pool.held().in_use_bytes > before);
    assert_eq!(values(&block), numbers(4096));
    assert!(block.set_preferred(HOST).unwrap());
    assert_eq!(pool.held().in_use_bytes, before);
    assert_eq!(values(&block), numbers(4096));
}

#[test]
fn positions_outside_are_errors_that_name_the_call() {
    let mut block = on_host(4);
    let mut two = [0; 2];
    let error = block.read_at(15, &mut two).unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Index);
    assert_eq!(
        error.to_string(),
        "read_at: index 16 is out of range for length 16"
    );
    assert_eq!(
        *block.write_at(usize::MAX, &two).unwrap_err().kind(),
        ErrorKind::Index
    );
    assert_eq!(
        *block.read_at(17, &mut []).unwrap_err().kind(),
        ErrorKind::Index
    );
    block.read_at(16, &mut []).unwrap();
    assert_eq!(values(&block), numbers(4));
}

#[test]
fn more_memory_than_there_is_is_an_error() {
    let error = Block::zeroed(usize::MAX).unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Overflow);
    let error = Block::zeroed(1 << 60).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::OutOfMemory { needs, .. } if *needs == 1 << 60));
    assert!(
        error
            .to_string()
            .starts_with("out of host memory: needs 1152921504606846976 bytes")
    );
}

#[test]
fn moving_between_devices() {
    let Some(session) = common::fake_only() else {
        return;
    };
    let mut block = on_device(256);
    kernel_fill(&mut block, &Stream::legacy(&device()), 6);
    let since = block.transfers();
    assert!(block.set_preferred(PreferredDevice::Device(1)).unwrap());
    assert_eq!(block.location().to_string(), "Device 1: Fake GPU 1");
    assert_eq!(moved(&block, since), NOTHING, "straight across");
    assert_eq!(block.residency(), Residency::DeviceNewer);
    assert_eq!(block.read().unwrap()[..4], 6_u32.to_ne_bytes());
    assert_eq!(
        device().held().allocations,
        0,
        "the first device is free again"
    );
    let second = ulib_device::Device::new(1).unwrap();
    assert_eq!(block.lease().unwrap().device(), &second);
    kernel_fill(&mut block, &Stream::legacy(&second), 8);
    assert!(block.set_preferred(DEVICE).unwrap());
    assert_eq!(values(&block), [8; 256]);
    assert_eq!(second.held().allocations, 0);

    // Where the devices cannot do it the way is through the host, and what the host changed goes from there.
    kernel_fill(&mut block, &Stream::legacy(&device()), 9);
    session.fail("cuMemcpyPeerAsync", 1, 719);
    let since = block.transfers();
    assert!(block.set_preferred(PreferredDevice::Device(1)).unwrap());
    assert_eq!(moved(&block, since), (1, 1, 1024, 1024));
    assert_eq!(values(&block), [9; 256]);
    set(&mut block, 0, 1);
    assert!(block.set_preferred(DEVICE).unwrap());
    assert_eq!(values(&block)[..2], [1, 9]);
    drop(block);
    assert_eq!(session.live_bytes(), 0);
    assert_eq!(session.faults(), Vec::<String>::new());
}

#[test]
fn moving_to_a_full_device_ends_on_the_host() {
    let Some(session) = common::fake_only() else {
        return;
    };
    let mut block = on_device(1024);
    kernel_fill(&mut block, &Stream::legacy(&device()), 9);
    session.memory_limit(1000);
    assert!(!block.set_preferred(PreferredDevice::Device(1)).unwrap());
    assert!(
        block
            .location()
            .to_string()
            .starts_with("Host (out of device memory: needs 4096 bytes")
    );
    assert_eq!(device().held().allocations, 0);
    assert_eq!(values(&block), [9; 1024]);
}

#[test]
fn moving_between_devices_leaves_leases_their_memory() {
    let Some(session) = common::fake_only() else {
        return;
    };
    let block = on_device(4);
    let lease = block.lease().unwrap();
    assert!(block.set_preferred(PreferredDevice::Device(1)).unwrap());
    assert!(!block.is_shared(), "the lease is of the old block");
    assert_eq!(
        session.peek(lease.ptr(), 16).unwrap(),
        bytemuck::cast_slice::<u32, u8>(&numbers(4))
    );
    drop(lease);
    assert_eq!(device().held().allocations, 0);
    assert_eq!(values(&block), numbers(4));
}

#[test]
fn a_clone_of_device_data_is_made_on_the_device() {
    let Some(driver) = common::gpu() else { return };
    let mut block = on_device(256);
    kernel_fill(&mut block, &Stream::legacy(&device()), 4);
    let since = block.transfers();
    let clone = block.try_clone().unwrap();
    assert_eq!(
        (moved(&block, since), moved(&clone, Default::default())),
        (NOTHING, NOTHING)
    );
    assert_eq!(
        (clone.preferred(), clone.residency()),
        (DEVICE, Residency::DeviceNewer)
    );
    set(&mut block, 0, 1);
    assert_eq!(values(&clone), [4; 256]);
    let clone = block.try_clone().unwrap();
    assert_eq!(clone.location().to_string(), CHANGED);
    assert_eq!(values(&clone), values(&block));
    if let Some(session) = driver.session() {
        session.fail_from("cuMemAllocFromPoolAsync", 1, 2);
        session.fail_from("cuMemAllocAsync", 1, 2);
        session.fail_from("cuMemAlloc_v2", 1, 2);
        assert!(block.update().unwrap());
        kernel_fill(&mut block, &Stream::legacy(&device()), 2);
        let clone = block.try_clone().unwrap();
        assert!(
            clone
                .location()
                .to_string()
                .starts_with("Host (out of device memory: needs 1024 bytes")
        );
        assert_eq!(values(&clone), [2; 256]);
    }
}
