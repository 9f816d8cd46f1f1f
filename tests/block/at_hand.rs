//! The accesses that take no lock: when they answer, when they decline, and that they leave the block as the others do.

use crate::common;
use crate::support::{
    CHANGED, HOST, Outsider, device, kernel_fill, moved, numbers, on_device, on_host, value, values,
};
use ulib_core::{ErrorKind, Residency};
use ulib_device::Stream;
use ulib_device::block::Block;

fn get(block: &mut Block, index: usize) -> Option<u32> {
    let mut bytes = [0xEE; 4];
    let here = block
        .read_at_hand(4 * index, &mut bytes)
        .expect("inside the block");
    if !here {
        assert_eq!(bytes, [0xEE; 4], "nothing was copied");
    }
    here.then(|| u32::from_ne_bytes(bytes))
}

fn put(block: &mut Block, index: usize, value: u32) -> bool {
    block
        .write_at_hand(4 * index, &value.to_ne_bytes())
        .expect("inside the block")
}

#[test]
fn what_only_the_host_has_is_at_hand() {
    let _driver = common::driver();
    let mut block = on_host(4);
    assert_eq!(get(&mut block, 3), Some(numbers(4)[3]));
    assert!(put(&mut block, 3, 9));
    assert_eq!(get(&mut block, 3), Some(9));
    assert_eq!(values(&block)[..3], numbers(4)[..3]);
    assert_eq!(value(&block, 3), 9);
    assert_eq!(block.residency(), Residency::HostNewer);
}

#[test]
fn what_is_in_sync_is_at_hand_and_a_change_leaves_the_host_newer() {
    let Some(driver) = common::gpu() else { return };
    let mut block = on_device(4);
    let since = block.transfers();
    if let Some(session) = driver.session() {
        session.reset_counts();
    }
    assert_eq!(get(&mut block, 1), Some(numbers(4)[1]));
    assert_eq!(
        block.residency(),
        Residency::InSync,
        "reading changes nothing"
    );
    assert!(put(&mut block, 1, 7));
    if let Some(session) = driver.session() {
        assert_eq!(session.total_calls(), 0);
    }
    assert_eq!(moved(&block, since), (0, 0, 0, 0));
    assert_eq!(block.residency(), Residency::HostNewer);
    assert_eq!(block.location().to_string(), CHANGED);
    assert!(block.update().unwrap());
    kernel_fill(&mut block, &Stream::legacy(&device()), 5);
    assert_eq!(
        values(&block),
        [5; 4],
        "the device copy was uploaded and used"
    );
}

#[test]
fn what_the_device_has_is_not_at_hand() {
    let Some(_driver) = common::gpu() else { return };
    let mut block = on_device(4);
    kernel_fill(&mut block, &Stream::legacy(&device()), 5);
    assert_eq!(get(&mut block, 0), None);
    assert!(!put(&mut block, 0, 1));
    assert_eq!(block.residency(), Residency::DeviceNewer);
    assert_eq!(values(&block), [5; 4]);
    assert_eq!(get(&mut block, 0), Some(5), "it came home");
}

#[test]
fn what_others_may_change_is_not_at_hand() {
    let Some(_driver) = common::gpu() else { return };
    let mut block = on_device(4);
    let lease = block.lease().unwrap();
    assert_eq!(get(&mut block, 0), None);
    assert!(!put(&mut block, 0, 1));
    Outsider::new().fill(lease.ptr(), 6, 4);
    drop(lease);
    // Not before their work was waited for.
    assert_eq!(get(&mut block, 0), None);
    assert!(!put(&mut block, 0, 1));
    assert_eq!(values(&block), [6; 4]);
    assert_eq!(get(&mut block, 0), Some(6));
}

#[test]
fn what_a_host_view_has_is_not_at_hand() {
    let _driver = common::driver();
    let mut block = on_host(4);
    let view = block.host_view().unwrap();
    assert_eq!(get(&mut block, 0), None);
    assert!(!put(&mut block, 0, 1));
    let mut bytes = [0; 4];
    let error = block.read_at(0, &mut bytes).unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::Busy);
    drop(view);
    assert_eq!(get(&mut block, 0), Some(numbers(4)[0]));
    assert!(put(&mut block, 0, 1));
}

#[test]
fn an_export_shows_what_was_put() {
    let _driver = common::driver();
    let mut block = on_host(4);
    let export = block.export_host().unwrap();
    let here = put(&mut block, 2, 3);
    #[allow(unsafe_code, reason = "looks through the address that was given away")]
    // SAFETY: the export keeps the memory, and nothing writes it during this expression.
    let shown = unsafe { export.as_ptr().add(8).cast::<u32>().read() };
    assert!(here);
    assert_eq!(shown, 3);
}

#[test]
fn an_address_is_at_hand_once_nothing_has_to_be_moved_or_waited_for() {
    let Some(driver) = common::gpu() else { return };
    let mut block = on_device(4);
    let since = block.transfers();
    if let Some(session) = driver.session() {
        session.reset_counts();
    }
    assert!(!block.is_shared());
    let first = block.export_at_hand().expect("in sync, and nothing runs");
    assert!(block.is_shared() && block.is_exported());
    assert_eq!(block.residency(), Residency::DeviceNewer);
    let again = block.export_at_hand().expect("shared, and nothing runs");
    assert_eq!(block.export().unwrap(), first, "the same the long way");
    assert_eq!(again, first);
    if let Some(session) = driver.session() {
        assert_eq!(session.total_calls(), 0);
    }
    // What it is given for: the host finds what was written through it, without being told.
    Outsider::new().fill(first.ptr, 8, 4);
    assert_eq!(values(&block), [8; 4]);
    Outsider::new().fill(first.ptr, 9, 4);
    block.end_exports().unwrap();
    assert!(!block.is_exported());
    assert_eq!(values(&block), [9; 4], "queued before the end");
    assert_eq!(moved(&block, since), (0, 2, 0, 32));
    kernel_fill(&mut block, &Stream::legacy(&device()), 5);
    assert_eq!(block.export_at_hand(), None, "our own work may still run");
    assert!(!block.is_exported());
    assert_eq!(block.export().unwrap(), first, "waited for");
    assert_eq!(block.export_at_hand(), Some(first));
}

#[test]
fn an_address_is_not_at_hand_where_the_host_has_the_newer_copy() {
    let Some(_driver) = common::gpu() else { return };
    let mut block = on_device(4);
    assert!(put(&mut block, 0, 7));
    assert_eq!(block.export_at_hand(), None);
    assert!(!block.is_shared());
    assert_eq!(block.residency(), Residency::HostNewer);
    assert!(block.update().unwrap());
    let exported = block.export_at_hand().expect("uploaded and waited for");
    assert_eq!(Outsider::new().read(exported.ptr, 1), [7]);
}

#[test]
fn an_address_is_not_at_hand_on_the_host_nor_beside_a_host_view() {
    let driver = common::driver();
    assert_eq!(on_host(4).export_at_hand(), None);
    if !driver.has_device() {
        return;
    }
    let block = on_device(4);
    let view = block.host_view().unwrap();
    assert_eq!(block.export_at_hand(), None);
    drop(view);
    assert_eq!(block.export_at_hand(), None, "the host has written");
    assert!(!block.is_exported());
    assert!(block.set_preferred(HOST).unwrap());
    assert_eq!(block.export_at_hand(), None);
}

#[test]
fn what_is_outside_is_an_error_as_for_the_others() {
    let _driver = common::driver();
    let mut block = on_host(4);
    for (offset, len) in [(16, 1), (13, 4), (usize::MAX, 2)] {
        let mut bytes = vec![0; len];
        let found = block.read_at_hand(offset, &mut bytes).unwrap_err();
        let known = block.read_at(offset, &mut bytes).unwrap_err();
        assert_eq!(found.to_string(), known.to_string());
        let found = block.write_at_hand(offset, &bytes).unwrap_err();
        let known = block.write_at(offset, &bytes).unwrap_err();
        assert_eq!(found.to_string(), known.to_string());
    }
    assert!(block.read_at_hand(16, &mut []).unwrap());
    assert!(block.write_at_hand(16, &[]).unwrap());
}
