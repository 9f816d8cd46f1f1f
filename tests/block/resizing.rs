//! Changing the number of bytes, alone and while others look at the memory.

use crate::common;
use crate::support::{
    CHANGED, DEVICE, NOTHING, Outsider, device, kernel_fill, moved, numbers, on_device, on_host,
    set, value, values,
};
use ulib_core::ErrorKind;
use ulib_device::Stream;
use ulib_device::block::Block;

#[test]
fn growing_keeps_and_adds_zeros() {
    let mut block = on_host(4);
    block.resize(24).unwrap();
    assert_eq!(values(&block)[..4], numbers(4));
    assert_eq!(values(&block)[4..], [0, 0]);
    block.resize(4).unwrap();
    block.resize(12).unwrap();
    assert_eq!(
        values(&block),
        [numbers(1)[0], 0, 0],
        "what was cut off does not come back"
    );
    block.clear().unwrap();
    assert!(block.is_empty());
    block.append(&7_u32.to_ne_bytes()).unwrap();
    assert_eq!(values(&block), [7]);
}

#[test]
fn appending_many_times() {
    let mut block = Block::zeroed(0).unwrap();
    for n in 0..1000_u32 {
        block.append(&n.to_ne_bytes()).unwrap();
    }
    assert_eq!(values(&block), (0..1000).collect::<Vec<_>>());
    block.append(&[]).unwrap();
    assert_eq!(block.len(), 4000);
    block.replace(vec![1, 2]).unwrap();
    assert_eq!(&*block.read().unwrap(), [1, 2]);
}

#[test]
fn lengths_that_cannot_be_are_errors_and_change_nothing() {
    let mut block = on_host(4);
    assert_eq!(
        *block.resize(usize::MAX).unwrap_err().kind(),
        ErrorKind::Overflow
    );
    assert!(matches!(
        block.resize(1 << 60).unwrap_err().kind(),
        ErrorKind::OutOfMemory { .. }
    ));
    assert_eq!(values(&block), numbers(4));
}

#[test]
fn growing_device_data_brings_it_home() {
    let Some(_driver) = common::gpu() else { return };
    let mut block = on_device(4);
    kernel_fill(&mut block, &Stream::legacy(&device()), 2);
    let since = block.transfers();
    block.append(&9_u32.to_ne_bytes()).unwrap();
    assert_eq!(moved(&block, since), (0, 1, 0, 16));
    assert_eq!(block.location().to_string(), CHANGED);
    assert_eq!(device().held().allocations, 0);
    assert_eq!(values(&block), [2, 2, 2, 2, 9]);
    assert!(block.update().unwrap());
    assert_eq!(moved(&block, since), (1, 1, 20, 16));
    // New content of another length needs nothing of the old one.
    kernel_fill(&mut block, &Stream::legacy(&device()), 3);
    let since = block.transfers();
    block.replace(bytemuck::cast_slice(&[1_u32, 2])).unwrap();
    assert_eq!(moved(&block, since), NOTHING);
    assert_eq!(values(&block), [1, 2]);
}

#[test]
fn a_lease_keeps_the_old_block() {
    let Some(driver) = common::gpu() else { return };
    let mut block = on_device(4);
    let outsider = Outsider::new();
    let lease = block.lease().unwrap();
    outsider.fill(lease.ptr(), 5, 4);
    block.append(&6_u32.to_ne_bytes()).unwrap();
    assert_eq!(
        values(&block),
        [5, 5, 5, 5, 6],
        "the foreign write was fetched"
    );
    assert!(!block.is_shared());
    assert!(block.update().unwrap());
    outsider.fill(lease.ptr(), 7, 4);
    assert_eq!(
        outsider.read(lease.ptr(), 4),
        [7; 4],
        "the old view sees the old block"
    );
    assert_eq!(values(&block), [5, 5, 5, 5, 6]);
    assert_eq!(device().held().allocations, 2);
    drop(lease);
    assert_eq!(device().held().allocations, 1);
    if let Some(session) = driver.session() {
        assert_eq!(session.faults(), Vec::<String>::new());
    }
}

#[test]
fn a_raw_exported_block_lives_until_the_object_is_dropped() {
    let Some(_driver) = common::gpu() else { return };
    let mut block = on_device(4);
    let outsider = Outsider::new();
    let old = block.export().unwrap();
    block.resize(32).unwrap();
    assert!(!block.is_exported(), "the new block was given to nobody");
    outsider.fill(old.ptr, 7, 4);
    assert_eq!(outsider.read(old.ptr, 4), [7; 4]);
    assert_eq!(values(&block)[..4], numbers(4));
    assert_ne!(block.export().unwrap().ptr, old.ptr);
    block.replace(vec![0; 8]).unwrap();
    assert!(block.update().unwrap());
    assert_eq!(device().held().allocations, 3);
    drop(block);
    assert_eq!(device().held().allocations, 0);
}

#[test]
fn ending_exports_or_releasing_frees_what_was_kept() {
    let Some(_driver) = common::gpu() else { return };
    for release in [false, true] {
        let mut block = on_device(4);
        block.export().unwrap();
        block.resize(32).unwrap();
        assert_eq!(device().held().allocations, 1);
        if release {
            assert_eq!(
                block.release_device().unwrap(),
                ulib_device::block::Released::Freed
            );
        } else {
            block.end_exports().unwrap();
        }
        assert_eq!(device().held().allocations, 0);
    }
}

#[test]
fn not_under_a_host_view() {
    let mut block = on_host(4);
    let one = block.export_host().unwrap();
    let error = block.resize(32).unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Busy);
    assert_eq!(
        error.to_string(),
        "resize: not possible now: a host view is in use"
    );
    let two = block.export_host().unwrap();
    assert_eq!(block.host_exports(), 2);
    let error = block.append(&[1]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "append: not possible now: 2 host views are in use"
    );
    assert_eq!(*block.replace(vec![1]).unwrap_err().kind(), ErrorKind::Busy);
    drop((one, two));
    block.append(&[1]).unwrap();
    assert_eq!(block.len(), 17);
}

#[test]
fn out_of_memory_after_growing_stays_on_the_host() {
    let Some(session) = common::fake_only() else {
        return;
    };
    let mut block = on_device(1024);
    session.memory_limit(6000);
    block.resize(8192).unwrap();
    assert!(!block.update().unwrap());
    let sentence = block.location().to_string();
    assert!(
        sentence.starts_with("Host (out of device memory: needs 8192 bytes, "),
        "{sentence}"
    );
    let error = block.lease().unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::OutOfMemory { needs: 8192, .. }),
        "{error}"
    );
    assert_eq!(values(&block)[..1024], numbers(1024));
    session.memory_limit(1 << 20);
    assert!(block.update().unwrap(), "a later try works");
    assert_eq!(block.preferred(), DEVICE);
    assert!(block.is_device_resident());
}

/// Bytes of physical memory that this process has, or nothing where that is not said.
#[cfg(target_os = "linux")]
fn resident_bytes() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    4096 * pages.split(' ').nth(1).unwrap().parse::<usize>().unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn growing_touches_only_what_has_content() {
    const LEN: usize = 1 << 30;
    let mut block = on_host(1024);
    let before = resident_bytes();
    block.resize(LEN).unwrap();
    // Other tests of this process use a few megabytes meanwhile.
    let grown = resident_bytes().saturating_sub(before);
    assert!(grown < LEN / 4, "{grown} of {LEN} bytes were touched");
    assert_eq!(value(&block, 1023), numbers(1024)[1023]);
    assert_eq!((value(&block, 1024), value(&block, LEN / 4 - 1)), (0, 0));
    // Without a fresh buffer what was there before does not come back.
    block.resize(LEN - 4).unwrap();
    set(&mut block, LEN / 4 - 2, 7);
    block.resize(LEN - 8).unwrap();
    block.resize(LEN).unwrap();
    assert_eq!(value(&block, LEN / 4 - 2), 0);
    block.append(&[1, 0, 0, 0]).unwrap();
    assert_eq!((value(&block, LEN / 4 - 1), value(&block, LEN / 4)), (0, 1));
}
