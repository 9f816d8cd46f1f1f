//! Graphs that are ready: launched, and changed without being made ready anew.

use super::kept::Kept;
use super::{Graph, Inner, Node, nodes_of};
use crate::device::{Device, same_device};
use crate::driver::{check, forked, missing_entry};
use crate::event::Event;
use crate::launch::{Arguments, LaunchConfig};
use crate::module::Function;
use crate::report::{Counted, Kind};
use crate::stream::Stream;
use crate::sys::{
    CUDA_KERNEL_NODE_PARAMS, CUgraphExec, CUgraphExecUpdateResult as Answer,
    CUgraphExecUpdateResultInfo, CUresult, Table,
};
use core::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use ulib_core::{Error, ErrorKind, Result};

/// A graph that is ready to be launched.
///
/// Dropping it waits for its launches, since what they use may go with it.
#[must_use = "it goes when it is dropped"]
pub struct GraphExec<'m> {
    device: Device,
    /// The driver's handle as an integer: it is only ever handed to the driver, so any thread may hold it; 0 when destroyed.
    raw: usize,
    /// The graph it was made from, whose nodes name its own.
    origin: Arc<Inner>,
    /// What the work uses, and what it used before it was changed.
    kept: Vec<Arc<Kept>>,
    uses: Vec<Use>,
    memory: PhantomData<&'m mut ()>,
    _counted: Counted,
}

/// A stream with launches that may not be done.
struct Use {
    stream: Stream,
    /// After the last one, for streams that nobody vouches for.
    after: Option<Event>,
}

impl Use {
    fn synchronize(&self) -> Result<()> {
        match &self.after {
            Some(event) => event.synchronize(),
            None => self.stream.synchronize(),
        }
    }
}

impl<'m> GraphExec<'m> {
    pub(super) fn new(graph: &Graph<'m>) -> Result<Self> {
        let device = graph.device().clone();
        let _context = device.bind()?;
        let table = device.table();
        let call = table
            .cuGraphInstantiateWithFlags
            .ok_or_else(|| missing_entry("cuGraphInstantiateWithFlags", "11.4"))?;
        let mut raw: CUgraphExec = core::ptr::null_mut();
        // SAFETY: the context is current by the guard; the graph is alive by the borrow; the call writes one pointer.
        let status = unsafe { call(&raw mut raw, graph.handle(), 0) };
        check(table, "cuGraphInstantiateWithFlags", status)?;
        Ok(Self {
            device: device.clone(),
            raw: raw as usize,
            origin: Arc::clone(&graph.inner),
            kept: vec![Arc::clone(&graph.kept)],
            uses: Vec::new(),
            memory: PhantomData,
            _counted: Counted::new(Kind::GraphExec),
        })
    }

    /// The device it is for.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The driver's handle, for calls this crate does not wrap; as an integer, `handle() as usize`.
    #[must_use]
    pub fn handle(&self) -> CUgraphExec {
        self.raw as CUgraphExec
    }

    /// The pieces of work of the graph it was made from, for [`set_kernel`](Self::set_kernel).
    ///
    /// # Errors
    /// Whatever the driver says; kind `Forked` in a forked child.
    pub fn nodes(&self) -> Result<Vec<Node>> {
        nodes_of(&self.origin)
    }

    /// Puts all its work into `stream` and returns without waiting for it. Launches of one graph run one after another, in
    /// whichever streams.
    ///
    /// # Errors
    /// Kind `InvalidArgument` when the stream belongs to another device; whatever the driver says, which includes the failure
    /// of any kernel before; kind `Forked` in a forked child.
    pub fn launch(&mut self, stream: &Stream) -> Result<()> {
        same_device("GraphExec::launch", &self.device, stream.device())?;
        let _context = self.device.bind()?;
        let table = self.device.table();
        let call = table
            .cuGraphLaunch
            .ok_or_else(|| missing_entry("cuGraphLaunch", "10.0"))?;
        // Known before the launch, so that whatever fails after it is waited for.
        let known = self.uses.iter().position(|used| used.stream == *stream);
        let at = known.unwrap_or_else(|| {
            self.uses.push(Use {
                stream: stream.clone(),
                after: None,
            });
            self.uses.len() - 1
        });
        let name = "a graph";
        self.device
            .recent()
            .note(name, [0; 3], [0; 3], stream.handle() as usize);
        // SAFETY: the context is current by the guard; both are alive; what the work uses is kept, or borrowed for `'m`.
        let status = unsafe { call(self.handle(), stream.handle()) };
        check(table, "cuGraphLaunch", status)?;
        if !stream.is_kept() {
            let after = match self.uses[at].after.take() {
                Some(event) => event,
                None => Event::new(&self.device)?,
            };
            after.record(stream)?;
            self.uses[at].after = Some(after);
        }
        Ok(())
    }

    /// Waits until all launches so far are done.
    ///
    /// # Errors
    /// As [`Stream::synchronize`].
    pub fn synchronize(&mut self) -> Result<()> {
        for used in &self.uses {
            used.synchronize()?;
        }
        self.uses.clear();
        Ok(())
    }

    /// Takes the work of `graph` in the place of its own, for later launches. The two differ in what pieces of work do it with,
    /// not in what they are and how they follow on each other.
    ///
    /// # Errors
    /// Kind `InvalidArgument` when they differ in more, and then nothing has changed; whatever the driver says; kind `Forked`
    /// in a forked child.
    pub fn update(&mut self, graph: &Graph<'m>) -> Result<()> {
        same_device("GraphExec::update", &self.device, graph.device())?;
        let _context = self.device.bind()?;
        let table = self.device.table();
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
        let idle = self
            .uses
            .iter()
            .all(|used| used.after.is_none() && used.stream.is_done().unwrap_or(false));
        if idle {
            self.kept.clear();
        }
        self.kept.push(Arc::clone(&graph.kept));
        Ok(())
    }

    /// Lets one of its launches of a kernel be another one from now on: of another grid, with other arguments, or of another
    /// kernel. `node` is one of the graph it was made from.
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
        same_device(OP, &self.device, function.device())?;
        if !Arc::ptr_eq(&node.graph, &self.origin) {
            let message = "the node is not one of the graph that this was made from";
            return Err(Error::in_op(ErrorKind::InvalidArgument, OP, message));
        }
        config
            .check(
                self.device.limits(),
                function.threads_per_block(),
                function.static_shared_bytes(),
            )
            .and_then(|()| function.allow_shared(config.shared_bytes))
            .map_err(|error| error.context(format!("kernel {}", function.name())))?;
        let _context = self.device.bind()?;
        let table = self.device.table();
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
        if let Some(kept) = self.kept.last() {
            kept.push(Box::new(function.clone()));
        }
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

    /// Keeps `owner` alive as long as this, for what [`set_kernel`](Self::set_kernel) made it use.
    pub fn keep(&self, owner: impl std::any::Any + Send + Sync) {
        if let Some(kept) = self.kept.last() {
            kept.push(Box::new(owner));
        }
    }

    /// Waits for its launches, and gives it up.
    ///
    /// # Errors
    /// As [`Stream::synchronize`]; whatever the driver says; kind `Forked` in a forked child. It is given up all the same.
    pub fn close(mut self) -> Result<()> {
        let waited = self.synchronize();
        let _context = self.device.bind()?;
        let raw = std::mem::take(&mut self.raw);
        let destroyed = destroy(self.device.table(), raw);
        waited.and(destroyed)
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

fn destroy(table: &Table, raw: usize) -> Result<()> {
    let call = table
        .cuGraphExecDestroy
        .ok_or_else(|| missing_entry("cuGraphExecDestroy", "10.0"))?;
    // SAFETY: the callers hold the context's guard, have waited for the launches, and give the handle up.
    check(table, "cuGraphExecDestroy", unsafe {
        call(raw as CUgraphExec)
    })
}

impl Drop for GraphExec<'_> {
    fn drop(&mut self) {
        if self.raw == 0 || forked() {
            return;
        }
        let waited = self.synchronize();
        let bound = self.device.bind_to_end();
        let destroyed = bound.and_then(|_context| destroy(self.device.table(), self.raw));
        for error in [waited.err(), destroyed.err()].into_iter().flatten() {
            self.device.dropped_with(error);
        }
    }
}

impl fmt::Debug for GraphExec<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GraphExec({:#x} on {})", self.raw, self.device)
    }
}
