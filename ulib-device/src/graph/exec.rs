//! Graphs that are ready: launched, and changed without being made ready anew.

use super::kept::{Kept, Part};
use super::node::{Node, nodes_of};
use super::retired::{Mark, let_go, retire};
use super::{Graph, Inner};
use crate::device::{Device, same_device};
use crate::driver::{check, forked, missing_entry};
use crate::event::Event;
use crate::launch::{Arguments, LaunchConfig};
use crate::memory::guard;
use crate::module::Function;
use crate::report::{Counted, Kind};
use crate::stream::Stream;
use crate::sys::{
    CUDA_KERNEL_NODE_PARAMS, CUgraphExec, CUgraphExecUpdateResult as Answer,
    CUgraphExecUpdateResultInfo, CUresult, Table,
};
use core::ffi::c_void;
use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use ulib_core::{Error, ErrorKind, Result};

/// A graph that is ready to be launched.
///
/// Dropping it waits for its launches, since what they use may go with it. Where a capture is in the way of that, both are kept until
/// the launches are known to be done.
#[must_use = "it goes when it is dropped"]
pub struct GraphExec<'m> {
    /// Nothing when it has been given up.
    inner: Option<Ready>,
    /// The graph it was made from, whose nodes name its own.
    origin: Arc<Inner>,
    uses: Vec<Use>,
    memory: PhantomData<&'m mut ()>,
}

/// The driver's object, and then what its work uses, in the order in which they have to go.
struct Ready {
    raw: Raw,
    /// What the work uses, but for that of `parts`.
    kept: Arc<Kept>,
    /// What single pieces of work use, each with the node of `origin`, or 0 where that is not known.
    parts: Vec<(usize, Arc<Part>)>,
}

struct Raw {
    device: Device,
    /// The driver's handle as an integer: it is only ever handed to the driver, so any thread may hold it; 0 when destroyed.
    raw: usize,
    _counted: Counted,
}

impl Raw {
    fn close(mut self) -> Result<()> {
        let _context = self.device.bind()?;
        let raw = std::mem::take(&mut self.raw);
        destroy(self.device.table(), raw)
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        if self.raw == 0 || forked() {
            return;
        }
        let bound = self.device.bind_to_end();
        if let Err(error) = bound.and_then(|_context| destroy(self.device.table(), self.raw)) {
            self.device.dropped_with(error);
        }
    }
}

/// A stream with launches that may not be done.
struct Use {
    stream: Stream,
    /// After the last one, for streams that nobody vouches for.
    after: Option<Arc<Event>>,
}

impl Use {
    /// Its last launch so far.
    fn mark(&self) -> Mark {
        match &self.after {
            Some(event) => Mark::After(Arc::clone(event)),
            // An event that is recorded during a capture would stand for a part of the graph.
            None => match self.stream.is_capturing() {
                Ok(false) => self.stream.record().map_or_else(
                    |_| Mark::Idle(self.stream.clone()),
                    |event| Mark::After(Arc::new(event)),
                ),
                _ => Mark::Idle(self.stream.clone()),
            },
        }
    }

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
        let node = |part: &Arc<Part>| (part.node.load(Ordering::Relaxed), Arc::clone(part));
        Ok(Self {
            inner: Some(Ready {
                raw: Raw {
                    device: device.clone(),
                    raw: raw as usize,
                    _counted: Counted::new(Kind::GraphExec),
                },
                kept: Arc::clone(&graph.owners.whole),
                parts: graph.owners.parts().iter().map(node).collect(),
            }),
            origin: Arc::clone(&graph.inner),
            uses: Vec::new(),
            memory: PhantomData,
        })
    }

    /// The device it is for.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.origin.device
    }

    /// The driver's handle, for calls this crate does not wrap; as an integer, `handle() as usize`.
    #[must_use]
    pub fn handle(&self) -> CUgraphExec {
        self.inner.as_ref().map_or(0, |ready| ready.raw.raw) as CUgraphExec
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
    /// Kind `InvalidArgument` when the stream belongs to another device; `Busy` while it is being captured, which stays unharmed:
    /// drivers do not take a launch for a part of another graph; whatever the driver says, which includes the failure
    /// of any kernel before; kind `Forked` in a forked child.
    pub fn launch(&mut self, stream: &Stream) -> Result<()> {
        let device = self.device().clone();
        same_device("GraphExec::launch", &device, stream.device())?;
        let context = device.bind()?;
        let table = device.table();
        let call = table
            .cuGraphLaunch
            .ok_or_else(|| missing_entry("cuGraphLaunch", "10.0"))?;
        if stream.is_capturing_in(&context)? {
            let reason = "the stream is being captured, and launching a graph cannot become part of another one";
            return Err(Error::busy("GraphExec::launch", reason));
        }
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
        device
            .recent()
            .note(name, [0; 3], [0; 3], stream.handle() as usize);
        // SAFETY: the context is current by the guard; both are alive; what the work uses is kept, or borrowed for `'m`.
        let status = unsafe { call(self.handle(), stream.handle()) };
        check(table, "cuGraphLaunch", status)?;
        guard::launched(stream, &context, || {
            format!("a graph on stream {:#x}", stream.handle() as usize)
        });
        if !stream.is_kept() {
            let after = match self.uses[at].after.take() {
                Some(event) if Arc::strong_count(&event) == 1 => event,
                _ => Arc::new(Event::new(&device)?),
            };
            after.record(stream)?;
            self.uses[at].after = Some(after);
        }
        Ok(())
    }

    /// Whether all launches so far are done; false where the driver does not tell. Does not wait.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.uses.iter().all(|used| match &used.after {
            Some(event) => event.is_done().unwrap_or(false),
            None => used.stream.is_done().unwrap_or(false),
        })
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
        let_go();
        Ok(())
    }

    /// Lets `what` go after the launches so far.
    fn retire(&self, what: Box<dyn Any + Send>) {
        let_go();
        match self.is_idle() {
            true => drop(what),
            false => retire(self.uses.iter().map(Use::mark).collect(), what),
        }
    }

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
            self.retire(Box::new((kept, parts)));
        }
        Ok(())
    }

    /// Lets one of its launches of a kernel be another one from now on: of another grid, with other arguments, or of another
    /// kernel. `node` is one of the graph it was made from. What [`Stream::queue_kept`] and [`keep_for`](Self::keep_for) kept for the
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

    /// Waits for its launches, and gives it up.
    ///
    /// # Errors
    /// As [`Stream::synchronize`]; whatever the driver says; kind `Forked` in a forked child. It is given up all the same.
    pub fn close(mut self) -> Result<()> {
        let waited = self.synchronize();
        let Some(ready) = self.inner.take() else {
            return waited;
        };
        if waited.is_err() {
            self.retire(Box::new(ready));
            return waited;
        }
        ready.raw.close()
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
    // SAFETY: the callers hold the context's guard, and give the handle up; the driver lets launches end.
    check(table, "cuGraphExecDestroy", unsafe {
        call(raw as CUgraphExec)
    })
}

impl Drop for GraphExec<'_> {
    fn drop(&mut self) {
        let Some(ready) = self.inner.take() else {
            return;
        };
        if forked() {
            std::mem::forget(ready);
            return;
        }
        if let Err(error) = self.synchronize() {
            if *error.kind() != ErrorKind::Busy {
                self.device().dropped_with(error);
            }
            self.retire(Box::new(ready));
        }
    }
}

impl fmt::Debug for GraphExec<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GraphExec({:p} on {})", self.handle(), self.device())
    }
}
