//! Asynchronous copies that own their buffer.

use ulib_core::ErrorKind;
use ulib_device::copy;
use ulib_device::memory::DeviceBytes;
use ulib_device::pinned::PinnedPool;

use crate::setup::{card, pattern};

#[test]
fn the_buffer_comes_back_filled() {
    let Some(card) = card() else { return };
    if let Some(fake) = card.fake() {
        fake.deferred(true);
    }
    let bytes = pattern(100_000, 1);
    let device = DeviceBytes::allocate(&card.stream, 100_010).unwrap();
    let mut up = PinnedPool::global().acquire(bytes.len()).unwrap();
    up.copy_from_slice(&bytes);
    let up = copy::upload_async(&device, 10, up, &card.stream).unwrap();
    let down = PinnedPool::global().acquire(bytes.len()).unwrap();
    let down = copy::download_async(&device, 10, down, &card.stream).unwrap();
    if card.fake().is_some() {
        assert!(!down.is_done().unwrap(), "it was only queued");
    }
    let down = down.wait().unwrap();
    assert!(*down == *bytes);
    assert!(up.is_done().unwrap());
    assert_eq!(up.wait().unwrap().len(), bytes.len());
}

#[test]
fn dropping_waits_before_the_buffer_is_used_again() {
    let Some(card) = card() else { return };
    if let Some(fake) = card.fake() {
        fake.deferred(true);
    }
    let device = DeviceBytes::allocate(&card.stream, 8192).unwrap();
    let bytes = pattern(8192, 2);
    let mut buffer = PinnedPool::global().acquire(8192).unwrap();
    buffer.copy_from_slice(&bytes);
    drop(copy::upload_async(&device, 0, buffer, &card.stream).unwrap());
    // Most likely the same buffer.
    PinnedPool::global().acquire(8192).unwrap().fill(0);
    let mut back = vec![0; 8192];
    copy::download(&device, 0, &mut back, &card.stream).unwrap();
    assert!(back == bytes);
}

#[test]
fn the_device_memory_may_go_first() {
    let Some(card) = card() else { return };
    if let Some(fake) = card.fake() {
        fake.deferred(true);
    }
    let device = DeviceBytes::allocate(&card.stream, 4096).unwrap();
    copy::upload(&device, 0, &pattern(4096, 3), &card.stream).unwrap();
    let buffer = PinnedPool::global().acquire(4096).unwrap();
    let down = copy::download_async(&device, 0, buffer, &card.stream).unwrap();
    drop(device);
    assert!(*down.wait().unwrap() == *pattern(4096, 3));
    if let Some(fake) = card.fake() {
        assert_eq!(fake.faults(), Vec::<String>::new());
    }
}

#[test]
fn bounds_are_checked_and_nothing_is_a_length() {
    let Some(card) = card() else { return };
    let device = DeviceBytes::allocate(&card.stream, 16).unwrap();
    let buffer = |len| PinnedPool::global().acquire(len).unwrap();
    let error = copy::upload_async(&device, 8, buffer(9), &card.stream).expect_err("too long");
    assert_eq!(error.kind(), &ErrorKind::Index);
    assert_eq!(
        error.to_string(),
        "upload_async: 9 bytes at offset 8 exceed the 16 bytes of the device memory"
    );
    let error = copy::download_async(&device, 17, buffer(0), &card.stream).expect_err("outside");
    assert_eq!(error.kind(), &ErrorKind::Index);
    assert!(
        copy::upload_async(&device, 16, buffer(0), &card.stream)
            .unwrap()
            .wait()
            .unwrap()
            .is_empty()
    );
}
