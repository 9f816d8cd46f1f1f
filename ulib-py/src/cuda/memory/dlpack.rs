//! Arrays of `uLib.cuda.gpuarray` in DLPack's capsules, both ways.
#![allow(unsafe_code, reason = "memory of others, and their streams")]

use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::prelude::*;
use ulib_core::{Context, DType, Error, Layout, Result};
use ulib_device::{Access, Device, DeviceBytes, Stream};

use super::device::{CLASS, DeviceAllocation};
use super::pointer::allocation_for;
use super::slot::Slot;
use crate::args::Int;
use crate::cuda::current;
use crate::cuda::errors::IntoCudaResult;
use crate::detached::InHand;
use crate::interop::dlpack::export::{Parcel, capsule, check_stream, stream_number};
use crate::interop::dlpack::{abi, import};
use crate::interop::foreign::{self, Promised};
use crate::source::Desc;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(dlpack_device, module)?)?;
    module.add_function(wrap_pyfunction!(dlpack_export, module)?)?;
    module.add_function(wrap_pyfunction!(dlpack_import, module)?)
}

/// What keeps the memory of a capsule until its consumer is done.
struct Kept {
    bytes: Option<InHand<DeviceBytes>>,
    array: Option<Py<PyAny>>,
}

impl Drop for Kept {
    fn drop(&mut self) {
        // Consumers are not attached as far as PyO3 knows, and it would put the object off.
        let array = self.array.take();
        Python::try_attach(|_| drop(array));
    }
}

/// The numbers of an array, of which `strides` are in bytes: where its memory begins, and its layout there.
fn placed(
    address: u64,
    shape: Vec<usize>,
    strides: &[isize],
    typestr: &str,
) -> Result<(u64, DType, Layout)> {
    let dtype = DType::from_typestr(typestr).context("__dlpack__")?;
    let strides = foreign::in_elements(strides, dtype)?;
    let (start, layout) = foreign::place(address, shape, Some(strides), dtype)?;
    Ok((start, dtype, layout))
}

/// The device that has an array, by its number; of an empty one the device that calls are about.
fn ordinal_of(start: u64, dtype: DType, layout: &Layout) -> Result<u32> {
    if layout.is_empty() {
        return Ok(current::device()?.ordinal());
    }
    foreign::check(start, layout, dtype)
}

/// What ``__dlpack_device__`` answers for an array at ``address``.
#[pyfunction]
fn dlpack_device(
    py: Python<'_>,
    address: u64,
    shape: Vec<usize>,
    strides: Vec<isize>,
    typestr: &str,
) -> PyResult<(i32, u32)> {
    let (start, dtype, layout) = placed(address, shape, &strides, typestr).cuda()?;
    let ordinal = py.detach(|| ordinal_of(start, dtype, &layout)).cuda()?;
    Ok((abi::CUDA, ordinal))
}

/// A capsule of the array at ``address``, whose owner is ``array``, for a consumer that works in ``stream``.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "what an array consists of")]
fn dlpack_export<'py>(
    array: &Bound<'py, PyAny>,
    address: u64,
    shape: Vec<usize>,
    strides: Vec<isize>,
    typestr: &str,
    stream: Option<Int>,
    versioned: bool,
    copied: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let py = array.py();
    let (start, dtype, layout) = placed(address, shape, &strides, typestr).cuda()?;
    let stream = stream_number(stream).cuda()?;
    check_stream(abi::CUDA, stream).cuda()?;
    let kept = Kept {
        bytes: allocation_for("GPUArray.__dlpack__", array)?,
        array: Some(array.clone().unbind()),
    };
    let ordinal = py
        .detach(|| {
            let ordinal = ordinal_of(start, dtype, &layout)?;
            if !layout.is_empty() {
                hand_over(&Device::new(ordinal)?, kept.bytes.as_deref(), stream)?;
            }
            Ok(ordinal)
        })
        .cuda()?;
    let flags = if copied { abi::IS_COPIED } else { 0 };
    let desc = Desc { dtype, layout };
    let parcel = Parcel::device(start, ordinal, desc, flags, kept).cuda()?;
    capsule(py, parcel, versioned)
}

/// Orders what the consumer puts into `stream` behind the work on the memory: all of it where the memory is ours, else what is in
/// the default stream.
fn hand_over(device: &Device, bytes: Option<&DeviceBytes>, stream: Option<i64>) -> Result<()> {
    let consumer = match stream {
        // It takes care of that itself.
        Some(-1) => None,
        None | Some(1) => Some(Stream::legacy(device)),
        Some(handle) => {
            let handle = usize::try_from(handle)
                .map_err(|_| Error::overflow("__dlpack__", format_args!("stream {handle}")))?;
            // SAFETY: the protocol says that the consumer's stream is alive.
            Some(unsafe { Stream::from_raw(device, handle) })
        }
    };
    match (bytes, consumer) {
        (Some(bytes), consumer) => bytes.lend(consumer.as_ref()),
        (None, Some(consumer)) => consumer.wait_for(&Stream::legacy(device)),
        (None, None) => Ok(()),
    }
}

/// The device with a number that a capsule gives.
fn device_by(id: i32) -> Result<Device> {
    let ordinal = u32::try_from(id)
        .map_err(|_| Error::invalid("from_dlpack", "device", id, "no negative number"))?;
    Device::new(ordinal)
}

/// What was in a capsule: the memory, bytes before the first element, shape, strides in bytes, type string, whether it is read-only.
type Imported = (
    Option<DeviceAllocation>,
    usize,
    Vec<usize>,
    Vec<isize>,
    String,
    bool,
);

/// Takes the array of ``object``, an array of any library on a device.
#[pyfunction]
fn dlpack_import(object: &Bound<'_, PyAny>) -> PyResult<Imported> {
    const OP: &str = "from_dlpack";
    let Some((kind, id)) = import::device_of(object)? else {
        let found = object.get_type();
        return Err(PyTypeError::new_err(format!(
            "{OP}: {found} has no __dlpack__ and __dlpack_device__"
        )));
    };
    if kind != abi::CUDA && kind != abi::CUDA_MANAGED {
        return Err(PyBufferError::new_err(format!(
            "{OP}: the array is in memory of kind {kind}, not on a CUDA device; to_gpu copies arrays of the host"
        )));
    }
    // Its work is ordered before that of the default stream.
    let taken = import::take_cuda(object, (kind, id), 1)?;
    let promised = taken.promised();
    let (dtype, shape, read_only) = (
        taken.dtype().cuda()?,
        taken.shape().cuda()?,
        taken.is_read_only(),
    );
    let address = taken.address().cuda()?;
    let (start, layout) =
        foreign::place(address, shape.clone(), taken.strides().cuda()?, dtype).cuda()?;
    let size = dtype.size();
    let strides = layout
        .strides()
        .iter()
        // One that is too large belongs to an axis of one element, or to an array that is refused below.
        .map(|&stride| stride.checked_mul(size as isize).unwrap_or(size as isize))
        .collect();
    let memory = match layout.span() {
        None => {
            // An empty array is nowhere; still there has to be its device.
            if let Promised::Device(id) = promised {
                device_by(id).cuda()?;
            }
            None
        }
        Some((_, last)) => {
            let made = object.py().detach(|| {
                let device =
                    Device::new(foreign::check_promised(start, &layout, dtype, promised)?)?;
                let len = (last + 1) * size;
                // SAFETY: the driver says that the memory is there, and the producer keeps it until `taken` is dropped.
                let bytes = unsafe { DeviceBytes::foreign(&device, start, len, Box::new(taken)) };
                bytes.use_on(&Stream::legacy(&device), Access::Write)?;
                Ok((bytes, len))
            });
            let (bytes, len) = made.cuda()?;
            Some(DeviceAllocation {
                slot: Slot::new(CLASS, bytes, len),
            })
        }
    };
    let before = usize::try_from(address.saturating_sub(start)).unwrap_or(0);
    Ok((memory, before, shape, strides, dtype.typestr(), read_only))
}
