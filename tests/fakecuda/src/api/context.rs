//! Contexts and each thread's stack of them.
#![allow(unsafe_code, reason = "entry points")]

use super::{number, pointer};
use crate::control;
use crate::gate::{Call, Outcome, code, entries, with_stack};
use core::ffi::{c_int, c_uint, c_ulonglong};
use ulib_device::sys::{CUcontext, CUctxCreateParams, CUdevice, CUfunc_cache, CUlimit};

fn existing(call: &Call<'_>, context: CUcontext) -> Outcome<u64> {
    let handle = number(context);
    if call.contexts.contains_key(&handle) {
        Ok(handle)
    } else {
        Err(code::INVALID_CONTEXT)
    }
}

/// The context meant: the given one, or the current one for null.
fn meant(call: &Call<'_>, context: CUcontext) -> Outcome<u64> {
    if context.is_null() {
        let current = with_stack(|stack| stack.last().copied()).ok_or(code::INVALID_CONTEXT)?;
        return existing(call, pointer(current));
    }
    existing(call, context)
}

fn create(call: &mut Call<'_>, flags: c_uint, device: CUdevice) -> Outcome<u64> {
    call.device(device)?;
    let made = call.new_context(device as usize, false, flags);
    with_stack(|stack| stack.push(made));
    Ok(made)
}

/// A limit that can be asked for and set: those of the stack, of printing and of the heap.
fn limit_of<'a>(call: &'a mut Call<'_>, context: u64, limit: CUlimit) -> Outcome<&'a mut usize> {
    let context = call
        .contexts
        .get_mut(&context)
        .ok_or(code::INVALID_CONTEXT)?;
    context
        .limits
        .get_mut(limit.0 as usize)
        .ok_or(code::UNSUPPORTED_LIMIT)
}

entries! {
    fn cuCtxCreate_v2[context](context: *mut CUcontext, flags: c_uint, device: CUdevice) Init |call| {
        let made = create(call, flags, device)?;
        context.put(pointer(made))
    }

    fn cuCtxCreate_v4[context](
        context: *mut CUcontext, _params: *mut CUctxCreateParams, flags: c_uint, device: CUdevice,
    ) Init |call| {
        let made = create(call, flags, device)?;
        context.put(pointer(made))
    }

    fn cuCtxDestroy_v2[](context: CUcontext) Init |call| {
        let handle = existing(call, context)?;
        if call.contexts[&handle].primary {
            return Err(code::INVALID_CONTEXT);
        }
        call.destroy_context(handle);
        with_stack(|stack| {
            if stack.last() == Some(&handle) {
                stack.pop();
            }
        });
        Ok(())
    }

    fn cuCtxSetCurrent[](context: CUcontext) Init |call| {
        if context.is_null() {
            with_stack(|stack| stack.pop());
            return Ok(());
        }
        let handle = existing(call, context)?;
        with_stack(|stack| {
            stack.pop();
            stack.push(handle);
        });
        Ok(())
    }

    fn cuCtxGetCurrent[context](context: *mut CUcontext) Init |_call| {
        context.put(pointer(with_stack(|stack| stack.last().copied().unwrap_or(0))))
    }

    fn cuCtxPushCurrent_v2[](context: CUcontext) Init |call| {
        let handle = existing(call, context)?;
        with_stack(|stack| stack.push(handle));
        Ok(())
    }

    fn cuCtxPopCurrent_v2[context](context: *mut CUcontext) Init |_call| {
        let gone = with_stack(|stack| stack.pop()).ok_or(code::INVALID_CONTEXT)?;
        context.put_if_wanted(pointer(gone))
    }

    fn cuCtxGetDevice[device](device: *mut CUdevice) Context |call| {
        device.put(call.device as CUdevice)
    }

    fn cuCtxSynchronize[]() Context |call| {
        let (context, device) = (call.context, call.device);
        super::stream::refuse(call)?;
        super::stream::refuse_capturing_context(call)?;
        call.drain_context(context);
        call.trim_pools(device);
        super::stream::broken(call)
    }

    fn cuCtxGetFlags[flags](flags: *mut c_uint) Context |call| {
        flags.put(call.contexts[&call.context].flags)
    }

    fn cuCtxGetId[id](context: CUcontext, id: *mut c_ulonglong) Init |call| {
        id.put(meant(call, context)?)
    }

    fn cuCtxGetApiVersion[version](context: CUcontext, version: *mut c_uint) Init |call| {
        meant(call, context)?;
        version.put(3020)
    }

    fn cuCtxGetLimit[value](value: *mut usize, limit: CUlimit) Context |call| {
        let context = call.context;
        value.put(*limit_of(call, context, limit)?)
    }

    fn cuCtxSetLimit[](limit: CUlimit, value: usize) Context |call| {
        let context = call.context;
        *limit_of(call, context, limit)? = value;
        Ok(())
    }

    fn cuCtxGetCacheConfig[config](config: *mut CUfunc_cache) Context |call| {
        config.put(CUfunc_cache(call.contexts[&call.context].cache))
    }

    fn cuCtxSetCacheConfig[](config: CUfunc_cache) Context |call| {
        if config.0 > 3 {
            return Err(code::INVALID_VALUE);
        }
        let context = call.context;
        call.contexts.get_mut(&context).ok_or(code::INVALID_CONTEXT)?.cache = config.0;
        Ok(())
    }

    fn cuCtxGetStreamPriorityRange[least, greatest](least: *mut c_int, greatest: *mut c_int) Context |_call| {
        least.put_if_wanted(0)?;
        greatest.put_if_wanted(-5)
    }

    fn cuCtxEnablePeerAccess[](peer: CUcontext, flags: c_uint) Context |call| {
        let peer = existing(call, peer)?;
        if flags != 0 {
            return Err(code::INVALID_VALUE);
        }
        if call.contexts[&peer].device == call.device || !control::peers() {
            return Err(code::PEER_ACCESS_UNSUPPORTED);
        }
        let context = call.context;
        let current = call.contexts.get_mut(&context).ok_or(code::INVALID_CONTEXT)?;
        if current.peers.insert(peer) { Ok(()) } else { Err(code::PEER_ACCESS_ALREADY_ENABLED) }
    }

    fn cuCtxDisablePeerAccess[](peer: CUcontext) Context |call| {
        let peer = existing(call, peer)?;
        let context = call.context;
        let current = call.contexts.get_mut(&context).ok_or(code::INVALID_CONTEXT)?;
        if current.peers.remove(&peer) { Ok(()) } else { Err(code::PEER_ACCESS_NOT_ENABLED) }
    }
}
