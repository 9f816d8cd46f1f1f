//! [`PyDevice`]: a device, what it is, and its contexts.

use pyo3::exceptions::{PyAttributeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyString, PyTuple, PyType};
use ulib_core::{Context as _, Result};
use ulib_device::Device;
use ulib_device::device::{Attribute, Context, PeerAccess};
use ulib_device::sys::CUdevice_attribute;

use super::arguments::{Whole, instance};
use super::context::PyContext;
use super::current::{self, Entry};
use super::errors::{IntoCudaResult, fitting, logic};
use crate::args::{self, Int, whole};
use crate::detached::drop_detached;

/// A device, by its ordinal or its address on the PCI bus. What :class:`device_attribute` lists is there in lower case as
/// well, such as ``device.multiprocessor_count``.
#[pyclass(
    frozen,
    weakref,
    eq,
    hash,
    name = "Device",
    module = "uLib.cuda.driver"
)]
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct PyDevice(pub(crate) Device);

/// An enumeration of `uLib.cuda`.
fn enumeration<'py>(
    py: Python<'py>,
    slot: &'static PyOnceLock<Py<PyType>>,
    name: &str,
) -> PyResult<&'py Bound<'py, PyType>> {
    slot.import(py, "uLib.cuda._enums", name)
}

fn attribute_class(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    enumeration(py, &CLASS, "device_attribute")
}

/// The value of an attribute, which for the compute mode is one of an enumeration.
fn shown(py: Python<'_>, attribute: CUdevice_attribute, value: i32) -> PyResult<Py<PyAny>> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    if attribute == CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_MODE {
        let class = enumeration(py, &CLASS, "compute_mode")?;
        return Ok(class.call1((value,))?.unbind());
    }
    Ok(value.into_pyobject(py)?.into_any().unbind())
}

#[pymethods]
impl PyDevice {
    #[new]
    #[pyo3(signature = (ordinal, /))]
    fn new(py: Python<'_>, ordinal: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(address) = ordinal.cast::<PyString>() {
            let address = address.to_string();
            return py
                .detach(|| Device::by_pci_bus_id(&address))
                .cuda()
                .map(Self);
        }
        let number = ordinal.extract::<Int>().map_err(|error| {
            args::caused(py, error, |_| {
                PyTypeError::new_err(format!(
                    "Device: ordinal is {}, expected an ordinal or an address on the PCI bus",
                    args::shown(ordinal)
                ))
            })
        })?;
        let ordinal = u32::try_from(number.0)
            .map_err(|_| logic(format!("Device: {number} is no ordinal of a device")))?;
        py.detach(|| Device::new(ordinal)).cuda().map(Self)
    }

    /// How many devices this process sees.
    #[staticmethod]
    fn count(py: Python<'_>) -> PyResult<u32> {
        py.detach(Device::count).cuda()
    }

    /// The name, such as ``NVIDIA H200``.
    fn name(&self) -> &'static str {
        self.0.name()
    }

    /// The address on the PCI bus, such as ``0000:01:00.0``.
    fn pci_bus_id(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| self.0.pci_bus_id()).cuda()
    }

    /// Major and minor version of the instruction set.
    fn compute_capability(&self) -> (i32, i32) {
        self.0.compute_capability()
    }

    /// Total memory in bytes.
    fn total_memory(&self) -> u64 {
        self.0.total_bytes()
    }

    /// The value of one of :class:`device_attribute`.
    fn get_attribute(&self, py: Python<'_>, attr: Whole) -> PyResult<Py<PyAny>> {
        let attr = fitting("Device.get_attribute", "attr", attr)?;
        let attribute = CUdevice_attribute(attr);
        let value = py.detach(|| self.0.attribute(attribute));
        let value = value.with_context(|| format!("Device.get_attribute: attr {attr}"));
        shown(py, attribute, value.cuda()?)
    }

    /// All attributes that the driver knows, with their values.
    fn get_attributes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let found = PyDict::new(py);
        let class = attribute_class(py)?;
        let known = py.detach(|| self.0.attributes()).cuda()?;
        for (attribute, value) in known {
            let key = class.call1((attribute.number(),))?;
            found.set_item(key, shown(py, attribute.into(), value)?)?;
        }
        Ok(found)
    }

    fn __getattr__(&self, py: Python<'_>, name: &str) -> PyResult<Py<PyAny>> {
        let Some(attribute) = Attribute::named(name) else {
            return Err(PyAttributeError::new_err(format!(
                "'Device' object has no attribute '{name}'"
            )));
        };
        let value = py.detach(|| self.0.attribute_if_known(attribute)).cuda()?;
        let value = value.ok_or_else(|| {
            PyAttributeError::new_err(format!("Device: this driver does not know {name}"))
        })?;
        shown(py, attribute.into(), value)
    }

    /// Makes the device's primary context current for this thread, on top of its stack. Flags (:class:`ctx_flags`) that
    /// are not 0 are set for every user of the context.
    #[pyo3(signature = (flags=0))]
    fn make_context(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = whole)] flags: i128,
    ) -> PyResult<PyContext> {
        let flags: u32 = fitting("Device.make_context", "flags", Int(flags))?;
        let entry = py.detach(|| {
            if flags != 0 {
                self.0.set_primary_flags(flags)?;
            }
            let entry = Entry::new(Context::primary(&self.0)?);
            current::push(&entry)?;
            Ok(entry)
        });
        entry.cuda().map(PyContext)
    }

    /// The device's primary context, without making it current.
    fn retain_primary_context(&self, py: Python<'_>) -> PyResult<PyContext> {
        let made = py.detach(|| Context::primary(&self.0));
        Ok(PyContext(Entry::new(made.cuda()?)))
    }

    /// Whether kernels of this device could reach memory of the other directly.
    fn can_access_peer(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        let other = instance::<Self>("Device.can_access_peer", "other", other)?.get();
        py.detach(|| self.0.can_access_peer(&other.0)).cuda()
    }

    /// Lets kernels and copies of this device reach memory of the other directly, as long as what this returns lives or
    /// until it is closed.
    fn enable_peer_access(
        &self,
        py: Python<'_>,
        peer: &Bound<'_, PyAny>,
    ) -> PyResult<PyPeerAccess> {
        let peer = instance::<Self>("Device.enable_peer_access", "peer", peer)?.get();
        let access = py.detach(|| self.0.enable_peer_access(&peer.0)).cuda()?;
        Ok(PyPeerAccess(std::sync::Mutex::new(Some(access))))
    }

    /// The ordinal.
    #[getter]
    fn ordinal(&self) -> u32 {
        self.0.ordinal()
    }

    /// The driver's handle, an integer.
    #[getter]
    fn handle(&self) -> i32 {
        self.0.handle()
    }

    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyType>, Bound<'py, PyTuple>)> {
        let arguments = PyTuple::new(slf.py(), [slf.get().0.ordinal()])?;
        Ok((slf.get_type(), arguments))
    }

    fn __repr__(&self) -> String {
        format!(
            "<uLib.cuda.driver.Device {}: {}>",
            self.0.ordinal(),
            self.0.name()
        )
    }
}

/// Direct access of one device to the memory of another; ends with ``close``, with a ``with`` block, or with the object.
#[pyclass(frozen, weakref, name = "PeerAccess", module = "uLib.cuda.driver")]
pub(crate) struct PyPeerAccess(std::sync::Mutex<Option<PeerAccess>>);

impl PyPeerAccess {
    fn take(&self) -> Option<PeerAccess> {
        let mut slot = self
            .0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        slot.take()
    }
}

#[pymethods]
impl PyPeerAccess {
    /// Ends the access; a second time does nothing.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let Some(access) = self.take() else {
            return Ok(());
        };
        py.detach(|| access.close()).cuda()
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        self.close(py)
    }
}

impl Drop for PyPeerAccess {
    fn drop(&mut self) {
        drop_detached(self.take());
    }
}

/// The device that a program gets that does not say which: see ``tools.make_default_context``.
#[pyfunction]
#[pyo3(signature = (otherwise=None))]
pub(super) fn default_device(py: Python<'_>, otherwise: Option<Whole>) -> PyResult<PyDevice> {
    let otherwise = otherwise
        .map(|ordinal| fitting("get_default_device", "default", ordinal))
        .transpose()?;
    let chosen: Result<Device> = py.detach(|| current::choose_device(otherwise));
    chosen.cuda().map(PyDevice)
}
