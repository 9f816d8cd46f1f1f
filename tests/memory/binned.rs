//! `BinnedPool`: what it counts and keeps, whom it makes wait, and when it gives back.

use std::sync::Arc;

use ulib_core::ErrorKind;
use ulib_device::memory::{
    BinnedPool, DeviceBytes, DeviceMemoryResource, DriverResource, PoolStatistics, Statistics,
};
use ulib_device::{Stream, copy};

use crate::setup::{Card, card, fake_card, pattern};

fn block(pool: &Arc<BinnedPool>, stream: &Stream, len: usize) -> DeviceBytes {
    DeviceBytes::allocate_from(Arc::clone(pool) as _, stream, len).expect("a block")
}

/// Held and active blocks, managed and active bytes.
fn counts(pool: &BinnedPool) -> (u64, u64, u64, u64) {
    let PoolStatistics {
        held_blocks,
        active_blocks,
        managed_bytes,
        active_bytes,
        ..
    } = pool.statistics();
    (held_blocks, active_blocks, managed_bytes, active_bytes)
}

#[test]
fn blocks_are_counted_as_they_come_and_go() {
    let Some(card) = card() else { return };
    let pool = BinnedPool::new(&card.device);
    let first = block(&pool, &card.stream, 1000);
    let address = first.ptr();
    assert_eq!(counts(&pool), (0, 1, 1023, 1000));
    drop(first);
    assert_eq!(counts(&pool), (1, 0, 1023, 0));
    let again = block(&pool, &card.stream, 1020);
    assert_eq!((again.ptr(), again.len()), (address, 1020));
    assert_eq!(counts(&pool), (0, 1, 1023, 1020));
    let other = block(&pool, &card.stream, 5000);
    assert_eq!(counts(&pool), (0, 2, 1023 + 5119, 6020));
    drop((again, other));
    assert_eq!(counts(&pool), (2, 0, 1023 + 5119, 0));
    pool.free_held();
    assert_eq!(counts(&pool), (0, 0, 0, 0));
    let all = pool.statistics();
    assert_eq!((all.reused, all.allocated), (1, 2));
    assert_eq!(
        (all.peak_managed_bytes, all.peak_active_bytes),
        (1023 + 5119, 6020)
    );
    assert_eq!(card.live_memory(), []);
}

#[test]
fn memory_that_was_not_to_be_had_is_in_no_count() {
    let Some(card) = fake_card() else { return };
    let pool = BinnedPool::new(&card.device);
    let first = block(&pool, &card.stream, 1000);
    card.fake().expect("software").memory_limit(4000);
    let refused = DeviceBytes::allocate_from(Arc::clone(&pool) as _, &card.stream, 50_000);
    let refused = refused.expect_err("more than there is");
    assert!(matches!(
        refused.kind(),
        ErrorKind::OutOfMemory { needs: 50_000, .. }
    ));
    card.fake().expect("software").memory_limit(1 << 30);
    let all = pool.statistics();
    assert_eq!((all.managed_bytes, all.peak_managed_bytes), (1023, 1023));
    assert_eq!((all.active_bytes, all.peak_active_bytes), (1000, 1000));
    assert_eq!((all.allocated, all.reused), (1, 0));
    // What is being made counts for the limit, and no longer once it failed.
    pool.set_limit(Some(3000));
    let second = block(&pool, &card.stream, 1900);
    assert_eq!(pool.statistics().peak_managed_bytes, 1023 + 1919);
    assert!(DeviceBytes::allocate_from(Arc::clone(&pool) as _, &card.stream, 100).is_err());
    drop((first, second));
    assert_eq!(counts(&pool), (2, 0, 1023 + 1919, 0));
}

#[test]
fn no_bytes_are_a_block_where_one_is_asked_for() {
    let Some(card) = card() else { return };
    let pool = BinnedPool::new(&card.device);
    let ptr = pool.take(0, &card.stream).expect("a block of one byte").ptr;
    assert_ne!(ptr, 0);
    assert_eq!(counts(&pool), (0, 1, 1, 0));
    // SAFETY: given out just now for as many bytes.
    unsafe { pool.deallocate(ptr, 0, &card.stream) }.expect("kept");
    assert_eq!(counts(&pool), (1, 0, 1, 0));
}

#[test]
fn what_is_kept_is_not_asked_for_again() {
    let Some(card) = fake_card() else { return };
    let (fake, pool) = (card.fake().expect("fake"), BinnedPool::new(&card.device));
    drop(block(&pool, &card.stream, 4096));
    fake.reset_counts();
    for _ in 0..100 {
        drop(block(&pool, &card.stream, 4096));
    }
    assert_eq!(fake.total_calls(), 0, "neither memory nor waits nor events");
}

#[test]
fn another_stream_waits_for_the_work_of_the_one_before() {
    let Some(card) = fake_card() else { return };
    let (fake, pool) = (card.fake().expect("fake"), BinnedPool::new(&card.device));
    let other = Stream::non_blocking(&card.device).unwrap();
    fake.deferred(true);
    let first = block(&pool, &card.stream, 1000);
    let address = first.ptr();
    copy::fill(&first, 0, 1000, &[1], &card.stream).unwrap();
    drop(first);
    let second = block(&pool, &other, 1000);
    assert_eq!(second.ptr(), address);
    copy::fill(&second, 0, 1000, &[2], &other).unwrap();
    other.synchronize().unwrap();
    assert_eq!(fake.peek(address, 1000), Some(vec![2; 1000]));
    card.stream.synchronize().unwrap();
    assert_eq!(fake.peek(address, 1000), Some(vec![2; 1000]));
}

#[test]
fn a_block_used_on_several_streams_comes_back_after_all_of_them() {
    let Some(card) = fake_card() else { return };
    let (fake, pool) = (card.fake().expect("fake"), BinnedPool::new(&card.device));
    let other = Stream::non_blocking(&card.device).unwrap();
    fake.deferred(true);
    let first = block(&pool, &card.stream, 64);
    let address = first.ptr();
    copy::fill(&first, 0, 64, &[9], &other).unwrap();
    drop(first);
    // On its own stream, which must have been made to wait for the other one.
    let second = block(&pool, &card.stream, 64);
    assert_eq!(second.ptr(), address);
    copy::fill(&second, 0, 64, &[3], &card.stream).unwrap();
    card.stream.synchronize().unwrap();
    other.synchronize().unwrap();
    assert_eq!(fake.peek(address, 64), Some(vec![3; 64]));
}

#[test]
fn a_limit_counts_what_is_kept_which_goes_first() {
    let Some(card) = card() else { return };
    let pool = BinnedPool::new(&card.device);
    pool.set_limit(Some(10_000));
    assert_eq!(pool.limit(), Some(10_000));
    drop(block(&pool, &card.stream, 5000));
    let large = block(&pool, &card.stream, 9000);
    assert_eq!(counts(&pool), (0, 1, 9215, 9000));
    let error = DeviceBytes::allocate_from(Arc::clone(&pool) as _, &card.stream, 1000)
        .expect_err("beyond the limit");
    assert_eq!(
        error.kind(),
        &ErrorKind::OutOfMemory {
            needs: 1000,
            free: 785
        }
    );
    assert!(
        error.to_string().contains("a pool limited to 10000 bytes"),
        "{error}"
    );
    assert_eq!(counts(&pool), (0, 1, 9215, 9000));
    drop(large);
    pool.set_limit(Some(100));
    assert_eq!(counts(&pool), (0, 0, 0, 0));
    pool.set_limit(None);
    drop(block(&pool, &card.stream, 5000));
    assert_eq!(counts(&pool), (1, 0, 5119, 0));
}

#[test]
fn after_stop_holding_everything_goes_straight_back() {
    let Some(card) = card() else { return };
    let pool = BinnedPool::new(&card.device);
    let (kept, used) = (
        block(&pool, &card.stream, 100),
        block(&pool, &card.stream, 200),
    );
    drop(kept);
    pool.stop_holding();
    assert_eq!(counts(&pool), (0, 1, 207, 200));
    drop(used);
    assert_eq!(counts(&pool), (0, 0, 0, 0));
    drop(block(&pool, &card.stream, 300));
    assert_eq!(counts(&pool), (0, 0, 0, 0));
    assert_eq!(card.live_memory(), []);
}

#[test]
fn whoever_runs_out_of_memory_gets_what_all_pools_keep() {
    let Some(card) = fake_card() else { return };
    let fake = card.fake().expect("fake");
    let pools = [(); 3].map(|()| BinnedPool::new(&card.device));
    let fill = |card: &Card| {
        for pool in &pools {
            drop(block(pool, &card.stream, 1 << 20));
        }
    };
    fill(&card);
    fake.memory_limit(4 << 20);
    // The driver itself, another resource, and a fourth pool: each has room once the three have given way.
    let driver = DriverResource::shared(&card.device);
    let direct = driver.allocate_bytes(3 << 20).expect("room");
    assert!(pools.iter().all(|pool| counts(pool) == (0, 0, 0, 0)));
    drop(direct);
    fill(&card);
    let statistics = Arc::new(Statistics::new(driver));
    drop(DeviceBytes::allocate_from(statistics, &card.stream, 3 << 20).expect("room"));
    fill(&card);
    drop(block(&BinnedPool::new(&card.device), &card.stream, 3 << 20));
    // What is in use stays, and then it is an error.
    let used = block(&pools[0], &card.stream, 2 << 20);
    copy::upload(&used, 0, &pattern(2 << 20, 5), &card.stream).unwrap();
    fake.memory_limit(3 << 20);
    let error = DeviceBytes::allocate_from(Arc::clone(&pools[1]) as _, &card.stream, 2 << 20)
        .expect_err("full");
    assert!(
        matches!(*error.kind(), ErrorKind::OutOfMemory { needs, .. } if needs == 2 << 20),
        "{error:?}"
    );
    assert_eq!(counts(&pools[1]), (0, 0, 0, 0));
    let mut bytes = vec![0; 2 << 20];
    copy::download(&used, 0, &mut bytes, &card.stream).unwrap();
    assert!(bytes == pattern(2 << 20, 5));
}

#[test]
fn a_dropped_pool_leaves_nothing_behind() {
    let Some(card) = card() else { return };
    let pool = BinnedPool::new(&card.device);
    let (first, second) = (
        block(&pool, &card.stream, 100),
        block(&pool, &card.stream, 5000),
    );
    drop(first);
    drop(pool);
    // The last block holds the pool.
    drop(second);
    assert_eq!(card.live_memory(), []);
    assert!(card.device.errors().is_empty());
}

#[test]
fn many_threads_share_one_pool() {
    let Some(card) = card() else { return };
    let pool = BinnedPool::new(&card.device);
    std::thread::scope(|scope| {
        for seed in 0..4_u64 {
            let (pool, device) = (&pool, &card.device);
            scope.spawn(move || {
                let stream = Stream::non_blocking(device).unwrap();
                for round in 0..30 {
                    let len = 100 + (seed as usize * 37 + round * 11) % 300;
                    let bytes = block(pool, &stream, len);
                    let want = pattern(len, seed + 1);
                    copy::upload(&bytes, 0, &want, &stream).unwrap();
                    let mut back = vec![0; len];
                    copy::download(&bytes, 0, &mut back, &stream).unwrap();
                    assert!(back == want, "nobody else wrote there");
                }
            });
        }
    });
    let all = pool.statistics();
    assert_eq!((all.active_blocks, all.active_bytes), (0, 0));
    assert_eq!(all.reused + all.allocated, 120);
}
