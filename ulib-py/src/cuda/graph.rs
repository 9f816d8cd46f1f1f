//! [`PyGraph`] and [`PyGraphExec`]: work that is written down once and started many times.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use pyo3::{PyTraverseError, PyVisit};
use ulib_core::{Error, Result};
use ulib_device::graph::{Capture, Graph, GraphExec, Node, NodeKind};
use ulib_device::stream::StreamScope;
use ulib_device::{Access, LaunchConfig};

use super::arguments::{Whole, instance};
use super::errors::{IntoCudaResult, fitting, gone, logic};
use super::kept::{Entries, Keeper, KeptObjects, Object, Registered, Token};
use super::memory::on::On;
use super::memory::pending;
use super::module::config::{extents, shared_bytes};
use super::module::function::Function;
use super::stream::PyStream;
use crate::args::{Int, whole};
use crate::detached::{Detached, drop_detached};

/// What ``Stream.capture`` gives: in its ``with`` block what is put into the stream is written down instead of run. It may be left on
/// another thread than it was entered on; an object that goes without it ends the capture, and its work is forgotten.
#[pyclass(frozen, weakref, name = "Capture", module = "uLib.cuda.driver")]
pub(crate) struct PyCapture {
    stream: Py<PyStream>,
    graph: Py<PyGraph>,
    running: Mutex<Option<Running>>,
}

/// A capture in progress, and what ends with it.
struct Running {
    /// Operations of uLib's objects are part of it, too.
    scope: StreamScope,
    capture: Capture<'static>,
    _registered: Option<Registered>,
}

/// Work that a ``with stream.capture() as graph:`` block has written down, once that has ended. What it uses is kept: what is freed or
/// closed before goes when the graph, and all that is ready to be launched of it, is gone.
#[pyclass(frozen, weakref, name = "Graph", module = "uLib.cuda.driver")]
pub(crate) struct PyGraph {
    state: Mutex<State>,
    kept: Py<KeptObjects>,
}

enum State {
    /// The block has not ended.
    Pending,
    Done(Graph<'static>),
    /// Or its block was left by an exception.
    Closed,
    /// Its capture has gone without having been left.
    Abandoned,
}

/// A graph that is ready to be launched.
#[pyclass(frozen, weakref, name = "GraphExec", module = "uLib.cuda.driver")]
pub(crate) struct PyGraphExec {
    exec: Mutex<Option<GraphExec<'static>>>,
    /// The objects of the graph it was made from, and of its own changes.
    kept: Py<KeptObjects>,
    /// Those of the graph that has taken its place last.
    updated: Mutex<Option<Py<KeptObjects>>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl PyCapture {
    pub(crate) fn new(py: Python<'_>, stream: Py<PyStream>) -> PyResult<Self> {
        let graph = PyGraph {
            state: Mutex::new(State::Pending),
            kept: Py::new(py, KeptObjects(std::sync::Arc::<Entries>::default()))?,
        };
        Ok(Self {
            stream,
            graph: Py::new(py, graph)?,
            running: Mutex::new(None),
        })
    }

    /// Ends the capture, if there is one, and forgets its work.
    fn abandon(&self) {
        let running = locked(&self.running).take();
        let mut state = self.graph.get().state();
        if matches!(*state, State::Pending) {
            *state = State::Abandoned;
        }
        drop(state);
        drop_detached(running);
    }
}

#[pymethods]
impl PyCapture {
    fn __enter__(&self, py: Python<'_>) -> PyResult<Py<PyGraph>> {
        let graph = self.graph.get();
        let entered = locked(&self.running).is_some();
        if entered || !matches!(*graph.state(), State::Pending) {
            return Err(logic("Capture: it has been entered already"));
        }
        let stream = self.stream.get().inner("Stream.capture")?;
        let entries = &graph.kept.get().0;
        let begun = py.detach(|| {
            let capture = stream.capture()?;
            let number = stream.capture_number()?;
            Ok(Running {
                scope: stream.enter(),
                capture,
                _registered: number.map(|number| Registered::new(number, entries)),
            })
        });
        *locked(&self.running) = Some(begun.cuda()?);
        Ok(self.graph.clone_ref(py))
    }

    #[pyo3(signature = (kind=None, *_exception))]
    fn __exit__(
        &self,
        py: Python<'_>,
        kind: Option<&Bound<'_, PyAny>>,
        _exception: &Bound<'_, PyTuple>,
    ) -> PyResult<()> {
        let Some(running) = locked(&self.running).take() else {
            return Err(logic(
                "Capture: it has not been entered, or was left already",
            ));
        };
        let graph = self.graph.get();
        if kind.is_some_and(|kind| !kind.is_none()) {
            *graph.state() = State::Closed;
            drop_detached(running);
            return Ok(());
        }
        let made = py.detach(|| {
            drop(running.scope);
            running.capture.finish()
        });
        let mut state = graph.state();
        match made {
            // Closed within the block, it stays so.
            Ok(made) if matches!(*state, State::Closed) => {
                drop(state);
                drop_detached(made);
                Ok(())
            }
            Ok(made) => {
                *state = State::Done(made);
                Ok(())
            }
            Err(error) => {
                *state = State::Closed;
                drop(state);
                Err(error).cuda()
            }
        }
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.stream)?;
        visit.call(&self.graph)
    }

    fn __clear__(&self) {
        self.abandon();
    }
}

impl Drop for PyCapture {
    fn drop(&mut self) {
        self.abandon();
    }
}

impl PyGraph {
    /// Held for a moment only, without waiting for anything.
    fn state(&self) -> MutexGuard<'_, State> {
        locked(&self.state)
    }

    /// The graph, which is closed from now on.
    fn take(&self) -> Option<Graph<'static>> {
        match std::mem::replace(&mut *self.state(), State::Closed) {
            State::Done(graph) => Some(graph),
            _ => None,
        }
    }

    /// The graph itself for `op`.
    fn get(&self, op: &str) -> PyResult<Detached<Graph<'static>>> {
        let why = match &*self.state() {
            State::Done(graph) => return Ok(Detached::new(graph.clone())),
            State::Pending => "the capture of the Graph has not ended",
            State::Closed => "the Graph has been closed, or its capture was left by an exception",
            State::Abandoned => {
                "the capture of the Graph has gone without the end of its block, and its work is forgotten"
            }
        };
        Err(logic(format!("{op}: {why}")))
    }
}

#[pymethods]
impl PyGraph {
    /// Makes it ready to be launched.
    fn instantiate(&self, py: Python<'_>) -> PyResult<PyGraphExec> {
        let graph = self.get("Graph.instantiate")?;
        let made = py.detach(|| graph.instantiate()).cuda()?;
        Ok(PyGraphExec {
            exec: Mutex::new(Some(made)),
            kept: self.kept.clone_ref(py),
            updated: Mutex::new(None),
        })
    }

    /// How many pieces of work there are.
    #[getter]
    fn node_count(&self, py: Python<'_>) -> PyResult<usize> {
        let graph = self.get("Graph.node_count")?;
        py.detach(|| graph.node_count()).cuda()
    }

    /// What each piece of work is: ``kernel``, ``copy``, ``fill``, ``host``, ``allocation``, ``free`` or ``other``.
    #[getter]
    fn node_kinds(&self, py: Python<'_>) -> PyResult<Vec<&'static str>> {
        let graph = self.get("Graph.node_kinds")?;
        let kinds = py.detach(|| {
            graph
                .nodes()?
                .iter()
                .map(Node::kind)
                .collect::<Result<Vec<_>>>()
        });
        let name = |kind| match kind {
            NodeKind::Kernel => "kernel",
            NodeKind::Copy => "copy",
            NodeKind::Fill => "fill",
            NodeKind::Host => "host",
            NodeKind::Allocation => "allocation",
            NodeKind::Free => "free",
            _ => "other",
        };
        Ok(kinds.cuda()?.into_iter().map(name).collect())
    }

    /// The driver's handle, an integer.
    #[getter]
    fn handle(&self) -> PyResult<usize> {
        Ok(self.get("Graph.handle")?.handle() as usize)
    }

    /// Gives it up; what is ready to be launched stays ready. Within the block of its capture, that becomes no graph.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        match self.take() {
            Some(graph) => py.detach(|| graph.close()).cuda(),
            None => Ok(()),
        }
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        self.close(py)
    }

    fn __repr__(&self) -> String {
        match self.get("repr") {
            Ok(graph) => format!(
                "<uLib.cuda.driver.Graph {:#x} on {}>",
                graph.handle() as usize,
                graph.device()
            ),
            Err(_) => "<uLib.cuda.driver.Graph, not there>".to_owned(),
        }
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.kept)
    }

    fn __clear__(&self) {
        drop_detached(self.take());
    }
}

impl Drop for PyGraph {
    fn drop(&mut self) {
        drop_detached(self.take());
    }
}

impl PyGraphExec {
    /// Works on it, detached: one launch or change at a time.
    fn with<R: Send>(
        &self,
        py: Python<'_>,
        op: &str,
        work: impl FnOnce(&mut GraphExec<'static>) -> Result<R> + Send,
    ) -> PyResult<R> {
        let done = py.detach(|| locked(&self.exec).as_mut().map(work));
        done.ok_or_else(|| gone(op, "GraphExec", "closed"))?.cuda()
    }
}

#[pymethods]
impl PyGraphExec {
    /// Puts all its work into the stream, by default into the default one, and returns without waiting for it.
    #[pyo3(signature = (stream=None))]
    fn launch(&self, py: Python<'_>, stream: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        const OP: &str = "GraphExec.launch";
        let on = On::of(OP, stream)?;
        self.with(py, OP, |exec| {
            let stream = on.stream(OP, exec.device())?;
            exec.launch(&stream)
        })
    }

    /// Takes the work of the graph in the place of its own, for later launches: the same pieces of work in the same order, with
    /// other memory, numbers or sizes.
    fn update(&self, py: Python<'_>, graph: &Bound<'_, PyAny>) -> PyResult<()> {
        const OP: &str = "GraphExec.update";
        let graph = instance::<PyGraph>(OP, "graph", graph)?.get();
        let taken = graph.get(OP)?;
        self.with(py, OP, |exec| exec.update(&taken))?;
        let before = locked(&self.updated).replace(graph.kept.clone_ref(py));
        drop(before);
        Ok(())
    }

    /// Lets one of its launches of a kernel be ``function(*args, block=block, grid=grid)`` from now on. ``node`` counts the pieces of
    /// work as ``Graph.node_kinds`` does. What was kept for the launch before goes when that is done, as far as nothing else needs it.
    #[pyo3(signature = (node, function, *args, block, grid=None, shared=0))]
    #[allow(clippy::too_many_arguments, reason = "those of a launch")]
    #[allow(unsafe_code, reason = "launches kernels of the caller")]
    fn set_kernel(
        &self,
        py: Python<'_>,
        node: Whole,
        function: &Bound<'_, PyAny>,
        args: &Bound<'_, PyTuple>,
        block: &Bound<'_, PyAny>,
        grid: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = whole)] shared: i128,
    ) -> PyResult<()> {
        const OP: &str = "GraphExec.set_kernel";
        let at: usize = fitting(OP, "node", node)?;
        let function = instance::<Function>(OP, "function", function)?.get();
        let config = LaunchConfig {
            grid: grid.map_or(Ok([1; 3]), |grid| extents("grid", grid))?,
            block: extents("block", block)?,
            shared_bytes: shared_bytes(Int(shared))?,
        };
        let (mut arguments, needs) = function.arguments(args)?;
        let used = Token::new(
            &self.kept.get().0,
            Keeper::Object(Object::new(args.as_any())),
        );
        self.with(py, OP, |exec| {
            let nodes = exec.nodes()?;
            let count = nodes.len();
            let node = nodes.get(at).ok_or_else(|| {
                let expected = format!("below {count}, the number of nodes");
                Error::invalid(OP, "node", at, expected)
            })?;
            let kind = node.kind()?;
            if kind != NodeKind::Kernel {
                let found = format!("{at}, a node of the kind {kind:?}");
                return Err(Error::invalid(OP, "node", found, "a launch of a kernel"));
            }
            // SAFETY: number and sizes of the arguments are checked where the driver tells them, and what they name is kept; that
            // the kernel does with them what it should is what everybody who calls one from Python relies on.
            unsafe { exec.set_kernel_with(node, function.inner(), config, &mut arguments) }?;
            for owner in needs.owners() {
                // What kernels do with it is not known.
                exec.uses_for(node, &owner.shared(), Access::Read);
            }
            exec.keep_for(node, (needs, used));
            Ok(())
        })
    }

    /// Waits until all launches so far are done.
    fn synchronize(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, "GraphExec.synchronize", GraphExec::synchronize)?;
        pending::let_go(py);
        Ok(())
    }

    /// Waits for its launches, and gives it up; a second time does nothing.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| {
            let exec = locked(&self.exec).take();
            exec.map_or(Ok(()), GraphExec::close)
        })
        .cuda()
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        // Launches that are not done use what is kept, whatever else has become of it.
        let exec = self.exec.try_lock();
        if exec.is_ok_and(|exec| exec.as_ref().is_none_or(GraphExec::is_idle)) {
            visit.call(&self.kept)?;
            if let Ok(updated) = self.updated.try_lock() {
                visit.call(&*updated)?;
            }
        }
        Ok(())
    }

    fn __clear__(&self) {
        let exec = locked(&self.exec).take();
        drop_detached(exec);
        let updated = locked(&self.updated).take();
        drop(updated);
    }

    /// The driver's handle, an integer.
    #[getter]
    fn handle(&self, py: Python<'_>) -> PyResult<usize> {
        self.with(py, "GraphExec.handle", |exec| Ok(exec.handle() as usize))
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        self.close(py)
    }
}

impl Drop for PyGraphExec {
    fn drop(&mut self) {
        let exec = self.exec.get_mut().unwrap_or_else(PoisonError::into_inner);
        let exec = exec.take();
        drop_detached(exec);
    }
}
