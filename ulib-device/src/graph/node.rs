//! Single pieces of work of graphs.

use super::Inner;
use super::open::ends_of;
use crate::driver::{check, missing_entry};
use crate::stream::Stream;
use crate::sys::{CUgraphNode, CUgraphNodeType};
use std::fmt;
use std::sync::Arc;
use ulib_core::Result;

/// One piece of work of a graph.
#[derive(Clone)]
pub struct Node {
    pub(super) graph: Arc<Inner>,
    raw: usize,
}

/// What a piece of work is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NodeKind {
    /// A launch of a kernel.
    Kernel,
    /// A copy.
    Copy,
    /// A fill.
    Fill,
    /// A call of the host.
    Host,
    /// An allocation.
    Allocation,
    /// The end of an allocation.
    Free,
    /// Anything else, by the driver's number for it.
    Other(u32),
}

pub(super) fn nodes_of(graph: &Arc<Inner>) -> Result<Vec<Node>> {
    let count = graph.read_nodes(core::ptr::null_mut(), 0)?;
    let mut raw: Vec<CUgraphNode> = vec![core::ptr::null_mut(); count];
    let found = graph.read_nodes(raw.as_mut_ptr(), count)?;
    raw.truncate(found);
    let node = |raw: CUgraphNode| Node {
        graph: Arc::clone(graph),
        raw: raw as usize,
    };
    Ok(raw.into_iter().map(node).collect())
}

/// The piece of work that a captured stream has come to, if it is the only one since it came after those of `before`.
pub(super) fn only_after(stream: &Stream, before: &[usize]) -> Result<Option<usize>> {
    let &[node] = &ends_of(stream)?[..] else {
        return Ok(None);
    };
    let _context = stream.device().bind()?;
    let table = stream.device().table();
    let call = table
        .cuGraphNodeGetDependencies
        .ok_or_else(|| missing_entry("cuGraphNodeGetDependencies", "10.0"))?;
    // One more than there should be.
    let mut found: Vec<CUgraphNode> = vec![core::ptr::null_mut(); before.len() + 1];
    let mut count = found.len();
    // SAFETY: the context is current by the guard; the node is one of a graph that is being captured; there is room for so many.
    let status = unsafe { call(node as CUgraphNode, found.as_mut_ptr(), &raw mut count) };
    check(table, "cuGraphNodeGetDependencies", status)?;
    let mut found: Vec<usize> = found[..count.min(found.len())]
        .iter()
        .map(|node| *node as usize)
        .collect();
    let mut before = before.to_vec();
    found.sort_unstable();
    before.sort_unstable();
    Ok((found == before).then_some(node))
}

impl Node {
    /// What it is.
    ///
    /// # Errors
    /// Whatever the driver says; kind `Forked` in a forked child.
    pub fn kind(&self) -> Result<NodeKind> {
        let _context = self.graph.device.bind()?;
        let table = self.graph.device.table();
        let call = table
            .cuGraphNodeGetType
            .ok_or_else(|| missing_entry("cuGraphNodeGetType", "10.0"))?;
        let mut kind = CUgraphNodeType::CU_GRAPH_NODE_TYPE_KERNEL;
        // SAFETY: the context is current by the guard; the node lives as long as its graph, which this keeps.
        let status = unsafe { call(self.handle(), &raw mut kind) };
        check(table, "cuGraphNodeGetType", status)?;
        Ok(match kind {
            CUgraphNodeType::CU_GRAPH_NODE_TYPE_KERNEL => NodeKind::Kernel,
            CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEMCPY => NodeKind::Copy,
            CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEMSET => NodeKind::Fill,
            CUgraphNodeType::CU_GRAPH_NODE_TYPE_HOST => NodeKind::Host,
            CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEM_ALLOC => NodeKind::Allocation,
            CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEM_FREE => NodeKind::Free,
            CUgraphNodeType(other) => NodeKind::Other(other),
        })
    }

    /// The driver's handle, for calls this crate does not wrap; as an integer, `handle() as usize`.
    #[must_use]
    pub fn handle(&self) -> CUgraphNode {
        self.raw as CUgraphNode
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind() {
            Ok(kind) => write!(f, "Node({kind:?}, {:#x})", self.raw),
            Err(_) => write!(f, "Node({:#x})", self.raw),
        }
    }
}
