//! What `uLib.device` asks about the GPUs of the machine.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use ulib_core::{Error, ErrorKind, Result};
use ulib_device::Device;

use crate::args::{Int, whole};
use crate::errors::IntoPyResult;

/// What a question gives when there is no device to ask, or none that answers: a broken one, or any in a forked child.
fn or_nothing<T>(answer: Result<T>, nothing: T) -> PyResult<T> {
    match answer {
        Err(error) if is_silence(&error) => Ok(nothing),
        answer => answer.py(),
    }
}

/// Whether an error means that the device gives no answer, rather than that the question was a wrong one.
fn is_silence(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Unavailable
            | ErrorKind::Forked
            | ErrorKind::Driver { .. }
            | ErrorKind::OutOfMemory { .. }
    )
}

/// The device with this ordinal; None when there is no usable one.
fn find(py: Python<'_>, ordinal: Int) -> PyResult<Option<Device>> {
    let Some(count) = or_nothing(py.detach(Device::count).map(Some), None)? else {
        return Ok(None);
    };
    match u32::try_from(ordinal.0) {
        Ok(known) if known < count => or_nothing(py.detach(|| Device::new(known)).map(Some), None),
        _ => Err(PyValueError::new_err(format!(
            "device: no device {ordinal}; there {} {count}",
            if count == 1 { "is" } else { "are" }
        ))),
    }
}

/// How many devices this process sees; 0 without a driver.
#[pyfunction]
pub(crate) fn device_count(py: Python<'_>) -> PyResult<u32> {
    or_nothing(py.detach(Device::count), 0)
}

/// Why data cannot be kept on that device; None when it can.
#[pyfunction]
#[pyo3(signature = (device=0))]
pub(crate) fn device_unavailable_reason(
    py: Python<'_>,
    #[pyo3(from_py_with = whole)] device: i128,
) -> PyResult<Option<String>> {
    let ordinal = u32::try_from(device)
        .map_err(|_| PyValueError::new_err(format!("device: {device} is no ordinal")))?;
    // A device that has a name but cannot say how much memory it has keeps no data.
    let asked = py.detach(|| Device::new(ordinal)?.memory_info());
    Ok(asked.err().map(|error| error.to_string()))
}

/// The name of a device; None without one.
#[pyfunction]
#[pyo3(signature = (device=0))]
pub(crate) fn device_name(
    py: Python<'_>,
    #[pyo3(from_py_with = whole)] device: i128,
) -> PyResult<Option<&'static str>> {
    Ok(find(py, Int(device))?.map(|device| device.name()))
}

/// Free and total bytes of a device; `(0, 0)` without one.
#[pyfunction]
#[pyo3(signature = (device=0))]
pub(crate) fn device_memory_info(
    py: Python<'_>,
    #[pyo3(from_py_with = whole)] device: i128,
) -> PyResult<(u64, u64)> {
    let Some(device) = find(py, Int(device))? else {
        return Ok((0, 0));
    };
    let info = py.detach(|| device.memory_info());
    or_nothing(info.map(|info| (info.free, info.total)), (0, 0))
}

/// Bytes and number of device blocks in use by this library, on one device or on all.
#[pyfunction]
#[pyo3(signature = (device=None))]
pub(crate) fn device_held(py: Python<'_>, device: Option<Int>) -> PyResult<(u64, u64)> {
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
pub(crate) fn device_errors(
    py: Python<'_>,
    #[pyo3(from_py_with = whole)] device: i128,
) -> PyResult<Vec<String>> {
    Ok(find(py, Int(device))?
        .map(|device| device.errors().iter().map(ToString::to_string).collect())
        .unwrap_or_default())
}
