//! Guards: the device's context while they live, whatever was before afterwards.

use crate::common;
use crate::support::{ForeignContext, current_context, device, set_current_context};
use ulib_device::{Device, Event, Stream};

#[test]
fn a_guard_binds_and_restores_nothing() {
    let Some(_turn) = common::gpu() else { return };
    set_current_context(0);
    let guard = device().bind().unwrap();
    assert_eq!(current_context(), device().primary_context().unwrap());
    assert_eq!(*guard.device(), device());
    drop(guard);
    assert_eq!(current_context(), 0);
}

#[test]
fn a_guard_restores_a_foreign_context() {
    let Some(_turn) = common::gpu() else { return };
    let foreign = ForeignContext::new(&device());
    set_current_context(foreign.0);
    {
        let _outer = device().bind().unwrap();
        assert_eq!(current_context(), device().primary_context().unwrap());
        let _inner = device().bind().unwrap();
        assert_eq!(current_context(), device().primary_context().unwrap());
    }
    assert_eq!(current_context(), foreign.0);
    set_current_context(0);
    foreign.destroy();
}

#[test]
fn guards_of_two_devices_nest() {
    let Some(_session) = common::fake_only() else {
        return;
    };
    let (first, second) = (Device::new(0).unwrap(), Device::new(1).unwrap());
    set_current_context(0);
    {
        let _first = first.bind().unwrap();
        {
            let _second = second.bind().unwrap();
            assert_eq!(current_context(), second.primary_context().unwrap());
        }
        assert_eq!(current_context(), first.primary_context().unwrap());
    }
    assert_eq!(current_context(), 0);
}

#[test]
fn every_call_and_every_drop_leaves_the_current_context_alone() {
    let Some(_turn) = common::gpu() else { return };
    let device = device();
    let foreign = ForeignContext::new(&device);
    for current in [foreign.0, 0] {
        set_current_context(current);
        let unchanged = |what: &str| assert_eq!(current_context(), current, "after {what}");
        device.memory_info().unwrap();
        unchanged("memory_info");
        let stream = Stream::new(&device).unwrap();
        unchanged("Stream::new");
        let event = stream.record().unwrap();
        unchanged("record");
        stream.wait(&event).unwrap();
        event.synchronize().unwrap();
        assert!(event.is_done().unwrap());
        stream.synchronize().unwrap();
        device.synchronize().unwrap();
        unchanged("synchronize");
        drop(stream);
        drop(event);
        unchanged("drop");
        assert!(device.errors().is_empty());
    }
    set_current_context(0);
    foreign.destroy();
}

#[test]
fn a_foreign_context_destroyed_meanwhile_is_an_error_to_read_not_a_crash() {
    let Some(_session) = common::fake_only() else {
        return;
    };
    let device = device();
    let foreign = ForeignContext::new(&device);
    set_current_context(foreign.0);
    let _ = device.errors();
    let guard = device.bind().unwrap();
    foreign.destroy();
    drop(guard);
    let errors = device.errors();
    assert_eq!(errors.len(), 1, "{errors:?}");
    let text = errors[0].to_string();
    assert!(
        text.starts_with("restoring the context that was current before: cuCtxSetCurrent: "),
        "{text}"
    );
    set_current_context(0);
}

#[test]
fn the_primary_context_is_retained_once() {
    let Some(session) = common::fake_only() else {
        return;
    };
    let context = device().primary_context().unwrap();
    session.reset_counts();
    for _ in 0..3 {
        assert_eq!(device().primary_context().unwrap(), context);
        device().memory_info().unwrap();
    }
    assert_eq!(session.count("cuDevicePrimaryCtxRetain"), 0);
    assert_eq!(session.count("cuDevicePrimaryCtxRelease_v2"), 0);
}

#[test]
fn a_guard_that_finds_its_context_current_changes_nothing() {
    let Some(session) = common::fake_only() else {
        return;
    };
    let device = device();
    let _outer = device.bind().unwrap();
    session.reset_counts();
    drop(device.bind().unwrap());
    assert_eq!(session.total_calls(), 1);
    assert_eq!(session.count("cuCtxGetCurrent"), 1);
}

#[test]
fn anything_may_be_dropped_by_any_thread() {
    let Some(_turn) = common::gpu() else { return };
    let device = device();
    let _ = device.errors();
    let things = (
        Stream::non_blocking(&device).unwrap(),
        Event::timed(&device).unwrap(),
        Stream::new(&device).unwrap(),
    );
    // A new thread has no current context.
    std::thread::spawn(move || drop(things)).join().unwrap();
    let errors = device.errors();
    assert!(errors.is_empty(), "{errors:?}");
}

#[test]
fn dropping_on_another_thread_leaves_nothing_alive() {
    let Some(session) = common::fake_only() else {
        return;
    };
    let stream = Stream::new(&device()).unwrap();
    let event = stream.record().unwrap();
    assert_eq!(session.live().len(), 2);
    std::thread::spawn(move || drop((stream, event)))
        .join()
        .unwrap();
    assert!(session.live().is_empty(), "{:?}", session.live());
}

#[test]
fn what_may_cross_threads() {
    fn send_and_sync<T: Send + Sync>() {}
    send_and_sync::<Device>();
    send_and_sync::<Stream>();
    send_and_sync::<Event>();
    send_and_sync::<ulib_device::Module>();
    send_and_sync::<ulib_device::Function>();
    send_and_sync::<ulib_device::Kernel>();
    send_and_sync::<&'static ulib_device::Driver>();
}
