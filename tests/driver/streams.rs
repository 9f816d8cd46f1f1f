//! Streams: made, shared, ordered, waited for, and beside captures.
#![allow(
    unsafe_code,
    reason = "makes foreign streams and captures by calling the driver directly"
)]

use crate::common;
use crate::support::{Memory, device};
use std::sync::mpsc::channel;
use std::time::Duration;
use ulib_core::ErrorKind;
use ulib_device::driver::relaxed_capture;
use ulib_device::sys::{CUgraph, CUresult, CUstreamCaptureMode};
use ulib_device::{Device, Stream, StreamKind};

#[test]
fn clones_are_one_queue_and_the_last_one_ends_it() {
    let Some(session) = common::fake_only() else {
        return;
    };
    let stream = Stream::new(&device()).unwrap();
    let clone = stream.clone();
    assert_eq!(stream, clone);
    assert_eq!(stream.handle(), clone.handle());
    drop(stream);
    assert_eq!(session.count("cuStreamDestroy_v2"), 0);
    drop(clone);
    assert_eq!(session.count("cuStreamDestroy_v2"), 1);
    assert!(session.live().is_empty());
}

/// Also where several let go in one moment: one of them has what destroys the stream.
#[test]
fn one_of_all_who_let_go_of_a_stream_is_the_last() {
    let Some(session) = common::fake_only() else {
        return;
    };
    for round in 0..200 {
        let stream = Stream::new(&device()).unwrap();
        let clones = vec![stream; 3];
        let start = std::sync::Barrier::new(clones.len());
        let let_go = |clone: Stream| {
            start.wait();
            clone.into_last()
        };
        let lasts: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = clones
                .into_iter()
                .map(|clone| scope.spawn(|| let_go(clone)))
                .collect();
            threads
                .into_iter()
                .filter_map(|thread| thread.join().unwrap())
                .collect()
        });
        assert_eq!(lasts.len(), 1);
        assert_eq!(session.count("cuStreamDestroy_v2"), round);
        drop(lasts);
        assert_eq!(session.count("cuStreamDestroy_v2"), round + 1);
    }
    assert!(session.live().is_empty());
}

#[test]
fn identities() {
    let Some(_session) = common::fake_only() else {
        return;
    };
    let (first, second) = (Device::new(0).unwrap(), Device::new(1).unwrap());
    let legacy = Stream::legacy(&first);
    assert!(legacy.handle().is_null());
    assert_eq!(legacy, Stream::legacy(&first));
    assert_ne!(legacy, Stream::legacy(&second));
    assert_ne!(Stream::new(&first).unwrap(), Stream::new(&first).unwrap());
    // SAFETY: the driver's special handles.
    let [zero, one, own] = [0, 1, 2].map(|handle| unsafe { Stream::from_raw(&first, handle) });
    assert_eq!(zero, legacy);
    assert_eq!(one, legacy);
    assert_ne!(own, legacy);
    // The per-thread default stream is another queue on another thread.
    let here = own.id();
    assert_eq!(here, own.id());
    let there = std::thread::spawn(move || own.id()).join().unwrap();
    assert_ne!(here, there);
}

#[test]
fn foreign_streams_stay_their_owners() {
    let Some(session) = common::fake_only() else {
        return;
    };
    let owner = Stream::new(&device()).unwrap();
    // SAFETY: `owner` outlives the wrapping stream.
    let borrowed = unsafe { Stream::from_raw(&device(), owner.handle() as usize) };
    borrowed.synchronize().unwrap();
    drop(borrowed);
    assert_eq!(session.count("cuStreamDestroy_v2"), 0);
    owner.synchronize().unwrap();
}

#[test]
fn work_is_pending_until_it_is_waited_for() {
    let Some(session) = common::fake_only() else {
        return;
    };
    session.deferred(true);
    let memory = Memory::new(&device(), 64);
    let stream = Stream::non_blocking(&device()).unwrap();
    assert!(stream.is_done().unwrap());
    memory.fill(7, &stream);
    assert!(!stream.is_done().unwrap());
    memory.fill(8, &stream);
    stream.synchronize().unwrap();
    assert!(stream.is_done().unwrap());
    assert_eq!(session.peek(memory.address, 64), Some(vec![8; 64]));
}

#[test]
fn a_wait_orders_two_streams() {
    let Some(turn) = common::gpu() else { return };
    let memory = Memory::new(&device(), 1 << 20);
    let writer = Stream::non_blocking(&device()).unwrap();
    let reader = Stream::non_blocking(&device()).unwrap();
    for value in 1..20 {
        memory.fill(value, &writer);
        reader.wait_for(&writer).unwrap();
        assert_eq!(memory.first_byte(&reader), value);
    }
    drop((memory, writer, reader, turn));
}

#[test]
fn waiting_for_oneself_costs_nothing() {
    let Some(session) = common::fake_only() else {
        return;
    };
    let stream = Stream::new(&device()).unwrap();
    session.reset_counts();
    stream.wait_for(&stream.clone()).unwrap();
    assert_eq!(session.total_calls(), 0);
}

#[test]
fn the_default_stream_and_another_one_wait_for_each_other() {
    let Some(turn) = common::gpu() else { return };
    let memory = Memory::new(&device(), 1 << 20);
    let legacy = Stream::legacy(&device());
    for other in [Stream::new(&device()), Stream::non_blocking(&device())] {
        let other = other.unwrap();
        for value in 1..20 {
            memory.fill(value, &legacy);
            other.wait_for(&legacy).unwrap();
            assert_eq!(memory.first_byte(&other), value);
            memory.fill(value + 100, &other);
            legacy.wait_for(&other).unwrap();
            assert_eq!(memory.first_byte(&legacy), value + 100);
        }
    }
    drop((memory, turn));
}

#[test]
fn waiting_for_the_default_stream_costs_nothing_where_the_driver_does() {
    let Some(session) = common::fake_only() else {
        return;
    };
    let legacy = Stream::legacy(&device());
    let (with, beside) = (
        Stream::new(&device()).unwrap(),
        Stream::non_blocking(&device()).unwrap(),
    );
    session.reset_counts();
    with.wait_for(&legacy).unwrap();
    legacy.wait_for(&with).unwrap();
    assert_eq!(session.total_calls(), 0);
    beside.wait_for(&legacy).unwrap();
    legacy.wait_for(&beside).unwrap();
    assert_eq!(session.count("cuStreamWaitEvent"), 2);
}

#[test]
fn a_wait_for_the_default_stream_spoils_no_capture() {
    let Some(_turn) = common::gpu() else { return };
    let legacy = Stream::legacy(&device());
    let memory = Memory::new(&device(), 64);
    memory.fill(1, &legacy);
    let captured = Stream::new(&device()).unwrap();
    let capture = captured.capture().unwrap();
    let beside = Stream::non_blocking(&device()).unwrap();
    beside.wait_for(&legacy).unwrap();
    captured.wait_for(&legacy).unwrap();
    assert_eq!(memory.first_byte(&beside), 1);
    memory.fill(2, &captured);
    let mut graph = capture.finish().unwrap().instantiate().unwrap();
    graph.launch(&beside).unwrap();
    assert_eq!(memory.first_byte(&beside), 2);
}

#[test]
fn a_stream_may_wait_for_another_device() {
    let Some(_session) = common::fake_only() else {
        return;
    };
    let (first, second) = (Device::new(0).unwrap(), Device::new(1).unwrap());
    let event = Stream::new(&first).unwrap().record().unwrap();
    let stream = Stream::new(&second).unwrap();
    stream.wait(&event).unwrap();
    stream.synchronize().unwrap();
}

#[test]
fn devices_must_agree_where_they_have_to() {
    let Some(_session) = common::fake_only() else {
        return;
    };
    let (first, second) = (Device::new(0).unwrap(), Device::new(1).unwrap());
    let error = Stream::legacy(&second)
        .check_device("copy", &first)
        .unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::InvalidArgument);
    assert_eq!(
        error.to_string(),
        "copy: Device 1: Fake GPU 1 and Device: Fake GPU 0 are different devices"
    );
    let error = Stream::legacy(&second)
        .check_reach("launch", &first)
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "launch: memory of Device: Fake GPU 0, to which Device 1: Fake GPU 1 has no peer access"
    );
    let _access = second.enable_peer_access(&first).unwrap();
    Stream::legacy(&second)
        .check_reach("launch", &first)
        .unwrap();
}

#[test]
fn priorities() {
    let Some(_turn) = common::gpu() else { return };
    let (least, greatest) = Stream::priority_range(&device()).unwrap();
    assert!(greatest <= least);
    let stream = Stream::with_priority(&device(), greatest).unwrap();
    stream.synchronize().unwrap();
}

/// Starts capturing `stream` in the mode that forbids the most.
fn begin_capture(stream: &Stream) {
    let _context = stream.device().bind().unwrap();
    let begin = stream
        .device()
        .driver()
        .table()
        .cuStreamBeginCapture_v2
        .unwrap();
    // SAFETY: the context is current and the stream alive.
    let status = unsafe {
        begin(
            stream.handle(),
            CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL,
        )
    };
    assert!(status == CUresult::CUDA_SUCCESS);
}

/// Ends the capture and says whether it was still good.
fn end_capture(stream: &Stream) -> bool {
    let _context = stream.device().bind().unwrap();
    let table = stream.device().driver().table();
    let mut graph: CUgraph = core::ptr::null_mut();
    // SAFETY: the context is current and the stream alive; the call writes one pointer.
    let status = unsafe { table.cuStreamEndCapture.unwrap()(stream.handle(), &raw mut graph) };
    if status == CUresult::CUDA_SUCCESS && !graph.is_null() {
        // SAFETY: the graph was just made and is destroyed once.
        unsafe { table.cuGraphDestroy.unwrap()(graph) };
    }
    status == CUresult::CUDA_SUCCESS
}

#[test]
fn waiting_for_a_captured_stream_is_refused_and_spoils_nothing() {
    let Some(_turn) = common::gpu() else { return };
    let stream = Stream::non_blocking(&device()).unwrap();
    assert!(!stream.is_capturing().unwrap());
    begin_capture(&stream);
    assert!(stream.is_capturing().unwrap());
    for error in [
        stream.synchronize().unwrap_err(),
        stream.is_done().unwrap_err(),
    ] {
        assert_eq!(*error.kind(), ErrorKind::Busy);
        assert!(
            error.to_string().contains("is being captured into a graph"),
            "{error}"
        );
    }
    assert!(end_capture(&stream));
    assert!(!stream.is_capturing().unwrap());
    stream.synchronize().unwrap();
}

#[test]
fn another_stream_can_be_waited_for_beside_a_capture() {
    let Some(_turn) = common::gpu() else { return };
    let captured = Stream::non_blocking(&device()).unwrap();
    begin_capture(&captured);
    let other = Stream::non_blocking(&device()).unwrap();
    let event = other.record().unwrap();
    event.synchronize().unwrap();
    assert!(event.is_done().unwrap());
    other.synchronize().unwrap();
    assert!(other.is_done().unwrap());
    assert!(end_capture(&captured));
}

#[test]
fn waiting_for_the_device_beside_a_capture_works_or_is_refused_by_name() {
    let Some(_turn) = common::gpu() else { return };
    for captured in [
        Stream::non_blocking(&device()).unwrap(),
        Stream::new(&device()).unwrap(),
    ] {
        begin_capture(&captured);
        if let Err(error) = device().synchronize() {
            assert_eq!(*error.kind(), ErrorKind::Busy, "{error}");
        }
        // Waiting for the whole context spoils the capture of a non-blocking stream; that is the driver's rule.
        let _ = end_capture(&captured);
        device().synchronize().unwrap();
    }
}

#[test]
fn the_default_stream_can_be_waited_for_beside_a_capture_of_a_non_blocking_stream() {
    let Some(_turn) = common::gpu() else { return };
    let legacy = Stream::legacy(&device());
    let captured = Stream::non_blocking(&device()).unwrap();
    begin_capture(&captured);
    assert!(!legacy.is_capturing().unwrap());
    legacy.synchronize().unwrap();
    assert!(legacy.is_done().unwrap());
    assert!(end_capture(&captured));
}

#[test]
fn a_capture_of_a_blocking_stream_reaches_the_default_stream_and_survives() {
    let Some(_turn) = common::gpu() else { return };
    let legacy = Stream::legacy(&device());
    let captured = Stream::new(&device()).unwrap();
    begin_capture(&captured);
    assert!(legacy.is_capturing().unwrap());
    let waits = [
        legacy.synchronize(),
        legacy.is_done().map(drop),
        device().synchronize(),
    ];
    for result in waits {
        assert_eq!(*result.unwrap_err().kind(), ErrorKind::Busy);
    }
    assert!(end_capture(&captured));
    assert!(!legacy.is_capturing().unwrap());
}

/// What uLib refuses by name would spoil the capture if it reached the driver; measured on a card.
#[test]
fn work_on_the_default_stream_and_a_wait_for_the_context_spoil_a_capture() {
    let Some(_turn) = common::gpu() else { return };
    let (device, legacy) = (device(), Stream::legacy(&device()));
    let memory = Memory::new(&device, 64);
    let table = device.driver().table();
    let _context = device.bind().unwrap();
    let blocking = Stream::new(&device).unwrap();
    begin_capture(&blocking);
    // SAFETY: the memory has that many bytes, and the context is current.
    let status = unsafe { (table.cuMemsetD8Async)(memory.address, 1, 64, legacy.handle()) };
    assert!(status == CUresult::CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    assert!(!end_capture(&blocking));
    for captured in [Stream::new(&device), Stream::non_blocking(&device)] {
        let captured = captured.unwrap();
        begin_capture(&captured);
        // SAFETY: the context is current.
        let status = relaxed_capture(|| unsafe { (table.cuCtxSynchronize)() });
        let refusals = [
            CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
            CUresult::CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
        ];
        assert!(refusals.contains(&status), "status {}", status.0);
        assert!(!end_capture(&captured));
    }
    device.synchronize().unwrap();
}

/// This thread's capture mode.
fn mode() -> CUstreamCaptureMode {
    let exchange = device()
        .driver()
        .table()
        .cuThreadExchangeStreamCaptureMode
        .unwrap();
    let mut mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL;
    // SAFETY: the call swaps one integer.
    assert!(unsafe { exchange(&raw mut mode) } == CUresult::CUDA_SUCCESS);
    let found = mode;
    // SAFETY: as above.
    assert!(unsafe { exchange(&raw mut mode) } == CUresult::CUDA_SUCCESS);
    found
}

#[test]
fn the_capture_mode_is_restored_also_by_a_panic() {
    let Some(_turn) = common::gpu() else { return };
    let global = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL;
    let relaxed = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
    assert!(mode() == global);
    relaxed_capture(|| assert!(mode() == relaxed));
    assert!(mode() == global);
    let panicked = std::panic::catch_unwind(|| relaxed_capture(|| panic!("on purpose")));
    assert!(panicked.is_err());
    assert!(mode() == global);
}

#[test]
fn kinds_and_priorities_are_as_asked_for() {
    let Some(_turn) = common::gpu() else { return };
    let device = device();
    let (least, greatest) = Stream::priority_range(&device).unwrap();
    for kind in [StreamKind::Blocking, StreamKind::NonBlocking] {
        let stream = Stream::of_kind(&device, kind, greatest).unwrap();
        assert_eq!(stream.kind().unwrap(), kind);
        assert_eq!(stream.priority().unwrap(), greatest);
        let clamped = Stream::of_kind(&device, kind, least + 1000).unwrap();
        assert_eq!(clamped.priority().unwrap(), least);
    }
    let own = Stream::per_thread(&device);
    assert_eq!(own.handle() as usize, 2);
    own.synchronize().unwrap();
}

#[test]
fn the_host_is_called_when_a_stream_comes_to_the_point() {
    let Some(turn) = common::gpu() else { return };
    if let Some(session) = turn.session() {
        session.deferred(true);
    }
    let (sender, receiver) = channel();
    let stream = Stream::non_blocking(&device()).unwrap();
    let here = std::thread::current().id();
    for n in 0..10 {
        let sender = sender.clone();
        let own = stream.clone();
        let call = move || {
            // It may call the driver, and is on no thread of the driver's.
            own.synchronize().unwrap();
            sender.send((n, std::thread::current().id())).unwrap();
        };
        stream.notify(call).unwrap();
    }
    if turn.session().is_some() {
        assert!(receiver.try_recv().is_err(), "nothing has run yet");
    }
    stream.synchronize().unwrap();
    let called: Vec<_> = (0..10)
        .map(|_| receiver.recv_timeout(Duration::from_secs(20)).unwrap())
        .collect();
    assert_eq!(
        called.iter().map(|(n, _)| *n).collect::<Vec<_>>(),
        (0..10).collect::<Vec<_>>()
    );
    assert!(
        called
            .iter()
            .all(|(_, thread)| *thread != here && *thread == called[0].1)
    );
}

#[test]
fn a_call_that_panics_does_not_end_the_others() {
    let Some(_turn) = common::gpu() else { return };
    let (sender, receiver) = channel();
    let stream = Stream::new(&device()).unwrap();
    stream.notify(|| panic!("on purpose")).unwrap();
    stream.notify(move || sender.send(1).unwrap()).unwrap();
    stream.synchronize().unwrap();
    assert_eq!(receiver.recv_timeout(Duration::from_secs(20)), Ok(1));
}

#[test]
fn a_refused_call_of_the_host_gives_its_work_back() {
    let Some(session) = common::fake_only() else {
        return;
    };
    let stream = Stream::new(&device()).unwrap();
    let (sender, receiver) = channel::<()>();
    session.fail("cuLaunchHostFunc", 1, 999);
    assert!(stream.notify(move || drop(sender)).is_err());
    assert!(receiver.recv().is_err(), "the sender is gone");
}
