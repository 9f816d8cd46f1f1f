//! Graphs: captured, launched, changed; and an error at every call of a program.
#![allow(unsafe_code, reason = "launches kernels")]

use crate::common;
use crate::support::{Memory, device};
use std::sync::Arc;
use ulib_core::{ErrorKind, Result};
use ulib_device::graph::NodeKind;
use ulib_device::report::{self, Kind};
use ulib_device::{
    Device, DeviceBytes, Event, Graph, Kernel, LaunchConfig, Stream, StreamKind, launch,
};

const BREAK: Kernel = Kernel {
    ptx: ".version 7.0\n.target sm_60\n.address_size 64\n.visible .entry fakecuda_break() { ret; }\n",
    entry: "fakecuda_break",
};

const ONE: LaunchConfig = LaunchConfig {
    grid: [1; 3],
    block: [1; 3],
    shared_bytes: 0,
};

/// A graph that fills the memory with these bytes, one after another.
fn filling(stream: &Stream, memory: &Memory, values: &[u8]) -> Graph<'static> {
    let capture = stream.capture().unwrap();
    for value in values {
        memory.fill(*value, stream);
    }
    capture.finish().unwrap()
}

#[test]
fn captured_work_runs_when_the_graph_is_launched() {
    let Some(_turn) = common::gpu() else { return };
    let stream = Stream::non_blocking(&device()).unwrap();
    let memory = Memory::new(&device(), 64);
    memory.fill(1, &stream);
    stream.synchronize().unwrap();
    let mut capture = stream.capture().unwrap();
    assert!(stream.is_capturing().unwrap());
    assert_eq!(capture.stream(), &stream);
    assert_eq!(*stream.synchronize().unwrap_err().kind(), ErrorKind::Busy);
    let memory = capture.reads(&memory);
    memory.fill(2, &stream);
    memory.fill(3, &stream);
    let graph = capture.finish().unwrap();
    assert!(!stream.is_capturing().unwrap());
    let side = Stream::non_blocking(&device()).unwrap();
    assert_eq!(memory.first_byte(&side), 1, "nothing has run");
    assert_eq!(graph.node_count().unwrap(), 2);
    let nodes = graph.nodes().unwrap();
    let shown = format!("{:?}", nodes[0]);
    assert!(shown.starts_with("Node(Fill, 0x"), "{shown}");
    let kinds: Vec<_> = nodes.iter().map(|node| node.kind().unwrap()).collect();
    assert_eq!(kinds, [NodeKind::Fill, NodeKind::Fill]);
    let mut ready = graph.instantiate().unwrap();
    graph.close().unwrap();
    for value in [4, 5] {
        memory.fill(value, &stream);
        ready.launch(&stream).unwrap();
        ready.synchronize().unwrap();
        assert_eq!(memory.first_byte(&side), 3);
    }
    ready.close().unwrap();
}

#[test]
fn a_graph_takes_the_place_of_one_of_the_same_shape() {
    let Some(_turn) = common::gpu() else { return };
    let stream = Stream::non_blocking(&device()).unwrap();
    let memory = Memory::new(&device(), 64);
    let mut ready = filling(&stream, &memory, &[1, 2]).instantiate().unwrap();
    ready.launch(&stream).unwrap();
    ready.update(&filling(&stream, &memory, &[3, 4])).unwrap();
    ready.launch(&stream).unwrap();
    stream.synchronize().unwrap();
    assert_eq!(memory.first_byte(&stream), 4);
    let error = ready.update(&filling(&stream, &memory, &[5])).unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::InvalidArgument);
    assert!(
        error.to_string().contains("cannot take the place"),
        "{error}"
    );
    memory.fill(9, &stream);
    ready.launch(&stream).unwrap();
    assert_eq!(memory.first_byte(&stream), 4, "nothing has changed");
}

#[test]
fn a_capture_that_is_dropped_leaves_nothing() {
    let Some(turn) = common::gpu() else { return };
    let stream = Stream::new(&device()).unwrap();
    let memory = Memory::new(&device(), 64);
    let before = report::count(Kind::Graph);
    let capture = stream.capture().unwrap();
    memory.fill(7, &stream);
    let error = stream.capture().err().unwrap();
    assert_eq!(*error.kind(), ErrorKind::Busy, "one at a time");
    let error = Stream::legacy(&device()).capture().err().unwrap();
    assert_eq!(*error.kind(), ErrorKind::InvalidArgument);
    drop(capture);
    assert!(!stream.is_capturing().unwrap());
    memory.fill(8, &stream);
    stream.synchronize().unwrap();
    assert_eq!(report::count(Kind::Graph), before);
    assert!(device().errors().is_empty());
    if let Some(session) = turn.session() {
        drop(memory);
        drop(stream);
        assert!(session.live().is_empty(), "{:?}", session.live());
    }
    let refused = Stream::legacy(&device()).capture().err().unwrap();
    assert_eq!(refused.kind(), &ErrorKind::InvalidArgument);
    assert!(
        refused
            .to_string()
            .contains("the default stream cannot be captured")
    );
}

#[test]
fn other_threads_go_on_during_a_capture() {
    let Some(_turn) = common::gpu() else { return };
    let stream = Stream::non_blocking(&device()).unwrap();
    let memory = Memory::new(&device(), 64);
    let capture = stream.capture().unwrap();
    memory.fill(5, &stream);
    let other = std::thread::spawn(|| {
        let device = device();
        // Straight from the driver, in this thread's own mode.
        let memory = Memory::new(&device, 1 << 16);
        let own = Stream::non_blocking(&device).unwrap();
        memory.fill(6, &own);
        own.synchronize().unwrap();
        let bytes = DeviceBytes::allocate(&own, 1 << 16).unwrap();
        let event = Event::timed(&device).unwrap();
        event.record(&own).unwrap();
        event.synchronize().unwrap();
        drop(bytes);
        memory.first_byte(&own)
    });
    assert_eq!(other.join().unwrap(), 6);
    // On this thread, too, memory is to be had.
    let side = Stream::non_blocking(&device()).unwrap();
    drop(DeviceBytes::allocate(&side, 4096).unwrap());
    let mut ready = capture.finish().unwrap().instantiate().unwrap();
    ready.launch(&stream).unwrap();
    stream.synchronize().unwrap();
    assert_eq!(memory.first_byte(&side), 5);
}

#[test]
fn a_spoilt_capture_says_so() {
    let Some(session) = common::fake_only() else {
        return;
    };
    // A blocking stream: the default one would have to wait for it.
    let stream = Stream::new(&device()).unwrap();
    let capture = stream.capture().unwrap();
    let _context = device().bind().unwrap();
    // SAFETY: the context is current; the default stream is always there.
    let refused = unsafe { (device().driver().table().cuStreamSynchronize)(std::ptr::null_mut()) };
    assert_ne!(refused.0, 0);
    let error = capture.finish().unwrap_err();
    assert!(
        error.to_string().contains("has spoiled this one"),
        "{error}"
    );
    assert!(!stream.is_capturing().unwrap());
    drop(stream);
    assert!(
        session
            .live()
            .iter()
            .all(|live| live.kind != fakecuda::Kind::Graph)
    );
}

#[test]
fn what_a_graph_uses_lives_as_long_as_it_does() {
    let Some(_turn) = common::gpu() else { return };
    let stream = Stream::non_blocking(&device()).unwrap();
    let (given, found) = (Arc::new(1), Arc::new(2));
    let other = Stream::non_blocking(&device()).unwrap();
    let kept =
        |stream: &Stream, what: &Arc<i32>| stream.keep_in_capture(|| Arc::clone(what)).unwrap();
    assert!(!kept(&stream, &found), "no capture");
    let capture = stream.capture().unwrap();
    capture.keep(Arc::clone(&given));
    assert!(kept(&stream, &found));
    assert!(!kept(&other, &found), "not captured");
    assert!(!kept(&Stream::legacy(&device()), &found));
    let graph = capture.finish().unwrap();
    assert!(!kept(&stream, &found), "ended");
    let count = || (Arc::strong_count(&given), Arc::strong_count(&found));
    assert_eq!(count(), (2, 2));
    let mut ready = graph.instantiate().unwrap();
    drop(graph);
    assert_eq!(count(), (2, 2));
    // Nothing has run: what came before goes at once.
    ready
        .update(&stream.capture().unwrap().finish().unwrap())
        .unwrap();
    assert_eq!(count(), (1, 1));
    ready.keep(Arc::clone(&given));
    assert_eq!(count(), (2, 1));
    drop(ready);
    assert_eq!(count(), (1, 1));
    // Forgotten with the capture.
    let capture = stream.capture().unwrap();
    capture.keep(Arc::clone(&given));
    drop(capture);
    assert_eq!(count(), (1, 1));
}

#[test]
fn a_graph_waits_for_its_launches_before_it_goes() {
    let Some(session) = common::fake_only() else {
        return;
    };
    session.deferred(true);
    let stream = Stream::non_blocking(&device()).unwrap();
    let owner = Stream::non_blocking(&device()).unwrap();
    // SAFETY: `owner` outlives it.
    let foreign = unsafe { Stream::from_raw(&device(), owner.handle() as usize) };
    let memory = Memory::new(&device(), 4);
    for on in [&stream, &foreign] {
        let mut ready = filling(&stream, &memory, &[7]).instantiate().unwrap();
        memory.fill(1, on);
        ready.launch(on).unwrap();
        assert_ne!(session.peek(memory.address, 1), Some(vec![7]));
        drop(ready);
        assert_eq!(session.peek(memory.address, 1), Some(vec![7]));
        memory.fill(1, on);
        on.synchronize().unwrap();
    }
}

#[test]
fn launches_of_a_graph_are_changed_one_by_one() {
    let Some(session) = common::fake_only() else {
        return;
    };
    let device = Device::new(1).unwrap();
    let stream = Stream::non_blocking(&device).unwrap();
    let function = BREAK.function(&device).unwrap();
    let capture = stream.capture().unwrap();
    // SAFETY: no parameters.
    unsafe { launch(&function, &stream, ONE, &mut []) }.unwrap();
    let graph = capture.finish().unwrap();
    let nodes = graph.nodes().unwrap();
    assert_eq!(nodes[0].kind().unwrap(), NodeKind::Kernel);
    let mut ready = graph.instantiate().unwrap();
    let wider = LaunchConfig {
        grid: [2, 1, 1],
        ..ONE
    };
    // SAFETY: no parameters.
    unsafe { ready.set_kernel(&nodes[0], &function, wider, &mut []) }.unwrap();
    let wrong = LaunchConfig {
        block: [5000, 1, 1],
        ..ONE
    };
    // SAFETY: no parameters.
    assert!(unsafe { ready.set_kernel(&nodes[0], &function, wrong, &mut []) }.is_err());
    let mut other = graph.clone().instantiate().unwrap();
    let empty = stream
        .capture()
        .unwrap()
        .finish()
        .unwrap()
        .instantiate()
        .unwrap();
    drop(empty);
    // SAFETY: no parameters.
    unsafe { other.set_kernel(&nodes[0], &function, ONE, &mut []) }.unwrap();
    let capture = stream.capture().unwrap();
    // SAFETY: no parameters.
    unsafe { launch(&function, &stream, ONE, &mut []) }.unwrap();
    let elsewhere = capture.finish().unwrap().nodes().unwrap();
    // SAFETY: no parameters.
    let error = unsafe { ready.set_kernel(&elsewhere[0], &function, ONE, &mut []) }.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::InvalidArgument);
    session.deferred(true);
    ready.launch(&stream).unwrap();
    let text = stream.synchronize().unwrap_err().to_string();
    assert!(
        text.contains("most likely caused by a graph, queued as launch "),
        "{text}"
    );
}

#[test]
fn devices_must_agree() {
    let Some(_session) = common::fake_only() else {
        return;
    };
    let (first, second) = (Device::new(0).unwrap(), Device::new(1).unwrap());
    let (one, two) = (
        Stream::non_blocking(&first).unwrap(),
        Stream::non_blocking(&second).unwrap(),
    );
    let graph = |stream: &Stream| stream.capture().unwrap().finish().unwrap();
    let mut ready = graph(&one).instantiate().unwrap();
    for error in [
        ready.launch(&two).unwrap_err(),
        ready.update(&graph(&two)).unwrap_err(),
    ] {
        assert!(error.to_string().contains("different devices"), "{error}");
    }
}

/// A program over everything: settings, contexts, streams, events, captures, graphs.
fn program() -> Result<()> {
    let device = Device::new(0)?;
    let context = ulib_device::device::Context::primary(&device)?;
    context.push()?;
    let work = || -> Result<()> {
        device.attribute_named("warp_size")?;
        device.pci_bus_id()?;
        let peer = device.enable_peer_access(&Device::new(1)?)?;
        peer.close()?;
        let stream = Stream::of_kind(&device, StreamKind::NonBlocking, -1)?;
        stream.priority()?;
        let (start, end) = (Event::timed(&device)?, Event::timed(&device)?);
        start.record(&stream)?;
        let memory = DeviceBytes::allocate(&stream, 256)?;
        let mut capture = stream.capture()?;
        let _ = capture.reads(&memory);
        stream.keep_in_capture(|| 1)?;
        let graph = capture.finish()?;
        graph.node_count()?;
        let mut ready = graph.instantiate()?;
        ready.launch(&stream)?;
        ready.update(&graph)?;
        // SAFETY: the stream outlives it.
        let foreign = unsafe { Stream::from_raw(&device, stream.handle() as usize) };
        ready.launch(&foreign)?;
        stream.notify(|| {})?;
        end.record(&stream)?;
        end.synchronize()?;
        end.elapsed_ms(&start)?;
        ready.close()?;
        graph.close()?;
        stream.synchronize()
    };
    let done = work();
    let popped = context.pop();
    done?;
    popped.map(drop)
}

#[test]
fn an_error_at_any_call_of_a_program_leaves_nothing_behind() {
    let Some(session) = common::fake_only() else {
        return;
    };
    // What is made once for the process.
    program().unwrap();
    let before = session.live();
    session.reset_counts();
    program().unwrap();
    let calls = session.total_calls();
    assert!(calls > 60, "{calls}");
    let counts = || [Kind::Stream, Kind::Event, Kind::Graph, Kind::GraphExec].map(report::count);
    let made = counts();
    let mut failed = 0;
    for nth in 1..=calls {
        session.fail_any(nth, 999);
        failed += usize::from(program().is_err());
        session.fail_nothing();
        let _ = device().errors();
        // Memory whose end could not be waited for is kept until the next allocation.
        program().unwrap();
        assert_eq!(counts(), made, "call {nth}");
        assert_settled(&session, &before, nth);
    }
    assert!(failed as u64 > calls / 2, "{failed} of {calls}");
    assert!(session.faults().is_empty(), "{:?}", session.faults());
}

/// That nothing is left but what the failed call itself was to give back.
fn assert_settled(session: &fakecuda::Session, before: &[fakecuda::Live], nth: u64) {
    let known = |live: &fakecuda::Live| before.contains(live);
    let left: Vec<_> = session
        .live()
        .into_iter()
        .filter(|live| !known(live))
        .collect();
    assert!(left.len() as u64 <= nth, "call {nth}: {left:?}");
    while crate::support::current_context() != 0 {
        crate::support::set_current_context(0);
    }
    // Where the call failed that ends the access, it goes on.
    let (first, second) = (device(), Device::new(1).unwrap());
    let theirs = second.primary_context().unwrap();
    let _context = first.bind().unwrap();
    let disable = first.driver().table().cuCtxDisablePeerAccess.unwrap();
    // SAFETY: the context is current; the other one is never released.
    unsafe { disable(theirs as ulib_device::sys::CUcontext) };
}
