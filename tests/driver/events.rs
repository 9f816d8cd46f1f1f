//! Events: reached or not, and when.

use crate::common;
use crate::support::{Memory, device};
use ulib_core::ErrorKind;
use ulib_device::sys::CUevent_flags;
use ulib_device::{Device, Event, Stream};

#[test]
fn an_event_that_was_never_recorded_counts_as_reached() {
    let Some(_turn) = common::gpu() else { return };
    let event = Event::new(&device()).unwrap();
    assert!(event.is_done().unwrap());
    event.synchronize().unwrap();
    Stream::legacy(&device()).wait(&event).unwrap();
    assert_eq!(*event.device(), device());
}

#[test]
fn an_event_is_reached_when_the_work_before_it_is_done() {
    let Some(session) = common::fake_only() else {
        return;
    };
    session.deferred(true);
    let memory = Memory::new(&device(), 16);
    let stream = Stream::non_blocking(&device()).unwrap();
    memory.fill(3, &stream);
    let event = stream.record().unwrap();
    assert!(!event.is_done().unwrap());
    event.synchronize().unwrap();
    assert!(event.is_done().unwrap());
    assert_eq!(session.peek(memory.address, 1), Some(vec![3]));
}

#[test]
fn timed_events_measure() {
    let Some(_turn) = common::gpu() else { return };
    let stream = Stream::new(&device()).unwrap();
    let (before, after) = (
        Event::timed(&device()).unwrap(),
        Event::timed(&device()).unwrap(),
    );
    before.record(&stream).unwrap();
    after.record(&stream).unwrap();
    after.synchronize().unwrap();
    assert!(after.elapsed_ms(&before).unwrap() >= 0.0);
}

#[test]
fn events_without_a_clock_say_so() {
    let Some(_turn) = common::gpu() else { return };
    let stream = Stream::new(&device()).unwrap();
    let (first, second) = (stream.record().unwrap(), stream.record().unwrap());
    stream.synchronize().unwrap();
    let refused = |later: &Event, earlier: &Event, reason: &str| {
        let error = later.elapsed_ms(earlier).unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::Driver { code: 400, .. }),
            "{error}"
        );
        assert!(error.to_string().starts_with(reason), "{error}");
    };
    let no_clock = "the event that is counted from was made without a clock: cuEvent";
    refused(&second, &first, no_clock);
    let timed = Event::timed(&device()).unwrap();
    let never = "the event that is counted to was never recorded: cuEvent";
    refused(
        &Event::timed(&device()).unwrap(),
        &timed,
        "the event that is counted from was never",
    );
    timed.record(&stream).unwrap();
    timed.synchronize().unwrap();
    refused(&Event::timed(&device()).unwrap(), &timed, never);
    refused(&timed, &first, no_clock);
}

#[test]
fn an_event_belongs_to_one_device() {
    let Some(_session) = common::fake_only() else {
        return;
    };
    let (first, second) = (Device::new(0).unwrap(), Device::new(1).unwrap());
    let event = Event::timed(&first).unwrap();
    for error in [
        event.record(&Stream::legacy(&second)).unwrap_err(),
        event
            .elapsed_ms(&Event::timed(&second).unwrap())
            .unwrap_err(),
    ] {
        assert_eq!(*error.kind(), ErrorKind::InvalidArgument);
        assert!(error.to_string().contains("different devices"), "{error}");
    }
}

#[test]
fn events_of_every_kind() {
    let Some(_turn) = common::gpu() else { return };
    let device = device();
    let blocking = CUevent_flags::CU_EVENT_BLOCKING_SYNC;
    let event = Event::with_flags(&device, blocking).unwrap();
    event.record(&Stream::legacy(&device)).unwrap();
    event.synchronize().unwrap();
    assert!(event.is_done().unwrap());
    assert!(Event::with_flags(&device, CUevent_flags(1000)).is_err());
    assert!(event.ipc_handle().is_err(), "it is for one process");
    for bytes in [&[][..], &[0; 63], &[0; 65]] {
        let error = Event::from_ipc(&device, bytes).unwrap_err();
        assert!(
            error
                .to_string()
                .contains(&format!("{} bytes", bytes.len())),
            "{error}"
        );
    }
}

#[test]
fn an_event_for_several_processes_has_a_handle() {
    let Some(turn) = common::gpu() else { return };
    let device = device();
    let flags = CUevent_flags(
        CUevent_flags::CU_EVENT_INTERPROCESS.0 | CUevent_flags::CU_EVENT_DISABLE_TIMING.0,
    );
    let event = Event::with_flags(&device, flags).unwrap();
    let handle = event.ipc_handle().unwrap();
    assert_eq!(handle, event.ipc_handle().unwrap());
    if turn.session().is_some() {
        // A process has the event itself already.
        assert!(Event::from_ipc(&device, &handle).is_err());
        let mut other = handle;
        other[8..12].copy_from_slice(&(std::process::id() ^ 1).to_le_bytes());
        let opened = Event::from_ipc(&device, &other).unwrap();
        assert!(opened.is_done().unwrap());
        assert!(Event::from_ipc(&device, &[0; 64]).is_err());
    }
}
