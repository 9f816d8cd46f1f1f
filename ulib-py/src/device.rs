//! What `uLib.device` asks about the GPUs of the machine.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use ulib_core::{Error, ErrorKind};
use ulib_device::Device;

use crate::errors::{IntoPyResult, to_python};

/// The device with this ordinal; None when the machine has no usable one at all.
fn find(py: Python<'_>, ordinal: i64) -> PyResult<Option<Device>> {
    let count = match py.detach(Device::count) {
        Ok(count) => count,
        Err(error) if matches!(error.kind(), ErrorKind::Unavailable) => return Ok(None),
        Err(error) => return Err(to_python(error)),
    };
    match u32::try_from(ordinal) {
        Ok(known) if known < count => match py.detach(|| Device::new(known)) {
            Ok(device) => Ok(Some(device)),
            Err(error) if matches!(error.kind(), ErrorKind::Unavailable) => Ok(None),
            Err(error) => Err(to_python(error)),
        },
        _ => Err(PyValueError::new_err(format!(
            "device: no device {ordinal}; there {} {count}",
            if count == 1 { "is" } else { "are" }
        ))),
    }
}

/// How many devices this process sees; 0 without a driver.
#[pyfunction]
pub(crate) fn device_count(py: Python<'_>) -> PyResult<u32> {
    match py.detach(Device::count) {
        Ok(count) => Ok(count),
        Err(error) if matches!(error.kind(), ErrorKind::Unavailable) => Ok(0),
        Err(error) => Err(to_python(error)),
    }
}

/// Why data cannot be kept on that device; None when it can.
#[pyfunction]
#[pyo3(signature = (device=0))]
pub(crate) fn device_unavailable_reason(py: Python<'_>, device: i64) -> PyResult<Option<String>> {
    let ordinal = u32::try_from(device)
        .map_err(|_| PyValueError::new_err(format!("device: {device} is no ordinal")))?;
    match py.detach(|| Device::new(ordinal)) {
        Ok(_) => Ok(None),
        Err(error) => Ok(Some(reason(&error))),
    }
}

/// The sentence of an error, without the operation it came up in.
fn reason(error: &Error) -> String {
    error.to_string()
}

/// The name of a device; None without one.
#[pyfunction]
#[pyo3(signature = (device=0))]
pub(crate) fn device_name(py: Python<'_>, device: i64) -> PyResult<Option<&'static str>> {
    Ok(find(py, device)?.map(|device| device.name()))
}

/// Free and total bytes of a device; `(0, 0)` without one.
#[pyfunction]
#[pyo3(signature = (device=0))]
pub(crate) fn device_memory_info(py: Python<'_>, device: i64) -> PyResult<(u64, u64)> {
    let Some(device) = find(py, device)? else {
        return Ok((0, 0));
    };
    let info = py.detach(|| device.memory_info()).py()?;
    Ok((info.free, info.total))
}

/// Bytes and number of device blocks in use by this library, on one device or on all.
#[pyfunction]
#[pyo3(signature = (device=None))]
pub(crate) fn device_held(py: Python<'_>, device: Option<i64>) -> PyResult<(u64, u64)> {
    let devices = match device {
        Some(ordinal) => find(py, ordinal)?.into_iter().collect(),
        None => py.detach(Device::all),
    };
    Ok(devices.iter().fold((0, 0), |(bytes, blocks), device| {
        let held = device.held();
        (bytes + held.bytes, blocks + held.allocations)
    }))
}

/// What went wrong in places that could not report it, such as the freeing of memory; emptied by
/// asking.
#[pyfunction]
#[pyo3(signature = (device=0))]
pub(crate) fn device_errors(py: Python<'_>, device: i64) -> PyResult<Vec<String>> {
    Ok(find(py, device)?
        .map(|device| device.errors().iter().map(ToString::to_string).collect())
        .unwrap_or_default())
}
