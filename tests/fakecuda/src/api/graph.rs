//! Capture of a stream into a graph, and its replay. A graph is the list of captured work, in order.
#![allow(unsafe_code, reason = "entry points")]

use super::launch::{Shape, prepared};
use super::{number, pointer, stream};
use crate::gate::{Call, Outcome, code, entries};
use crate::state::queue::{Capture, Graph, node_before};
use crate::state::work::Work;
use crate::state::{State, Tag};
use core::ffi::c_ulonglong;
use ulib_device::sys::{
    CUDA_KERNEL_NODE_PARAMS, CUgraph, CUgraphExec, CUgraphExecUpdateResult as Answer,
    CUgraphExecUpdateResultInfo, CUgraphNode, CUgraphNodeType, CUstream, CUstreamCaptureMode,
    CUstreamCaptureStatus, cuuint64_t,
};

/// The graph of that handle: one that is ready to be launched, or one that is not.
fn existing(call: &State, handle: u64, ready: bool) -> Outcome<&Graph> {
    let found = call
        .graphs
        .get(&handle)
        .filter(|graph| graph.ready == ready);
    found.ok_or(code::INVALID_VALUE)
}

fn remove(call: &mut Call<'_>, handle: u64, ready: bool) -> Outcome {
    existing(call, handle, ready)?;
    call.graphs.remove(&handle);
    Ok(())
}

/// What a piece of work is as a node; nothing for what only orders others.
pub(crate) fn kind(work: &Work) -> Option<CUgraphNodeType> {
    Some(match work {
        Work::Wait | Work::Record(_) => return None,
        Work::Copy(_) => CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEMCPY,
        Work::Fill(_) => CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEMSET,
        Work::Kernel(_) | Work::Break(_) => CUgraphNodeType::CU_GRAPH_NODE_TYPE_KERNEL,
        Work::Host(..) => CUgraphNodeType::CU_GRAPH_NODE_TYPE_HOST,
        Work::Free(_) => CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEM_FREE,
    })
}

/// Why one graph cannot take the place of another.
fn difference(one: &Graph, other: &Graph) -> Option<Answer> {
    let kinds = |graph: &Graph| graph.work.iter().filter_map(kind).collect::<Vec<_>>();
    let (one, other) = (kinds(one), kinds(other));
    if one.len() != other.len() {
        return Some(Answer::CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
    }
    (one != other).then_some(Answer::CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED)
}

entries! {
    fn cuStreamBeginCapture_v2[](on: CUstream, mode: CUstreamCaptureMode) Context |call| {
        let handle = stream::meant(call, on)?;
        if handle == call.contexts[&call.context].legacy {
            return Err(code::CAPTURE_UNSUPPORTED);
        }
        let thread = std::thread::current().id();
        call.captures += 1;
        let id = call.captures;
        let target = call.streams.get_mut(&handle).ok_or(code::INVALID_HANDLE)?;
        if mode.0 > stream::RELAXED || target.capture.is_some() {
            return Err(code::ILLEGAL_STATE);
        }
        target.capture = Some(Capture { id, mode: mode.0, thread, work: Vec::new(), nodes: Vec::new(), invalid: false });
        Ok(())
    }

    fn cuStreamEndCapture[graph](on: CUstream, graph: *mut CUgraph) Context |call| {
        let handle = stream::meant(call, on)?;
        let thread = std::thread::current().id();
        let target = call.streams.get_mut(&handle).ok_or(code::INVALID_HANDLE)?;
        let elsewhere = |capture: &Capture| capture.thread != thread && capture.mode != stream::RELAXED;
        if target.capture.as_ref().is_some_and(elsewhere) {
            return Err(code::CAPTURE_WRONG_THREAD);
        }
        let capture = target.capture.take().ok_or(code::CAPTURE_UNMATCHED)?;
        if capture.invalid {
            graph.put_if_wanted(core::ptr::null_mut())?;
            return Err(code::CAPTURE_INVALIDATED);
        }
        let made = call.new_handle(Tag::Graph);
        let session = call.session;
        call.graphs.insert(made, Graph { work: capture.work, nodes: capture.nodes, ready: false, session });
        graph.put(pointer(made))
    }

    /// Writes a number that all streams of one capture have in common, and the last piece of work; here each capture has one stream.
    fn cuStreamGetCaptureInfo_v2[status, id, nodes, count](
        on: CUstream, status: *mut CUstreamCaptureStatus, id: *mut cuuint64_t, _graph: *mut CUgraph,
        nodes: *mut *const CUgraphNode, count: *mut usize,
    ) Context |call| {
        let handle = stream::meant(call, on)?;
        if !call.reaches_into(handle).is_empty() {
            return Err(code::CAPTURE_IMPLICIT);
        }
        let (found, which) = match &call.streams[&handle].capture {
            None => (CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE, 0),
            Some(capture) if capture.invalid => (CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_INVALIDATED, 0),
            Some(capture) => (CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_ACTIVE, capture.id),
        };
        let last = call.streams[&handle].capture.as_ref();
        let last = last.and_then(|capture| node_before(&capture.nodes, capture.nodes.len()));
        status.put(found)?;
        id.put_if_wanted(which)?;
        nodes.put_if_wanted(last.map_or(core::ptr::null(), |node| core::ptr::from_ref(node).cast()))?;
        count.put_if_wanted(usize::from(last.is_some()))
    }

    fn cuGraphNodeGetDependencies[](node: CUgraphNode, nodes: *mut CUgraphNode, count: *mut usize) Context |call| {
        let wanted = number(node);
        let captured = call.streams.values().filter_map(|stream| stream.capture.as_ref()).map(|capture| &capture.nodes);
        let mut lists = captured.chain(call.graphs.values().map(|graph| &graph.nodes));
        let at = |list: &&Vec<u64>| list.iter().position(|known| *known == wanted && wanted != 0);
        let list = lists.find(|list| at(list).is_some()).ok_or(code::INVALID_VALUE)?;
        let before = at(&list).and_then(|at| node_before(list, at));
        if count.is_null() {
            return Err(code::INVALID_VALUE);
        }
        // SAFETY: not null, and the caller says there for how many there is room, and has room for so many.
        unsafe {
            let room = if nodes.is_null() { 1 } else { count.read() };
            if let Some(before) = before.filter(|_| room > 0 && !nodes.is_null()) {
                nodes.write(pointer(*before));
            }
            count.write(usize::from(before.is_some()).min(room));
        }
        Ok(())
    }

    fn cuGraphGetNodes[](graph: CUgraph, nodes: *mut CUgraphNode, count: *mut usize) Context |call| {
        let found = existing(call, number(graph), false)?;
        let handles: Vec<u64> = found.nodes.iter().copied().filter(|node| *node != 0).collect();
        if count.is_null() {
            return Err(code::INVALID_VALUE);
        }
        if nodes.is_null() {
            // SAFETY: not null, and the caller passes a number it may write.
            unsafe { count.write(handles.len()) };
            return Ok(());
        }
        // SAFETY: as above, and it says for how many there is room.
        let room = unsafe { count.read() }.min(handles.len());
        for (at, handle) in handles.iter().take(room).enumerate() {
            // SAFETY: below what the caller has room for.
            unsafe { nodes.add(at).write(pointer(*handle)) };
        }
        // SAFETY: as above.
        unsafe { count.write(room) };
        Ok(())
    }

    fn cuGraphNodeGetType[answer](node: CUgraphNode, answer: *mut CUgraphNodeType) Context |call| {
        let wanted = number(node);
        let mut all = call.graphs.values().flat_map(|graph| graph.nodes.iter().zip(&graph.work));
        let found = all.find(|(handle, _)| **handle == wanted && wanted != 0);
        answer.put(found.and_then(|(_, work)| kind(work)).ok_or(code::INVALID_VALUE)?)
    }

    fn cuGraphInstantiateWithFlags[exec](
        exec: *mut CUgraphExec, graph: CUgraph, _flags: c_ulonglong,
    ) Context |call| {
        let mut copy = existing(call, number(graph), false)?.clone();
        copy.ready = true;
        copy.session = call.session;
        let made = call.new_handle(Tag::Graph);
        call.graphs.insert(made, copy);
        exec.put(pointer(made))
    }

    fn cuGraphExecUpdate_v2[info](
        exec: CUgraphExec, graph: CUgraph, info: *mut CUgraphExecUpdateResultInfo,
    ) Context |call| {
        let before = existing(call, number(exec), true)?;
        let after = existing(call, number(graph), false)?.clone();
        let different = difference(before, &after);
        info.put(CUgraphExecUpdateResultInfo {
            result: different.unwrap_or(Answer::CU_GRAPH_EXEC_UPDATE_SUCCESS),
            errorNode: core::ptr::null_mut(),
            errorFromNode: core::ptr::null_mut(),
        })?;
        if different.is_some() {
            return Err(code::GRAPH_EXEC_UPDATE_FAILURE);
        }
        if let Some(found) = call.graphs.get_mut(&number(exec)) {
            // Its nodes keep the names they have from the graph it was made from.
            let mut work: Vec<Work> = after.work.into_iter().filter(|work| kind(work).is_some()).rev().collect();
            for (slot, _) in found.work.iter_mut().zip(&found.nodes).filter(|(_, node)| **node != 0) {
                if let Some(next) = work.pop() {
                    *slot = next;
                }
            }
        }
        Ok(())
    }

    fn cuGraphExecKernelNodeSetParams_v2[](
        exec: CUgraphExec, node: CUgraphNode, wanted: *const CUDA_KERNEL_NODE_PARAMS,
    ) Context |call| {
        let found = existing(call, number(exec), true)?;
        let at = found.nodes.iter().position(|handle| *handle == number(node) && *handle != 0);
        let at = at.ok_or(code::INVALID_VALUE)?;
        if wanted.is_null() || !matches!(found.work[at], Work::Kernel(_) | Work::Break(_)) {
            return Err(code::INVALID_VALUE);
        }
        // SAFETY: not null, and the caller passes parameters that it filled.
        let p = unsafe { wanted.read() };
        let shape = Shape {
            grid: [p.gridDimX, p.gridDimY, p.gridDimZ],
            block: [p.blockDimX, p.blockDimY, p.blockDimZ],
            shared: p.sharedMemBytes,
        };
        // SAFETY: the caller passes the kernel's parameters.
        let work = unsafe { prepared(call, p.func, &shape, p.kernelParams) }?;
        if let Some(found) = call.graphs.get_mut(&number(exec)) {
            found.work[at] = work;
        }
        Ok(())
    }

    fn cuGraphLaunch[](exec: CUgraphExec, on: CUstream) Context |call| {
        let handle = stream::meant(call, on)?;
        let graph = existing(call, number(exec), true)?.clone();
        stream::refuse_capturing(call, handle)?;
        for work in graph.work {
            call.enqueue(handle, work, Vec::new())?;
        }
        Ok(())
    }

    fn cuGraphExecDestroy[](exec: CUgraphExec) Context |call| {
        remove(call, number(exec), true)
    }

    fn cuGraphDestroy[](graph: CUgraph) Context |call| {
        remove(call, number(graph), false)
    }
}
