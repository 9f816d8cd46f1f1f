//! What each adaptor adds.

use std::sync::{Arc, Mutex};

use ulib_core::ErrorKind;
use ulib_device::memory::{
    DeviceBytes, DriverResource, Failing, Limiting, Logging, MemoryCall, PoolResource, Statistics,
    default_resource,
};

use crate::setup::{card, install};

#[test]
fn limiting_counts_what_is_in_use() {
    let Some(card) = card() else { return };
    let limiting = Arc::new(Limiting::new(
        Arc::new(DriverResource::new(&card.device)),
        10_000,
    ));
    assert_eq!(limiting.limit_bytes(), 10_000);
    let first = DeviceBytes::allocate_from(limiting.clone(), &card.stream, 6000).unwrap();
    assert_eq!(limiting.used_bytes(), 6000);
    let error = DeviceBytes::allocate_from(limiting.clone(), &card.stream, 4001)
        .expect_err("over the limit");
    assert_eq!(
        error.kind(),
        &ErrorKind::OutOfMemory {
            needs: 4001,
            free: 4000
        }
    );
    assert_eq!(
        error.to_string(),
        "memory limited to 10000 bytes: out of device memory: needs 4001 bytes, 4000 bytes free"
    );
    let second = DeviceBytes::allocate_from(limiting.clone(), &card.stream, 4000).unwrap();
    drop((first, second));
    assert_eq!(limiting.used_bytes(), 0);
}

#[test]
fn limiting_takes_back_what_failed_below() {
    let Some(card) = card() else { return };
    let failing = Arc::new(Failing::nth(Arc::new(DriverResource::new(&card.device)), 1));
    let limiting = Arc::new(Limiting::new(failing, 1000));
    assert!(DeviceBytes::allocate_from(limiting.clone(), &card.stream, 1000).is_err());
    assert_eq!(limiting.used_bytes(), 0);
    DeviceBytes::allocate_from(limiting, &card.stream, 1000).unwrap();
}

#[test]
fn statistics_count_calls_and_bytes() {
    let Some(card) = card() else { return };
    let failing = Arc::new(Failing::nth(Arc::new(DriverResource::new(&card.device)), 3));
    let statistics = Arc::new(Statistics::new(failing));
    let first = DeviceBytes::allocate_from(statistics.clone(), &card.stream, 100).unwrap();
    let second = DeviceBytes::allocate_from(statistics.clone(), &card.stream, 50).unwrap();
    drop(first);
    assert!(DeviceBytes::allocate_from(statistics.clone(), &card.stream, 7).is_err());
    let seen = statistics.snapshot();
    assert_eq!(
        (seen.allocations, seen.deallocations, seen.failures),
        (2, 1, 1)
    );
    assert_eq!(
        (seen.current_bytes, seen.peak_bytes, seen.total_bytes),
        (50, 150, 150)
    );
    statistics.reset_peak();
    assert_eq!(statistics.snapshot().peak_bytes, 50);
    drop(second);
    assert_eq!(statistics.snapshot().current_bytes, 0);
}

#[test]
fn logging_records_every_call_with_its_outcome() {
    let Some(card) = card() else { return };
    let lines = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&lines);
    let failing = Arc::new(Failing::nth(Arc::new(DriverResource::new(&card.device)), 2));
    let logging = Arc::new(Logging::with_sink(failing, move |record| {
        sink.lock().unwrap().push((
            record.call,
            record.bytes,
            record.error.is_some(),
            record.to_string(),
        ));
    }));
    let block = DeviceBytes::allocate_from(logging.clone(), &card.stream, 100).unwrap();
    assert!(DeviceBytes::allocate_from(logging.clone(), &card.stream, 200).is_err());
    let ptr = block.ptr();
    drop(block);
    ulib_device::memory::DeviceMemoryResource::trim(&*logging).unwrap();
    let lines = lines.lock().unwrap();
    let calls: Vec<_> = lines
        .iter()
        .map(|(call, bytes, failed, _)| (*call, *bytes, *failed))
        .collect();
    assert_eq!(
        calls,
        [
            (MemoryCall::Allocate, 100, false),
            (MemoryCall::Allocate, 200, true),
            (MemoryCall::Deallocate, 100, false),
            (MemoryCall::Trim, 0, false),
        ]
    );
    assert!(
        lines[0]
            .3
            .starts_with(&format!("device 0 failing: allocate 100 bytes at {ptr:#x}")),
        "{}",
        lines[0].3
    );
    assert!(
        lines[1].3.contains("failed: allocation set to fail"),
        "{}",
        lines[1].3
    );
}

#[test]
fn failing_fails_the_one_it_was_set_to() {
    let Some(card) = card() else { return };
    let failing = Arc::new(Failing::nth(Arc::new(DriverResource::new(&card.device)), 2));
    let outcome = |_| DeviceBytes::allocate_from(failing.clone(), &card.stream, 64).is_ok();
    assert_eq!(
        (0..4).map(outcome).collect::<Vec<_>>(),
        [true, false, true, true]
    );
    failing.arm(1);
    assert_eq!((0..2).map(outcome).collect::<Vec<_>>(), [false, true]);
}

#[test]
fn a_pool_keeps_freed_memory_until_it_is_trimmed() {
    let Some(card) = card() else { return };
    let pool = Arc::new(PoolResource::with_release_threshold(&card.device, u64::MAX).unwrap());
    assert_eq!(pool.release_threshold_bytes(), u64::MAX);
    let block = DeviceBytes::allocate_from(pool.clone(), &card.stream, 1 << 20).unwrap();
    assert!(pool.used_bytes().unwrap() >= 1 << 20);
    drop(block);
    card.stream.synchronize().unwrap();
    assert_eq!(pool.used_bytes().unwrap(), 0);
    assert!(pool.reserved_bytes().unwrap() >= 1 << 20);
    ulib_device::memory::DeviceMemoryResource::trim(&*pool).unwrap();
    assert_eq!(pool.reserved_bytes().unwrap(), 0);
}

#[test]
fn a_device_allocates_from_the_resource_it_was_given() {
    let Some(card) = card() else { return };
    let statistics = Arc::new(Statistics::new(Arc::new(DriverResource::new(&card.device))));
    let installed = install(&card.device, statistics.clone());
    let block = DeviceBytes::allocate(&card.stream, 321).unwrap();
    assert_eq!(statistics.snapshot().current_bytes, 321);
    drop(installed);
    // It goes back to where it came from, also after another resource took over.
    drop(block);
    assert_eq!(statistics.snapshot().current_bytes, 0);
}

#[test]
fn the_default_is_a_pool() {
    let Some(card) = card() else { return };
    let (resource, reason) = default_resource(&card.device);
    assert!(reason.is_none(), "{reason:?}");
    assert_eq!(resource.name(), "pool");
}
