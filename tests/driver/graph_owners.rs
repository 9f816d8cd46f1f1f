//! What graphs keep: memory that is dropped, what single pieces of work use, and captures that end on other threads.
#![allow(unsafe_code, reason = "launches kernels")]

use crate::common;
use crate::support::{Memory, device};
use std::sync::Arc;
use ulib_core::ErrorKind;
use ulib_device::memory::{BinnedPool, DriverResource, PoolResource};
use ulib_device::report::{self, Kind};
use ulib_device::texture::{Array, ArrayDescriptor, Format};
use ulib_device::{Access, DeviceBytes, Graph, Kernel, LaunchConfig, Stream, copy, graph, launch};

const BREAK: Kernel = Kernel {
    ptx: ".version 7.0\n.target sm_60\n.address_size 64\n.visible .entry fakecuda_break() { ret; }\n",
    entry: "fakecuda_break",
};

const ONE: LaunchConfig = LaunchConfig {
    grid: [1; 3],
    block: [1; 3],
    shared_bytes: 0,
};

/// Memory that nothing caches.
fn memory(stream: &Stream, len: usize) -> DeviceBytes {
    let resource = Arc::new(DriverResource::new(&device()));
    DeviceBytes::allocate_from(resource, stream, len).unwrap()
}

fn held() -> u64 {
    device().held().bytes
}

/// A graph that copies one piece of memory to another one.
fn copying(stream: &Stream, to: &DeviceBytes, from: &DeviceBytes) -> Graph<'static> {
    let capture = stream.capture().unwrap();
    copy::copy_device(to, 0, from, 0, to.len(), stream).unwrap();
    capture.finish().unwrap()
}

#[test]
fn memory_that_a_graph_uses_is_given_back_with_the_graph() {
    let Some(_turn) = common::gpu() else { return };
    let stream = Stream::non_blocking(&device()).unwrap();
    let before = held();
    let (from, to) = (memory(&stream, 64), memory(&stream, 64));
    copy::upload(&from, 0, &[7; 64], &stream).unwrap();
    let first = copying(&stream, &to, &from);
    let second = copying(&stream, &to, &from);
    // By name, and by the end of its owner.
    from.close().unwrap();
    assert_eq!(held(), before + 128, "two graphs use it");
    let mut ready = first.instantiate().unwrap();
    drop(first);
    ready.launch(&stream).unwrap();
    let mut back = [0; 64];
    copy::download(&to, 0, &mut back, &stream).unwrap();
    assert_eq!(back, [7; 64]);
    drop(to);
    ready.close().unwrap();
    assert_eq!(held(), before + 128, "the second graph uses it");
    drop(second);
    assert_eq!(held(), before);
    assert!(device().errors().is_empty());
}

#[test]
fn a_graph_is_not_launched_into_a_capture_which_goes_on() {
    let Some(_turn) = common::gpu() else { return };
    let stream = Stream::non_blocking(&device()).unwrap();
    let (from, to, out) = (
        memory(&stream, 64),
        memory(&stream, 64),
        memory(&stream, 64),
    );
    copy::upload(&from, 0, &[7; 64], &stream).unwrap();
    let mut inner = copying(&stream, &to, &from).instantiate().unwrap();
    inner.launch(&stream).unwrap();
    let capture = stream.capture().unwrap();
    let error = inner.launch(&stream).expect_err("a graph in a graph");
    assert_eq!(*error.kind(), ErrorKind::Busy, "{error}");
    copy::copy_device(&out, 0, &to, 0, 64, &stream).unwrap();
    let graph = capture.finish().unwrap();
    assert_eq!(graph.node_count().unwrap(), 1);
    graph.instantiate().unwrap().launch(&stream).unwrap();
    let mut back = [0; 64];
    copy::download(&out, 0, &mut back, &stream).unwrap();
    assert_eq!(back, [7; 64]);
}

#[test]
fn memory_that_an_abandoned_capture_used_is_given_back() {
    let Some(_turn) = common::gpu() else { return };
    let stream = Stream::non_blocking(&device()).unwrap();
    let before = held();
    let (from, to) = (memory(&stream, 64), memory(&stream, 64));
    let capture = stream.capture().unwrap();
    copy::copy_device(&to, 0, &from, 0, 64, &stream).unwrap();
    drop((from, to));
    assert_eq!(held(), before + 128, "the capture could become a graph");
    drop(capture);
    stream.synchronize().unwrap();
    assert_eq!(held(), before);
}

#[test]
fn an_array_that_a_graph_uses_is_destroyed_with_it() {
    let Some(_turn) = common::gpu() else { return };
    let stream = Stream::non_blocking(&device()).unwrap();
    let before = report::count(Kind::Array);
    let plane = ArrayDescriptor::plane(8, 8, Format::F32, 1);
    let make = || Array::new(&device(), plane).unwrap();
    let (from, to) = (make(), make());
    from.upload(&[5.0_f32; 64], &stream).unwrap();
    let capture = stream.capture().unwrap();
    let whole = from.whole();
    copy::copy_between_arrays(&to, [0; 3], &from, [0; 3], whole, &stream).unwrap();
    let graph = capture.finish().unwrap();
    drop(from);
    let mut ready = graph.instantiate().unwrap();
    drop(graph);
    ready.launch(&stream).unwrap();
    assert_eq!(to.to_vec::<f32>(&stream).unwrap(), [5.0; 64]);
    drop(to);
    assert_eq!(report::count(Kind::Array), before + 2);
    drop(ready);
    assert_eq!(report::count(Kind::Array), before);
}

#[test]
fn a_capture_ends_on_any_thread() {
    let Some(_turn) = common::gpu() else { return };
    // A blocking stream, whose capture would be in everybody's way.
    let stream = Stream::new(&device()).unwrap();
    let memory = Memory::new(&device(), 64);
    let capture = stream.capture().unwrap();
    memory.fill(7, &stream);
    let elsewhere = std::thread::spawn(move || drop(capture));
    elsewhere.join().unwrap();
    assert!(!stream.is_capturing().unwrap());
    memory.fill(1, &Stream::legacy(&device()));
    device().synchronize().unwrap();
    assert_eq!(memory.first_byte(&stream), 1, "nothing of it has run");
    let capture = stream.capture().unwrap();
    memory.fill(8, &stream);
    let graph = std::thread::spawn(move || capture.finish().unwrap());
    let mut ready = graph.join().unwrap().instantiate().unwrap();
    ready.launch(&stream).unwrap();
    assert_eq!(memory.first_byte(&stream), 8);
    assert!(device().errors().is_empty());
}

#[test]
fn a_capture_is_ended_though_the_first_attempt_fails() {
    let Some(session) = common::fake_only() else {
        return;
    };
    let stream = Stream::new(&device()).unwrap();
    let memory = Memory::new(&device(), 64);
    for finish in [false, true] {
        let capture = stream.capture().unwrap();
        memory.fill(7, &stream);
        session.fail("cuStreamEndCapture", 1, 999);
        match finish {
            true => drop(capture.finish().unwrap_err()),
            false => drop(capture),
        }
        session.fail_nothing();
        assert!(!stream.is_capturing().unwrap());
        device().synchronize().unwrap();
    }
    drop(stream);
    let graphs = session.live();
    let graphs = graphs
        .iter()
        .filter(|live| live.kind == fakecuda::Kind::Graph);
    assert_eq!(graphs.count(), 0);
    assert!(device().errors().is_empty());
}

#[test]
fn a_wait_for_the_device_leaves_a_capture_alone() {
    let Some(_turn) = common::gpu() else { return };
    let memory = Memory::new(&device(), 64);
    for stream in [
        Stream::non_blocking(&device()).unwrap(),
        Stream::new(&device()).unwrap(),
    ] {
        let capture = stream.capture().unwrap();
        memory.fill(7, &stream);
        for _ in 0..2 {
            let error = device().synchronize().unwrap_err();
            assert_eq!(*error.kind(), ErrorKind::Busy);
        }
        let waited = std::thread::spawn(|| device().synchronize().map_err(|e| e.kind().clone()));
        assert_eq!(waited.join().unwrap(), Err(ErrorKind::Busy));
        assert_eq!(capture.finish().unwrap().node_count().unwrap(), 1);
        device().synchronize().unwrap();
    }
}

#[test]
fn what_replaced_work_used_goes() {
    let Some(_session) = common::fake_only() else {
        return;
    };
    let stream = Stream::non_blocking(&device()).unwrap();
    let function = BREAK.function(&device()).unwrap();
    let memory = Memory::new(&device(), 64);
    let owners: Vec<Arc<i32>> = (0..5).map(Arc::new).collect();
    let counts = || owners.iter().map(Arc::strong_count).collect::<Vec<_>>();
    let capture = stream.capture().unwrap();
    for owner in &owners[..2] {
        memory.fill(1, &stream);
        // SAFETY: no parameters.
        let start = || unsafe { launch(&function, &stream, ONE, &mut []) };
        stream.queue_kept(|| Arc::clone(owner), start).unwrap();
    }
    let failed = stream.queue_kept(
        || Arc::clone(&owners[2]),
        || Err::<(), _>(ulib_core::Error::busy("test", "anything")),
    );
    assert!(failed.is_err());
    let graph = capture.finish().unwrap();
    assert_eq!(counts(), [2, 2, 2, 1, 1]);
    let nodes = graph.nodes().unwrap();
    assert_eq!(nodes.len(), 4);
    let mut ready = graph.instantiate().unwrap();
    let mut second = graph.instantiate().unwrap();
    drop(graph);
    for (owner, expected) in [(3, [2, 2, 2, 2, 1]), (4, [2, 2, 2, 1, 2])] {
        for exec in [&mut ready, &mut second] {
            // SAFETY: no parameters.
            unsafe { exec.set_kernel(&nodes[1], &function, ONE, &mut []) }.unwrap();
        }
        ready.keep_for(&nodes[1], Arc::clone(&owners[owner]));
        // The first owner was the replaced work's.
        let expected = [1, expected[1], expected[2], expected[3], expected[4]];
        assert_eq!(counts(), expected);
    }
    drop((ready, second));
    assert_eq!(counts(), [1; 5]);
}

#[test]
fn replaced_work_goes_after_its_last_launch() {
    let Some(session) = common::fake_only() else {
        return;
    };
    session.deferred(true);
    let stream = Stream::non_blocking(&device()).unwrap();
    let memory = Memory::new(&device(), 64);
    let owner = Arc::new(());
    let filling = || {
        let capture = stream.capture().unwrap();
        memory.fill(7, &stream);
        capture
    };
    let capture = filling();
    capture.keep(Arc::clone(&owner));
    let mut ready = capture.finish().unwrap().instantiate().unwrap();
    ready.launch(&stream).unwrap();
    ready.update(&filling().finish().unwrap()).unwrap();
    assert_eq!(Arc::strong_count(&owner), 2, "the launch has not run");
    stream.synchronize().unwrap();
    graph::let_go();
    assert_eq!(Arc::strong_count(&owner), 1);
}

#[test]
fn a_graph_whose_stream_is_captured_anew_outlives_its_owner() {
    let Some(session) = common::fake_only() else {
        return;
    };
    session.deferred(true);
    let stream = Stream::non_blocking(&device()).unwrap();
    let bytes = memory(&stream, 64);
    let from = memory(&stream, 64);
    let address = bytes.ptr();
    copy::upload(&from, 0, &[7; 64], &stream).unwrap();
    let mut ready = copying(&stream, &bytes, &from).instantiate().unwrap();
    let count = report::count(Kind::GraphExec);
    ready.launch(&stream).unwrap();
    let capture = stream.capture().unwrap();
    drop((bytes, from));
    // Its launch cannot be waited for now.
    drop(ready);
    assert_eq!(report::count(Kind::GraphExec), count);
    drop(capture);
    assert_ne!(session.peek(address, 1), Some(vec![7]));
    stream.synchronize().unwrap();
    assert_eq!(session.peek(address, 1), Some(vec![7]));
    graph::let_go();
    assert_eq!(report::count(Kind::GraphExec), count - 1);
    assert!(session.faults().is_empty(), "{:?}", session.faults());
    assert!(device().errors().is_empty());
}

#[test]
fn fresh_memory_is_used_in_any_capture() {
    let Some(_turn) = common::gpu() else { return };
    let (one, other) = (
        Stream::new(&device()).unwrap(),
        Stream::new(&device()).unwrap(),
    );
    let legacy = Stream::legacy(&device());
    let source = memory(&legacy, 64);
    copy::upload(&source, 0, &[3; 64], &legacy).unwrap();
    let pool = BinnedPool::new(&device());
    let streams = PoolResource::new(&device()).ok().map(PoolResource::shared);
    let captures = (one.capture().unwrap(), other.capture().unwrap());
    let mut made = Vec::new();
    for on in [&one, &other, &legacy] {
        made.push(pool.allocate_bytes(64, on).unwrap());
        if let Some(streams) = &streams {
            made.push(DeviceBytes::allocate_from(Arc::clone(streams) as _, on, 64).unwrap());
        }
    }
    for bytes in &made {
        // In both graphs, whose launches are ordered by who makes them.
        for stream in [&other, &one] {
            copy::copy_device(bytes, 0, &source, 0, 64, stream).unwrap();
        }
    }
    let graphs = [captures.0.finish().unwrap(), captures.1.finish().unwrap()];
    for graph in graphs {
        assert_eq!(graph.node_count().unwrap(), made.len());
        let mut ready = graph.instantiate().unwrap();
        ready.launch(&one).unwrap();
    }
    let mut back = [0; 64];
    for bytes in &made {
        copy::download(bytes, 0, &mut back, &one).unwrap();
        assert_eq!(back, [3; 64]);
    }
}

#[test]
fn a_graph_comes_after_what_used_its_memory_before() {
    let Some(turn) = common::gpu() else { return };
    let (one, other) = (
        Stream::new(&device()).unwrap(),
        Stream::new(&device()).unwrap(),
    );
    let legacy = Stream::legacy(&device());
    let (bytes, second) = (memory(&legacy, 64), memory(&legacy, 64));
    let source = memory(&legacy, 64);
    copy::upload(&source, 0, &[4; 64], &legacy).unwrap();
    if let Some(session) = turn.session() {
        session.deferred(true);
    }
    copy::copy_device(&bytes, 0, &source, 0, 64, &legacy).unwrap();
    copy::copy_device(&second, 0, &source, 0, 64, &other).unwrap();
    // Neither the default stream nor the other one can be waited for from here on.
    let captures = (one.capture().unwrap(), other.capture().unwrap());
    // That its stream uses it in a capture as well makes no difference.
    second.use_on(&other, Access::Write).unwrap();
    for bytes in [&bytes, &second] {
        bytes.use_on(&one, Access::Write).unwrap();
    }
    for capture in [captures.0, captures.1] {
        assert_eq!(capture.finish().unwrap().node_count().unwrap(), 0);
    }
    let mut back = [0; 64];
    for bytes in [&bytes, &second] {
        copy::download(bytes, 0, &mut back, &one).unwrap();
        assert_eq!(back, [4; 64]);
    }
}
