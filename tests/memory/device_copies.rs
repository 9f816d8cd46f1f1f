//! Copies that stay on devices.

use ulib_core::ErrorKind;
use ulib_device::memory::DeviceBytes;
use ulib_device::{Device, Stream, copy};

use crate::setup::{Card, card, fake_card, pattern};

fn filled(stream: &Stream, bytes: &[u8]) -> DeviceBytes {
    let device = DeviceBytes::allocate(stream, bytes.len()).unwrap();
    copy::upload(&device, 0, bytes, stream).unwrap();
    device
}

fn content(bytes: &DeviceBytes, stream: &Stream) -> Vec<u8> {
    let mut host = vec![0; bytes.len()];
    copy::download(bytes, 0, &mut host, stream).unwrap();
    host
}

#[test]
fn ranges_are_copied_within_a_device() {
    let Some(card) = card() else { return };
    let (from, mut expected) = (pattern(1000, 1), pattern(900, 2));
    let (source, target) = (filled(&card.stream, &from), filled(&card.stream, &expected));
    copy::copy_device(&target, 13, &source, 101, 777, &card.stream).unwrap();
    expected[13..790].copy_from_slice(&from[101..878]);
    assert!(content(&target, &card.stream) == expected);
    copy::copy_device(&target, 900, &source, 1000, 0, &card.stream).unwrap();
}

#[test]
fn one_memory_can_be_both_sides_unless_they_overlap() {
    let Some(card) = card() else { return };
    let bytes = pattern(200, 3);
    let memory = filled(&card.stream, &bytes);
    copy::copy_device(&memory, 100, &memory, 0, 100, &card.stream).unwrap();
    assert!(content(&memory, &card.stream) == [&bytes[..100], &bytes[..100]].concat());
    let error = copy::copy_device(&memory, 99, &memory, 0, 100, &card.stream).expect_err("overlap");
    assert_eq!(error.kind(), &ErrorKind::InvalidArgument);
    assert!(
        error
            .to_string()
            .starts_with("copy_device: dst_offset is 99, expected a range"),
        "{error}"
    );
}

#[test]
fn ranges_outside_are_errors() {
    let Some(card) = card() else { return };
    let (source, target) = (
        filled(&card.stream, &[1; 50]),
        filled(&card.stream, &[2; 40]),
    );
    let refused = |to, from, len| {
        copy::copy_device(&target, to, &source, from, len, &card.stream)
            .expect_err("outside")
            .to_string()
    };
    assert_eq!(
        refused(0, 0, 41),
        "copy_device: 41 bytes at offset 0 exceed the 40 bytes of the destination"
    );
    assert_eq!(
        refused(0, 20, 31),
        "copy_device: 31 bytes at offset 20 exceed the 50 bytes of the source"
    );
}

fn copies_between_devices(card: &Card) {
    let Ok(second) = Device::new(1) else { return };
    let there = Stream::non_blocking(&second).unwrap();
    let bytes = pattern(300_000, 7);
    let source = filled(&card.stream, &bytes);
    for stream in [&card.stream, &there] {
        let target = DeviceBytes::allocate(&there, bytes.len()).unwrap();
        copy::copy_device(&target, 0, &source, 0, bytes.len(), stream).unwrap();
        assert!(content(&target, &there) == bytes);
    }
    let target = DeviceBytes::allocate(&there, 10).unwrap();
    copy::copy_device(&target, 2, &source, 5, 3, &there).unwrap();
    drop(source);
    assert_eq!(content(&target, &there)[2..5], bytes[5..8]);
    assert!(card.device.errors().is_empty() && second.errors().is_empty());
}

#[test]
fn devices_copy_to_each_other() {
    let Some(card) = card() else { return };
    copies_between_devices(&card);
}

#[test]
fn devices_copy_to_each_other_without_peer_access_and_in_order() {
    let Some(card) = fake_card() else { return };
    let fake = card.fake().expect("checked");
    fake.peers(false);
    fake.deferred(true);
    copies_between_devices(&card);
    assert_eq!(fake.faults(), Vec::<String>::new());
}

#[test]
fn a_stream_of_a_third_device_is_refused() {
    let Some(card) = card() else { return };
    let Ok(second) = Device::new(1) else { return };
    let there = Stream::new(&second).unwrap();
    let (source, target) = (filled(&card.stream, &[1; 8]), filled(&card.stream, &[2; 8]));
    let error = copy::copy_device(&target, 0, &source, 0, 8, &there).expect_err("a stranger");
    assert!(
        error
            .to_string()
            .starts_with("copy_device: stream is one of device 1, expected"),
        "{error}"
    );
}
