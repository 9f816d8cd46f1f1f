//! The truth table: preference, state, `is_device_resident`, the sentence. Row by row, shared and not.

use std::sync::Arc;

use crate::common;
use crate::support::{
    CHANGED, DEVICE, HOST, RELEASED, device, kernel_fill, on_device, on_host, set, values,
};
use ulib_core::{HostOnly, PreferredDevice, Residency};
use ulib_device::Stream;
use ulib_device::block::Block;

/// One row: state, resident, sentence.
fn assert_row(block: &Block, state: Residency, resident: bool, sentence: &str) {
    assert_eq!(block.residency(), state);
    assert_eq!(block.is_device_resident(), resident, "{state:?}");
    assert_eq!(block.location().to_string(), sentence);
}

fn named() -> String {
    format!("Device: {}", device().name())
}

#[test]
fn host_preferred_and_never_elsewhere() {
    let _driver = common::driver();
    let mut block = on_host(8);
    assert_row(&block, Residency::HostNewer, false, "Host");
    set(&mut block, 0, 1);
    assert_row(&block, Residency::HostNewer, false, "Host");
    assert!(block.update().unwrap(), "it is where it is preferred");
    assert_row(&block, Residency::HostNewer, false, "Host");
}

#[test]
fn host_preferred_after_the_device() {
    let Some(_driver) = common::gpu() else { return };
    let block = on_device(8);
    assert!(block.set_preferred(HOST).unwrap());
    assert_row(&block, Residency::HostNewer, false, "Host");
}

#[test]
fn host_preferred_while_the_data_cannot_come_home() {
    let Some(session) = common::fake_only() else {
        return;
    };
    for shared in [false, true] {
        let mut block = on_device(8);
        kernel_fill(&mut block, &Stream::legacy(&device()), 5);
        let lease = shared.then(|| block.lease().unwrap());
        session.fail("cuMemcpyDtoHAsync_v2", 1, 719);
        block.set_preferred(HOST).unwrap_err();
        assert_eq!(block.preferred(), HOST, "always recorded");
        assert_row(&block, Residency::DeviceNewer, false, &named());
        session.fail("cuMemcpyDtoHAsync_v2", 1, 719);
        block.update().unwrap_err();
        assert_row(&block, Residency::DeviceNewer, false, &named());
        assert_eq!(values(&block), [5; 8], "and not lost");
        if lease.is_none() {
            assert_row(&block, Residency::InSync, false, "Host");
        } else {
            assert_row(&block, Residency::DeviceNewer, false, &named());
            assert!(block.update().unwrap(), "brought home");
            assert_row(&block, Residency::HostNewer, false, "Host");
            assert_eq!(values(&block), [5; 8]);
        }
        drop(lease);
        assert!(block.set_preferred(HOST).unwrap());
        assert_row(&block, Residency::HostNewer, false, "Host");
    }
}

#[test]
fn another_device_preferred_while_the_data_cannot_leave_the_first() {
    let Some(session) = common::fake_only() else {
        return;
    };
    for elsewhere in [PreferredDevice::Device(7), PreferredDevice::Device(1)] {
        let mut block = on_device(8);
        kernel_fill(&mut block, &Stream::legacy(&device()), 5);
        session.fail_any_from(1, 719);
        block.set_preferred(elsewhere).unwrap_err();
        assert_eq!(block.preferred(), elsewhere, "always recorded");
        assert_row(&block, Residency::DeviceNewer, false, &named());
        block.update().unwrap_err();
        assert_row(&block, Residency::DeviceNewer, false, &named());
        session.fail_nothing();
        assert_eq!(values(&block), [5; 8], "and not lost");
    }
}

#[test]
fn device_preferred_in_sync() {
    let Some(_driver) = common::gpu() else { return };
    let block = on_device(8);
    assert_row(&block, Residency::InSync, true, &named());
    let _ = values(&block);
    assert_row(&block, Residency::InSync, true, &named());
}

#[test]
fn device_preferred_and_device_newer() {
    let Some(_driver) = common::gpu() else { return };
    let mut block = on_device(8);
    kernel_fill(&mut block, &Stream::legacy(&device()), 5);
    assert_row(&block, Residency::DeviceNewer, true, &named());
    let _ = values(&block);
    assert_row(&block, Residency::InSync, true, &named());
}

#[test]
fn device_preferred_and_shared_by_a_lease() {
    let Some(_driver) = common::gpu() else { return };
    let mut block = on_device(8);
    let lease = block.lease().unwrap();
    assert_row(&block, Residency::DeviceNewer, true, &named());
    let _ = values(&block);
    assert_row(&block, Residency::DeviceNewer, true, &named());
    set(&mut block, 0, 1);
    assert_row(&block, Residency::DeviceNewer, true, &named());
    drop(lease);
    assert_row(&block, Residency::DeviceNewer, true, &named());
    let _ = values(&block);
    assert_row(&block, Residency::InSync, true, &named());
}

#[test]
fn device_preferred_and_shared_by_a_raw_export() {
    let Some(_driver) = common::gpu() else { return };
    let mut block = on_device(8);
    block.export().unwrap();
    assert_row(&block, Residency::DeviceNewer, true, &named());
    set(&mut block, 0, 1);
    let _ = values(&block);
    assert_row(&block, Residency::DeviceNewer, true, &named());
    block.end_exports().unwrap();
    set(&mut block, 0, 2);
    assert_row(&block, Residency::HostNewer, false, CHANGED);
}

#[test]
fn device_preferred_and_host_newer() {
    let Some(_driver) = common::gpu() else { return };
    let mut block = on_device(8);
    set(&mut block, 0, 1);
    assert_row(&block, Residency::HostNewer, false, CHANGED);
    assert!(block.can_use_device());
    assert!(block.update().unwrap());
    assert_row(&block, Residency::InSync, true, &named());
    let _ = block.release_device().unwrap();
    assert_row(&block, Residency::HostNewer, false, RELEASED);
    set(&mut block, 0, 2);
    assert_row(&block, Residency::HostNewer, false, RELEASED);
    assert!(block.update().unwrap());
    block.resize(64).unwrap();
    assert_row(&block, Residency::HostNewer, false, CHANGED);
}

#[test]
fn device_preferred_and_out_of_memory() {
    let Some(session) = common::fake_only() else {
        return;
    };
    session.memory_limit(1024);
    let block = on_host(1024);
    assert!(!block.set_preferred(DEVICE).unwrap());
    let sentence = block.location().to_string();
    assert!(
        sentence.starts_with("Host (out of device memory: needs 4096 bytes, "),
        "{sentence}"
    );
    assert!(sentence.ends_with(" bytes free)"), "{sentence}");
    assert_row(&block, Residency::HostNewer, false, &sentence);
    assert!(
        block.can_use_device(),
        "the device as such could be honoured"
    );
}

#[test]
fn device_preferred_that_does_not_exist() {
    let Some(_session) = common::fake_only() else {
        return;
    };
    let sentence = "Host (no device 7: this machine has 2 devices)";
    let block = on_host(8);
    assert!(!block.set_preferred(PreferredDevice::Device(7)).unwrap());
    assert_row(&block, Residency::HostNewer, false, sentence);
    assert!(!block.can_use_device());

    // Coming from a device that does exist, and with somebody looking at it.
    let mut block = on_device(8);
    kernel_fill(&mut block, &Stream::legacy(&device()), 5);
    let _lease = block.lease().unwrap();
    assert!(!block.set_preferred(PreferredDevice::Device(7)).unwrap());
    assert_row(&block, Residency::HostNewer, false, sentence);
    assert_eq!(values(&block), [5; 8]);
}

#[test]
fn device_preferred_and_the_policy_says_no() {
    let Some(_driver) = common::gpu() else { return };
    let block = on_host(8);
    block.set_policy(Arc::new(HostOnly));
    assert!(!block.set_preferred(DEVICE).unwrap());
    assert_row(
        &block,
        Residency::HostNewer,
        false,
        "Host (kept on the host by the placement policy)",
    );
    assert!(!block.can_use_device());
    assert!(block.target_device().is_none());
}

#[test]
fn the_second_device_is_named_with_its_ordinal() {
    let Some(_session) = common::fake_only() else {
        return;
    };
    let block = on_host(8);
    assert!(block.set_preferred(PreferredDevice::Device(1)).unwrap());
    assert_row(&block, Residency::InSync, true, "Device 1: Fake GPU 1");
}

#[test]
fn an_empty_block_has_a_place_too() {
    let Some(_driver) = common::gpu() else { return };
    let block = Block::zeroed(0).unwrap();
    assert!(block.set_preferred(DEVICE).unwrap());
    assert_row(&block, Residency::InSync, true, &named());
    assert_eq!(block.export().unwrap().ptr, 0);
    assert_eq!(block.lease().unwrap().len(), 0);
    assert!(block.read().unwrap().is_empty());
    let _ = block.release_device().unwrap();
    assert_eq!(
        block.transfers(),
        ulib_device::transfers::Transfers::default()
    );
}
