//! What the driver's failures look like.

use crate::common;
use crate::support::{ForeignContext, Memory, current_context, device, set_current_context};
use std::any::Any;
use ulib_core::ErrorKind;
use ulib_device::pinned::PinnedPool;
use ulib_device::{Event, Graph, Module, Stream};

#[test]
fn a_status_nobody_knows_is_printed_as_a_number() {
    let Some(session) = common::fake_only() else {
        return;
    };
    session.fail("cuStreamCreateWithPriority", 1, 1234);
    let error = Stream::new(&device()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cuStreamCreateWithPriority: unknown status 1234"
    );
    let expected = ErrorKind::Driver {
        code: 1234,
        call: "cuStreamCreateWithPriority",
    };
    assert_eq!(*error.kind(), expected);
    // It was one call; the next works.
    Stream::new(&device()).unwrap();
}

#[test]
fn a_known_status_has_the_drivers_name_and_text() {
    let Some(session) = common::fake_only() else {
        return;
    };
    session.fail("cuEventCreate", 1, 999);
    let error = Event::new(&device()).unwrap_err().to_string();
    assert!(
        error.starts_with("cuEventCreate: CUDA_ERROR_UNKNOWN (999): "),
        "{error}"
    );
}

#[test]
fn a_broken_context_surfaces_as_the_drivers_words_everywhere() {
    let Some(session) = common::fake_only() else {
        return;
    };
    let device = device();
    let stream = Stream::new(&device).unwrap();
    let event = stream.record().unwrap();
    session.break_device(0, 700);
    for result in [
        device.synchronize(),
        stream.synchronize(),
        event.synchronize(),
        device.memory_info().map(drop),
    ] {
        let error = result.unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::Driver { code: 700, .. }),
            "{error}"
        );
        assert!(
            error
                .to_string()
                .contains("CUDA_ERROR_ILLEGAL_ADDRESS (700): an illegal memory access"),
            "{error}"
        );
    }
    let _ = device.errors();
    drop((stream, event));
    let errors = device.errors();
    assert_eq!(errors.len(), 2, "{errors:?}");
}

#[test]
fn a_destructor_records_its_error_once_and_does_not_panic() {
    let Some(session) = common::fake_only() else {
        return;
    };
    let device = device();
    let _ = device.errors();
    session.fail("cuStreamDestroy_v2", 1, 1234);
    session.fail("cuEventDestroy_v2", 1, 400);
    drop(Stream::new(&device).unwrap());
    drop(Event::new(&device).unwrap());
    let texts: Vec<_> = device.errors().iter().map(ToString::to_string).collect();
    assert_eq!(texts.len(), 2, "{texts:?}");
    assert_eq!(
        texts[0],
        "in a destructor: cuStreamDestroy_v2: unknown status 1234"
    );
    assert!(
        texts[1].contains("CUDA_ERROR_INVALID_HANDLE (400)"),
        "{}",
        texts[1]
    );
    assert!(device.errors().is_empty());
}

const NOTHING: &str = "\n.version 7.0\n.target sm_60\n.address_size 64\n";

fn empty_graph(stream: &Stream, memory: &Memory) -> Graph<'static> {
    let capture = stream.capture().unwrap();
    memory.fill(1, stream);
    capture.finish().unwrap()
}

#[test]
fn things_end_although_their_context_is_not_current_at_the_first_attempt() {
    let Some(session) = common::fake_only() else {
        return;
    };
    let device = device();
    let stream = Stream::non_blocking(&device).unwrap();
    let memory = Memory::new(&device, 64);
    // What the process keeps is made now.
    PinnedPool::global().trim();
    drop((stream.record().unwrap(), empty_graph(&stream, &memory)));
    let before = session.live();
    let graph = empty_graph(&stream, &memory);
    let things: Vec<Box<dyn Any>> = vec![
        Box::new(Stream::new(&device).unwrap()),
        Box::new(Event::new(&device).unwrap()),
        Box::new(Module::load(&device, NOTHING).unwrap()),
        Box::new(graph.instantiate().unwrap()),
        Box::new(graph),
        Box::new(stream.capture().unwrap()),
    ];
    for thing in things {
        session.fail("cuCtxGetCurrent", 1, 999);
        drop(thing);
        session.fail_nothing();
    }
    assert_eq!(session.live(), before);
    assert!(device.errors().is_empty());
    // An explicit end that fails for the same reason is said, and comes with the value's end.
    let graph = empty_graph(&stream, &memory);
    session.fail("cuCtxGetCurrent", 1, 999);
    let error = graph.close().unwrap_err();
    assert!(error.to_string().starts_with("cuCtxGetCurrent"), "{error}");
    assert_eq!(session.live(), before);
}

#[test]
fn a_context_is_restored_although_the_driver_refuses_once() {
    let Some(session) = common::fake_only() else {
        return;
    };
    let device = device();
    let foreign = ForeignContext::new(&device);
    set_current_context(foreign.0);
    let guard = device.bind().unwrap();
    session.fail("cuCtxSetCurrent", 1, 999);
    drop(guard);
    assert_eq!(current_context(), foreign.0);
    assert!(device.errors().is_empty());
    // Twice is on record.
    let guard = device.bind().unwrap();
    session.fail_from("cuCtxSetCurrent", 1, 999);
    drop(guard);
    session.fail_nothing();
    assert_eq!(device.errors().len(), 1);
    set_current_context(0);
    foreign.destroy();
}

#[test]
fn a_driver_that_shuts_down_with_the_process_is_no_error() {
    let Some(session) = common::fake_only() else {
        return;
    };
    let device = device();
    let stream = Stream::new(&device).unwrap();
    let event = Event::new(&device).unwrap();
    let _ = device.errors();
    session.fail_any_from(1, 4);
    drop((stream, event));
    session.fail_nothing();
    assert!(device.errors().is_empty());
}

#[test]
fn every_call_of_a_small_program_may_fail() {
    let Some(session) = common::fake_only() else {
        return;
    };
    let device = device();
    let program = || {
        let stream = Stream::new(&device)?;
        let side = Stream::non_blocking(&device)?;
        let event = stream.record()?;
        side.wait(&event)?;
        side.synchronize()?;
        device.memory_info()?;
        Module::load(&device, NOTHING)?;
        device.synchronize()
    };
    session.reset_counts();
    program().unwrap();
    let calls = session.total_calls();
    assert!(calls > 20);
    for nth in 1..=calls {
        for code in [2, 700, 1234] {
            let _ = device.errors();
            session.fail_any(nth, code);
            let result = program();
            let errors = device.errors();
            session.fail_nothing();
            // A failing exchange of the capture mode changes nothing for a thread beside which nobody captures.
            if let Err(error) = result {
                let words = error.to_string();
                assert!(
                    words.contains(&format!("({code})")) || words.contains("unknown status 1234"),
                    "{words}"
                );
            } else {
                assert!(errors.len() <= 1, "call {nth}: {errors:?}");
            }
        }
    }
    // Only what a failing destroy left behind is alive: that is the driver's doing, not a leak of ours.
    program().unwrap();
    assert!(session.faults().is_empty());
}
