//! Every event of the table while somebody outside may write the device copy.

use crate::common;
use crate::support::{
    DEVICE, HOST, NOTHING, Outsider, device, kernel_fill, moved, numbers, on_device, on_host, set,
    value, values,
};
use ulib_core::{ErrorKind, Residency};
use ulib_device::Stream;
use ulib_device::block::Released;

/// Streams wait for a synchronise on the software driver, so that a missing one shows.
fn deferred(mode: &common::Mode) {
    if let Some(session) = mode.session() {
        session.deferred(true);
    }
}

#[test]
fn a_read_right_after_a_foreign_kernel_sees_what_it_wrote() {
    let Some(driver) = common::gpu() else { return };
    deferred(&driver);
    let block = on_device(1024);
    let outsider = Outsider::new();
    let lease = block.lease().unwrap();
    for round in 1..4 {
        outsider.fill(lease.ptr(), round, 1024);
        assert_eq!(value(&block, 512), round);
        outsider.fill(lease.ptr(), 10 * round, 1024);
        assert_eq!(values(&block), [10 * round; 1024]);
    }
    // The last kernel is queued before the lease ends, and is waited for all the same.
    outsider.fill(lease.ptr(), 77, 1024);
    drop(lease);
    assert_eq!(values(&block), [77; 1024]);
    assert_eq!(block.residency(), Residency::InSync);
}

#[test]
fn the_same_through_a_raw_export() {
    let Some(driver) = common::gpu() else { return };
    deferred(&driver);
    let block = on_device(64);
    let outsider = Outsider::new();
    let export = block.export().unwrap();
    assert_eq!(export.ordinal, 0);
    outsider.fill(export.ptr, 5, 64);
    assert_eq!(value(&block, 0), 5);
    outsider.fill(export.ptr + 128, 6, 1);
    block.end_exports().unwrap();
    assert!(!block.is_shared());
    assert_eq!(value(&block, 32), 6);
    assert_eq!(block.residency(), Residency::InSync);
    // Not shared any more: the next read is free.
    let since = block.transfers();
    assert_eq!(value(&block, 31), 5);
    assert_eq!(moved(&block, since), NOTHING);
}

#[test]
fn foreign_copies_between_two_blocks() {
    let Some(driver) = common::gpu() else { return };
    deferred(&driver);
    let (from, to) = (on_device(16), on_device(16));
    let mut from = from;
    set(&mut from, 3, 33);
    let outsider = Outsider::new();
    let (source, target) = (from.lease().unwrap(), to.lease().unwrap());
    outsider.copy(target.ptr(), source.ptr(), 64);
    assert_eq!(values(&to), values(&from));
    assert_eq!(value(&to, 3), 33);
}

#[test]
fn one_element_moves_only_its_bytes() {
    let Some(_driver) = common::gpu() else { return };
    let mut block = on_device(1024);
    let _lease = block.lease().unwrap();
    let since = block.transfers();
    assert_eq!(value(&block, 5), numbers(6)[5]);
    assert_eq!(moved(&block, since), (0, 1, 0, 4));
    set(&mut block, 5, 50);
    assert_eq!(moved(&block, since), (1, 1, 4, 4));
    assert_eq!(values(&block)[4..7], [numbers(5)[4], 50, numbers(7)[6]]);
    assert_eq!(moved(&block, since), (1, 2, 4, 4 + 4096));
}

#[test]
fn what_was_set_is_what_is_got() {
    let Some(driver) = common::gpu() else { return };
    deferred(&driver);
    let mut block = on_device(8);
    let outsider = Outsider::new();
    let lease = block.lease().unwrap();
    outsider.fill(lease.ptr(), 1, 8);
    set(&mut block, 2, 20);
    assert_eq!(value(&block, 2), 20);
    assert_eq!(outsider.read(lease.ptr(), 8), [1, 1, 20, 1, 1, 1, 1, 1]);

    outsider.fill(lease.ptr(), 2, 8);
    let mut bytes = block.write().unwrap();
    assert_eq!(
        bytemuck::cast_slice::<u8, u32>(&bytes),
        [2; 8],
        "fetched first"
    );
    bytes[4..8].copy_from_slice(&30_u32.to_ne_bytes());
    assert_eq!(
        outsider.read(lease.ptr(), 8),
        [2; 8],
        "written when the guard ends"
    );
    bytes.commit().unwrap();
    assert_eq!(outsider.read(lease.ptr(), 8), [2, 30, 2, 2, 2, 2, 2, 2]);
    assert_eq!(values(&block), [2, 30, 2, 2, 2, 2, 2, 2]);

    block.write().unwrap()[..4].copy_from_slice(&40_u32.to_ne_bytes());
    assert_eq!(
        outsider.read(lease.ptr(), 2),
        [40, 30],
        "dropping the guard is enough"
    );
    block
        .overwrite()
        .unwrap()
        .copy_from_slice(bytemuck::cast_slice(&[9_u32; 8]));
    assert_eq!(outsider.read(lease.ptr(), 8), [9; 8]);
    block.replace(bytemuck::cast_slice(&[8_u32; 8])).unwrap();
    assert_eq!(
        outsider.read(lease.ptr(), 8),
        [8; 8],
        "the same length reaches those who share"
    );
    assert_eq!(block.residency(), Residency::DeviceNewer);
}

#[test]
fn a_foreign_kernel_does_not_land_on_top_of_a_later_write() {
    let Some(driver) = common::gpu() else { return };
    deferred(&driver);
    let mut block = on_device(8);
    let outsider = Outsider::new();
    let lease = block.lease().unwrap();
    outsider.fill(lease.ptr(), 1, 8);
    block
        .overwrite()
        .unwrap()
        .copy_from_slice(bytemuck::cast_slice(&[5_u32; 8]));
    assert_eq!(values(&block), [5; 8]);
    // Not even when the lease ended in between.
    outsider.fill(lease.ptr(), 2, 8);
    drop(lease);
    block
        .overwrite()
        .unwrap()
        .copy_from_slice(bytemuck::cast_slice(&[6_u32; 8]));
    assert!(block.update().unwrap());
    kernel_fill(&mut block, &Stream::non_blocking(&device()).unwrap(), 7);
    assert_eq!(values(&block), [7; 8]);
}

#[test]
fn probing_for_a_pointer_again_costs_nothing() {
    let Some(driver) = common::gpu() else { return };
    let block = on_device(256);
    let first = block.export().unwrap();
    let since = block.transfers();
    if let Some(session) = driver.session() {
        session.reset_counts();
    }
    for _ in 0..10 {
        assert_eq!(block.export().unwrap(), first);
    }
    assert_eq!(moved(&block, since), NOTHING);
    if let Some(session) = driver.session() {
        assert_eq!(session.total_calls(), 0, "not even a call of the driver");
    }
    // A host read between two probes does not cost an upload either.
    let _ = values(&block);
    assert_eq!(block.export().unwrap(), first);
    assert_eq!(moved(&block, since).0, 0);
    assert_eq!(block.lease().unwrap().ptr(), first.ptr);
}

#[test]
fn a_pointer_is_given_after_our_own_pending_work() {
    let Some(session) = common::fake_only() else {
        return;
    };
    session.deferred(true);
    let stream = Stream::non_blocking(&device()).unwrap();
    let mut block = on_device(4);
    kernel_fill(&mut block, &stream, 3);
    assert!(session.pending() > 0);
    let lease = block.lease().unwrap();
    assert_eq!(session.peek(lease.ptr(), 4).unwrap(), 3_u32.to_ne_bytes());
    drop(lease);
    kernel_fill(&mut block, &stream, 4);
    let export = block.export().unwrap();
    assert_eq!(session.peek(export.ptr, 4).unwrap(), 4_u32.to_ne_bytes());
    block.end_exports().unwrap();
    kernel_fill(&mut block, &stream, 5);
    assert!(block.update().unwrap());
    assert_eq!(session.peek(export.ptr, 4).unwrap(), 5_u32.to_ne_bytes());
}

#[test]
fn a_pointer_needs_the_preference() {
    let Some(_driver) = common::gpu() else { return };
    let block = on_host(4);
    for error in [block.lease().unwrap_err(), block.export().unwrap_err()] {
        assert_eq!(*error.kind(), ErrorKind::Residency);
        assert!(
            error.to_string().ends_with("the preferred device is Host"),
            "{error}"
        );
    }
    // A change on the host goes up with the pointer.
    let mut block = on_device(4);
    set(&mut block, 0, 1);
    let since = block.transfers();
    let lease = block.lease().unwrap();
    assert_eq!(moved(&block, since), (1, 0, 16, 0));
    assert_eq!(Outsider::new().read(lease.ptr(), 1), [1]);
}

#[test]
fn releasing_under_a_lease_brings_home_now_and_frees_when_it_ends() {
    let Some(driver) = common::gpu() else { return };
    deferred(&driver);
    let block = on_device(1024);
    let outsider = Outsider::new();
    let (one, two) = (block.lease().unwrap(), block.lease().unwrap());
    assert_eq!(block.leases(), 2);
    outsider.fill(one.ptr(), 5, 1024);
    assert_eq!(block.release_device().unwrap(), Released::WhenLeasesEnd(2));
    assert!(!block.is_shared());
    assert_eq!(values(&block), [5; 1024]);
    assert_eq!(device().held().bytes, 4096, "the leased block lives");
    outsider.fill(one.ptr(), 6, 1024);
    assert_eq!(values(&block), [5; 1024], "and is not ours any more");
    assert!(block.update().unwrap());
    assert_eq!(outsider.read(two.ptr(), 2), [6, 6]);
    drop((one, two));
    assert_eq!(device().held().bytes, 4096, "the new one");
    if let Some(session) = driver.session() {
        assert_eq!(session.live_bytes(), 4096);
        assert_eq!(session.faults(), Vec::<String>::new());
    }
}

#[test]
fn releasing_says_what_leases_of_earlier_copies_hold() {
    let Some(_driver) = common::gpu() else { return };
    let mut block = on_device(1024);
    let first = block.lease().unwrap();
    block.resize(8).unwrap();
    assert!(block.update().unwrap());
    let second = block.lease().unwrap();
    let raw = block.export().unwrap();
    block.resize(16).unwrap();
    assert_eq!(raw.ptr, second.ptr());
    assert!(block.update().unwrap());
    let third = block.lease().unwrap();
    assert_eq!(block.release_device().unwrap(), Released::WhenLeasesEnd(3));
    drop(second);
    assert_eq!(block.release_device().unwrap(), Released::WhenLeasesEnd(2));
    assert!(block.update().unwrap());
    drop(third);
    assert_eq!(block.release_device().unwrap(), Released::WhenLeasesEnd(1));
    assert_eq!(device().held().bytes, 4096);
    drop(first);
    assert_eq!(device().held().allocations, 0);
    let released = block.release_device().unwrap();
    assert_eq!(
        (released, released.is_complete()),
        (Released::Nothing, true)
    );
}

#[test]
fn preferring_the_host_under_a_lease() {
    let Some(_driver) = common::gpu() else { return };
    let block = on_device(4);
    let outsider = Outsider::new();
    let lease = block.lease().unwrap();
    outsider.fill(lease.ptr(), 5, 4);
    assert!(block.set_preferred(HOST).unwrap());
    assert_eq!(values(&block), [5; 4]);
    drop(lease);
    assert_eq!(device().held().allocations, 0);
}

#[test]
fn releasing_ends_raw_exports() {
    let Some(driver) = common::gpu() else { return };
    deferred(&driver);
    let block = on_device(4);
    let export = block.export().unwrap();
    Outsider::new().fill(export.ptr, 5, 4);
    assert_eq!(block.release_device().unwrap(), Released::Freed);
    assert!(!block.is_exported());
    assert_eq!(values(&block), [5; 4]);
    assert_eq!(device().held().allocations, 0);
    if let Some(session) = driver.session() {
        assert_eq!(
            session.peek(export.ptr, 4),
            None,
            "the address is invalid now"
        );
        assert_eq!(session.faults(), Vec::<String>::new());
    }
}

#[test]
fn dropping_the_block_leaves_the_lease_its_memory() {
    let Some(driver) = common::gpu() else { return };
    deferred(&driver);
    let block = on_device(4);
    let lease = block.lease().unwrap();
    drop(block);
    let outsider = Outsider::new();
    outsider.fill(lease.ptr(), 9, 4);
    assert_eq!(outsider.read(lease.ptr(), 4), [9; 4]);
    outsider.fill(lease.ptr(), 8, 4);
    // On another thread, while a kernel is queued.
    std::thread::spawn(move || drop(lease)).join().unwrap();
    assert_eq!(device().held().allocations, 0);
    if let Some(session) = driver.session() {
        assert_eq!(session.live_bytes(), 0);
        assert_eq!(
            session.faults(),
            Vec::<String>::new(),
            "the kernel was over before the memory went"
        );
    }
}

#[test]
fn dropping_an_exported_block_waits_for_its_users() {
    let Some(session) = common::fake_only() else {
        return;
    };
    session.deferred(true);
    let _ = device().errors();
    let block = on_device(4);
    let export = block.export().unwrap();
    Outsider::new().fill(export.ptr, 9, 4);
    drop(block);
    assert_eq!(session.live_bytes(), 0);
    assert_eq!(session.faults(), Vec::<String>::new());
    assert!(device().errors().is_empty());
}

#[test]
fn preferring_the_device_again_changes_nothing() {
    let Some(_driver) = common::gpu() else { return };
    let block = on_device(4);
    let lease = block.lease().unwrap();
    let since = block.transfers();
    assert!(block.set_preferred(DEVICE).unwrap());
    assert!(block.update().unwrap());
    assert_eq!(moved(&block, since), NOTHING);
    assert_eq!(block.lease().unwrap().ptr(), lease.ptr());
}
