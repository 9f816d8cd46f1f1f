//! [`PyContext`]: a device's primary context, with PyCUDA's stack.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyTuple, PyType};
use ulib_core::Context as _;
use ulib_device::Device;
use ulib_device::device::{Context, PeerAccess};
use ulib_device::sys::{CUfunc_cache, CUlimit};

use super::arguments::{Whole, instance};
use super::current::{self, Entry};
use super::device::PyDevice;
use super::errors::{IntoCudaResult, fitting, logic};
use super::memory::pending;
use crate::args::whole;

/// A context: the device's primary one, which everybody in the process shares, or one that another library has made
/// current.
///
/// Contexts come from ``Device.make_context``, ``Device.retain_primary_context`` and ``Context.get_current``. Nothing needs
/// one: without any on its stack a thread uses what another library has made current, else the default device. Nothing is
/// lost with one: ``pop`` and ``detach`` end the use of the context, not the objects that were made meanwhile.
#[pyclass(frozen, weakref, name = "Context", module = "uLib.cuda.driver")]
pub(crate) struct PyContext(pub(crate) Arc<Entry>);

/// What `Context.enable_peer_access` has opened and `Context.disable_peer_access` has not closed.
static PEERS: Mutex<Vec<PeerAccess>> = Mutex::new(Vec::new());

fn peers() -> MutexGuard<'static, Vec<PeerAccess>> {
    PEERS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn between(access: &PeerAccess, device: &Device, peer: &Device) -> bool {
    access.device() == device && access.peer() == peer
}

#[pymethods]
impl PyContext {
    /// Another reference to what is current; the default device's context where nothing is.
    #[staticmethod]
    #[pyo3(signature = (flags=0))]
    fn attach(py: Python<'_>, #[pyo3(from_py_with = whole)] flags: i128) -> PyResult<Self> {
        if flags != 0 {
            return Err(logic(format!(
                "Context.attach: flags is {flags}, expected 0"
            )));
        }
        let found = py.detach(|| {
            let context = match current::context()? {
                Some(entry) => entry.context.clone(),
                None => Context::primary(&current::device()?)?,
            };
            Ok(Self(Entry::new(context)))
        });
        found.cuda()
    }

    /// Takes the context off that this thread has pushed last.
    #[staticmethod]
    fn pop(py: Python<'_>) -> PyResult<()> {
        py.detach(current::pop).cuda()
    }

    /// The context that this thread has pushed last, else the one that another library has made current, else None.
    #[staticmethod]
    fn get_current(py: Python<'_>) -> PyResult<Option<Self>> {
        Ok(py.detach(current::context).cuda()?.map(Self))
    }

    /// The device that calls of this thread are about.
    #[staticmethod]
    fn get_device(py: Python<'_>) -> PyResult<PyDevice> {
        py.detach(current::device).cuda().map(PyDevice)
    }

    /// Waits for all work on the device, whoever queued it.
    #[staticmethod]
    fn synchronize(py: Python<'_>) -> PyResult<()> {
        let waited = py.detach(|| match current::context()? {
            Some(entry) => entry.context.synchronize(),
            None => current::device()?.synchronize(),
        });
        waited.cuda()?;
        pending::let_go(py);
        Ok(())
    }

    /// A limit (:class:`limit`) of kernels on the device.
    #[staticmethod]
    fn get_limit(py: Python<'_>, limit: Whole) -> PyResult<usize> {
        let limit = fitting("Context.get_limit", "limit", limit)?;
        py.detach(|| current::device()?.limit(CUlimit(limit)))
            .with_context(|| format!("Context.get_limit: limit {limit}"))
            .cuda()
    }

    /// Asks for another limit.
    #[staticmethod]
    fn set_limit(py: Python<'_>, limit: Whole, value: Whole) -> PyResult<()> {
        const OP: &str = "Context.set_limit";
        let (limit, value) = (fitting(OP, "limit", limit)?, fitting(OP, "value", value)?);
        py.detach(|| current::device()?.set_limit(CUlimit(limit), value))
            .with_context(|| format!("{OP}: limit {limit}, value {value}"))
            .cuda()
    }

    /// What kernels prefer (:class:`func_cache`).
    #[staticmethod]
    fn get_cache_config(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
        let found = py.detach(|| current::device()?.cache_config()).cuda()?;
        CLASS
            .import(py, "uLib.cuda._enums", "func_cache")?
            .call1((found.0,))
    }

    /// Sets what kernels prefer that have no preference of their own.
    #[staticmethod]
    fn set_cache_config(py: Python<'_>, fc: Whole) -> PyResult<()> {
        let fc = fitting("Context.set_cache_config", "fc", fc)?;
        py.detach(|| current::device()?.set_cache_config(CUfunc_cache(fc)))
            .with_context(|| format!("Context.set_cache_config: {fc}"))
            .cuda()
    }

    /// The banks of shared memory; they are what they are on every device of today.
    #[staticmethod]
    fn get_shared_config(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
        CLASS
            .import(py, "uLib.cuda._enums", "shared_config")?
            .call1((0,))
    }

    /// Does nothing: no device of today has a choice.
    #[staticmethod]
    fn set_shared_config(sc: Whole) -> PyResult<()> {
        let sc = sc.of("Context.set_shared_config", "sc")?;
        match sc.0 {
            0..=2 => Ok(()),
            _ => Err(logic(format!(
                "Context.set_shared_config: {sc} is no shared_config"
            ))),
        }
    }

    /// Lets the device reach memory of the other context's device directly, until ``disable_peer_access``.
    #[staticmethod]
    #[pyo3(signature = (peer, flags=0))]
    fn enable_peer_access(
        py: Python<'_>,
        peer: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = whole)] flags: i128,
    ) -> PyResult<()> {
        if flags != 0 {
            return Err(logic(format!(
                "Context.enable_peer_access: flags is {flags}, expected 0"
            )));
        }
        let peer = instance::<Self>("Context.enable_peer_access", "peer", peer)?;
        let peer = peer.get().0.context.device();
        let fresh = py.detach(|| {
            let device = current::device()?;
            let mut peers = peers();
            if peers.iter().any(|access| between(access, &device, peer)) {
                return Ok(false);
            }
            peers.push(device.enable_peer_access(peer)?);
            Ok(true)
        });
        match fresh.cuda()? {
            true => Ok(()),
            false => Err(logic(format!(
                "Context.enable_peer_access: access to {peer} is enabled already"
            ))),
        }
    }

    /// Ends what ``enable_peer_access`` began.
    #[staticmethod]
    fn disable_peer_access(py: Python<'_>, peer: &Bound<'_, PyAny>) -> PyResult<()> {
        let peer = instance::<Self>("Context.disable_peer_access", "peer", peer)?;
        let peer = peer.get().0.context.device();
        let ended = py.detach(|| {
            let device = current::device()?;
            let mut peers = peers();
            let Some(at) = peers
                .iter()
                .position(|access| between(access, &device, peer))
            else {
                return Ok(false);
            };
            let access = peers.swap_remove(at);
            drop(peers);
            access.close().map(|()| true)
        });
        match ended.cuda()? {
            true => Ok(()),
            false => Err(logic(format!(
                "Context.disable_peer_access: access to {peer} is not enabled"
            ))),
        }
    }

    /// Makes the context current for this thread, on top of its stack.
    fn push(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| current::push(&self.0)).cuda()
    }

    /// Ends the use of the context: it is taken off this thread's stack, and cannot be pushed again. What was made while it
    /// was current stays valid.
    fn detach(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| current::detach(&self.0)).cuda()
    }

    /// The version of the driver's interface that the context was made for.
    fn get_api_version(&self, py: Python<'_>) -> PyResult<u32> {
        py.detach(|| self.0.context.api_version()).cuda()
    }

    /// The driver's handle, an integer.
    #[getter]
    fn handle(&self) -> usize {
        self.0.context.handle() as usize
    }

    fn __enter__<'py>(slf: PyRef<'py, Self>, py: Python<'py>) -> PyResult<PyRef<'py, Self>> {
        slf.push(py)?;
        Ok(slf)
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        py.detach(|| current::leave(&self.0)).cuda()
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other
            .cast::<Self>()
            .is_ok_and(|other| other.get().handle() == self.handle())
    }

    fn __hash__(&self) -> isize {
        self.handle().cast_signed() >> 4
    }

    fn __repr__(&self) -> String {
        let state = if self.0.is_valid() { "" } else { ", detached" };
        format!(
            "<uLib.cuda.driver.Context {:#x} of {}{state}>",
            self.handle(),
            self.0.context.device()
        )
    }
}
