//! Streams, their synchronising, and the capture mode of threads.
#![allow(unsafe_code, reason = "entry points")]

use super::{number, pointer};
use crate::gate::{Call, Outcome, code, entries};
use crate::state::queue::Kind;
use crate::state::work::Work;
use core::ffi::{c_int, c_uint, c_ulonglong, c_void};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use ulib_device::sys::{
    CUcontext, CUdevice, CUevent, CUhostFn, CUstream, CUstreamCaptureMode, CUstreamCaptureStatus,
};

/// The capture mode in which a thread may do everything.
pub(crate) const RELAXED: u32 = 2;

thread_local! {
    static CAPTURE_MODE: Cell<u32> = const { Cell::new(0) };
    static OWN: RefCell<BTreeMap<u64, u64>> = const { RefCell::new(BTreeMap::new()) };
}

/// The stream a handle means on this thread in this context.
pub(crate) fn meant(call: &mut Call<'_>, stream: CUstream) -> Outcome<u64> {
    let context = call.context;
    match number(stream) {
        0 | 1 => Ok(call.contexts[&context].legacy),
        2 => {
            let known = OWN.with_borrow(|own| own.get(&context).copied());
            Ok(known.unwrap_or_else(|| {
                let made = call.new_stream(context, Kind::PerThread, 0, 0);
                OWN.with_borrow_mut(|own| own.insert(context, made));
                made
            }))
        }
        handle => match call.streams.get(&handle) {
            Some(stream) if !stream.destroyed => Ok(handle),
            _ => Err(code::INVALID_HANDLE),
        },
    }
}

/// Refuses a call that a capture in progress does not allow.
pub(crate) fn refuse(call: &mut Call<'_>) -> Outcome {
    call.refuse_during_capture(CAPTURE_MODE.get())
}

/// The error of the current context, if the work just run has broken it.
pub(crate) fn broken(call: &Call<'_>) -> Outcome {
    call.contexts
        .get(&call.context)
        .and_then(|context| context.broken)
        .map_or(Ok(()), Err)
}

/// Refuses to wait for a stream that is capturing, or for the legacy stream while one that it waits for is; that also
/// spoils the capture.
pub(crate) fn refuse_capturing(call: &mut Call<'_>, stream: u64) -> Outcome {
    let legacy = call.reaches_into(stream);
    for captured in &legacy {
        call.spoil(*captured);
    }
    if !legacy.is_empty() {
        return Err(code::CAPTURE_IMPLICIT);
    }
    if call.spoil(stream) {
        return Err(code::CAPTURE_UNSUPPORTED);
    }
    Ok(())
}

/// Refuses to wait for a context while any of its streams is capturing, in whichever mode, and spoils those captures.
pub(crate) fn refuse_capturing_context(call: &mut Call<'_>) -> Outcome {
    let context = call.context;
    let of_it: Vec<u64> = call
        .streams
        .iter()
        .filter(|(_, stream)| stream.context == context)
        .map(|(handle, _)| *handle)
        .collect();
    let spoilt = of_it
        .into_iter()
        .filter(|stream| call.spoil(*stream))
        .count();
    if spoilt > 0 {
        Err(code::CAPTURE_UNSUPPORTED)
    } else {
        Ok(())
    }
}

fn create(call: &mut Call<'_>, flags: c_uint, priority: c_int) -> Outcome<CUstream> {
    let kind = match flags {
        0 => Kind::Blocking,
        1 => Kind::NonBlocking,
        _ => return Err(code::INVALID_VALUE),
    };
    let context = call.context;
    Ok(pointer(call.new_stream(
        context,
        kind,
        flags,
        priority.clamp(-5, 0),
    )))
}

entries! {
    fn cuStreamCreate[stream](stream: *mut CUstream, flags: c_uint) Context |call| {
        let made = create(call, flags, 0)?;
        stream.put(made)
    }

    fn cuStreamCreateWithPriority[stream](
        stream: *mut CUstream, flags: c_uint, priority: c_int,
    ) Context |call| {
        let made = create(call, flags, priority)?;
        stream.put(made)
    }

    fn cuStreamDestroy_v2[](stream: CUstream) Context |call| {
        if number(stream) <= 2 {
            return Err(code::INVALID_HANDLE);
        }
        let handle = meant(call, stream)?;
        let idle = call.is_idle(handle);
        if idle {
            call.streams.remove(&handle);
            call.forget_captures();
        } else if let Some(stream) = call.streams.get_mut(&handle) {
            stream.destroyed = true;
        }
        Ok(())
    }

    fn cuStreamSynchronize[](stream: CUstream) Context |call| {
        let handle = meant(call, stream)?;
        refuse_capturing(call, handle)?;
        refuse(call)?;
        finish(call, handle);
        let device = call.device;
        call.trim_pools(device);
        broken(call)
    }

    /// Pending work answers 600 once and runs then, so that a loop of queries ends.
    fn cuStreamQuery[](stream: CUstream) Context |call| {
        let handle = meant(call, stream)?;
        refuse_capturing(call, handle)?;
        refuse(call)?;
        if call.is_idle(handle) {
            return Ok(());
        }
        finish(call, handle);
        Err(code::NOT_READY)
    }

    fn cuStreamWaitEvent[](stream: CUstream, event: CUevent, _flags: c_uint) Context |call| {
        let handle = meant(call, stream)?;
        call.wait(handle, number(event))
    }

    fn cuStreamGetCtx[context](stream: CUstream, context: *mut CUcontext) Context |call| {
        let handle = meant(call, stream)?;
        context.put(pointer(call.streams[&handle].context))
    }

    fn cuStreamGetDevice[device](stream: CUstream, device: *mut CUdevice) Context |call| {
        let handle = meant(call, stream)?;
        let context = call.streams[&handle].context;
        device.put(call.contexts.get(&context).ok_or(code::CONTEXT_IS_DESTROYED)?.device as CUdevice)
    }

    fn cuStreamGetFlags[flags](stream: CUstream, flags: *mut c_uint) Context |call| {
        let handle = meant(call, stream)?;
        refuse_capturing(call, handle)?;
        flags.put(call.streams[&handle].flags)
    }

    fn cuStreamGetPriority[priority](stream: CUstream, priority: *mut c_int) Context |call| {
        let handle = meant(call, stream)?;
        priority.put(call.streams[&handle].priority)
    }

    fn cuStreamGetId[id](stream: CUstream, id: *mut c_ulonglong) Context |call| {
        let handle = meant(call, stream)?;
        id.put(handle)
    }

    fn cuStreamIsCapturing[status](stream: CUstream, status: *mut CUstreamCaptureStatus) Context |call| {
        let handle = meant(call, stream)?;
        // Of all calls on the legacy stream only this one leaves the capture whole.
        if !call.reaches_into(handle).is_empty() {
            return Err(code::CAPTURE_IMPLICIT);
        }
        status.put(match call.capture_of(handle) {
            None => CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE,
            Some(capture) if capture.invalid => CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_INVALIDATED,
            Some(_) => CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_ACTIVE,
        })
    }

    fn cuThreadExchangeStreamCaptureMode[](mode: *mut CUstreamCaptureMode) Init |_call| {
        if mode.is_null() {
            return Err(code::INVALID_VALUE);
        }
        // SAFETY: not null, and the caller passes a mode it may read and write.
        let wanted = unsafe { mode.read() };
        if wanted.0 > RELAXED {
            return Err(code::INVALID_VALUE);
        }
        let before = CAPTURE_MODE.replace(wanted.0);
        // SAFETY: as above.
        unsafe { mode.write(CUstreamCaptureMode(before)) };
        Ok(())
    }

    /// Runs on the thread that makes the stream run, with the driver locked: it must not wait for another thread that
    /// calls the driver. Its own calls are refused with 800.
    fn cuLaunchHostFunc[](stream: CUstream, function: CUhostFn, data: *mut c_void) Context |call| {
        let handle = meant(call, stream)?;
        let function = function.ok_or(code::INVALID_VALUE)?;
        call.enqueue(handle, Work::Host(function, data.addr()), Vec::new())
    }

    fn cuStreamAttachMemAsync[](
        stream: CUstream, address: ulib_device::sys::CUdeviceptr, _length: usize, _flags: c_uint,
    ) Context |call| {
        meant(call, stream)?;
        call.pinned_at(address, 1).filter(|(_, found)| found.managed).map(drop).ok_or(code::INVALID_VALUE)
    }
}

/// Runs all that a stream stands for: the legacy stream stands for the blocking ones too.
pub(crate) fn finish(call: &mut Call<'_>, stream: u64) {
    let legacy = call
        .streams
        .get(&stream)
        .is_some_and(|stream| stream.kind == Kind::Legacy);
    if legacy {
        let context = call.context;
        let blocking: Vec<u64> = call
            .streams
            .iter()
            .filter(|(_, other)| other.context == context && other.kind != Kind::NonBlocking)
            .map(|(handle, _)| *handle)
            .collect();
        for handle in blocking {
            call.drain_stream(handle);
        }
    } else {
        call.drain_stream(stream);
    }
}
