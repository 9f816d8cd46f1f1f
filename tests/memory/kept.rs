//! Memory whose last use cannot be waited for when it is dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fakecuda::Session;
use ulib_device::memory::{DeviceBytes, DeviceMemory, DeviceMemoryResource, PoolResource};
use ulib_device::{Stream, copy};

use crate::capture::captured;
use crate::common;
use crate::setup::{Card, card, fake_card};

const LEN: usize = 4096;

fn deferred(card: &Card, on: bool) {
    if let Some(fake) = card.fake() {
        fake.deferred(on);
    }
}

fn no_faults(card: &Card) {
    let faults = card.fake().map(Session::faults).unwrap_or_default();
    assert!(faults.is_empty(), "{faults:?}");
    let errors = card.device.errors();
    assert!(errors.is_empty(), "{errors:?}");
}

#[test]
fn memory_in_use_on_the_default_stream_outlives_a_capture_that_hides_it() {
    let Some(card) = card() else { return };
    let pool = Arc::new(PoolResource::new(&card.device).unwrap());
    let legacy = Stream::legacy(&card.device);
    let blocking = Stream::new(&card.device).unwrap();
    let dropped = DeviceBytes::allocate_from(pool.clone(), &card.stream, LEN).unwrap();
    let closed = DeviceBytes::allocate_from(pool.clone(), &card.stream, LEN).unwrap();
    deferred(&card, true);
    for memory in [&dropped, &closed] {
        copy::fill(memory, 0, LEN, &[9], &legacy).unwrap();
    }
    captured(&card, &blocking, || {
        drop(dropped);
        closed.close().unwrap();
        if card.fake().is_some() {
            // A card does not answer this question during a capture (900).
            assert_ne!(pool.used_bytes().unwrap(), 0, "kept");
        }
        // Neither an allocation nor what is written to it gets in the way.
        let next = DeviceBytes::allocate_from(pool.clone(), &card.stream, LEN).unwrap();
        copy::upload(&next, 0, &[7; LEN], &card.stream).unwrap();
        deferred(&card, false);
        let mut back = [0; LEN];
        copy::download(&next, 0, &mut back, &card.stream).unwrap();
        assert!(back == [7; LEN]);
    });
    pool.trim().unwrap();
    assert_eq!(pool.used_bytes().unwrap(), 0, "freed after the capture");
    no_faults(&card);
}

#[test]
fn memory_last_used_on_a_captured_stream_stays_out_of_the_graph() {
    let Some(card) = card() else { return };
    let pool = Arc::new(PoolResource::new(&card.device).unwrap());
    let other = Stream::non_blocking(&card.device).unwrap();
    // One is freed on the captured stream, one was used on it.
    let freed_there = DeviceBytes::allocate_from(pool.clone(), &card.stream, LEN).unwrap();
    let used_there = DeviceBytes::allocate_from(pool.clone(), &other, LEN).unwrap();
    card.stream.wait_for(&other).unwrap();
    deferred(&card, true);
    copy::fill(&freed_there, 0, LEN, &[1], &other).unwrap();
    copy::fill(&used_there, 0, LEN, &[1], &card.stream).unwrap();
    captured(&card, &card.stream, || {
        drop((freed_there, used_there));
        assert!(!other.is_capturing().unwrap(), "not drawn into the capture");
        other.synchronize().unwrap();
    });
    // Whatever is free now must not be reached by the fills.
    for stream in [&card.stream, &other] {
        drop(DeviceBytes::allocate_from(pool.clone(), stream, 8).unwrap());
        stream.synchronize().unwrap();
        let again = [(); 2].map(|()| {
            let memory = DeviceBytes::allocate_from(pool.clone(), stream, LEN).unwrap();
            copy::upload(&memory, 0, &[7; LEN], stream).unwrap();
            memory
        });
        deferred(&card, false);
        for memory in &again {
            let mut back = [0; LEN];
            copy::download(memory, 0, &mut back, stream).unwrap();
            assert!(back == [7; LEN]);
        }
    }
    pool.trim().unwrap();
    assert_eq!(pool.used_bytes().unwrap(), 0);
    no_faults(&card);
}

/// Says when it is dropped.
struct Owner(Arc<AtomicBool>);

impl Drop for Owner {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Somebody else's memory with work queued on it on the default stream, and whether its owner is gone.
fn foreign(card: &Card, theirs: &DeviceMemory<u8>) -> (DeviceBytes, Arc<AtomicBool>) {
    let gone = Arc::new(AtomicBool::new(false));
    let owner = Box::new(Owner(Arc::clone(&gone)));
    // SAFETY: `theirs` outlives the view, is idle, and is used only through the view until it is dropped.
    let foreign = unsafe { DeviceBytes::foreign(&card.device, theirs.ptr(), LEN, owner) };
    deferred(card, true);
    copy::fill(&foreign, 0, LEN, &[9], &Stream::legacy(&card.device)).unwrap();
    (foreign, gone)
}

#[test]
fn a_foreign_owner_outlives_a_capture_that_hides_the_work() {
    let Some(card) = card() else { return };
    let theirs = DeviceMemory::<u8>::zeroed(&card.stream, LEN).unwrap();
    card.stream.synchronize().unwrap();
    let blocking = Stream::new(&card.device).unwrap();
    let (foreign, gone) = foreign(&card, &theirs);
    captured(&card, &blocking, || {
        drop(foreign);
        assert!(!gone.load(Ordering::SeqCst), "its memory is in use");
    });
    card.device.memory_resource().trim().unwrap();
    assert!(gone.load(Ordering::SeqCst), "the work is done");
    no_faults(&card);
}

#[test]
fn what_cannot_be_waited_for_twice_is_leaked_and_said_once() {
    const TEST: &str = "kept::what_cannot_be_waited_for_twice_is_leaked_and_said_once";
    common::alone(TEST, &[], leaks_what_cannot_be_waited_for_twice);
}

fn leaks_what_cannot_be_waited_for_twice() {
    let Some(card) = fake_card() else { return };
    let fake = card.fake().expect("checked");
    let other = Stream::non_blocking(&card.device).unwrap();
    let theirs = DeviceMemory::<u8>::zeroed(&card.stream, LEN).unwrap();
    let ours = DeviceBytes::allocate(&card.stream, LEN).unwrap();
    let address = ours.ptr();
    card.stream.synchronize().unwrap();
    let (foreign, gone) = foreign(&card, &theirs);
    copy::fill(&ours, 0, LEN, &[9], &other).unwrap();
    for call in ["cuStreamSynchronize", "cuEventRecord", "cuCtxSynchronize"] {
        fake.fail_from(call, 1, 999);
    }
    drop(foreign);
    ours.close().expect_err("the wait failed");
    for _ in 0..3 {
        let next = DeviceBytes::allocate(&card.stream, LEN).unwrap();
        assert_ne!(next.ptr(), address);
    }
    fake.fail_nothing();
    card.device.memory_resource().trim().unwrap();
    assert!(!gone.load(Ordering::SeqCst));
    assert!(card.live_memory().iter().any(|live| live.handle == address));
    let errors = card.device.errors();
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(fake.faults().is_empty(), "{:?}", fake.faults());
}

/// `call` is what a wait for the default stream is made with.
fn made_up_for(card: &Card, call: &str) {
    let fake = card.fake().expect("checked");
    let theirs = DeviceMemory::<u8>::zeroed(&card.stream, LEN).unwrap();
    card.stream.synchronize().unwrap();
    let (foreign, gone) = foreign(card, &theirs);
    fake.fail(call, 1, 999);
    foreign.close().expect_err("the wait failed");
    assert!(!gone.load(Ordering::SeqCst) && fake.pending() > 0);
    let _ = DeviceBytes::allocate(&card.stream, LEN).unwrap();
    assert!(gone.load(Ordering::SeqCst));
    no_faults(card);
}

#[test]
fn a_wait_that_fails_once_is_made_up_for() {
    // In this process other tests may have captured.
    common::alone("kept::a_wait_that_fails_once_is_made_up_for", &[], || {
        let Some(card) = fake_card() else { return };
        made_up_for(&card, "cuStreamSynchronize");
    });
}

#[test]
fn a_wait_that_fails_once_is_made_up_for_where_anything_was_captured() {
    let Some(card) = fake_card() else { return };
    let captured = card.stream.capture().unwrap().finish().unwrap();
    captured.close().unwrap();
    made_up_for(&card, "cuEventSynchronize");
}
