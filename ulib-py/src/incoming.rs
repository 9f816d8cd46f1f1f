//! Assigning an array of somebody else to an array of ours.

use pyo3::prelude::*;
use ulib_core::{DType, DeviceStorable, Error, Result};
use ulib_device::{Block, Stream};
use ulib_math::ops;
use ulib_math::view::ViewMut;

use crate::errors::IntoPyResult;
use crate::gather;
use crate::interop::import::{DeviceArray, Incoming, Located};
use crate::source::{AnyViewMut, Desc, Object, Source, block};

/// Copies every element of `values` to `target`, for `op`.
pub(crate) fn assign(
    py: Python<'_>,
    target: &Source,
    values: Incoming,
    op: &'static str,
) -> PyResult<()> {
    target
        .holder
        .write(py, |object| {
            let desc = target.which.of(object)?;
            if values.shape() != desc.layout.shape() {
                return Err(Error::shape(op, desc.layout.shape(), values.shape()));
            }
            if desc.layout.is_empty() {
                return Ok(());
            }
            match &values {
                Incoming::Host(host) => {
                    let whole =
                        desc.layout.is_contiguous() && desc.packed_bytes()? == block(object)?.len();
                    object.change_bytes(whole, &mut |bytes| host.scatter(bytes, &desc))
                }
                Incoming::Device(device) if desc.dtype == DType::U8 => {
                    bytes_from_device(object, &desc, device)
                }
                Incoming::Device(device) => from_device(object.view_mut(&target.which)?, device),
            }
        })
        .py()
}

/// Copies a device array: to the same device by one kernel, to another or to the host as it goes.
fn from_device(target: AnyViewMut<'_>, values: &DeviceArray) -> Result<()> {
    let array = values.located()?;
    match target {
        AnyViewMut::F32(view) => copy_from(&array, view),
        AnyViewMut::F64(view) => copy_from(&array, view),
        AnyViewMut::U32(view) => copy_from(&array, view),
        AnyViewMut::Other(dtype) => Err(Error::dtype("SetValues", dtype, "a number type")),
    }
}

/// Raw bytes have no view to copy into, so they come by way of host memory.
fn bytes_from_device(object: &mut dyn Object, desc: &Desc, values: &DeviceArray) -> Result<()> {
    let array = values.located()?;
    let mut landing = Block::zeroed(desc.packed_bytes()?)?;
    copy_from(&array, ViewMut::<u8>::flat(&mut landing)?)?;
    let packed = landing.read()?;
    object.change_bytes(false, &mut |bytes| gather::scatter(&packed, bytes, desc))
}

/// Copies a device array whose device is known, and waits for it.
#[allow(
    unsafe_code,
    reason = "reads memory that the protocols vouch for, not the compiler"
)]
pub(crate) fn copy_from<T: DeviceStorable + Copy>(
    array: &Located<'_>,
    view: ViewMut<'_, T>,
) -> Result<()> {
    array.wait_for_producer()?;
    // SAFETY: (1) the protocols promise that the array lies in memory of the device that `located`
    // asked the driver about; (2) `array` borrows the owner, and the stream is waited for below before
    // that ends, whatever the copy says; (3) the producer's stream was made to be waited for above.
    let copied = unsafe { ops::copy_from_device(array, view) };
    let waited = Stream::current(&array.device).synchronize();
    copied.and(waited)
}
