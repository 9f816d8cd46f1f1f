//! Which device a call is about: that of the context this thread has pushed last, else that of the primary context which
//! another library has made current, else the default one.

use std::cell::RefCell;

use pyo3::prelude::*;
use ulib_core::{Error, Result};
use ulib_device::{Device, Driver};

use super::errors::{IntoCudaResult, logic};

thread_local! {
    /// The devices of the contexts that this thread has pushed, innermost last.
    static STACK: RefCell<Vec<Device>> = const { RefCell::new(Vec::new()) };
}

/// The device that a call of this thread is about.
pub(crate) fn device() -> Result<Device> {
    if let Some(device) = STACK.with_borrow(|stack| stack.last().cloned()) {
        return Ok(device);
    }
    match Device::current()? {
        Some(device) => Ok(device),
        None => default_device(),
    }
}

/// The device that `CUDA_DEVICE` names, else the first one.
fn default_device() -> Result<Device> {
    let Some(text) = std::env::var_os("CUDA_DEVICE") else {
        return Device::new(0);
    };
    let ordinal = text.to_str().and_then(|text| text.trim().parse().ok());
    let ordinal = ordinal.ok_or_else(|| {
        Error::invalid(
            "CUDA_DEVICE",
            "the variable",
            format!("{text:?}"),
            "an ordinal",
        )
    })?;
    Device::new(ordinal)
}

/// Initialises the driver. Everything that needs it does so by itself; here a missing one is an error at once.
#[pyfunction]
#[pyo3(signature = (flags=0))]
pub(super) fn init(py: Python<'_>, flags: u32) -> PyResult<()> {
    if flags != 0 {
        return Err(logic(format!("init: flags is {flags}, expected 0")));
    }
    py.detach(Driver::ready).cuda().map(drop)
}

/// The newest CUDA version that the driver supports: 1000 times major plus 10 times minor, such as 13000.
#[pyfunction]
pub(super) fn get_driver_version(py: Python<'_>) -> PyResult<i32> {
    Ok(py.detach(Driver::ready).cuda()?.version())
}

/// Free and total bytes of the device.
#[pyfunction]
pub(super) fn mem_get_info(py: Python<'_>) -> PyResult<(u64, u64)> {
    let info = py.detach(|| device()?.memory_info()).cuda()?;
    Ok((info.free, info.total))
}
