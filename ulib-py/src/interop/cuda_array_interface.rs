//! `__cuda_array_interface__`, version 3: the array where it is on the device.

use pyo3::exceptions::PyAttributeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use pyo3::{PyTypeInfo, intern};
use ulib_core::{Error, ErrorKind, Location, PreferredDevice, Reason, Result};

use crate::errors::{IntoPyResult, to_python};
use crate::source::{Desc, Source, block};

/// The dictionary for an array at `start` (the address of the block's first byte).
pub(crate) fn dictionary<'py>(
    py: Python<'py>,
    start: u64,
    desc: &Desc,
) -> PyResult<Bound<'py, PyDict>> {
    let address = if desc.layout.is_empty() {
        0
    } else {
        start + desc.offset_bytes().py()? as u64
    };
    let dict = PyDict::new(py);
    dict.set_item(intern!(py, "shape"), PyTuple::new(py, desc.layout.shape())?)?;
    dict.set_item(intern!(py, "typestr"), desc.dtype.typestr())?;
    dict.set_item(intern!(py, "data"), (address, false))?;
    dict.set_item(intern!(py, "strides"), strides(py, desc)?)?;
    dict.set_item(intern!(py, "version"), 3)?;
    // The pointer was given only after our own work on it was done.
    dict.set_item(intern!(py, "stream"), py.None())?;
    Ok(dict)
}

/// The strides in bytes, or None when the array is packed.
pub(crate) fn strides<'py>(py: Python<'py>, desc: &Desc) -> PyResult<Option<Bound<'py, PyTuple>>> {
    if desc.layout.is_contiguous() {
        return Ok(None);
    }
    Ok(Some(PyTuple::new(py, desc.strides_bytes().py()?)?))
}

/// The attribute of an object: a raw export, whose end we are not told.
///
/// It exists only when the preference is a device and the numbers can be there. Everything else
/// that goes wrong is raised as what it is, and never looks like an absent attribute.
pub(crate) fn attribute<'py>(py: Python<'py>, source: &Source) -> PyResult<Bound<'py, PyDict>> {
    let preferred = source
        .holder
        .peek(py, |object| Ok(object.placed().preferred_device()))
        .py()?;
    if preferred == PreferredDevice::Host {
        return Err(PyAttributeError::new_err(
            "__cuda_array_interface__: the preferred device is Host",
        ));
    }
    let (exported, desc) = source
        .holder
        .read(py, |object| {
            let desc = source.which.of(object)?;
            Ok((block(object)?.export(), desc))
        })
        .py()?;
    match exported {
        Ok(exported) => dictionary(py, exported.ptr, &desc),
        Err(error) if is_absence(&error) => Err(PyErr::from_type(
            PyAttributeError::type_object(py),
            format!("__cuda_array_interface__: {error}"),
        )),
        Err(error) => Err(to_python(error)),
    }
}

/// Whether an error says that there is no device array, rather than that a device is broken.
pub(crate) fn is_absence(error: &Error) -> bool {
    matches!(
        error.kind(),
        // InvalidArgument: an ordinal that this machine does not have.
        ErrorKind::Unavailable
            | ErrorKind::InvalidArgument
            | ErrorKind::Residency
            | ErrorKind::OutOfMemory { .. }
            | ErrorKind::Forked
    )
}

/// The device whose pointer would be given for `source`, without moving anything: where the numbers
/// are, or where they go when a pointer is asked for.
pub(crate) fn device_now(py: Python<'_>, source: &Source) -> Result<Option<u32>> {
    source.holder.read(py, |object| {
        let placed = object.placed();
        let PreferredDevice::Device(ordinal) = placed.preferred_device() else {
            return Ok(None);
        };
        let goes = match placed.location() {
            // It may be another device than the preferred one, and in a forked child nobody reaches it.
            Location::Device { .. } => placed.can_use_device(),
            Location::Host => false,
            Location::HostBecause(reason) => {
                matches!(reason, Reason::ChangedOnHost | Reason::AsPreferred)
            }
        };
        Ok(goes.then_some(ordinal))
    })
}
