//! Stream-ordered pools that come and go.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ulib_core::ErrorKind;
use ulib_device::memory::{DeviceBytes, PoolResource, release_pools};
use ulib_device::{Device, Stream, copy};

use crate::setup::{Card, card, fake_card};

const LEN: usize = 4096;

fn threshold(device: &Device, bytes: u64) -> Arc<PoolResource> {
    Arc::new(PoolResource::with_release_threshold(device, bytes).unwrap())
}

/// A new pool, and those that other tests have put aside, so that whoever puts one aside finds that one again.
fn only_one(card: &Card, bytes: u64) -> (Arc<PoolResource>, Vec<Arc<PoolResource>>) {
    let fake = card.fake().unwrap();
    let made = fake.count("cuMemPoolCreate");
    let mut others = Vec::new();
    loop {
        let pool = threshold(&card.device, bytes);
        if fake.count("cuMemPoolCreate") > made {
            return (pool, others);
        }
        others.push(pool);
    }
}

/// Allocates from the pool and writes there on `stream`.
fn written(pool: &Arc<PoolResource>, stream: &Stream) -> DeviceBytes {
    let memory = DeviceBytes::allocate_from(pool.clone(), stream, LEN).unwrap();
    copy::fill(&memory, 0, LEN, &[3], stream).unwrap();
    memory
}

fn no_errors(card: &Card) {
    let errors = card.device.errors();
    assert!(errors.is_empty(), "{errors:?}");
}

#[test]
fn pools_come_and_go_while_other_threads_wait() {
    let Some(card) = card() else { return };
    let (device, stop) = (&card.device, AtomicBool::new(false));
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let stream = Stream::new(device).unwrap();
                while !stop.load(Ordering::Relaxed) {
                    stream.synchronize().unwrap();
                    device.synchronize().unwrap();
                }
            });
        }
        let makers: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(|| {
                    let stream = Stream::new(device).unwrap();
                    for _ in 0..300 {
                        drop(written(&threshold(device, 1 << 20), &stream));
                    }
                })
            })
            .collect();
        let ends: Vec<_> = makers.into_iter().map(|maker| maker.join()).collect();
        stop.store(true, Ordering::Relaxed);
        assert!(ends.iter().all(Result::is_ok));
    });
    no_errors(&card);
}

#[test]
fn the_driver_s_pool_is_used_again_and_as_if_new() {
    let Some(card) = fake_card() else { return };
    let (pool, _others) = only_one(&card, 0);
    drop(pool);
    let fake = card.fake().unwrap();
    let made = fake.count("cuMemPoolCreate");
    for bytes in [1 << 20, 0, u64::MAX] {
        let pool = threshold(&card.device, bytes);
        assert_eq!(pool.release_threshold_bytes(), bytes);
        assert_eq!(
            (pool.used_bytes().unwrap(), pool.reserved_bytes().unwrap()),
            (0, 0)
        );
        drop(written(&pool, &card.stream));
        card.stream.synchronize().unwrap();
        let kept = if bytes == 0 { 0 } else { LEN as u64 };
        assert_eq!(pool.reserved_bytes().unwrap(), kept, "of {bytes}");
    }
    assert_eq!(fake.count("cuMemPoolCreate"), made);
    assert_eq!(fake.count("cuMemPoolDestroy"), 0);
    no_errors(&card);
}

#[test]
fn a_pool_is_not_handed_on_while_work_uses_what_was_in_it() {
    let Some(card) = fake_card() else { return };
    let fake = card.fake().unwrap();
    let (first, _others) = only_one(&card, u64::MAX);
    fake.deferred(true);
    drop(written(&first, &card.stream));
    drop(first);
    let made = fake.count("cuMemPoolCreate");
    let second = threshold(&card.device, 0);
    assert_eq!(fake.count("cuMemPoolCreate"), made + 1);
    assert_eq!(second.used_bytes().unwrap(), 0);
    // The memory of the first goes back as soon as its work is done.
    assert!(release_pools(&card.device));
    assert_eq!(fake.live().iter().map(|it| it.bytes).sum::<u64>(), 0);
    drop(second);
    assert!(!release_pools(&card.device), "nothing is left to give back");
    no_errors(&card);
}

#[test]
fn a_failure_while_a_pool_is_taken_or_put_aside_loses_no_pool() {
    let Some(card) = fake_card() else { return };
    let fake = card.fake().unwrap();
    let (pool, _others) = only_one(&card, 0);
    drop(pool);
    let made = fake.count("cuMemPoolCreate");
    fake.fail("cuMemPoolSetAttribute", 1, 999);
    let error = PoolResource::new(&card.device).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Driver { code: 999, .. }),
        "{error}"
    );
    for call in ["cuMemPoolSetAttribute", "cuMemPoolTrimTo"] {
        let pool = threshold(&card.device, 1);
        fake.fail(call, 1, 999);
        drop(pool);
        let errors = card.device.errors();
        assert_eq!(errors.len(), 1, "{errors:?}");
        assert!(errors[0].to_string().contains(call), "{errors:?}");
    }
    drop(threshold(&card.device, 1));
    assert_eq!(fake.count("cuMemPoolCreate"), made);
}
