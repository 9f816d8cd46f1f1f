//! Page-locked memory.

use ulib_core::ErrorKind;
use ulib_device::pinned::PinnedPool;

use crate::setup::{card, fake_card, pattern};

/// Sets the bound of the cache back when dropped.
struct Bound;

impl Bound {
    fn of(bytes: usize) -> Self {
        PinnedPool::global().set_cache_limit(bytes);
        Self
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        PinnedPool::global().set_cache_limit(64 << 20);
    }
}

#[test]
fn buffers_hold_what_is_written() {
    let Some(_card) = card() else { return };
    let pool = PinnedPool::global();
    let mut buffers: Vec<_> = [0, 1, 4095, 4096, 4097, 1 << 20]
        .map(|len| pool.acquire(len).unwrap())
        .into();
    for (seed, buffer) in buffers.iter_mut().enumerate() {
        assert!(buffer.capacity() >= buffer.len());
        assert_eq!(buffer.as_ptr() as usize % 4096, 0, "whole pages");
        let len = buffer.len();
        buffer.copy_from_slice(&pattern(len, seed as u64 + 1));
    }
    for (seed, buffer) in buffers.iter().enumerate() {
        assert!(**buffer == *pattern(buffer.len(), seed as u64 + 1));
        assert!(pool.owns(buffer));
        assert!(pool.owns(buffer.get(1..).unwrap_or(&[])) || buffer.len() < 2);
    }
    assert!(!pool.owns(&[0; 8]));
}

#[test]
fn what_comes_back_is_kept_up_to_the_bound() {
    let Some(card) = card() else { return };
    let pool = PinnedPool::global();
    pool.trim();
    let _bound = Bound::of(1 << 20);
    let registered = || card.fake().map(|fake| fake.count("cuMemHostRegister_v2"));
    let first = pool.acquire(700_000).unwrap();
    let capacity = first.capacity();
    let before = registered();
    drop(first);
    assert_eq!(pool.held().cached_bytes, capacity);
    let again = pool.acquire(capacity - 5).unwrap();
    assert_eq!((again.len(), again.capacity()), (capacity - 5, capacity));
    assert_eq!(registered(), before, "the kept buffer was used");
    let second = pool.acquire(700_000).unwrap();
    drop((again, second));
    assert_eq!(
        pool.held().cached_bytes,
        capacity,
        "two would exceed the bound"
    );
    pool.trim();
    assert_eq!(pool.held().cached_bytes, 0);
}

#[test]
fn sizes_that_cannot_exist_are_errors() {
    let Some(_card) = card() else { return };
    let error = PinnedPool::global()
        .acquire(usize::MAX)
        .expect_err("too much");
    assert_eq!(error.kind(), &ErrorKind::Overflow);
}

#[test]
fn a_refused_registration_leaks_nothing() {
    let Some(card) = fake_card() else { return };
    let fake = card.fake().expect("checked");
    let pool = PinnedPool::global();
    pool.trim();
    let before = (pool.held(), fake.live());
    fake.fail_from("cuMemHostRegister_v2", 1, 712);
    let error = pool.acquire(5000).expect_err("refused");
    assert_eq!(
        error.kind(),
        &ErrorKind::Driver {
            code: 712,
            call: "cuMemHostRegister_v2"
        }
    );
    fake.fail_nothing();
    assert_eq!((pool.held(), fake.live()), before);
}
