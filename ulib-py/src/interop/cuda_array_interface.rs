//! `__cuda_array_interface__`, version 3: the array where it is on the device.

use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::PyAttributeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use pyo3::{PyTypeInfo, intern};
use ulib_core::{Error, ErrorKind, Location, PreferredDevice, Reason, Result};

use crate::errors::{IntoPyResult, to_python};
use crate::source::{Desc, Object, Source, block};

/// The dictionary for an array at `start` (the address of the block's first byte).
pub(crate) fn dictionary<'py>(
    py: Python<'py>,
    start: u64,
    desc: &Desc,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item(intern!(py, "shape"), PyTuple::new(py, desc.layout.shape())?)?;
    dict.set_item(intern!(py, "typestr"), desc.dtype.typestr())?;
    dict.set_item(intern!(py, "data"), (address(start, desc)?, false))?;
    dict.set_item(intern!(py, "strides"), strides(py, desc)?)?;
    dict.set_item(intern!(py, "version"), 3)?;
    // The pointer was given only after our own work on it was done.
    dict.set_item(intern!(py, "stream"), py.None())?;
    Ok(dict)
}

/// The address of the first element.
fn address(start: u64, desc: &Desc) -> PyResult<u64> {
    if desc.layout.is_empty() {
        return Ok(0);
    }
    Ok(start + desc.offset_bytes().py()? as u64)
}

/// The dictionary that an array last gave, to be copied while dtype and layout stay as they were.
#[derive(Default)]
pub(crate) struct Template(Mutex<Option<(Desc, Py<PyDict>)>>);

impl Template {
    /// As [`dictionary`], which only has to be filled in where it is already there.
    fn fill<'py>(&self, py: Python<'py>, start: u64, desc: Desc) -> PyResult<Bound<'py, PyDict>> {
        let known = {
            let last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            // Copied when the lock is free again, since a new dictionary may start a collection, which runs anything.
            last.as_ref()
                .filter(|(of, _)| *of == desc)
                .map(|(_, dict)| dict.clone_ref(py))
        };
        if let Some(known) = known {
            let dict = known.bind(py).copy()?;
            dict.set_item(intern!(py, "data"), (address(start, &desc)?, false))?;
            return Ok(dict);
        }
        let dict = dictionary(py, start, &desc)?;
        let template = dict.copy()?.unbind();
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = last.replace((desc, template));
        drop(last);
        drop(before);
        Ok(dict)
    }
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
pub(crate) fn attribute<'py>(
    py: Python<'py>,
    source: &Source,
    template: &Template,
) -> PyResult<Bound<'py, PyDict>> {
    let at_hand = source.holder.at_hand(|object| {
        let desc = source.which.of(object).ok()?;
        Some((block(object).ok()?.export_at_hand()?, desc))
    });
    if let Some((exported, desc)) = at_hand {
        return template.fill(py, exported.ptr, desc);
    }
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
        Ok(exported) => template.fill(py, exported.ptr, desc),
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
    source
        .holder
        .read(py, |object| Ok(device_of_object(object)))
}

/// [`device_now`] for an object that is held.
pub(crate) fn device_of_object(object: &dyn Object) -> Option<u32> {
    let placed = object.placed();
    let PreferredDevice::Device(ordinal) = placed.preferred_device() else {
        return None;
    };
    let goes = match placed.location() {
        // It may be another device than the preferred one, and in a forked child nobody reaches it.
        Location::Device { .. } => placed.can_use_device(),
        Location::Host => false,
        Location::HostBecause(reason) => {
            matches!(
                reason,
                Reason::ChangedOnHost | Reason::Released | Reason::AsPreferred
            )
        }
    };
    goes.then_some(ordinal)
}
