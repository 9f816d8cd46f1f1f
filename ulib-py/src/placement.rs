//! [`Placed`]: the placement property, on every object.

use std::sync::Arc;

use pyo3::prelude::*;
use ulib_core::{Context as _, PreferredDevice, Result};
use ulib_math::scene::html;

use crate::errors::IntoPyResult;
use crate::source::Holder;

/// An object that knows where its numbers are and where they should be.
#[pyclass(frozen, subclass, weakref, module = "uLib")]
pub(crate) struct Placed {
    pub(crate) holder: Arc<dyn Holder>,
}

/// How often and how many bytes were copied between the host and a device for one object.
#[pyclass(frozen, get_all, eq, hash, module = "uLib", name = "Transfers")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Transfers {
    /// Copies to a device.
    uploads: u64,
    /// Copies from a device.
    downloads: u64,
    /// Bytes copied to a device.
    bytes_up: u64,
    /// Bytes copied from a device.
    bytes_down: u64,
}

impl From<ulib_device::block::Transfers> for Transfers {
    fn from(counted: ulib_device::block::Transfers) -> Self {
        Transfers {
            uploads: counted.uploads,
            downloads: counted.downloads,
            bytes_up: counted.bytes_up,
            bytes_down: counted.bytes_down,
        }
    }
}

#[pymethods]
impl Transfers {
    fn __repr__(&self) -> String {
        format!(
            "Transfers(uploads={}, downloads={}, bytes_up={}, bytes_down={})",
            self.uploads, self.downloads, self.bytes_up, self.bytes_down
        )
    }
}

impl Placed {
    fn preferred(&self, py: Python<'_>) -> PyResult<PreferredDevice> {
        self.holder
            .peek(py, |object| Ok(object.placed().preferred_device()))
            .py()
    }

    fn prefer(&self, py: Python<'_>, device: &str) -> PyResult<bool> {
        let preferred: Result<PreferredDevice> = device.parse();
        let preferred = preferred.context("SetPreferredDevice").py()?;
        self.holder
            .read(py, |object| object.placed().set_preferred_device(preferred))
            .py()
    }
}

#[pymethods]
#[allow(non_snake_case)]
impl Placed {
    /// Where the numbers should be: ``'Host'``, ``'Device'`` or ``'Device:1'``.
    fn GetPreferredDevice(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.preferred(py)?.to_string())
    }

    /// Records where the numbers should be and moves them there if that can be done now.
    ///
    /// True when they are where ``device`` says; ``GetDataLocation()`` has the reason when not.
    /// ``device`` is ``'Host'``, ``'Device'`` or ``'Device:N'``.
    #[pyo3(signature = (device))]
    fn SetPreferredDevice(&self, py: Python<'_>, device: &str) -> PyResult<bool> {
        self.prefer(py, device)
    }

    /// Where the numbers should be, as a word.
    #[getter(PreferredDevice)]
    fn get_preferred(&self, py: Python<'_>) -> PyResult<String> {
        self.GetPreferredDevice(py)
    }

    #[setter(PreferredDevice)]
    fn set_preferred(&self, py: Python<'_>, device: &str) -> PyResult<()> {
        self.prefer(py, device).map(|_there| ())
    }

    /// Whether the preference is a device and the numbers there are current right now.
    fn IsDeviceResident(&self, py: Python<'_>) -> PyResult<bool> {
        self.holder
            .peek(py, |object| Ok(object.placed().is_device_resident()))
            .py()
    }

    /// Whether a device could be used for these numbers on this machine at all.
    fn CanUseDevice(&self, py: Python<'_>) -> PyResult<bool> {
        self.holder
            .read(py, |object| Ok(object.placed().can_use_device()))
            .py()
    }

    /// Where the numbers are, in words: ``Host``, ``Device: NAME`` or ``Host (REASON)``.
    fn GetDataLocation(&self, py: Python<'_>) -> PyResult<String> {
        self.holder
            .read(py, |object| Ok(object.placed().location().to_string()))
            .py()
    }

    /// Brings the numbers home and gives the device memory back to the driver.
    ///
    /// True when no memory is left there; False while views made with ``DeviceView()`` or DLPack keep some,
    /// also of what the object had before it was resized. Pointers from ``__cuda_array_interface__`` become invalid.
    fn ReleaseDevice(&self, py: Python<'_>) -> PyResult<bool> {
        let released = self
            .holder
            .read(py, |object| object.placed().release_device())
            .py()?;
        Ok(released.is_complete())
    }

    /// Puts the numbers where they are preferred, as after a change on the host. True when they
    /// are there now.
    fn Update(&self, py: Python<'_>) -> PyResult<bool> {
        self.holder.read(py, |object| object.placed().update()).py()
    }

    /// Declares that nobody uses pointers from ``__cuda_array_interface__`` of this object any more,
    /// so that host reads need not look at the device each time.
    fn EndExports(&self, py: Python<'_>) -> PyResult<()> {
        self.holder
            .read(py, |object| object.placed().end_exports())
            .py()
    }

    /// Whether somebody outside may be using the device copy.
    fn IsShared(&self, py: Python<'_>) -> PyResult<bool> {
        self.holder
            .peek(py, |object| Ok(object.placed().is_shared()))
            .py()
    }

    /// What a notebook shows: the class, the size, where the numbers are, and a picture or the first of them.
    fn _repr_html_(&self, py: Python<'_>) -> PyResult<Option<String>> {
        self.holder
            .read(py, |object| Ok(Some(html::fragment(object.scene()))))
            .py()
    }

    /// The copies made between host and device for this object so far.
    #[getter(Transfers)]
    fn transfers(&self, py: Python<'_>) -> PyResult<Transfers> {
        self.holder
            .peek(py, |object| Ok(object.placed().transfers().into()))
            .py()
    }
}
