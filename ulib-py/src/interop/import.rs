//! Arrays of others as sources of a copy: NumPy and buffers, `__cuda_array_interface__`, DLPack.

#![allow(unsafe_code, reason = "foreign memory is raw pointers")]

use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyString};
use ulib_core::words::with_article;
use ulib_core::{DType, Error, IDeviceArray, Layout, Placement, Result};
use ulib_device::block::Lease;
use ulib_device::{Device, Stream};

use super::cuda_array_interface::is_absence;
use super::described::{Described, Reader, value_error};
use super::dlpack::{self, abi};
use super::foreign::{self, Promised, in_elements, place};
use super::host_array::HostArray;
use crate::bulk::BulkArray;
use crate::detached::drop_detached;
use crate::errors::IntoPyResult;
use crate::items::refuse_masked;
use crate::scene::proxy::own;
use crate::source::Source;

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
    /// The memory that it is in, as far as the protocol told.
    promised: Promised,
    /// The producer's stream, when its work on the array may still be going on.
    pub(crate) stream: Option<usize>,
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
        match DeviceArray::of(object, op)? {
            Some(array) => Ok(Incoming::Device(array.of_type(dtype, op)?)),
            None => Ok(Incoming::Host(HostArray::of(object, dtype, op)?)),
        }
    }

    /// The array that `object`, which is none of ours, offers, with whatever element type it has.
    pub(crate) fn of_any(object: &Bound<'_, PyAny>, op: &'static str) -> PyResult<(DType, Self)> {
        if let Some(array) = DeviceArray::of(object, op)? {
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
    fn of(object: &Bound<'_, PyAny>, op: &'static str) -> PyResult<Option<Self>> {
        // DLPack first: it has an end, where reading the other marks its object as shared for good.
        if let Some(said @ (abi::CUDA | abi::CUDA_MANAGED, _)) = dlpack::import::device_of(object)?
        {
            return DeviceArray::from_dlpack(object, said).map(Some);
        }
        let reader = Reader {
            place: &|| op.to_owned(),
            wrong: value_error,
        };
        match Described::of(reader, object)? {
            Some(found) => DeviceArray::described(object, found).map(Some),
            None => Ok(None),
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
            promised: Promised::Device(lease.device().ordinal().cast_signed()),
            stream: None,
            _owner: Owner::Lease {
                _lease: Lent(Some(lease)),
            },
        }))
    }

    /// The array that `object` describes.
    fn described(object: &Bound<'_, PyAny>, found: Described<'_>) -> PyResult<Self> {
        let dtype = DType::from_typestr(found.typestr.to_str()?).py()?;
        let strides = found.strides.as_deref();
        let strides = strides.map(|bytes| in_elements(bytes, dtype));
        let strides = strides.transpose().py()?;
        let (start, layout) = place(found.address, found.shape, strides, dtype).py()?;
        Ok(DeviceArray {
            start,
            dtype,
            layout,
            promised: Promised::Any,
            stream: found.stream,
            _owner: Owner::Object {
                _object: object.clone().unbind(),
            },
        })
    }

    /// The array of `object.__dlpack__()`, of which `__dlpack_device__` said where it is.
    fn from_dlpack(object: &Bound<'_, PyAny>, said: (i32, i32)) -> PyResult<Self> {
        // 1: our copy runs on the legacy default stream, and the producer makes it wait.
        let taken = dlpack::import::take_cuda(object, said, 1)?;
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
            promised: taken.promised(),
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
        let found = foreign::check_promised(self.start, &self.layout, self.dtype, self.promised)?;
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
        // SAFETY: the protocol promises that a number in `stream` is a stream of the array's context
        // that lives as long as the array, whose owner `array` borrows.
        unsafe { foreign::wait_for_owner(&current, handle) }
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
