//! A capture does nothing with memory, and waits for nobody; each launch of its graph is a use of it.
#![allow(unsafe_code, reason = "captures as another library would")]

use crate::common;
use crate::support::device;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use ulib_core::ErrorKind;
use ulib_device::memory::{BinnedPool, DriverResource};
use ulib_device::sys::CUstreamCaptureMode;
use ulib_device::{Access, DeviceBytes, Graph, Stream, StreamKind, copy};

fn stream() -> Stream {
    Stream::non_blocking(&device()).unwrap()
}

/// Memory that nothing caches, with this content.
fn filled(value: u8) -> DeviceBytes {
    let own = stream();
    let resource = Arc::new(DriverResource::new(&device()));
    let bytes = DeviceBytes::allocate_from(resource, &own, 64).unwrap();
    copy::upload(&bytes, 0, &[value; 64], &own).unwrap();
    own.synchronize().unwrap();
    bytes
}

/// As seen from a stream of its own, which waits for what is known to use the memory.
fn content(bytes: &DeviceBytes) -> u8 {
    let mut back = [0; 64];
    copy::download(bytes, 0, &mut back, &stream()).unwrap();
    assert!(back.iter().all(|byte| *byte == back[0]), "{back:?}");
    back[0]
}

fn copied(to: &DeviceBytes, from: &DeviceBytes, stream: &Stream) {
    copy::copy_device(to, 0, from, 0, 64, stream).unwrap();
}

/// A graph that copies one piece of memory to another one.
fn copying(on: &Stream, to: &DeviceBytes, from: &DeviceBytes) -> Graph<'static> {
    let capture = on.capture().unwrap();
    copied(to, from, on);
    capture.finish().unwrap()
}

/// Threads that all begin at once, each with a number.
fn together(count: usize, work: impl Fn(usize) + Sync) {
    let begin = Barrier::new(count);
    thread::scope(|scope| {
        for number in 0..count {
            let (begin, work) = (&begin, &work);
            scope.spawn(move || {
                begin.wait();
                work(number);
            });
        }
    });
}

#[test]
fn captures_of_many_threads_share_memory() {
    let Some(turn) = common::gpu() else { return };
    let (shared, sources) = (filled(0), [filled(1), filled(2), filled(3), filled(4)]);
    let launched = AtomicU64::new(0);
    for kind in [StreamKind::NonBlocking, StreamKind::Blocking] {
        together(4, |number| {
            let on = Stream::of_kind(&device(), kind, 0).unwrap();
            for round in 0..100 {
                let capture = on.capture().unwrap();
                copied(&shared, &sources[number], &on);
                // Captured in parts, so that others come between.
                thread::yield_now();
                copied(&shared, &sources[number], &on);
                let graph = capture.finish().unwrap();
                assert_eq!(graph.node_count().unwrap(), 2);
                if round % 10 == number {
                    graph.instantiate().unwrap().launch(&on).unwrap();
                    launched.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
    }
    assert_eq!(launched.load(Ordering::Relaxed), 2 * 4 * 10);
    assert!((1..=4).contains(&content(&shared)));
    assert!(device().errors().is_empty());
    if let Some(session) = turn.session() {
        assert!(session.faults().is_empty(), "{:?}", session.faults());
    }
}

#[test]
fn work_that_runs_and_captures_share_memory() {
    let Some(_turn) = common::gpu() else { return };
    let (shared, one, two) = (filled(0), filled(1), filled(2));
    together(4, |number| {
        let on = stream();
        for _ in 0..100 {
            match number % 2 {
                0 => copied(&shared, &one, &on),
                _ => {
                    let graph = copying(&on, &shared, &two);
                    graph.instantiate().unwrap().launch(&on).unwrap();
                }
            }
        }
        on.synchronize().unwrap();
    });
    assert!((1..=2).contains(&content(&shared)));
    assert!(device().errors().is_empty());
}

#[test]
fn a_use_in_a_capture_is_nothing_to_wait_for() {
    let Some(_turn) = common::gpu() else { return };
    let (on, own, other) = (stream(), stream(), stream());
    let (bytes, one, two) = (filled(1), filled(3), filled(4));
    // It was used on the stream before, twice captured, and is used in it as well.
    copied(&bytes, &one, &on);
    for _ in 0..2 {
        drop(copying(&on, &bytes, &two));
    }
    let captures = (on.capture().unwrap(), other.capture().unwrap());
    copied(&bytes, &two, &on);
    copied(&bytes, &one, &other);
    // Whoever works outside meanwhile comes after what runs, and after nothing else.
    copied(&bytes, &one, &own);
    own.synchronize().unwrap();
    assert_eq!(content(&bytes), 3);
    bytes.synchronize().unwrap();
    for capture in [captures.0, captures.1] {
        assert_eq!(capture.finish().unwrap().node_count().unwrap(), 1);
    }
    assert_eq!(content(&bytes), 3);
}

#[test]
fn a_launch_comes_between_the_work_of_other_streams() {
    let Some(turn) = common::gpu() else { return };
    let (captured, launching, other) = (stream(), stream(), stream());
    let (bytes, out) = (filled(1), filled(2));
    let (five, six) = (filled(5), filled(6));
    let mut ready = copying(&captured, &out, &bytes).instantiate().unwrap();
    let mut changed = copying(&captured, &bytes, &six).instantiate().unwrap();
    if let Some(session) = turn.session() {
        session.deferred(true);
    }
    for _ in 0..3 {
        copied(&bytes, &five, &other);
        // After that, though it is on another stream than the one that was captured.
        ready.launch(&launching).unwrap();
        // After the launch, which reads what this writes; and so on.
        changed.launch(&captured).unwrap();
        assert_eq!((content(&bytes), content(&out)), (6, 5));
        copied(&out, &six, &other);
    }
    assert!(device().errors().is_empty());
}

#[test]
fn memory_that_a_launch_elsewhere_uses_is_not_given_out_again() {
    let Some(session) = common::fake_only() else {
        return;
    };
    let (captured, launching) = (stream(), stream());
    let pool = BinnedPool::new(&device());
    let (out, seven, eight) = (filled(1), filled(7), filled(8));
    let bytes = pool.allocate_bytes(64, &captured).unwrap();
    let address = bytes.ptr();
    copied(&bytes, &seven, &captured);
    let mut ready = copying(&captured, &out, &bytes).instantiate().unwrap();
    captured.synchronize().unwrap();
    session.deferred(true);
    ready.launch(&launching).unwrap();
    drop(bytes);
    // It waits for its launch, and gives the memory back to the pool.
    drop(ready);
    let again = pool.allocate_bytes(64, &captured).unwrap();
    assert_eq!(again.ptr(), address);
    copied(&again, &eight, &captured);
    captured.synchronize().unwrap();
    assert_eq!((content(&out), content(&again)), (7, 8));
    assert!(session.faults().is_empty(), "{:?}", session.faults());
}

#[test]
fn a_changed_graph_uses_what_its_new_work_uses() {
    let Some(session) = common::fake_only() else {
        return;
    };
    let (on, other, launching) = (stream(), stream(), stream());
    let (before, after, out, five) = (filled(1), filled(2), filled(0), filled(5));
    let mut ready = copying(&on, &out, &before).instantiate().unwrap();
    ready.update(&copying(&on, &out, &after)).unwrap();
    session.deferred(true);
    copied(&after, &five, &on);
    copied(&before, &five, &other);
    ready.launch(&launching).unwrap();
    launching.synchronize().unwrap();
    assert_eq!(session.peek(out.ptr(), 1), Some(vec![5]));
    // Nothing has waited for the work on what it does not use any more.
    assert_eq!(session.peek(before.ptr(), 1), Some(vec![1]));
}

#[test]
fn launches_and_copies_of_many_threads_do_not_wait_for_each_other_for_ever() {
    let Some(_turn) = common::gpu() else { return };
    let pieces: Vec<DeviceBytes> = (0..4).map(filled).collect();
    together(4, |number| {
        let on = stream();
        // Around in both directions, so that every order of the pieces is there.
        let next = |at: usize| match number % 2 {
            0 => (at + 1) % 4,
            _ => (at + 3) % 4,
        };
        let capture = on.capture().unwrap();
        for at in 0..4 {
            copied(&pieces[at], &pieces[next(at)], &on);
        }
        let mut ready = capture.finish().unwrap().instantiate().unwrap();
        for round in 0..100 {
            match (round + number) % 3 {
                0 => copied(&pieces[round % 4], &pieces[next(round % 4)], &on),
                _ => ready.launch(&on).unwrap(),
            }
        }
        ready.close().unwrap();
    });
    for piece in &pieces {
        assert!(content(piece) < 4);
    }
}

#[test]
fn a_launch_says_what_it_cannot_wait_for() {
    let Some(_turn) = common::gpu() else { return };
    let (on, other) = (stream(), stream());
    let (bytes, four) = (filled(1), filled(4));
    let mut ready = copying(&on, &bytes, &four).instantiate().unwrap();
    bytes.use_on(&other, Access::Write).unwrap();
    let table = device().driver().table();
    let _context = device().bind().unwrap();
    let (begin, end) = (
        table.cuStreamBeginCapture_v2.unwrap(),
        table.cuStreamEndCapture.unwrap(),
    );
    // As another library would.
    let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
    // SAFETY: the context is current, the stream alive.
    assert_eq!(unsafe { begin(other.handle(), mode) }.0, 0);
    // Writing down waits for nobody.
    let second = copying(&on, &bytes, &four);
    let error = ready.launch(&on).unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Busy);
    assert!(
        error
            .to_string()
            .contains("for which the launch has to wait"),
        "{error}"
    );
    // The capture has not come to harm.
    let mut graph = std::ptr::null_mut();
    // SAFETY: as above; the graph is destroyed once.
    unsafe {
        assert_eq!(end(other.handle(), &raw mut graph).0, 0);
        assert_eq!(table.cuGraphDestroy.unwrap()(graph).0, 0);
    }
    assert_eq!(content(&bytes), 1);
    for mut ready in [ready, second.instantiate().unwrap()] {
        ready.launch(&on).unwrap();
        assert_eq!(content(&bytes), 4);
    }
}

#[test]
fn the_default_stream_is_marked_for_every_capture_in_its_way() {
    let Some(turn) = common::gpu() else { return };
    let blocking = || Stream::new(&device()).unwrap();
    let (one, two, legacy) = (blocking(), blocking(), Stream::legacy(&device()));
    let (bytes, seven) = (filled(1), filled(7));
    if let Some(session) = turn.session() {
        session.deferred(true);
    }
    copied(&bytes, &seven, &legacy);
    let first = one.capture().unwrap();
    let second = two.capture().unwrap();
    drop(first);
    // The second one is in its way yet.
    assert_eq!(content(&bytes), 7);
    drop(second);
}
