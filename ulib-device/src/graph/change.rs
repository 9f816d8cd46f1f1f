//! Changes of graphs that are ready.

use super::Graph;
use super::exec::GraphExec;
use super::kept::Part;
use super::node::Node;
use crate::device::same_device;
use crate::driver::{check, missing_entry};
use crate::launch::{Arguments, LaunchConfig};
use crate::memory::{Access, DeviceBytes};
use crate::module::Function;
use crate::sys::{
    CUDA_KERNEL_NODE_PARAMS, CUgraphExecUpdateResult as Answer, CUgraphExecUpdateResultInfo,
    CUresult,
};
use core::ffi::c_void;
use std::any::Any;
use std::sync::Arc;
use ulib_core::{Error, ErrorKind, Result};

impl<'m> GraphExec<'m> {
    /// Takes the work of `graph` in the place of its own, for later launches. The two differ in what pieces of work do it with,
    /// not in what they are and how they follow on each other.
    ///
    /// # Errors
    /// Kind `InvalidArgument` when they differ in more, and then nothing has changed; whatever the driver says; kind `Forked`
    /// in a forked child.
    pub fn update(&mut self, graph: &Graph<'m>) -> Result<()> {
        let device = self.device().clone();
        same_device("GraphExec::update", &device, graph.device())?;
        let _context = device.bind()?;
        let table = device.table();
        let call = table
            .cuGraphExecUpdate_v2
            .ok_or_else(|| missing_entry("cuGraphExecUpdate_v2", "12.0"))?;
        let mut info = CUgraphExecUpdateResultInfo {
            result: Answer::CU_GRAPH_EXEC_UPDATE_SUCCESS,
            errorNode: core::ptr::null_mut(),
            errorFromNode: core::ptr::null_mut(),
        };
        // SAFETY: the context is current by the guard; both are alive; the call writes the answer.
        let status = unsafe { call(self.handle(), graph.handle(), &raw mut info) };
        if status == CUresult::CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE {
            return Err(Error::in_op(
                ErrorKind::InvalidArgument,
                "GraphExec::update",
                format!(
                    "the graph cannot take the place of the one before: {}",
                    difference(info.result)
                ),
            ));
        }
        check(table, "cuGraphExecUpdate_v2", status)?;
        if let Some(ready) = &mut self.inner {
            // Which of its nodes stand for which of the origin's, the driver does not tell.
            let parts = graph.owners.parts().into_iter().map(|part| (0, part));
            let parts = std::mem::replace(&mut ready.parts, parts.collect());
            let kept = std::mem::replace(&mut ready.kept, Arc::clone(&graph.owners.whole));
            self.used = ready.together();
            self.retire(Box::new((kept, parts)));
        }
        Ok(())
    }

    /// Lets one of its launches of a kernel be another one from now on: of another grid, with other arguments, or of another
    /// kernel. `node` is one of the graph it was made from. What [`Stream::queue_kept`](crate::Stream::queue_kept) and [`keep_for`](Self::keep_for) kept for the
    /// work that was there before goes after its last launch, as far as nobody else needs it.
    ///
    /// # Errors
    /// Kind `InvalidArgument` for a node of another graph, or a kernel of another device; whatever the driver says, for a node
    /// that is no kernel among others; kind `Forked` in a forked child.
    ///
    /// # Safety
    /// As [`launch`](crate::launch()), for every later launch of the graph.
    pub unsafe fn set_kernel(
        &mut self,
        node: &Node,
        function: &Function,
        config: LaunchConfig,
        args: &mut [*mut c_void],
    ) -> Result<()> {
        const OP: &str = "GraphExec::set_kernel";
        let device = self.device().clone();
        same_device(OP, &device, function.device())?;
        if !Arc::ptr_eq(&node.graph, &self.origin) {
            let message = "the node is not one of the graph that this was made from";
            return Err(Error::in_op(ErrorKind::InvalidArgument, OP, message));
        }
        config
            .check(
                device.limits(),
                function.threads_per_block(),
                function.static_shared_bytes(),
            )
            .and_then(|()| function.allow_shared(config.shared_bytes))
            .map_err(|error| error.context(format!("kernel {}", function.name())))?;
        let _context = device.bind()?;
        let table = device.table();
        let call = table
            .cuGraphExecKernelNodeSetParams_v2
            .ok_or_else(|| missing_entry("cuGraphExecKernelNodeSetParams_v2", "12.0"))?;
        let ([gx, gy, gz], [bx, by, bz]) = (config.grid, config.block);
        let wanted = CUDA_KERNEL_NODE_PARAMS {
            func: function.handle(),
            gridDimX: gx,
            gridDimY: gy,
            gridDimZ: gz,
            blockDimX: bx,
            blockDimY: by,
            blockDimZ: bz,
            sharedMemBytes: config.shared_bytes,
            kernelParams: args.as_mut_ptr(),
            extra: core::ptr::null_mut(),
            kern: core::ptr::null_mut(),
            ctx: core::ptr::null_mut(),
        };
        // SAFETY: the context is current by the guard; graph, node and kernel are alive; the driver copies the arguments, which
        // are as the caller promises.
        let status = unsafe { call(self.handle(), node.handle(), &raw const wanted) };
        check(table, "cuGraphExecKernelNodeSetParams_v2", status)?;
        let number = node.handle() as usize;
        if let Some(ready) = &mut self.inner {
            let parts = std::mem::take(&mut ready.parts);
            let (before, rest): (Vec<_>, Vec<_>) =
                parts.into_iter().partition(|(of, _)| *of == number);
            ready.parts = rest;
            self.used = ready.together();
            self.retire(Box::new(before));
        }
        self.keep_for(node, function.clone());
        Ok(())
    }

    /// As [`set_kernel`](Self::set_kernel), with arguments whose number and sizes are checked first, where the driver tells the
    /// kernel's parameters.
    ///
    /// # Errors
    /// Kind `InvalidArgument` naming the argument; else as [`set_kernel`](Self::set_kernel).
    ///
    /// # Safety
    /// As [`set_kernel`](Self::set_kernel); where the driver does not tell the parameters, the arguments are as many and as large
    /// as they.
    pub unsafe fn set_kernel_with(
        &mut self,
        node: &Node,
        function: &Function,
        config: LaunchConfig,
        arguments: &mut Arguments,
    ) -> Result<()> {
        arguments.check(function)?;
        arguments.with_pointers(|pointers| {
            // SAFETY: number and sizes are checked, or promised by the caller with the rest.
            unsafe { self.set_kernel(node, function, config, pointers) }
        })
    }

    /// Keeps `owner` alive as long as this.
    pub fn keep(&self, owner: impl Any + Send + Sync) {
        if let Some(ready) = &self.inner {
            ready.kept.push(Box::new(owner));
        }
    }

    /// Keeps `owner` alive as long as `node` is what the last [`set_kernel`](Self::set_kernel) has made of it.
    pub fn keep_for(&mut self, node: &Node, owner: impl Any + Send + Sync) {
        let number = node.handle() as usize;
        if let Some(ready) = &mut self.inner {
            ready
                .parts
                .push((number, Part::new(number, Box::new(owner))));
        }
    }

    /// As [`keep_for`](Self::keep_for), for memory that the kernel of `node` uses: each later launch is a use of it, too. That of the
    /// work that was captured is known.
    pub fn uses_for(&mut self, node: &Node, memory: &Arc<DeviceBytes>, access: Access) {
        let number = node.handle() as usize;
        if let Some(ready) = &mut self.inner {
            let part = Part::new(number, Box::new(Arc::clone(memory)));
            if let Some(order) = memory.order() {
                part.used.note(&order, access);
            }
            ready.parts.push((number, part));
            self.used = ready.together();
        }
    }
}

/// In which respect two graphs differ too much.
fn difference(answer: Answer) -> String {
    match answer {
        Answer::CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED => {
            "other work, or in another order".to_owned()
        }
        Answer::CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED => "work of another kind".to_owned(),
        Answer::CU_GRAPH_EXEC_UPDATE_ERROR_FUNCTION_CHANGED
        | Answer::CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE => {
            "another kernel".to_owned()
        }
        Answer::CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED => {
            "numbers that cannot change".to_owned()
        }
        Answer::CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED => {
            "work that cannot be changed".to_owned()
        }
        Answer::CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED => {
            "other attributes of a launch".to_owned()
        }
        Answer(other) => format!("reason {other} of the driver"),
    }
}
