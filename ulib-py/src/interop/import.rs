//! Arrays of others as sources of a copy: NumPy and buffers, `__cuda_array_interface__`, DLPack.

#![allow(unsafe_code, reason = "foreign memory is raw pointers")]

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyString};
use ulib_core::words::with_article;
use ulib_core::{DType, Error, IDeviceArray, Layout, Placement, Result};
use ulib_device::block::Lease;
use ulib_device::{Device, Stream};

use super::cuda_array_interface::is_absence;
use super::dlpack::{self, abi};
use super::foreign::{self, in_elements, place};
use super::host_array::HostArray;
use crate::args::number;
use crate::bulk::BulkArray;
use crate::cell::drop_detached;
use crate::errors::IntoPyResult;
use crate::items::{items, refuse_masked};
use crate::scene::proxy::own;
use crate::source::Source;

const PROTOCOL: &str = "__cuda_array_interface__";
/// More axes than any array library knows.
const MAX_AXES: usize = 64;

/// Where the numbers of a copy come from.
pub(crate) enum Incoming {
    /// Packed in C order in host memory that the buffer keeps.
    Host(HostArray),
    /// In memory of a device.
    Device(DeviceArray),
}

/// An array on a device, kept by whoever made it until this is dropped.
pub(crate) struct DeviceArray {
    /// Address of element 0 of the layout's memory.
    pub(crate) start: u64,
    pub(crate) dtype: DType,
    pub(crate) layout: Layout,
    /// The device, when the protocol told it.
    pub(crate) ordinal: Option<u32>,
    /// The producer's stream, when its work on the array may still be going on.
    pub(crate) stream: Option<u64>,
    _owner: Owner,
}

/// Keeps foreign memory alive until the copy is done.
enum Owner {
    Lease { _lease: Lent },
    Object { _object: Py<PyAny> },
    Capsule { _taken: dlpack::import::Taken },
}

/// A lease that ends detached from the interpreter.
struct Lent(Option<Lease>);

impl Drop for Lent {
    fn drop(&mut self) {
        drop_detached(self.0.take());
    }
}

impl Incoming {
    /// The array that `object` offers, on a device if it has one there.
    ///
    /// Host arrays become `dtype` under NumPy's `same_kind` rule; device arrays must have it.
    pub(crate) fn of(object: &Bound<'_, PyAny>, dtype: DType, op: &'static str) -> PyResult<Self> {
        let py = object.py();
        if object.is_instance_of::<PyString>() {
            return Err(PyTypeError::new_err(format!("{op}: text is no array")));
        }
        if dtype != DType::U8
            && (object.is_instance_of::<PyBytes>() || object.is_instance_of::<PyByteArray>())
        {
            return Err(PyTypeError::new_err(format!(
                "{op}: bytes are no array of {dtype}"
            )));
        }
        if let Some(own) = own::<BulkArray>(object)? {
            return match DeviceArray::from_own(py, &own.get().source)? {
                Some(array) => Ok(Incoming::Device(array.of_type(dtype, op)?)),
                None => Ok(Incoming::Host(HostArray::of(object, dtype, op)?)),
            };
        }
        match DeviceArray::of(object)? {
            Some(array) => Ok(Incoming::Device(array.of_type(dtype, op)?)),
            None => Ok(Incoming::Host(HostArray::of(object, dtype, op)?)),
        }
    }

    /// The array that `object`, which is none of ours, offers, with whatever element type it has.
    pub(crate) fn of_any(object: &Bound<'_, PyAny>, op: &'static str) -> PyResult<(DType, Self)> {
        if let Some(array) = DeviceArray::of(object)? {
            return Ok((array.dtype, Incoming::Device(array)));
        }
        let py = object.py();
        refuse_masked(op, object)?;
        let array = py
            .import(intern!(py, "numpy"))?
            .call_method1(intern!(py, "asarray"), (object,))?;
        let native = array
            .getattr(intern!(py, "dtype"))?
            .call_method1(intern!(py, "newbyteorder"), ("=",))?
            .getattr(intern!(py, "str"))?;
        let dtype = match DType::from_typestr(&native.extract::<String>()?) {
            Ok(dtype) => dtype,
            Err(_) => {
                let kind = with_article(&object.get_type().name()?.to_string());
                let found = native;
                return Err(PyTypeError::new_err(format!(
                    "{op}: {kind} with elements of type {found} is no array of numbers"
                )));
            }
        };
        Ok((dtype, Incoming::Host(HostArray::of(&array, dtype, op)?)))
    }

    pub(crate) fn shape(&self) -> &[usize] {
        match self {
            Incoming::Host(host) => &host.shape,
            Incoming::Device(device) => device.layout.shape(),
        }
    }
}

impl DeviceArray {
    /// The device array that `object`, which is none of ours, offers, if it does.
    fn of(object: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        // DLPack first: it has an end, where reading the other marks its object as shared for good.
        if let Some((kind, id)) = dlpack::import::device_of(object)?
            && (kind == abi::CUDA || kind == abi::CUDA_MANAGED)
        {
            return DeviceArray::from_dlpack(object, id).map(Some);
        }
        match object.getattr_opt(intern!(object.py(), "__cuda_array_interface__"))? {
            Some(interface) if !interface.is_none() => {
                DeviceArray::from_interface(object, &interface).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// The device array of an object of ours, lent until the copy is done: whatever other threads do meanwhile, the memory stays.
    /// None when its numbers are not on a device and would not go there.
    fn from_own(py: Python<'_>, source: &Source) -> PyResult<Option<Self>> {
        let (lease, desc) = source
            .read(py, |block, desc| Ok((block.lease(), desc)))
            .py()?;
        let lease = match lease {
            Ok(lease) => lease,
            Err(error) if is_absence(&error) => return Ok(None),
            Err(error) => return Err(error).py(),
        };
        Ok(Some(DeviceArray {
            start: lease.ptr(),
            dtype: desc.dtype,
            layout: desc.layout,
            ordinal: Some(lease.device().ordinal()),
            stream: None,
            _owner: Owner::Lease {
                _lease: Lent(Some(lease)),
            },
        }))
    }

    /// The array of a `__cuda_array_interface__` dictionary of `object`.
    fn from_interface(object: &Bound<'_, PyAny>, interface: &Bound<'_, PyAny>) -> PyResult<Self> {
        let interface = interface.cast::<PyDict>().map_err(|_| {
            PyTypeError::new_err("__cuda_array_interface__: the attribute is no dict")
        })?;
        let get = |key: &'static str| interface.get_item(key);
        let need = |key: &'static str| {
            interface.get_item(key)?.ok_or_else(|| {
                PyValueError::new_err(format!("__cuda_array_interface__: {key:?} is missing"))
            })
        };
        if get("mask")?.is_some_and(|mask| !mask.is_none()) {
            return Err(PyValueError::new_err(
                "__cuda_array_interface__: masked arrays are not supported",
            ));
        }
        let shape: Vec<usize> = items(PROTOCOL, "shape", &need("shape")?, MAX_AXES)?;
        let dtype =
            DType::from_typestr(&number::<String>(PROTOCOL, "typestr", &need("typestr")?)?).py()?;
        let (address, _read_only): (u64, bool) = number(PROTOCOL, "data", &need("data")?)?;
        let bytes: Option<Vec<isize>> = match get("strides")? {
            Some(strides) if !strides.is_none() => {
                Some(items(PROTOCOL, "strides", &strides, MAX_AXES)?)
            }
            _ => None,
        };
        let strides = bytes
            .map(|bytes| in_elements(&bytes, dtype))
            .transpose()
            .py()?;
        let stream = match get("stream")? {
            Some(stream) if !stream.is_none() => Some(number::<u64>(PROTOCOL, "stream", &stream)?),
            _ => None,
        };
        if stream == Some(0) {
            return Err(PyValueError::new_err(
                "__cuda_array_interface__: stream 0 is ambiguous; 1 is the legacy default stream, 2 the per-thread one",
            ));
        }
        let (start, layout) = place(address, shape, strides, dtype).py()?;
        Ok(DeviceArray {
            start,
            dtype,
            layout,
            ordinal: None,
            stream,
            _owner: Owner::Object {
                _object: object.clone().unbind(),
            },
        })
    }

    /// The array of `object.__dlpack__()`, on CUDA device `id`.
    fn from_dlpack(object: &Bound<'_, PyAny>, id: i32) -> PyResult<Self> {
        // 1: our copy runs on the legacy default stream, and the producer makes it wait.
        let taken = dlpack::import::take(object, 1)?;
        if !matches!(taken.device().kind, abi::CUDA | abi::CUDA_MANAGED) {
            return Err(PyValueError::new_err(format!(
                "__dlpack__: the capsule is for device type {}, __dlpack_device__ said CUDA",
                taken.device().kind
            )));
        }
        if taken.device().kind == abi::CUDA && taken.device().id != id {
            return Err(PyValueError::new_err(format!(
                "__dlpack__: the capsule is for device {}, __dlpack_device__ said {id}",
                taken.device().id
            )));
        }
        let dtype = taken.dtype().py()?;
        let (start, layout) = place(
            taken.address().py()?,
            taken.shape().py()?,
            taken.strides().py()?,
            dtype,
        )
        .py()?;
        Ok(DeviceArray {
            start,
            dtype,
            layout,
            // Managed memory belongs to every device; the driver names the one it was made on.
            ordinal: match taken.device().kind {
                abi::CUDA => Some(u32::try_from(id)?),
                _ => None,
            },
            stream: None,
            _owner: Owner::Capsule { _taken: taken },
        })
    }

    /// Refuses any other type: there is no converting on the way.
    fn of_type(self, dtype: DType, op: &'static str) -> PyResult<Self> {
        if self.dtype != dtype {
            return Err(Error::dtype(op, self.dtype, dtype)).py();
        }
        Ok(self)
    }

    /// The array with its device, after the driver has confirmed that there is such memory.
    ///
    /// Every use of a foreign array goes through here, whatever protocol it came by.
    pub(crate) fn located(&self) -> Result<Located<'_>> {
        let found = foreign::check(self.start, &self.layout, self.dtype)?;
        if let Some(promised) = self.ordinal.filter(|&promised| promised != found) {
            return Err(Error::invalid(
                "import",
                "device",
                promised,
                format!("{found}, where the driver says that the memory is"),
            ));
        }
        Ok(Located {
            array: self,
            device: Device::new(found)?,
        })
    }
}

/// A device array whose device is known.
pub(crate) struct Located<'a> {
    array: &'a DeviceArray,
    pub(crate) device: Device,
}

impl Located<'_> {
    /// Makes the device's current stream, on which copies run, wait for the producer's work: on the stream that the
    /// producer named, if it did, and on the legacy one.
    pub(crate) fn wait_for_producer(&self) -> Result<()> {
        let current = Stream::current(&self.device);
        current.wait_for(&Stream::legacy(&self.device))?;
        let Some(handle) = self.array.stream.filter(|&handle| handle != 1) else {
            return Ok(());
        };
        let handle = usize::try_from(handle)
            .map_err(|_| Error::overflow("import", format_args!("stream {handle}")))?;
        // SAFETY: the protocol promises that a number in `stream` is a stream of the array's context
        // that lives as long as the array, whose owner `array` borrows.
        let producer = unsafe { Stream::from_raw(&self.device, handle) };
        current.wait(&producer.record()?)
    }
}

impl IDeviceArray for Located<'_> {
    fn dtype(&self) -> DType {
        self.array.dtype
    }

    fn layout(&self) -> &Layout {
        &self.array.layout
    }

    fn read_only(&self) -> bool {
        true
    }

    fn placement(&self) -> Placement {
        Placement::Device(self.device.ordinal())
    }

    fn pointer(&self) -> u64 {
        self.array.start
    }
}
