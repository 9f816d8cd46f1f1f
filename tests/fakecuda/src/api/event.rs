//! Events.
#![allow(unsafe_code, reason = "entry points")]

use super::{number, pointer, stream};
use crate::gate::{Call, Outcome, code, entries};
use crate::state::Tag;
use crate::state::queue::Event;
use core::ffi::c_uint;
use ulib_device::sys::{CUevent, CUstream};

/// The flag of an event that takes no times.
const DISABLE_TIMING: u32 = 2;

fn record(call: &mut Call<'_>, event: CUevent, on: CUstream) -> Outcome {
    let handle = number(event);
    let home = call
        .events
        .get(&handle)
        .ok_or(code::INVALID_HANDLE)?
        .context;
    let on = stream::meant(call, on)?;
    if call.streams[&on].context != home {
        return Err(code::INVALID_HANDLE);
    }
    call.record(on, handle)
}

fn elapsed(call: &mut Call<'_>, start: CUevent, end: CUevent) -> Outcome<f32> {
    call.refuse_captured_event(number(start))?;
    call.refuse_captured_event(number(end))?;
    let find = |event| call.events.get(&number(event)).ok_or(code::INVALID_HANDLE);
    let (start, end) = (find(start)?, find(end)?);
    if (start.flags | end.flags) & DISABLE_TIMING != 0
        || start.recorded.is_none()
        || end.recorded.is_none()
    {
        return Err(code::INVALID_HANDLE);
    }
    match (start.time, end.time) {
        (Some(start), Some(end)) if end >= start => Ok((end - start).as_secs_f32() * 1e3),
        (Some(start), Some(end)) => Ok(-((start - end).as_secs_f32() * 1e3)),
        _ => Err(code::NOT_READY),
    }
}

entries! {
    fn cuEventCreate[event](event: *mut CUevent, flags: c_uint) Context |call| {
        // An event for several processes has no clock.
        if flags > 7 || flags & 6 == 4 {
            return Err(code::INVALID_VALUE);
        }
        let handle = call.new_handle(Tag::Event);
        let (context, session) = (call.context, call.session);
        call.events.insert(handle, Event { context, flags, recorded: None, captured: None, time: None, session });
        event.put(pointer(handle))
    }

    fn cuEventDestroy_v2[](event: CUevent) Context |call| {
        call.events.remove(&number(event)).map(drop).ok_or(code::INVALID_HANDLE)
    }

    fn cuEventRecord[](event: CUevent, stream: CUstream) Context |call| {
        record(call, event, stream)
    }

    fn cuEventRecordWithFlags[](event: CUevent, stream: CUstream, _flags: c_uint) Context |call| {
        record(call, event, stream)
    }

    /// A pending event answers 600 once and is run to then, so that a loop of queries ends.
    fn cuEventQuery[](event: CUevent) Context |call| {
        stream::refuse(call)?;
        call.refuse_captured_event(number(event))?;
        let Some(recorded) = call.events.get(&number(event)).ok_or(code::INVALID_HANDLE)?.recorded else {
            return Ok(());
        };
        if call.is_done(recorded) {
            return Ok(());
        }
        call.drain(vec![recorded]);
        Err(code::NOT_READY)
    }

    fn cuEventSynchronize[](event: CUevent) Context |call| {
        stream::refuse(call)?;
        call.refuse_captured_event(number(event))?;
        if let Some(recorded) = call.events.get(&number(event)).ok_or(code::INVALID_HANDLE)?.recorded {
            call.drain(vec![recorded]);
        }
        let device = call.device;
        call.trim_pools(device);
        stream::broken(call)
    }

    fn cuEventElapsedTime[milliseconds](milliseconds: *mut f32, start: CUevent, end: CUevent) Context |call| {
        milliseconds.put(elapsed(call, start, end)?)
    }

    fn cuEventElapsedTime_v2[milliseconds](
        milliseconds: *mut f32, start: CUevent, end: CUevent,
    ) Context |call| {
        milliseconds.put(elapsed(call, start, end)?)
    }
}
