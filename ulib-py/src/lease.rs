//! [`DeviceView`]: the device array of an object, lent for as long as the view lives.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::{PyAttributeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use ulib_device::block::Lease;

use crate::args::Int;
use crate::detached::drop_detached;
use crate::errors::IntoPyResult;
use crate::interop::cuda_array_interface::{dictionary, strides};
use crate::interop::dlpack::{abi, export};
use crate::source::{Desc, Source, block};

/// The array of an object on its device. While it lives the object counts as shared: host reads
/// look at the device each time, and the memory stays even when the object is resized or released.
///
/// Consumers that read ``__cuda_array_interface__`` from it keep it alive. ``Close()``, or leaving a
/// ``with`` block, ends it early.
#[pyclass(frozen, weakref, module = "uLib")]
pub(crate) struct DeviceView {
    lease: Mutex<Option<Arc<Lease>>>,
    desc: Desc,
}

impl Drop for DeviceView {
    fn drop(&mut self) {
        drop_detached(self.take());
    }
}

impl DeviceView {
    /// Lends the device array of `source`, uploading first when the host copy is newer.
    pub(crate) fn of(py: Python<'_>, source: &Source) -> PyResult<Self> {
        let (lease, desc) = source
            .holder
            .read(py, |object| {
                let desc = source.which.of(object)?;
                Ok((block(object)?.lease()?, desc))
            })
            .py()?;
        Ok(DeviceView {
            lease: Mutex::new(Some(Arc::new(lease))),
            desc,
        })
    }

    fn take(&self) -> Option<Arc<Lease>> {
        self.lease
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }

    fn current(&self) -> Option<Arc<Lease>> {
        self.lease
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn open(&self) -> PyResult<Arc<Lease>> {
        self.current()
            .ok_or_else(|| PyValueError::new_err("DeviceView: the view is closed"))
    }
}

#[pymethods]
#[allow(non_snake_case)]
impl DeviceView {
    /// The CUDA array interface, version 3. Absent once the view is closed.
    #[getter]
    fn __cuda_array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let lease = self.current().ok_or_else(|| {
            PyAttributeError::new_err("__cuda_array_interface__: the view is closed")
        })?;
        dictionary(py, lease.ptr(), &self.desc)
    }

    /// ``(2, ordinal)``: CUDA memory of that device.
    fn __dlpack_device__(&self) -> PyResult<(i32, u32)> {
        Ok((abi::CUDA, self.open()?.device().ordinal()))
    }

    /// The array as a DLPack capsule, which keeps the memory for itself.
    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<Int>,
        max_version: Option<(i64, i64)>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let lease = self.open()?;
        let ordinal = lease.device().ordinal();
        let here = (abi::CUDA, i32::try_from(ordinal)?);
        export::check_stream(abi::CUDA, export::stream_number(stream).py()?).py()?;
        if dl_device.is_some_and(|wanted| wanted != here) || copy == Some(true) {
            return Err(pyo3::exceptions::PyBufferError::new_err(
                "__dlpack__: a DeviceView gives itself only; ask the object for a copy",
            ));
        }
        let versioned = max_version.is_some_and(|(major, _)| major >= 1);
        let parcel =
            export::Parcel::device(lease.ptr(), ordinal, self.desc.clone(), 0, lease).py()?;
        export::capsule(py, parcel, versioned)
    }

    /// The lengths of the axes.
    #[getter]
    fn Shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.desc.layout.shape())
    }

    /// The strides in bytes, or None when the array is packed.
    #[getter]
    fn Strides<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        strides(py, &self.desc)
    }

    /// The element type, as NumPy writes it: ``'<f4'``.
    #[getter]
    fn Typestr(&self) -> String {
        self.desc.dtype.typestr()
    }

    /// The device's ordinal.
    #[getter]
    fn Device(&self) -> PyResult<u32> {
        Ok(self.open()?.device().ordinal())
    }

    /// Whether the view has ended.
    #[getter]
    fn Closed(&self) -> bool {
        self.current().is_none()
    }

    /// Ends the view: pointers taken from it must not be used any more.
    fn Close(&self) {
        drop_detached(self.take());
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyResult<PyRef<'_, Self>> {
        slf.open()?;
        Ok(slf)
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, _exception: &Bound<'_, PyTuple>) {
        self.Close();
    }

    fn __len__(&self) -> usize {
        self.desc.layout.shape().first().copied().unwrap_or(0)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let shape = PyTuple::new(py, self.desc.layout.shape())?.repr()?;
        Ok(match self.current() {
            Some(lease) => format!(
                "<uLib.DeviceView {} {shape} on {}>",
                self.desc.dtype.typestr(),
                lease.device()
            ),
            None => format!(
                "<uLib.DeviceView {} {shape}, closed>",
                self.desc.dtype.typestr()
            ),
        })
    }
}
