//! The current stream: scopes that nest, end by panics, and belong to one thread.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::common;
use crate::support::device;
use ulib_device::{Device, Stream};

#[test]
fn without_a_scope_it_is_the_legacy_stream() {
    let Some(_turn) = common::gpu() else { return };
    let device = device();
    assert_eq!(Stream::current(&device), Stream::legacy(&device));
}

#[test]
fn the_innermost_scope_counts() {
    let Some(_turn) = common::gpu() else { return };
    let device = device();
    let (outer, inner) = (
        Stream::non_blocking(&device).unwrap(),
        Stream::new(&device).unwrap(),
    );
    let answer = outer.scope(|| {
        assert_eq!(Stream::current(&device), outer);
        let sum = inner.scope(|| {
            assert_eq!(Stream::current(&device), inner);
            Stream::legacy(&device).scope(|| {
                assert_eq!(Stream::current(&device), Stream::legacy(&device));
            });
            assert_eq!(Stream::current(&device), inner);
            3
        });
        assert_eq!(Stream::current(&device), outer);
        sum + 4
    });
    assert_eq!(answer, 7);
    assert_eq!(Stream::current(&device), Stream::legacy(&device));
}

#[test]
fn a_panic_ends_the_scope() {
    let Some(_turn) = common::gpu() else { return };
    let device = device();
    let stream = Stream::non_blocking(&device).unwrap();
    let caught = catch_unwind(AssertUnwindSafe(|| stream.scope(|| panic!("on purpose"))));
    assert!(caught.is_err());
    assert_eq!(Stream::current(&device), Stream::legacy(&device));
}

#[test]
fn guards_end_in_any_order() {
    let Some(_turn) = common::gpu() else { return };
    let device = device();
    let (first, second) = (
        Stream::non_blocking(&device).unwrap(),
        Stream::non_blocking(&device).unwrap(),
    );
    let (of_first, of_second) = (first.enter(), second.enter());
    drop(of_first);
    assert_eq!(Stream::current(&device), second);
    drop(of_second);
    assert_eq!(Stream::current(&device), Stream::legacy(&device));
}

#[test]
fn other_threads_have_their_own() {
    let Some(_turn) = common::gpu() else { return };
    let device = device();
    let (here, there) = (
        Stream::non_blocking(&device).unwrap(),
        Stream::non_blocking(&device).unwrap(),
    );
    here.scope(|| {
        std::thread::scope(|threads| {
            threads.spawn(|| {
                assert_eq!(Stream::current(&device), Stream::legacy(&device));
                let forgotten = there.enter();
                assert_eq!(Stream::current(&device), there);
                std::mem::forget(forgotten);
            });
        });
        assert_eq!(Stream::current(&device), here);
    });
}

#[test]
fn a_guard_that_is_dropped_elsewhere_ends_the_scope_here() {
    let Some(_turn) = common::gpu() else { return };
    let device = device();
    let (here, there) = (
        Stream::non_blocking(&device).unwrap(),
        Stream::non_blocking(&device).unwrap(),
    );
    let of_here = here.enter();
    std::thread::scope(|threads| {
        threads.spawn(|| {
            let _of_there = there.enter();
            drop(of_here);
            assert_eq!(Stream::current(&device), there);
        });
    });
    assert_eq!(Stream::current(&device), Stream::legacy(&device));
    there.scope(|| {
        let of_here = here.enter();
        std::thread::spawn(|| drop(of_here)).join().unwrap();
        assert_eq!(Stream::current(&device), there, "the scope around it");
    });
}

#[test]
fn a_scope_of_one_device_leaves_the_others_alone() {
    let Some(_session) = common::fake_only() else {
        return;
    };
    let (first, second) = (Device::new(0).unwrap(), Device::new(1).unwrap());
    let (of_first, of_second) = (
        Stream::non_blocking(&first).unwrap(),
        Stream::non_blocking(&second).unwrap(),
    );
    of_first.scope(|| {
        assert_eq!(Stream::current(&second), Stream::legacy(&second));
        of_second.scope(|| {
            assert_eq!(Stream::current(&first), of_first);
            assert_eq!(Stream::current(&second), of_second);
        });
    });
}

#[test]
fn a_scope_keeps_its_stream() {
    let Some(session) = common::fake_only() else {
        return;
    };
    let device = device();
    let stream = Stream::non_blocking(&device).unwrap();
    let scope = stream.enter();
    let handle = stream.handle();
    drop(stream);
    assert_eq!(session.count("cuStreamDestroy_v2"), 0);
    assert_eq!(Stream::current(&device).handle(), handle);
    drop(scope);
    assert_eq!(session.count("cuStreamDestroy_v2"), 1);
    assert_eq!(Stream::current(&device), Stream::legacy(&device));
}
