//! Capsules of our arrays.
//!
//! | numbers are | asked for | given |
//! |---|---|---|
//! | on a device, or would go there | nothing, or that device | the array itself, through a lease that ends with the capsule |
//! | on a device | the host | a copy |
//! | on the host | nothing, or the host | the host copy, read-only; a copy for consumers too old to know the flag |
//! | on the host | a device | a copy there |
//!
//! `copy=True` always copies, `copy=False` raises `BufferError` where the table says copy.

#![allow(unsafe_code, reason = "DLPack is a C struct in a capsule")]

use std::any::Any;
use std::ffi::c_void;

use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use ulib_core::{DType, Error, ErrorKind, Layout, PreferredDevice, Result};
use ulib_device::Block;

use super::abi;
use crate::args::Int;
use crate::detached::{Detached, with_interpreter};
use crate::errors::IntoPyResult;
use crate::interop::cuda_array_interface::{device_now, device_of_object};
use crate::items::zeros;
use crate::source::{Desc, Object, Source, Which, block};

/// The keyword arguments of `__dlpack__`.
pub(crate) struct Request {
    pub(crate) stream: Option<i64>,
    pub(crate) max_version: Option<(i64, i64)>,
    pub(crate) dl_device: Option<(i32, i32)>,
    pub(crate) copy: Option<bool>,
}

impl Request {
    /// Whether the consumer knows capsules with a version, and with it the flag for read-only memory.
    fn is_versioned(&self) -> bool {
        self.max_version.is_some_and(|(major, _)| major >= 1)
    }
}

/// An array ready to be put into a capsule.
pub(crate) struct Parcel {
    /// Address of the element with all indices zero.
    pub(crate) data: u64,
    pub(crate) device: abi::Device,
    pub(crate) dtype: DType,
    pub(crate) layout: Layout,
    pub(crate) flags: u64,
    /// Dropped by the consumer: on any thread, with or without the interpreter.
    pub(crate) owner: Owner,
}

/// What `__dlpack_device__` answers, and where `__dlpack__` without arguments points.
pub(crate) fn device_of(py: Python<'_>, source: &Source) -> PyResult<(i32, i32)> {
    Ok(match device_now(py, source).py()? {
        Some(ordinal) => (abi::CUDA, i32::try_from(ordinal)?),
        None => (abi::CPU, 0),
    })
}

/// `__dlpack__` of an array of an object.
pub(crate) fn export<'py>(
    py: Python<'py>,
    source: &Source,
    request: &Request,
) -> PyResult<Bound<'py, PyAny>> {
    // Alone with the object: another thread that moves it comes before our look at where it is, or after the parcel.
    let parcel = source
        .holder
        .write(py, |object| pack(object, &source.which, request))
        .py()?;
    capsule(py, parcel, request.is_versioned())
}

/// The array `which` of `object` as the table at the top says.
fn pack(object: &dyn Object, which: &Which, request: &Request) -> Result<Parcel> {
    let here = match device_of_object(object) {
        Some(ordinal) => (abi::CUDA, number_of(ordinal)?),
        None => (abi::CPU, 0),
    };
    let wanted = request.dl_device.unwrap_or(here);
    let versioned = request.is_versioned();
    check_stream(wanted.0, request.stream)?;
    let (block, desc) = (block(object)?, which.of(object)?);
    match wanted {
        (abi::CUDA, _) if wanted == here && request.copy != Some(true) => lease(block, desc),
        (abi::CPU, 0) if wanted == here && request.copy != Some(true) && versioned => {
            host_view(block, desc)
        }
        _ if request.copy == Some(false) => Err(Error::new(
            ErrorKind::Busy,
            format!(
                "__dlpack__: the array on device {here:?} cannot be given for {wanted:?}{} without a copy",
                if versioned {
                    ""
                } else {
                    " as an unversioned (writable) capsule"
                },
            ),
        )),
        (abi::CPU, 0) => host_copy(block, desc),
        (abi::CUDA, ordinal) => device_copy(block, desc, ordinal),
        _ => Err(Error::new(
            ErrorKind::Busy,
            format!(
                "__dlpack__: dl_device {wanted:?} is neither the host (1, 0) nor a CUDA device (2, n)"
            ),
        )),
    }
}

/// The number of a stream, as a consumer gave it.
pub(crate) fn stream_number(stream: Option<Int>) -> Result<Option<i64>> {
    let number = |Int(stream)| {
        i64::try_from(stream).map_err(|_| {
            Error::new(
                ErrorKind::InvalidArgument,
                format!("__dlpack__: stream {stream} is no stream"),
            )
        })
    };
    stream.map(number).transpose()
}

/// Refuses streams that the protocol does not allow. A stream that is allowed has nothing to wait
/// for: the pointer is given after our own work on the array is done.
pub(crate) fn check_stream(kind: i32, stream: Option<i64>) -> Result<()> {
    let refused = match (kind, stream) {
        (_, None) => return Ok(()),
        (abi::CPU, Some(stream)) => {
            format!("stream {stream} for host memory; only None is possible there")
        }
        (_, Some(0)) => {
            "stream 0 is ambiguous; 1 is the legacy default stream, 2 the per-thread one".to_owned()
        }
        (_, Some(stream)) if stream < -1 => format!("stream {stream} is no stream"),
        _ => return Ok(()),
    };
    Err(Error::new(
        ErrorKind::InvalidArgument,
        format!("__dlpack__: {refused}"),
    ))
}

/// The device array itself.
fn lease(block: &Block, desc: Desc) -> Result<Parcel> {
    let lease = block.lease()?;
    Parcel::device(lease.ptr(), lease.device().ordinal(), desc, 0, lease)
}

/// The host copy itself, read-only.
fn host_view(block: &Block, desc: Desc) -> Result<Parcel> {
    let export = block.export_host()?;
    Ok(Parcel {
        data: address(export.as_ptr() as u64, &desc)?,
        device: abi::Device {
            kind: abi::CPU,
            id: 0,
        },
        dtype: desc.dtype,
        layout: desc.layout,
        flags: abi::READ_ONLY,
        owner: owner_of(export),
    })
}

/// A packed copy on the host.
fn host_copy(block: &Block, desc: Desc) -> Result<Parcel> {
    let (bytes, desc) = packed(block, desc)?;
    let layout = Layout::contiguous(desc.layout.shape())?;
    Ok(Parcel {
        data: if bytes.is_empty() {
            0
        } else {
            bytes.as_ptr() as u64
        },
        device: abi::Device {
            kind: abi::CPU,
            id: 0,
        },
        dtype: desc.dtype,
        layout,
        flags: abi::IS_COPIED,
        owner: owner_of(bytes),
    })
}

/// A copy on device `ordinal`, made there when the numbers are. It is a block of its own, with the
/// layout of the first, of which only a lease is left.
fn device_copy(block: &Block, desc: Desc, ordinal: i32) -> Result<Parcel> {
    let ordinal = u32::try_from(ordinal).map_err(|_| {
        Error::new(
            ErrorKind::InvalidArgument,
            format!("__dlpack__: dl_device names device {ordinal}"),
        )
    })?;
    let copy = block.try_clone()?;
    copy.set_preferred(PreferredDevice::Device(ordinal))?;
    let lease = copy.lease()?;
    Parcel::device(lease.ptr(), ordinal, desc, abi::IS_COPIED, lease)
}

/// The elements of an array, packed, in memory aligned for every number type.
fn packed(block: &Block, desc: Desc) -> Result<(Vec<u64>, Desc)> {
    let bytes = desc.packed_bytes()?;
    let mut words = zeros::<u64>(bytes.div_ceil(8))?;
    let raw: &mut [u8] = ulib_core::bytemuck::cast_slice_mut(&mut words);
    crate::gather::gather(&block.read()?, &desc, &mut raw[..bytes])?;
    Ok((words, desc))
}

/// The number of a device as DLPack counts them.
fn number_of(ordinal: u32) -> Result<i32> {
    i32::try_from(ordinal)
        .map_err(|_| Error::overflow("__dlpack__", format_args!("device {ordinal}")))
}

/// The address of an array's first element in memory that starts at `start`; 0 when empty.
fn address(start: u64, desc: &Desc) -> Result<u64> {
    if desc.layout.is_empty() {
        return Ok(0);
    }
    Ok(start + desc.offset_bytes()? as u64)
}

impl Parcel {
    /// An array in memory at `start` of a device.
    pub(crate) fn device(
        start: u64,
        ordinal: u32,
        desc: Desc,
        flags: u64,
        owner: impl Any + Send,
    ) -> Result<Parcel> {
        Ok(Parcel {
            data: address(start, &desc)?,
            device: abi::Device {
                kind: abi::CUDA,
                id: number_of(ordinal)?,
            },
            dtype: desc.dtype,
            layout: desc.layout,
            flags,
            owner: owner_of(owner),
        })
    }
}

/// What keeps an array. Consumers let go of it on any thread, with the interpreter or without.
pub(crate) type Owner = Detached<Box<dyn Any + Send>>;

fn owner_of(owner: impl Any + Send) -> Owner {
    Detached::new(Box::new(owner))
}

/// What a capsule's `context` points at.
struct Context {
    shape: Vec<i64>,
    strides: Vec<i64>,
    _owner: Owner,
}

/// Puts an array into a capsule that its consumer takes over.
pub(crate) fn capsule(
    py: Python<'_>,
    parcel: Parcel,
    versioned: bool,
) -> PyResult<Bound<'_, PyAny>> {
    let dtype = abi::DataType::of(parcel.dtype).ok_or_else(|| {
        PyTypeError::new_err(format!("__dlpack__: {} has no DLPack type", parcel.dtype))
    })?;
    let context = Box::into_raw(Box::new(Context {
        // Both fit: a layout counts in isize.
        shape: parcel.layout.shape().iter().map(|&n| n as i64).collect(),
        strides: parcel.layout.strides().iter().map(|&n| n as i64).collect(),
        _owner: parcel.owner,
    }));
    // SAFETY: the box was made above and nobody else knows it yet.
    let (shape, strides) = unsafe {
        (
            (*context).shape.as_mut_ptr(),
            (*context).strides.as_mut_ptr(),
        )
    };
    let tensor = abi::Tensor {
        data: parcel.data as *mut c_void,
        device: parcel.device,
        ndim: i32::try_from(parcel.layout.ndim())?,
        dtype,
        shape,
        strides,
        byte_offset: 0,
    };
    let (managed, name, destructor): (*mut c_void, _, ffi::PyCapsule_Destructor) = if versioned {
        let managed = Box::new(abi::ManagedVersioned {
            version: abi::VERSION,
            context: context.cast(),
            deleter: Some(delete_versioned),
            flags: parcel.flags,
            tensor,
        });
        (
            Box::into_raw(managed).cast(),
            abi::NAME_VERSIONED,
            destroy_versioned,
        )
    } else {
        let managed = Box::new(abi::Managed {
            tensor,
            context: context.cast(),
            deleter: Some(delete),
        });
        (Box::into_raw(managed).cast(), abi::NAME, destroy)
    };
    // SAFETY: attached to the interpreter; the pointer is not null, the name is static, and the
    // destructor fits what the pointer points at.
    unsafe {
        let capsule = ffi::PyCapsule_New(managed, name.as_ptr(), Some(destructor));
        if capsule.is_null() {
            let error = PyErr::fetch(py);
            if versioned {
                delete_versioned(managed.cast());
            } else {
                delete(managed.cast());
            }
            return Err(error);
        }
        Ok(Bound::from_owned_ptr(py, capsule))
    }
}

/// The deleter of an unversioned capsule.
///
/// # Safety
/// Called once, by whoever owns the array, with a pointer that [`capsule`] made.
unsafe extern "C" fn delete(managed: *mut abi::Managed) {
    // SAFETY: both boxes were made by `capsule` and are freed only here.
    with_interpreter(|| unsafe {
        let managed = Box::from_raw(managed);
        drop(Box::from_raw(managed.context.cast::<Context>()));
    });
}

/// The deleter of a versioned capsule.
///
/// # Safety
/// As [`delete`].
unsafe extern "C" fn delete_versioned(managed: *mut abi::ManagedVersioned) {
    // SAFETY: both boxes were made by `capsule` and are freed only here.
    with_interpreter(|| unsafe {
        let managed = Box::from_raw(managed);
        drop(Box::from_raw(managed.context.cast::<Context>()));
    });
}

/// Frees the array of a capsule that nobody took.
///
/// # Safety
/// Called by the interpreter with a capsule of [`capsule`].
unsafe extern "C" fn destroy(capsule: *mut ffi::PyObject) {
    // SAFETY: a consumer that took the array renamed the capsule; under the first name it is ours.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, abi::NAME.as_ptr()) == 1 {
            delete(ffi::PyCapsule_GetPointer(capsule, abi::NAME.as_ptr()).cast());
        }
    }
}

/// As [`destroy`], for the versioned form.
///
/// # Safety
/// As [`destroy`].
unsafe extern "C" fn destroy_versioned(capsule: *mut ffi::PyObject) {
    // SAFETY: as in `destroy`.
    unsafe {
        let name = abi::NAME_VERSIONED.as_ptr();
        if ffi::PyCapsule_IsValid(capsule, name) == 1 {
            delete_versioned(ffi::PyCapsule_GetPointer(capsule, name).cast());
        }
    }
}
