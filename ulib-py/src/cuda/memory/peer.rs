//! `memcpy_peer`: copies between devices.
#![allow(unsafe_code, reason = "addresses are the program's own")]

use pyo3::prelude::*;
use ulib_core::Result;
use ulib_device::Device;
use ulib_device::copy::raw;
use ulib_device::memory::PointerInfo;

use super::device::size_of;
use super::on::On;
use super::pointer::Pointer;
use super::transfer;
use crate::cuda::arguments::{Whole, instance};
use crate::cuda::context::PyContext;
use crate::cuda::errors::{IntoCudaResult, logic};

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(memcpy_peer, module)?)?;
    module.add_function(wrap_pyfunction!(memcpy_peer_async, module)?)
}

/// The device on which the memory is: that of the context, else the allocation's own, else what the driver says.
fn device_of(pointer: &Pointer, context: Option<Device>) -> Result<Device> {
    if let Some(device) = context {
        return Ok(device);
    }
    if pointer.owner().is_none()
        && let Some(info) = PointerInfo::of(pointer.address())?
    {
        return Device::new(info.ordinal);
    }
    pointer.device()
}

/// The device of a context, where one is given.
fn device_in(op: &str, what: &str, given: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Device>> {
    let context = given.map(|given| instance::<PyContext>(op, what, given));
    let context = context.transpose()?;
    Ok(context.map(|context| context.get().0.context.device().clone()))
}

fn copy(
    op: &'static str,
    (dest, src): (&Bound<'_, PyAny>, &Bound<'_, PyAny>),
    size: Whole,
    [dest_context, src_context]: [Option<&Bound<'_, PyAny>>; 2],
    stream: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let (to, from) = (
        Pointer::to_write(op, "dest", dest)?,
        Pointer::of(op, "src", src)?,
    );
    let size = size_of(op, "size", size)?;
    to.check(op, "dest", size)?;
    from.check(op, "src", size)?;
    let dest_device = device_in(op, "dest_context", dest_context)?;
    let src_device = device_in(op, "src_context", src_context)?;
    if size == 0 {
        return Ok(());
    }
    let devices = || Ok((device_of(&to, dest_device)?, device_of(&from, src_device)?));
    let (there, here) = dest.py().detach(devices).cuda()?;
    for (what, pointer, device) in [("dest", &to, &there), ("src", &from, &here)] {
        if let Some(owner) = pointer.owner()
            && owner.device() != device
        {
            let (found, given) = (owner.device().ordinal(), device.ordinal());
            return Err(logic(format!(
                "{op}: {what} is on device {found}, its context on device {given}"
            )));
        }
    }
    let on = On::of(op, stream)?;
    dest.py()
        .detach(|| {
            let stream = on.stream(op, &there)?;
            transfer::queue_from(&to, &from, &stream, || {
                // SAFETY: the driver checks addresses that are not ours; the memory of allocations of ours, whose bounds were
                // checked, outlives the work that is queued on it.
                unsafe {
                    if there == here {
                        raw::copy(to.address(), from.address(), size, &stream)
                    } else {
                        raw::copy_peer(
                            (to.address(), &there),
                            (from.address(), &here),
                            size,
                            &stream,
                        )
                    }
                }
            })
        })
        .cuda()
}

/// Copies ``size`` bytes between two devices, in the order of the default stream of the one that ``dest`` is on. Contexts are needed
/// only for addresses of which the driver knows no device.
#[pyfunction]
#[pyo3(signature = (dest, src, size, dest_context=None, src_context=None))]
fn memcpy_peer(
    dest: &Bound<'_, PyAny>,
    src: &Bound<'_, PyAny>,
    size: Whole,
    dest_context: Option<&Bound<'_, PyAny>>,
    src_context: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    copy(
        "memcpy_peer",
        (dest, src),
        size,
        [dest_context, src_context],
        None,
    )
}

/// Puts a copy of ``size`` bytes between two devices into ``stream``, which is one of the device that ``dest`` is on.
#[pyfunction]
#[pyo3(signature = (dest, src, size, dest_context=None, src_context=None, stream=None))]
fn memcpy_peer_async(
    dest: &Bound<'_, PyAny>,
    src: &Bound<'_, PyAny>,
    size: Whole,
    dest_context: Option<&Bound<'_, PyAny>>,
    src_context: Option<&Bound<'_, PyAny>>,
    stream: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    copy(
        "memcpy_peer_async",
        (dest, src),
        size,
        [dest_context, src_context],
        stream,
    )
}
