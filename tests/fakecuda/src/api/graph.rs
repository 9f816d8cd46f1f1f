//! Capture of streams into a graph, and its replay.
#![allow(unsafe_code, reason = "entry points")]

use super::launch::{Shape, prepared};
use super::{number, pointer, stream};
use crate::gate::{Call, Outcome, code, entries};
use crate::state::capture::{Graph, kind};
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

/// Writes as many handles of nodes as there is room for, and how many those are; without room, how many there are.
///
/// # Safety
/// `count` is null or says how many `nodes` has room for, unless that is null.
unsafe fn write_nodes(handles: &[u64], nodes: *mut CUgraphNode, count: *mut usize) -> Outcome {
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

/// Why one graph cannot take the place of another.
fn difference(one: &Graph, other: &Graph) -> Option<Answer> {
    let kinds = |graph: &Graph| -> Vec<_> { graph.nodes.iter().map(|it| kind(&it.work)).collect() };
    let same_edges = one.edges() == other.edges();
    let (one, other) = (kinds(one), kinds(other));
    if one.len() != other.len() || !same_edges {
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
        call.begin_capture(handle, mode.0)
    }

    fn cuStreamEndCapture[graph](on: CUstream, graph: *mut CUgraph) Context |call| {
        let handle = stream::meant(call, on)?;
        let nodes = match call.end_capture(handle) {
            Err(spoilt @ (code::CAPTURE_INVALIDATED | code::CAPTURE_UNJOINED)) => {
                graph.put_if_wanted(core::ptr::null_mut())?;
                return Err(spoilt);
            }
            ended => ended?,
        };
        let made = call.new_handle(Tag::Graph);
        let session = call.session;
        call.graphs.insert(made, Graph { nodes, ready: false, session });
        graph.put(pointer(made))
    }

    /// Writes a number that all streams of one capture have in common, and what the next piece of work will come after.
    fn cuStreamGetCaptureInfo_v2[status, id, nodes, count](
        on: CUstream, status: *mut CUstreamCaptureStatus, id: *mut cuuint64_t, _graph: *mut CUgraph,
        nodes: *mut *const CUgraphNode, count: *mut usize,
    ) Context |call| {
        let handle = stream::meant(call, on)?;
        if !call.reaches_into(handle).is_empty() {
            return Err(code::CAPTURE_IMPLICIT);
        }
        let place = call.streams[&handle].capture.as_ref();
        let (found, which) = match (place, call.capture_of(handle)) {
            (Some(_), Some(capture)) if capture.invalid => (CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_INVALIDATED, 0),
            (Some(place), Some(_)) => (CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_ACTIVE, place.capture),
            _ => (CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE, 0),
        };
        let after = place.map_or(&[][..], |place| &place.after);
        status.put(found)?;
        id.put_if_wanted(which)?;
        nodes.put_if_wanted(if after.is_empty() { core::ptr::null() } else { after.as_ptr().cast() })?;
        count.put_if_wanted(after.len())
    }

    fn cuGraphNodeGetDependencies[](node: CUgraphNode, nodes: *mut CUgraphNode, count: *mut usize) Context |call| {
        let wanted = number(node);
        let captured = call.captures.values().map(|capture| &capture.nodes);
        let mut all = captured.chain(call.graphs.values().map(|graph| &graph.nodes)).flatten();
        let before = &all.find(|node| node.handle == wanted).ok_or(code::INVALID_VALUE)?.after;
        // SAFETY: the caller says in `count` for how many there is room, and has room for so many.
        unsafe { write_nodes(before, nodes, count) }
    }

    fn cuGraphGetNodes[](graph: CUgraph, nodes: *mut CUgraphNode, count: *mut usize) Context |call| {
        let found = existing(call, number(graph), false)?;
        let handles: Vec<u64> = found.nodes.iter().map(|node| node.handle).collect();
        // SAFETY: the caller says in `count` for how many there is room, and has room for so many.
        unsafe { write_nodes(&handles, nodes, count) }
    }

    fn cuGraphNodeGetType[answer](node: CUgraphNode, answer: *mut CUgraphNodeType) Context |call| {
        let wanted = number(node);
        let mut all = call.graphs.values().flat_map(|graph| &graph.nodes);
        let found = all.find(|node| node.handle == wanted);
        answer.put(found.and_then(|node| kind(&node.work)).ok_or(code::INVALID_VALUE)?)
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
            for (node, next) in found.nodes.iter_mut().zip(after.nodes) {
                node.work = next.work;
            }
        }
        Ok(())
    }

    fn cuGraphExecKernelNodeSetParams_v2[](
        exec: CUgraphExec, node: CUgraphNode, wanted: *const CUDA_KERNEL_NODE_PARAMS,
    ) Context |call| {
        let found = existing(call, number(exec), true)?;
        let at = found.nodes.iter().position(|it| it.handle == number(node));
        let at = at.ok_or(code::INVALID_VALUE)?;
        if wanted.is_null() || !matches!(found.nodes[at].work, Work::Kernel(_) | Work::Break(_)) {
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
            found.nodes[at].work = work;
        }
        Ok(())
    }

    fn cuGraphLaunch[](exec: CUgraphExec, on: CUstream) Context |call| {
        let handle = stream::meant(call, on)?;
        let order = existing(call, number(exec), true)?.order();
        stream::refuse_capturing(call, handle)?;
        for work in order {
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
