//! Deferred streams: what runs when, as the ordering rules of streams and events say.

use crate::raw::*;
use std::ptr::null_mut;
use ulib_device::sys::{CUstream, CUstreamCaptureMode};

const LEGACY: CUstream = null_mut();

fn deferred() -> Option<Raw> {
    let raw = Raw::begin()?;
    raw.session.deferred(true);
    Some(raw)
}

#[test]
fn without_deferral_work_runs_at_once() {
    let Some(raw) = Raw::begin() else { return };
    let (address, stream) = (raw.allocate(4), raw.stream(1));
    raw.set(address, 5, 4, stream);
    assert_eq!(raw.now(address, 4), [5; 4]);
    raw.free(address);
}

#[test]
fn a_missing_synchronise_shows_as_old_data() {
    let Some(raw) = deferred() else { return };
    let (address, side) = (raw.allocate(4), raw.stream(1));
    raw.set(address, 5, 4, side);
    assert_eq!(raw.session.pending(), 1);
    assert_eq!(
        raw.down(address, 4).unwrap(),
        [0xCD; 4],
        "the legacy stream does not wait for a non-blocking one"
    );
    assert_eq!(call!(raw, cuStreamSynchronize(LEGACY)), OK);
    assert_eq!(raw.now(address, 4), [0xCD; 4]);
    assert_eq!(call!(raw, cuStreamSynchronize(side)), OK);
    assert_eq!(raw.down(address, 4).unwrap(), [5; 4]);
    raw.free(address);
}

#[test]
fn the_context_synchronise_waits_for_every_stream() {
    let Some(raw) = deferred() else { return };
    let (address, side, blocking) = (raw.allocate(8), raw.stream(1), raw.stream(0));
    raw.set(address, 5, 4, side);
    raw.set(address + 4, 6, 4, blocking);
    assert_eq!(call!(raw, cuCtxSynchronize()), OK);
    assert_eq!(raw.now(address, 8), [5, 5, 5, 5, 6, 6, 6, 6]);
    raw.free(address);
}

#[test]
fn the_legacy_stream_and_blocking_streams_order_each_other() {
    let Some(raw) = deferred() else { return };
    let (address, first, second) = (raw.allocate(4), raw.stream(0), raw.stream(0));
    raw.set(address, 1, 4, first);
    assert_eq!(
        raw.down(address, 4).unwrap(),
        [1; 4],
        "a blocking copy waits for blocking streams"
    );
    raw.set(address, 2, 4, first);
    raw.set(address, 3, 2, LEGACY);
    raw.set(address, 4, 1, second);
    assert_eq!(call!(raw, cuStreamSynchronize(second)), OK);
    assert_eq!(
        raw.now(address, 4),
        [4, 3, 2, 2],
        "second waits for legacy, legacy for first"
    );
    raw.set(address, 8, 4, first);
    raw.set(address, 9, 4, second);
    assert_eq!(call!(raw, cuStreamSynchronize(second)), OK);
    assert_eq!(
        raw.session.pending(),
        1,
        "blocking streams do not order each other"
    );
    assert_eq!(call!(raw, cuCtxSynchronize()), OK);
    raw.free(address);
}

#[test]
fn events_order_streams() {
    let Some(raw) = deferred() else { return };
    let (address, producer, consumer) = (raw.allocate(4), raw.stream(1), raw.stream(1));
    let copied = raw.allocate(4);
    let event = raw.event(2);
    raw.set(address, 7, 4, producer);
    assert_eq!(call!(raw, cuEventRecord(event, producer)), OK);
    raw.set(address, 8, 4, producer);
    assert_eq!(call!(raw, cuStreamWaitEvent(consumer, event, 0)), OK);
    assert_eq!(
        call!(raw, cuMemcpyDtoDAsync_v2(copied, address, 4, consumer)),
        OK
    );
    assert_eq!(call!(raw, cuStreamSynchronize(consumer)), OK);
    assert_eq!(
        raw.now(copied, 4),
        [7; 4],
        "all before the record, nothing after it"
    );
    assert_eq!(raw.session.pending(), 1);
    assert_eq!(call!(raw, cuEventQuery(event)), OK);
    assert_eq!(call!(raw, cuStreamQuery(producer)), NOT_READY);
    assert_eq!(
        call!(raw, cuStreamQuery(producer)),
        OK,
        "a query lets work go on"
    );
    raw.free(address);
    raw.free(copied);
}

#[test]
fn an_event_waits_for_its_own_record_only() {
    let Some(raw) = deferred() else { return };
    let (address, stream) = (raw.allocate(4), raw.stream(1));
    let (start, end) = (raw.event(0), raw.event(0));
    assert_eq!(call!(raw, cuEventQuery(end)), OK, "never recorded");
    assert_eq!(call!(raw, cuEventRecord(start, stream)), OK);
    raw.set(address, 1, 4, stream);
    assert_eq!(call!(raw, cuEventRecord(end, stream)), OK);
    let mut milliseconds = -1.0;
    assert_eq!(
        optional!(raw, cuEventElapsedTime(&mut milliseconds, start, end)),
        NOT_READY
    );
    assert_eq!(call!(raw, cuEventQuery(end)), NOT_READY);
    assert_eq!(call!(raw, cuEventSynchronize(end)), OK);
    assert_eq!(
        optional!(raw, cuEventElapsedTime(&mut milliseconds, start, end)),
        OK
    );
    assert!(milliseconds >= 0.0);
    let untimed = raw.event(2);
    assert_eq!(call!(raw, cuEventRecord(untimed, stream)), OK);
    assert_eq!(
        optional!(raw, cuEventElapsedTime(&mut milliseconds, start, untimed)),
        INVALID_HANDLE
    );
    raw.free(address);
}

#[test]
fn pageable_memory_is_taken_at_the_call_and_pinned_memory_when_the_stream_runs() {
    let Some(raw) = deferred() else { return };
    let (address, stream) = (raw.allocate(8), raw.stream(1));
    let mut pageable = [1_u8; 4];
    let mut pinned = [2_u8; 4];
    assert_eq!(
        call!(raw, cuMemHostRegister_v2(pinned.as_mut_ptr().cast(), 4, 0)),
        OK
    );
    assert_eq!(
        call!(
            raw,
            cuMemcpyHtoDAsync_v2(address, pageable.as_ptr().cast(), 4, stream)
        ),
        OK
    );
    assert_eq!(
        call!(
            raw,
            cuMemcpyHtoDAsync_v2(address + 4, pinned.as_ptr().cast(), 4, stream)
        ),
        OK
    );
    pageable.fill(9);
    pinned.fill(9);
    assert_eq!(raw.session.pending(), 2);
    let mut back = [0_u8; 8];
    assert_eq!(
        call!(
            raw,
            cuMemcpyDtoHAsync_v2(back.as_mut_ptr().cast(), address, 8, stream)
        ),
        OK
    );
    assert_eq!(
        back,
        [1, 1, 1, 1, 9, 9, 9, 9],
        "a copy to pageable memory has arrived"
    );
    assert_eq!(
        call!(
            raw,
            cuMemcpyDtoHAsync_v2(pinned.as_mut_ptr().cast(), address, 4, stream)
        ),
        OK
    );
    assert_eq!(pinned, [9; 4], "one to pinned memory has not");
    assert_eq!(call!(raw, cuStreamSynchronize(stream)), OK);
    assert_eq!(pinned, [1; 4]);
    assert_eq!(
        call!(raw, cuMemHostUnregister(pinned.as_mut_ptr().cast())),
        OK
    );
    raw.free(address);
}

#[test]
fn work_on_memory_freed_before_it_ran_breaks_the_context() {
    let Some(raw) = deferred() else { return };
    let (side, other) = (raw.stream(1), raw.stream(1));
    let mut block = 0;
    assert_eq!(optional!(raw, cuMemAllocAsync(&mut block, 16, side)), OK);
    raw.set(block, 1, 16, other);
    assert_eq!(optional!(raw, cuMemFreeAsync(block, side)), OK);
    assert_eq!(call!(raw, cuStreamSynchronize(side)), OK);
    assert_eq!(call!(raw, cuStreamSynchronize(other)), ILLEGAL_ADDRESS);
    assert_eq!(raw.session.faults().len(), 1);
}

#[test]
fn freeing_waits_for_the_device() {
    let Some(raw) = deferred() else { return };
    let (address, stream) = (raw.allocate(16), raw.stream(1));
    raw.set(address, 1, 16, stream);
    raw.free(address);
    assert_eq!((raw.session.pending(), raw.session.faults().len()), (0, 0));
    raw.set(raw.allocate(4), 1, 4, stream);
    assert_eq!(call!(raw, cuStreamDestroy_v2(stream)), OK);
    assert_eq!(call!(raw, cuStreamQuery(stream)), INVALID_HANDLE);
    assert_eq!(
        raw.session.pending(),
        1,
        "a destroyed stream still does its work"
    );
    assert_eq!(call!(raw, cuCtxSynchronize()), OK);
    assert_eq!(raw.session.pending(), 0);
}

#[test]
fn host_functions_run_in_order_and_may_not_call_the_driver() {
    unsafe extern "C" fn note(data: *mut core::ffi::c_void) {
        let mut device = 0;
        // SAFETY: resolved from the software driver, whose prototype this is; the output is a local.
        let answer = unsafe { (table().cuCtxGetDevice)(&mut device) }.0;
        // SAFETY: the test passes a pointer to its own vector and waits for the stream.
        unsafe { (*data.cast::<Vec<u32>>()).push(answer) };
    }
    let Some(raw) = deferred() else { return };
    let stream = raw.stream(1);
    let mut notes: Vec<u32> = Vec::new();
    let data = (&raw mut notes).cast();
    assert_eq!(
        optional!(raw, cuLaunchHostFunc(stream, Some(note), data)),
        OK
    );
    assert!(notes.is_empty());
    assert_eq!(call!(raw, cuStreamSynchronize(stream)), OK);
    assert_eq!(notes, [800]);
}

#[test]
fn a_capture_refuses_what_is_unsafe_unless_the_thread_relaxes() {
    let Some(raw) = Raw::begin() else { return };
    let stream = raw.stream(1);
    let address = raw.allocate(4);
    let begin = || optional!(raw, cuStreamBeginCapture_v2(stream, CUstreamCaptureMode(0)));
    let mut graph = null_mut();
    assert_eq!(begin(), OK);
    let mut extra = 0;
    assert_eq!(
        call!(raw, cuMemAlloc_v2(&mut extra, 4)),
        CAPTURE_UNSUPPORTED
    );
    assert_eq!(
        optional!(raw, cuStreamEndCapture(stream, &mut graph)),
        901,
        "the refused call spoiled it"
    );
    assert_eq!(begin(), OK);
    let mut mode = CUstreamCaptureMode(2);
    assert_eq!(
        optional!(raw, cuThreadExchangeStreamCaptureMode(&mut mode)),
        OK
    );
    assert_eq!(mode.0, 0);
    raw.free(raw.allocate(4));
    assert_eq!(
        call!(raw, cuStreamSynchronize(stream)),
        CAPTURE_UNSUPPORTED,
        "a capturing stream cannot be waited for"
    );
    assert_eq!(
        optional!(raw, cuThreadExchangeStreamCaptureMode(&mut mode)),
        OK
    );
    assert_eq!(optional!(raw, cuStreamEndCapture(stream, &mut graph)), 901);
    assert_eq!(begin(), OK);
    raw.set(address, 3, 4, stream);
    assert_eq!(raw.now(address, 4), [0xCD; 4], "captured, not run");
    assert_eq!(optional!(raw, cuStreamEndCapture(stream, &mut graph)), OK);
    let mut exec = null_mut();
    assert_eq!(
        optional!(raw, cuGraphInstantiateWithFlags(&mut exec, graph, 0)),
        OK
    );
    assert_eq!(optional!(raw, cuGraphLaunch(exec, stream)), OK);
    assert_eq!(raw.now(address, 4), [3; 4]);
    assert_eq!(optional!(raw, cuGraphExecDestroy(exec)), OK);
    assert_eq!(optional!(raw, cuGraphDestroy(graph)), OK);
    raw.free(address);
}
