//! Contiguous copies between host and device.

use ulib_core::ErrorKind;
use ulib_device::memory::{DeviceBytes, DeviceMemory};
use ulib_device::pinned::PinnedPool;
use ulib_device::{Stream, copy};

use crate::setup::{card, pattern};

const MIB: usize = 1 << 20;

/// Around every size at which copies change their way.
const SIZES: [usize; 11] = [
    0,
    1,
    7,
    4096,
    65_537,
    4 * MIB - 1,
    4 * MIB,
    4 * MIB + 1,
    16 * MIB + 3,
    33 * MIB - 5,
    40 * MIB,
];

#[test]
fn every_size_comes_back_as_it_went() {
    let Some(card) = card() else { return };
    for (seed, size) in SIZES.into_iter().enumerate() {
        let bytes = pattern(size, seed as u64 + 1);
        let device = DeviceBytes::allocate(&card.stream, size).unwrap();
        copy::upload(&device, 0, &bytes, &card.stream).unwrap();
        let mut back = vec![0xEE; size];
        copy::download(&device, 0, &mut back, &card.stream).unwrap();
        assert!(back == bytes, "{size} bytes");
    }
}

#[test]
fn parts_of_the_memory_stay_as_they_were() {
    let Some(card) = card() else { return };
    let size = 21 * MIB + 100;
    let mut expected = pattern(size, 1);
    let device = DeviceBytes::allocate(&card.stream, size).unwrap();
    copy::upload(&device, 0, &expected, &card.stream).unwrap();
    for (offset, len, seed) in [
        (3, 17, 2),
        (MIB - 1, 5 * MIB + 1, 3),
        (size - 9, 9, 4),
        (11, 20 * MIB, 5),
        (size, 0, 6),
    ] {
        let part = pattern(len, seed);
        copy::upload(&device, offset, &part, &card.stream).unwrap();
        expected[offset..offset + len].copy_from_slice(&part);
        let mut back = vec![0; len];
        copy::download(&device, offset, &mut back, &card.stream).unwrap();
        assert!(back == part, "{len} bytes at {offset}");
    }
    let mut back = vec![0; size];
    copy::download(&device, 0, &mut back, &card.stream).unwrap();
    assert!(back == expected);
}

#[test]
fn pinned_memory_is_copied_without_the_ring() {
    let Some(card) = card() else { return };
    let size = 9 * MIB + 1;
    let mut host = PinnedPool::global().acquire(size).unwrap();
    host.copy_from_slice(&pattern(size, 8));
    let device = DeviceBytes::allocate(&card.stream, size).unwrap();
    let calls = |name: &str| card.fake().map(|fake| fake.count(name));
    let before = calls("cuMemcpyHtoDAsync_v2");
    copy::upload(&device, 0, &host, &card.stream).unwrap();
    assert_eq!(
        calls("cuMemcpyHtoDAsync_v2"),
        before.map(|count| count + 1),
        "one copy for all"
    );
    host.fill(0);
    copy::download(&device, 0, &mut host, &card.stream).unwrap();
    assert!(*host == *pattern(size, 8));
}

#[test]
fn copies_are_ordered_after_the_callers_stream() {
    let Some(card) = card() else { return };
    if let Some(fake) = card.fake() {
        fake.deferred(true);
    }
    for size in [100, 12 * MIB] {
        let device = DeviceBytes::allocate(&card.stream, size).unwrap();
        copy::fill(&device, 0, size, &[0x5A], &card.stream).unwrap();
        let mut back = vec![0; size];
        copy::download(&device, 0, &mut back, &card.stream).unwrap();
        assert!(
            back.iter().all(|&byte| byte == 0x5A),
            "the download overtook the fill"
        );
        copy::fill(&device, 0, size, &[0x11], &card.stream).unwrap();
        copy::upload(&device, 0, &pattern(size, 4), &card.stream).unwrap();
        copy::download(&device, 0, &mut back, &card.stream).unwrap();
        assert!(back == pattern(size, 4), "the upload overtook the fill");
    }
}

#[test]
fn the_legacy_stream_will_do() {
    let Some(card) = card() else { return };
    let legacy = Stream::legacy(&card.device);
    let values: Vec<f64> = (0..1_500_000).map(f64::from).collect();
    let memory = DeviceMemory::from_slice(&values, &legacy).unwrap();
    assert!(memory.to_vec(&legacy).unwrap() == values);
}

#[test]
fn out_of_bounds_is_an_error_that_names_everything() {
    let Some(card) = card() else { return };
    let device = DeviceBytes::allocate(&card.stream, 128).unwrap();
    let calls = card.fake().map(|fake| fake.total_calls());
    let error = copy::upload(&device, 100, &[0; 29], &card.stream).expect_err("one byte too many");
    assert_eq!(error.kind(), &ErrorKind::Index);
    assert_eq!(
        error.to_string(),
        "upload: 29 bytes at offset 100 exceed the 128 bytes of the device memory"
    );
    let error =
        copy::download(&device, usize::MAX, &mut [0; 2], &card.stream).expect_err("overflow");
    assert_eq!(error.kind(), &ErrorKind::Overflow);
    assert!(
        error.to_string().starts_with("download: 2 bytes at offset"),
        "{error}"
    );
    let error =
        copy::download(&device, 129, &mut [], &card.stream).expect_err("the offset is outside");
    assert_eq!(error.kind(), &ErrorKind::Index);
    assert_eq!(
        card.fake().map(|fake| fake.total_calls()),
        calls,
        "nothing was asked of the driver"
    );
}

#[test]
fn eight_threads_copy_at_once() {
    let Some(card) = card() else { return };
    std::thread::scope(|scope| {
        for seed in 1..=8 {
            let device = &card.device;
            scope.spawn(move || {
                let stream = Stream::non_blocking(device).unwrap();
                let bytes = pattern(6 * MIB + usize::try_from(seed).unwrap(), seed);
                let memory = DeviceBytes::allocate(&stream, bytes.len()).unwrap();
                copy::upload(&memory, 0, &bytes, &stream).unwrap();
                let mut back = vec![0; bytes.len()];
                copy::download(&memory, 0, &mut back, &stream).unwrap();
                assert!(back == bytes, "thread {seed}");
            });
        }
    });
}
