//! Capsules of others: a device array with its owner.

#![allow(unsafe_code, reason = "DLPack is a C struct in a capsule")]

use std::ffi::CStr;

use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use ulib_core::{DType, Error, Result};

use super::abi;
use crate::args::{Int, number, shown};
use crate::interop::described::MAX_AXES;
use crate::interop::foreign::Promised;

/// An array taken out of a capsule; its producer's deleter runs when this is dropped.
pub(crate) struct Taken {
    managed: Managed,
}

enum Managed {
    Old(*mut abi::Managed),
    Versioned(*mut abi::ManagedVersioned),
}

// SAFETY: the protocol lets a consumer read and delete the array on any thread; there is one owner.
unsafe impl Send for Taken {}
// SAFETY: nothing in it changes after it is made.
unsafe impl Sync for Taken {}

impl Drop for Taken {
    fn drop(&mut self) {
        // SAFETY: the capsule was renamed when this was made, so the deleter is ours to call, once.
        unsafe {
            match self.managed {
                Managed::Old(managed) => {
                    if let Some(deleter) = (*managed).deleter {
                        deleter(managed);
                    }
                }
                Managed::Versioned(managed) => {
                    if let Some(deleter) = (*managed).deleter {
                        deleter(managed);
                    }
                }
            }
        }
    }
}

impl Taken {
    fn tensor(&self) -> &abi::Tensor {
        // SAFETY: the producer keeps the struct until its deleter is called, which `drop` does.
        unsafe {
            match self.managed {
                Managed::Old(managed) => &(*managed).tensor,
                Managed::Versioned(managed) => &(*managed).tensor,
            }
        }
    }

    pub(crate) fn dtype(&self) -> Result<DType> {
        self.tensor().dtype.dtype()
    }

    /// What the capsule says of the memory, for [`foreign::check_promised`](crate::interop::foreign::check_promised).
    pub(crate) fn promised(&self) -> Promised {
        match self.device() {
            abi::Device {
                kind: abi::CUDA_MANAGED,
                ..
            } => Promised::Managed,
            abi::Device { id, .. } => Promised::Device(id),
        }
    }

    fn device(&self) -> abi::Device {
        self.tensor().device
    }

    /// Whether the producer forbids that the array is written, as only capsules with a version can say.
    pub(crate) fn is_read_only(&self) -> bool {
        match self.managed {
            Managed::Old(_) => false,
            // SAFETY: as in `tensor`.
            Managed::Versioned(managed) => unsafe { (*managed).flags & abi::READ_ONLY != 0 },
        }
    }

    /// Address of the element with all indices zero.
    ///
    /// # Errors
    /// Kinds `InvalidArgument` and `Layout` when there is none, and where the array is not empty.
    pub(crate) fn address(&self) -> Result<u64> {
        let tensor = self.tensor();
        if tensor.data.is_null() && !self.shape()?.contains(&0) {
            let expected = "an address, of an array that is not empty";
            return Err(Error::invalid("dlpack", "data", "NULL", expected));
        }
        (tensor.data as u64)
            .checked_add(tensor.byte_offset)
            .ok_or_else(|| {
                Error::layout(
                    "dlpack",
                    format!("byte_offset {} is beyond every address", tensor.byte_offset),
                )
            })
    }

    /// [`address`](Self::address) of an array whose elements may be of any type that has a size.
    ///
    /// # Errors
    /// Also kinds `InvalidArgument` and `DType` where number of axes, lengths or type are none.
    pub(crate) fn checked_address(&self) -> Result<u64> {
        let dtype = self.tensor().dtype;
        if dtype.bits == 0 || dtype.lanes == 0 {
            let found = format!("{} bits and {} lanes", dtype.bits, dtype.lanes);
            return Err(Error::invalid("dlpack", "dtype", found, "some bits"));
        }
        self.shape()?;
        self.address()
    }

    pub(crate) fn shape(&self) -> Result<Vec<usize>> {
        let shape = self.axes(self.tensor().shape)?;
        if shape.is_none() && self.tensor().ndim != 0 {
            let expected = format!("{} lengths", self.tensor().ndim);
            return Err(Error::invalid("dlpack", "shape", "NULL", expected));
        }
        shape
            .unwrap_or_default()
            .iter()
            .map(|&n| {
                usize::try_from(n)
                    .map_err(|_| Error::invalid("dlpack", "shape", n, "no negative length"))
            })
            .collect()
    }

    /// In elements; None when packed.
    pub(crate) fn strides(&self) -> Result<Option<Vec<isize>>> {
        let Some(strides) = self.axes(self.tensor().strides)? else {
            return Ok(None);
        };
        let narrow = |&n: &i64| {
            isize::try_from(n).map_err(|_| Error::overflow("dlpack", format_args!("stride {n}")))
        };
        strides.iter().map(narrow).collect::<Result<_>>().map(Some)
    }

    /// One number per axis.
    fn axes(&self, start: *const i64) -> Result<Option<&[i64]>> {
        let axes = self.tensor().ndim;
        let count = usize::try_from(axes).ok();
        let axes = count.filter(|&n| n <= MAX_AXES).ok_or_else(|| {
            let expected = format!("a number from 0 to {MAX_AXES}");
            Error::invalid("dlpack", "ndim", axes, expected)
        })?;
        if start.is_null() || axes == 0 {
            return Ok(None);
        }
        // SAFETY: the protocol promises `ndim` numbers at a pointer that is not null, for as long
        // as the struct lives.
        Ok(Some(unsafe { std::slice::from_raw_parts(start, axes) }))
    }
}

/// Where `__dlpack_device__` says that the array of `object` is, when it has the protocol.
pub(crate) fn device_of(object: &Bound<'_, PyAny>) -> PyResult<Option<(i32, i32)>> {
    let py = object.py();
    if !object.hasattr(intern!(py, "__dlpack__"))? {
        return Ok(None);
    }
    let Some(method) = object.getattr_opt(intern!(py, "__dlpack_device__"))? else {
        return Ok(None);
    };
    let answer = method.call0()?;
    let (Int(kind), Int(id)) = number("__dlpack_device__", "answer", &answer)?;
    match (i32::try_from(kind), i32::try_from(id)) {
        (Ok(kind), Ok(id)) => Ok(Some((kind, id))),
        _ => Err(PyValueError::new_err(format!(
            "__dlpack_device__: answer {}: expected the kind and the number of a device, of 32 bits each",
            shown(&answer)
        ))),
    }
}

/// Takes the array of `object`, which is on a CUDA device as `said` (what `__dlpack_device__` answered), and whose producer orders it
/// before the work of `stream`.
pub(crate) fn take_cuda(
    object: &Bound<'_, PyAny>,
    said: (i32, i32),
    stream: i64,
) -> PyResult<Taken> {
    let taken = take(object, stream)?;
    let abi::Device { kind, id } = taken.device();
    if (kind, id) != said {
        return Err(PyBufferError::new_err(format!(
            "__dlpack__: the capsule is for device ({kind}, {id}), and __dlpack_device__ said {said:?}"
        )));
    }
    Ok(taken)
}

/// Takes the array of `object`, whose producer orders it before the work of `stream`.
fn take(object: &Bound<'_, PyAny>, stream: i64) -> PyResult<Taken> {
    let py = object.py();
    let method = object.getattr(intern!(py, "__dlpack__"))?;
    let keywords = PyDict::new(py);
    keywords.set_item(intern!(py, "stream"), stream)?;
    keywords.set_item(
        intern!(py, "max_version"),
        (abi::VERSION.major, abi::VERSION.minor),
    )?;
    let capsule = match method.call((), Some(&keywords)) {
        // A producer from before versioned capsules does not know the argument.
        Err(error) if error.is_instance_of::<PyTypeError>(py) => {
            keywords.del_item(intern!(py, "max_version"))?;
            method.call((), Some(&keywords))?
        }
        answer => answer?,
    };
    open(&capsule)
}

/// Takes the array out of a capsule.
fn open(capsule: &Bound<'_, PyAny>) -> PyResult<Taken> {
    let raw = capsule.as_ptr();
    let holds = |name: &CStr| {
        // SAFETY: any object may be asked; the name is a C string.
        unsafe { ffi::PyCapsule_IsValid(raw, name.as_ptr()) == 1 }
    };
    let pointer = |name: &CStr, used: &'static CStr| {
        // SAFETY: the capsule is valid under `name`, checked by the caller; renaming it tells the
        // producer that the array is ours now. The new name is static.
        unsafe {
            let pointer = ffi::PyCapsule_GetPointer(raw, name.as_ptr());
            if pointer.is_null() || ffi::PyCapsule_SetName(raw, used.as_ptr()) != 0 {
                return Err(PyErr::fetch(capsule.py()));
            }
            Ok(pointer)
        }
    };
    if holds(abi::NAME_VERSIONED) {
        let managed: *mut abi::ManagedVersioned =
            pointer(abi::NAME_VERSIONED, abi::USED_VERSIONED)?.cast();
        let taken = Taken {
            managed: Managed::Versioned(managed),
        };
        // SAFETY: the version is the first field of every major version.
        let version = unsafe { (*managed).version };
        if version.major > abi::VERSION.major {
            return Err(PyBufferError::new_err(format!(
                "dlpack: version {}.{} is newer than {}.{}",
                version.major,
                version.minor,
                abi::VERSION.major,
                abi::VERSION.minor
            )));
        }
        return Ok(taken);
    }
    if holds(abi::NAME) {
        return Ok(Taken {
            managed: Managed::Old(pointer(abi::NAME, abi::USED)?.cast()),
        });
    }
    Err(PyTypeError::new_err(format!(
        "dlpack: __dlpack__ gave {}, expected a DLPack capsule that nobody has used",
        shown(capsule)
    )))
}
