//! Which devices there are and what is known about them.

use crate::common;
use crate::support::device;
use ulib_core::ErrorKind;
use ulib_device::sys::CUdevice_attribute as Attribute;
use ulib_device::{Device, Driver};

#[test]
fn every_device_has_a_name_and_memory() {
    let Some(_turn) = common::gpu() else { return };
    let count = Device::count().unwrap();
    assert!(count >= 1);
    assert_eq!(Device::all().len(), count as usize);
    for ordinal in 0..count {
        let device = Device::new(ordinal).unwrap();
        assert_eq!(device.ordinal(), ordinal);
        assert!(!device.name().is_empty());
        let memory = device.memory_info().unwrap();
        assert!(memory.free <= memory.total && memory.total > 0);
        assert!(device.total_bytes() > 0);
        assert!(device.multiprocessors() > 0);
        assert!(device.compute_capability() >= (6, 0));
    }
}

#[test]
fn the_software_driver_has_two_named_devices() {
    let Some(_session) = common::fake_only() else {
        return;
    };
    let names: Vec<_> = Device::all().iter().map(|device| device.name()).collect();
    assert_eq!(names, ["Fake GPU 0", "Fake GPU 1"]);
    assert_eq!(Device::new(0).unwrap().to_string(), "Device: Fake GPU 0");
    assert_eq!(Device::new(1).unwrap().to_string(), "Device 1: Fake GPU 1");
    assert_eq!(format!("{:?}", device()), "Device(0, \"Fake GPU 0\")");
}

#[test]
fn one_ordinal_is_one_device_on_every_thread() {
    let Some(_turn) = common::gpu() else { return };
    let threads: Vec<_> = (0..8)
        .map(|_| std::thread::spawn(|| Device::new(0).unwrap()))
        .collect();
    for thread in threads {
        let other = thread.join().unwrap();
        assert_eq!(other, device());
        assert!(std::ptr::eq(other.name(), device().name()));
    }
}

#[test]
fn an_ordinal_beyond_the_last_is_refused_with_both_numbers() {
    let Some(_turn) = common::gpu() else { return };
    let count = Device::count().unwrap();
    for ordinal in [count, 7000, u32::MAX] {
        let error = Device::new(ordinal).unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::InvalidArgument);
        let text = error.to_string();
        assert!(
            text.contains(&ordinal.to_string()) && text.contains(&count.to_string()),
            "{text}"
        );
    }
}

#[test]
fn identities_differ_between_devices() {
    let Some(_turn) = common::gpu() else { return };
    let mut uuids: Vec<_> = Device::all().iter().map(Device::uuid).collect();
    assert!(uuids.iter().all(|uuid| *uuid != [0; 16]));
    uuids.sort_unstable();
    uuids.dedup();
    assert_eq!(uuids.len(), Device::count().unwrap() as usize);
}

#[test]
fn the_pci_address_has_the_usual_form() {
    let Some(_turn) = common::gpu() else { return };
    let address = device().pci_bus_id().unwrap();
    let parts: Vec<_> = address.split([':', '.']).collect();
    assert_eq!(parts.len(), 4, "{address}");
    let hexadecimal = |part: &&str| part.chars().all(|c| c.is_ascii_hexdigit());
    assert!(parts.iter().all(hexadecimal), "{address}");
}

#[test]
fn attributes_by_number() {
    let Some(_turn) = common::gpu() else { return };
    let warp = device()
        .attribute(Attribute::CU_DEVICE_ATTRIBUTE_WARP_SIZE)
        .unwrap();
    assert_eq!(warp, 32);
    assert_eq!(device().limits().warp, 32);
    let error = device().attribute(Attribute(9999)).unwrap_err();
    assert!(
        matches!(
            error.kind(),
            ErrorKind::Driver {
                call: "cuDeviceGetAttribute",
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn peers() {
    let Some(session) = common::fake_only() else {
        return;
    };
    let (first, second) = (Device::new(0).unwrap(), Device::new(1).unwrap());
    assert!(first.can_access_peer(&first).unwrap());
    assert!(first.can_access_peer(&second).unwrap());
    session.peers(false);
    assert!(!first.can_access_peer(&second).unwrap());
    assert!(second.can_access_peer(&second).unwrap());
}

#[test]
fn the_driver_knows_its_version_and_file() {
    let Some(_turn) = common::gpu() else { return };
    let driver = Driver::get().unwrap();
    assert!(driver.version() >= 11_000);
    assert!(!driver.library().is_empty());
    assert_eq!(driver.device_count(), Device::count().unwrap());
}

#[test]
fn attributes_by_name() {
    let Some(turn) = common::gpu() else { return };
    assert_eq!(device().attribute_named("warp_size").unwrap(), 32);
    let all = device().attributes().unwrap();
    assert!(all.len() > 100);
    for (attribute, value) in &all {
        assert_eq!(device().attribute_named(attribute.name()).unwrap(), *value);
    }
    if turn.session().is_some() {
        // The software driver's device has neither.
        assert_eq!(device().attribute_named("cluster_launch").unwrap(), 0);
        assert_eq!(device().attribute_named("multiprocessor_count").unwrap(), 2);
    }
    let error = device().attribute_named("wings").unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::InvalidArgument);
    assert!(error.to_string().contains("\"wings\""), "{error}");
}

#[test]
fn only_attributes_that_the_driver_does_not_know_are_left_out() {
    let Some(session) = common::fake_only() else {
        return;
    };
    let device = device();
    let all = device.attributes().unwrap().len();
    for code in [1, 801] {
        session.fail("cuDeviceGetAttribute", 1, code);
        assert_eq!(device.attributes().unwrap().len(), all - 1);
    }
    session.fail("cuDeviceGetAttribute", 2, 999);
    let error = device.attributes().unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Driver { code: 999, .. }));
}

#[test]
fn devices_by_their_address() {
    let Some(_turn) = common::gpu() else { return };
    for device in Device::all() {
        let address = device.pci_bus_id().unwrap();
        assert_eq!(Device::by_pci_bus_id(&address).unwrap(), device);
        assert_eq!(
            Device::by_pci_bus_id(&address.to_lowercase()).unwrap(),
            device
        );
    }
    for nonsense in ["", "gpu", "FFFF:FF:FF.F", "0000:01:00.0\0"] {
        let error = Device::by_pci_bus_id(nonsense).unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::InvalidArgument, "{nonsense:?}");
        assert!(error.to_string().contains(&format!("{nonsense:?}")));
    }
}
