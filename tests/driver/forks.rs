//! Captures that other streams join, and events of captures.
#![allow(unsafe_code, reason = "asks the driver itself")]

use crate::common;
use crate::support::{Memory, device};
use std::sync::Arc;
use std::thread;
use ulib_core::{Error, ErrorKind};
use ulib_device::graph::NodeKind;
use ulib_device::memory::DriverResource;
use ulib_device::report::{self, Kind};
use ulib_device::{DeviceBytes, Event, Stream, copy};

fn streams() -> (Stream, Stream) {
    let make = || Stream::non_blocking(&device()).unwrap();
    (make(), make())
}

/// Memory that nothing caches, with this content.
fn filled(value: u8) -> DeviceBytes {
    let legacy = Stream::legacy(&device());
    let resource = Arc::new(DriverResource::new(&device()));
    let bytes = DeviceBytes::allocate_from(resource, &legacy, 64).unwrap();
    copy::upload(&bytes, 0, &[value; 64], &legacy).unwrap();
    bytes
}

fn content(bytes: &DeviceBytes) -> u8 {
    let mut back = [0; 64];
    copy::download(bytes, 0, &mut back, &Stream::legacy(&device())).unwrap();
    assert!(back.iter().all(|byte| *byte == back[0]), "{back:?}");
    back[0]
}

fn copied(to: &DeviceBytes, from: &DeviceBytes, stream: &Stream) {
    copy::copy_device(to, 0, from, 0, 64, stream).unwrap();
}

fn busy(error: &Error, words: &str) {
    assert_eq!(*error.kind(), ErrorKind::Busy, "{error}");
    assert!(error.to_string().contains(words), "{error}");
}

#[test]
fn a_stream_that_waits_for_a_captured_one_is_captured_with_it() {
    let Some(_turn) = common::gpu() else { return };
    let (origin, fork) = streams();
    let (one, two) = (Memory::new(&device(), 64), Memory::new(&device(), 64));
    for memory in [&one, &two] {
        memory.fill(1, &origin);
    }
    origin.synchronize().unwrap();
    let capture = origin.capture().unwrap();
    one.fill(2, &origin);
    assert!(!fork.is_capturing().unwrap());
    fork.wait_for(&origin).unwrap();
    assert!(fork.is_capturing().unwrap());
    assert_eq!(
        fork.capture_number().unwrap(),
        origin.capture_number().unwrap()
    );
    busy(&fork.synchronize().unwrap_err(), "captured");
    busy(&fork.is_done().unwrap_err(), "captured");
    assert!(fork.capture().is_err(), "it is captured already");
    two.fill(3, &fork);
    one.fill(4, &origin);
    origin.wait_for(&fork).unwrap();
    two.fill(5, &origin);
    let graph = capture.finish().unwrap();
    assert!(!fork.is_capturing().unwrap() && !origin.is_capturing().unwrap());
    assert_eq!(graph.node_count().unwrap(), 4);
    for node in graph.nodes().unwrap() {
        assert_eq!(node.kind().unwrap(), NodeKind::Fill);
    }
    assert_eq!((one.first_byte(&fork), two.first_byte(&fork)), (1, 1));
    let mut ready = graph.instantiate().unwrap();
    ready.launch(&fork).unwrap();
    ready.synchronize().unwrap();
    assert_eq!((one.first_byte(&fork), two.first_byte(&fork)), (4, 5));
}

#[test]
fn what_streams_of_one_capture_do_with_memory_is_in_order() {
    let Some(_turn) = common::gpu() else { return };
    let (origin, fork) = streams();
    let (seven, nine, between, out) = (filled(7), filled(9), filled(1), filled(1));
    // Work that runs, in both, before the capture: no part of it.
    copied(&between, &seven, &fork);
    copied(&between, &nine, &origin);
    let capture = origin.capture().unwrap();
    fork.wait_for(&origin).unwrap();
    // Neither of these waits for the other one by itself: the memory makes them.
    copied(&between, &seven, &origin);
    copied(&out, &between, &fork);
    copied(&between, &nine, &origin);
    origin.wait_for(&fork).unwrap();
    let graph = capture.finish().unwrap();
    assert_eq!(graph.node_count().unwrap(), 3);
    let mut ready = graph.instantiate().unwrap();
    for _ in 0..2 {
        ready.launch(&fork).unwrap();
        assert_eq!((content(&out), content(&between)), (7, 9));
        copied(&out, &nine, &origin);
    }
}

#[test]
fn what_a_fork_uses_lives_as_long_as_the_graph() {
    let Some(_turn) = common::gpu() else { return };
    let before = (device().held().bytes, report::count(Kind::Stream));
    let (origin, fork) = streams();
    let (from, to, kept) = (filled(7), filled(1), Arc::new(()));
    let capture = origin.capture().unwrap();
    fork.wait_for(&origin).unwrap();
    let inner = filled(3);
    copied(&inner, &from, &fork);
    copied(&to, &inner, &fork);
    assert!(fork.keep_in_capture(|| Arc::clone(&kept)).unwrap());
    origin.wait_for(&fork).unwrap();
    // By the end of the owner, within the capture and after it, and by name.
    drop(inner);
    drop(fork);
    let graph = capture.finish().unwrap();
    from.close().unwrap();
    let mut ready = graph.instantiate().unwrap();
    drop(graph);
    assert_eq!(device().held().bytes, before.0 + 3 * 64);
    ready.launch(&origin).unwrap();
    assert_eq!(content(&to), 7);
    drop(to);
    ready.close().unwrap();
    assert_eq!(Arc::strong_count(&kept), 1);
    drop(origin);
    assert_eq!((device().held().bytes, report::count(Kind::Stream)), before);
    assert!(device().errors().is_empty());
}

#[test]
fn a_fork_that_is_not_waited_for_leaves_no_graph() {
    let Some(turn) = common::gpu() else { return };
    let (origin, fork) = streams();
    let (memory, bytes, from) = (Memory::new(&device(), 64), filled(1), filled(7));
    memory.fill(1, &origin);
    origin.synchronize().unwrap();
    let graphs = report::count(Kind::Graph);
    for finish in [true, false] {
        let held = device().held().bytes;
        let capture = origin.capture().unwrap();
        memory.fill(2, &origin);
        fork.wait_for(&origin).unwrap();
        memory.fill(3, &fork);
        let dropped = filled(2);
        copied(&dropped, &from, &fork);
        copied(&bytes, &from, &fork);
        drop(dropped);
        match finish {
            true => {
                let error = capture.finish().unwrap_err();
                assert!(
                    error
                        .to_string()
                        .contains("did not wait for before the end"),
                    "{error}"
                );
            }
            false => drop(capture),
        }
        for stream in [&origin, &fork] {
            assert!(!stream.is_capturing().unwrap());
            stream.synchronize().unwrap();
        }
        assert_eq!(memory.first_byte(&fork), 1, "nothing has run");
        assert_eq!(content(&bytes), 1, "nothing has run");
        assert_eq!(device().held().bytes, held);
    }
    assert_eq!(report::count(Kind::Graph), graphs);
    copied(&bytes, &from, &fork);
    assert_eq!(content(&bytes), 7);
    // One that has nothing to do needs no wait.
    let capture = origin.capture().unwrap();
    memory.fill(4, &origin);
    fork.wait_for(&origin).unwrap();
    origin.wait_for(&fork).unwrap();
    let mut ready = capture.finish().unwrap().instantiate().unwrap();
    ready.launch(&origin).unwrap();
    assert_eq!(memory.first_byte(&origin), 4);
    assert!(device().errors().is_empty());
    if let Some(session) = turn.session() {
        assert!(session.faults().is_empty(), "{:?}", session.faults());
    }
}

#[test]
fn work_of_a_fork_before_the_capture_is_waited_for() {
    let Some(turn) = common::gpu() else { return };
    // Blocking ones: a capture of the fork is in the way of the default stream, too.
    let origin = Stream::non_blocking(&device()).unwrap();
    let fork = Stream::new(&device()).unwrap();
    let legacy = Stream::legacy(&device());
    let (from, by_fork, by_legacy, out) = (filled(7), filled(1), filled(1), filled(1));
    if let Some(session) = turn.session() {
        session.deferred(true);
    }
    copied(&by_legacy, &from, &legacy);
    copied(&by_fork, &from, &fork);
    let capture = origin.capture().unwrap();
    fork.wait_for(&origin).unwrap();
    busy(&device().synchronize().unwrap_err(), "captured");
    // Other threads go on with what the streams did before.
    thread::scope(|scope| {
        let other = scope.spawn(|| {
            let own = Stream::non_blocking(&device()).unwrap();
            for bytes in [&by_fork, &by_legacy] {
                copied(&out, bytes, &own);
                own.synchronize().unwrap();
                let mut back = [0; 64];
                copy::download(&out, 0, &mut back, &own).unwrap();
                assert_eq!(back, [7; 64]);
            }
        });
        other.join().unwrap();
    });
    origin.wait_for(&fork).unwrap();
    assert_eq!(capture.finish().unwrap().node_count().unwrap(), 0);
    device().synchronize().unwrap();
    assert!(device().errors().is_empty());
}

#[test]
fn an_event_of_a_capture_stands_for_nothing_outside() {
    let Some(_turn) = common::gpu() else { return };
    let (stream, other) = streams();
    let memory = Memory::new(&device(), 64);
    let outside = Event::timed(&device()).unwrap();
    outside.record(&stream).unwrap();
    let event = Event::timed(&device()).unwrap();
    let refused = || {
        let words = "stands for a point of the graph";
        busy(&event.is_done().unwrap_err(), words);
        busy(&event.synchronize().unwrap_err(), words);
        busy(&event.elapsed_ms(&outside).unwrap_err(), words);
        busy(&outside.elapsed_ms(&event).unwrap_err(), words);
    };
    let capture = stream.capture().unwrap();
    memory.fill(5, &stream);
    event.record(&stream).unwrap();
    refused();
    let graph = capture.finish().expect("the questions have not spoilt it");
    assert_eq!(graph.node_count().unwrap(), 1);
    refused();
    busy(&other.wait(&event).unwrap_err(), "stands for a point");
    graph.instantiate().unwrap().launch(&stream).unwrap();
    refused();
    event.record(&other).unwrap();
    event.synchronize().unwrap();
    assert!(event.is_done().unwrap());
    outside.synchronize().unwrap();
    assert!(event.elapsed_ms(&outside).unwrap() >= 0.0);
    stream.wait(&event).unwrap();
    stream.synchronize().unwrap();
    assert_eq!(memory.first_byte(&stream), 5);
}

#[test]
fn what_would_spoil_a_capture_is_refused() {
    let Some(_turn) = common::gpu() else { return };
    let (one, two) = streams();
    let memory = Memory::new(&device(), 64);
    let outside = two.record().unwrap();
    let captures = (one.capture().unwrap(), two.capture().unwrap());
    memory.fill(5, &one);
    memory.fill(6, &two);
    let event = one.record().unwrap();
    busy(&two.wait(&event).unwrap_err(), "another graph");
    let legacy = Stream::legacy(&device());
    busy(&legacy.wait(&event).unwrap_err(), "the default stream");
    busy(&one.wait(&outside).unwrap_err(), "work outside it");
    // Its own, as often as wanted.
    one.wait(&event).unwrap();
    one.wait(&event).unwrap();
    for capture in [captures.0, captures.1] {
        assert_eq!(capture.finish().unwrap().node_count().unwrap(), 1);
    }
    one.wait(&outside).unwrap();
}

#[test]
fn a_captured_stream_waits_for_work_of_other_streams() {
    let Some(turn) = common::gpu() else { return };
    let (stream, other) = streams();
    let memory = Memory::new(&device(), 64);
    memory.fill(1, &other);
    other.synchronize().unwrap();
    if let Some(session) = turn.session() {
        session.deferred(true);
    }
    memory.fill(2, &other);
    let capture = stream.capture().unwrap();
    stream.wait_for(&other).unwrap();
    if let Some(session) = turn.session() {
        // The host has waited, since the graph cannot.
        assert_eq!(session.peek(memory.address, 1), Some(vec![2]));
    }
    memory.fill(3, &stream);
    let graph = capture.finish().unwrap();
    assert_eq!(graph.node_count().unwrap(), 1);
    assert_eq!(memory.first_byte(&other), 2);
}

/// What the driver itself says, without this crate's refusals.
#[test]
fn the_driver_tells_nothing_of_an_event_of_a_capture_that_has_ended() {
    let Some(_turn) = common::gpu() else { return };
    let stream = Stream::non_blocking(&device()).unwrap();
    let event = Event::new(&device()).unwrap();
    let capture = stream.capture().unwrap();
    event.record(&stream).unwrap();
    let graph = capture.finish().unwrap();
    let _context = device().bind().unwrap();
    let driver = device().driver();
    let table = driver.table();
    // SAFETY: the context is current, the event alive.
    let answers = unsafe {
        [
            (table.cuEventQuery)(event.handle()).0,
            (table.cuEventSynchronize)(event.handle()).0,
        ]
    };
    // That the values are wrong.
    assert_eq!(answers, [1, 1]);
    drop(graph);
}
