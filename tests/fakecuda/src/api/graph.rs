//! Capture of a stream into a graph, and its replay. A graph is the list of captured work, in order.
#![allow(unsafe_code, reason = "entry points")]

use super::{number, pointer, stream};
use crate::gate::{code, entries};
use crate::state::Tag;
use crate::state::queue::{Capture, Graph};
use core::ffi::c_ulonglong;
use ulib_device::sys::{CUgraph, CUgraphExec, CUstream, CUstreamCaptureMode};

entries! {
    fn cuStreamBeginCapture_v2[](on: CUstream, mode: CUstreamCaptureMode) Context |call| {
        let handle = stream::meant(call, on)?;
        if handle == call.contexts[&call.context].legacy {
            return Err(code::CAPTURE_UNSUPPORTED);
        }
        let thread = std::thread::current().id();
        let target = call.streams.get_mut(&handle).ok_or(code::INVALID_HANDLE)?;
        if mode.0 > stream::RELAXED || target.capture.is_some() {
            return Err(code::ILLEGAL_STATE);
        }
        target.capture = Some(Capture { mode: mode.0, thread, work: Vec::new(), invalid: false });
        Ok(())
    }

    fn cuStreamEndCapture[graph](on: CUstream, graph: *mut CUgraph) Context |call| {
        let handle = stream::meant(call, on)?;
        let target = call.streams.get_mut(&handle).ok_or(code::INVALID_HANDLE)?;
        let capture = target.capture.take().ok_or(code::CAPTURE_UNMATCHED)?;
        if capture.invalid {
            graph.put_if_wanted(core::ptr::null_mut())?;
            return Err(code::CAPTURE_INVALIDATED);
        }
        let made = call.new_handle(Tag::Graph);
        call.graphs.insert(made, Graph { work: capture.work });
        graph.put(pointer(made))
    }

    fn cuGraphInstantiateWithFlags[exec](
        exec: *mut CUgraphExec, graph: CUgraph, _flags: c_ulonglong,
    ) Context |call| {
        let copy = call.graphs.get(&number(graph)).ok_or(code::INVALID_VALUE)?.clone();
        let made = call.new_handle(Tag::Graph);
        call.graphs.insert(made, copy);
        exec.put(pointer(made))
    }

    fn cuGraphLaunch[](exec: CUgraphExec, on: CUstream) Context |call| {
        let handle = stream::meant(call, on)?;
        let graph = call.graphs.get(&number(exec)).ok_or(code::INVALID_VALUE)?.clone();
        for work in graph.work {
            call.enqueue(handle, work, Vec::new())?;
        }
        Ok(())
    }

    fn cuGraphExecDestroy[](exec: CUgraphExec) Context |call| {
        call.graphs.remove(&number(exec)).map(drop).ok_or(code::INVALID_VALUE)
    }

    fn cuGraphDestroy[](graph: CUgraph) Context |call| {
        call.graphs.remove(&number(graph)).map(drop).ok_or(code::INVALID_VALUE)
    }
}
