//! A place in device memory, as an argument.

use pyo3::exceptions::PyNotImplementedError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyInt};
use ulib_core::{ErrorKind, Result};
use ulib_device::memory::{ImportedMemory, managed_range};
use ulib_device::{Device, DeviceBytes, Driver};

use super::buffer::HostBytes;
use super::device::DeviceAllocation;
use super::ipc::IPCMemoryHandle;
use super::pools::PooledDeviceAllocation;
use super::slot::Slot;
use crate::args::{Int, attempted, attribute, caused, shown};
use crate::cuda::current;
use crate::cuda::errors::{logic, to_cuda};
use crate::cuda::kept::Object;
use crate::cuda::texture::{PySurface, PyTexture};
use crate::detached::InHand;
use crate::interop::described::{Described, Reader};

/// Base of classes that stand for an address of device memory: they override ``get_pointer``, and are integers then.
#[pyclass(subclass, frozen, weakref, module = "uLib.cuda.driver")]
pub(crate) struct PointerHolderBase;

#[pymethods]
impl PointerHolderBase {
    #[new]
    #[pyo3(signature = (*_args, **_kwargs))]
    fn new(_args: &Bound<'_, pyo3::types::PyTuple>, _kwargs: Option<&Bound<'_, PyDict>>) -> Self {
        Self
    }

    /// The address.
    fn get_pointer(slf: &Bound<'_, Self>) -> PyResult<u64> {
        Err(PyNotImplementedError::new_err(format!(
            "{} has no get_pointer",
            slf.get_type().name()?
        )))
    }

    fn __int__(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        Ok(slf.call_method0(intern!(slf.py(), "get_pointer"))?.unbind())
    }

    fn __index__(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        Self::__int__(slf)
    }
}

/// How many objects with `gpudata` may stand between an argument and its memory: one that names itself has no end.
const DEEPEST: u32 = 8;

/// A place in device memory that a program names.
pub(crate) struct Pointer {
    address: u64,
    /// The bytes from there on, where they are known.
    room: Option<usize>,
    /// The allocation, where it is ours.
    owner: Option<InHand<DeviceBytes>>,
    /// The stream on which its producer works, where it says so.
    after: Option<usize>,
    /// Whether its producer forbids that it is written.
    read_only: bool,
    /// The object that names the place, where that is what keeps it.
    named: Option<Object>,
    /// Memory of another process.
    imported: Option<InHand<ImportedMemory>>,
}

impl Pointer {
    /// What `object` stands for: an allocation of this package, an integer or what can be one, an object with `gpudata` (an
    /// array of PyCUDA's kind) or with `__cuda_array_interface__`, or an array in managed memory.
    pub(crate) fn of(op: &'static str, what: &str, object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let found = Self::within(op, what, object, DEEPEST)?;
        if object.is_exact_instance_of::<PyInt>() || ours(object).is_some() {
            return Ok(found);
        }
        let imported = object.cast::<IPCMemoryHandle>().ok();
        Ok(Self {
            named: Some(Object::new(object)),
            imported: imported.and_then(|handle| handle.get().memory()),
            ..found
        })
    }

    /// As [`of`](Self::of), for memory that is to be written.
    pub(crate) fn to_write(
        op: &'static str,
        what: &str,
        object: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let found = Self::of(op, what, object)?;
        if found.read_only {
            return Err(logic(format!(
                "{op}: {what} is read-only: {}",
                object.get_type()
            )));
        }
        Ok(found)
    }

    /// [`of`](Self::of), through so many more objects with `gpudata`.
    fn within(
        op: &'static str,
        what: &str,
        object: &Bound<'_, PyAny>,
        depth: u32,
    ) -> PyResult<Self> {
        let py = object.py();
        if object.is_exact_instance_of::<PyInt>() {
            return Self::at(op, what, object);
        }
        if let Some(ours) = ours(object) {
            return Self::in_slot(op, ours);
        }
        if object.is_instance_of::<PyBool>() {
            return Err(refused(op, what, object));
        }
        if let Ok(handle) = object.cast::<IPCMemoryHandle>() {
            return Ok(Self::plain(handle.get().address_for(op)?, None));
        }
        if let Some(array) = Self::in_array(op, what, object)? {
            return Ok(array);
        }
        if let Some(data) = attribute(object, intern!(py, "gpudata"))? {
            if data.is_none() {
                return Ok(Self::plain(0, Some(0)));
            }
            return match depth.checked_sub(1) {
                Some(depth) => Self::within(op, what, &data, depth),
                None => Err(refused(op, what, object)),
            };
        }
        if let Some(managed) = Self::in_managed(object)? {
            return Ok(managed);
        }
        if object.getattr_opt(intern!(py, "__index__"))?.is_some() {
            // Arrays of the host have the method, and raise a TypeError.
            return match object.call_method0(intern!(py, "__index__")) {
                Err(error) => Err(caused(py, error, |_| refused(op, what, object))),
                Ok(number) => Self::at(op, what, &number),
            };
        }
        Err(refused(op, what, object))
    }

    /// No place at all, for one side of a copy that is none.
    pub(super) fn none() -> Self {
        Self::plain(0, None)
    }

    /// The same place.
    pub(super) fn again(&self) -> Self {
        Self {
            address: self.address,
            room: self.room,
            owner: self.owner.clone(),
            after: self.after,
            read_only: self.read_only,
            named: self.named.clone(),
            imported: self.imported.clone(),
        }
    }

    /// The object that names the place, where that is what keeps it.
    pub(crate) fn named(&self) -> Option<&Object> {
        self.named.as_ref()
    }

    /// Everything that keeps the memory where it is.
    pub(crate) fn keepers(&self) -> impl Send + Sync + use<> {
        let (owner, named) = (self.owner.as_ref().map(InHand::shared), self.named.clone());
        (owner, named, self.imported.as_ref().map(InHand::shared))
    }

    /// What keeps memory of another process mapped, whatever becomes of the handle.
    pub(crate) fn imported(&self) -> Option<&InHand<ImportedMemory>> {
        self.imported.as_ref()
    }

    fn plain(address: u64, room: Option<usize>) -> Self {
        Self {
            address,
            room,
            owner: None,
            after: None,
            read_only: false,
            named: None,
            imported: None,
        }
    }

    fn at(op: &'static str, what: &str, number: &Bound<'_, PyAny>) -> PyResult<Self> {
        let address: Int = number
            .extract()
            .map_err(|error| caused(number.py(), error, |_| refused(op, what, number)))?;
        let address = u64::try_from(address.0)
            .map_err(|_| logic(format!("{op}: {what} is {address}, which is no address")))?;
        Ok(Self::plain(address, None))
    }

    fn in_slot(op: &str, slot: &Slot) -> PyResult<Self> {
        let bytes = slot.bytes_for(op)?;
        let address = bytes.ptr();
        Ok(Self {
            owner: Some(bytes),
            ..Self::plain(address, Some(slot.len()))
        })
    }

    /// The bytes of an array of the host that are managed memory.
    fn in_managed(object: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        let bytes = attempted(object.py(), HostBytes::of("", "", object))?;
        let bytes = bytes.filter(|bytes| managed_range(bytes.ptr() as u64).is_some());
        Ok(bytes.map(|bytes| Self {
            read_only: bytes.is_read_only(),
            ..Self::plain(bytes.ptr() as u64, Some(bytes.len()))
        }))
    }

    /// The memory of a packed array of anybody.
    fn in_array(op: &'static str, what: &str, object: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        let reader = Reader {
            place: &|| format!("{op}: {what}"),
            wrong: logic,
        };
        let Some(array) = Described::of(reader, object)? else {
            return Ok(None);
        };
        if !array.is_packed() {
            return Err(logic(format!(
                "{op}: {what} is an array with gaps; use one without, such as its copy()"
            )));
        }
        Ok(Some(Self {
            after: array.stream,
            read_only: array.read_only,
            owner: allocation_for(op, object)?,
            ..Self::plain(array.address, Some(array.bytes()))
        }))
    }

    /// The address.
    pub(crate) fn address(&self) -> u64 {
        self.address
    }

    /// How far into its allocation the place is, where that is ours; 0 elsewhere.
    pub(super) fn offset(&self) -> usize {
        let start = self
            .owner
            .as_ref()
            .map_or(self.address, |owner| owner.ptr());
        usize::try_from(self.address.saturating_sub(start)).unwrap_or(0)
    }

    /// The allocation, where it is ours: with its uses work is ordered, and it lives as long as this.
    pub(crate) fn owner(&self) -> Option<&InHand<DeviceBytes>> {
        self.owner.as_ref()
    }

    /// The stream on which its producer works, where it says so.
    pub(super) fn after(&self) -> Option<usize> {
        self.after
    }

    /// The device: the allocation's own, else the one that calls of this thread are about.
    pub(crate) fn device(&self) -> Result<Device> {
        match &self.owner {
            Some(owner) => Ok(owner.device().clone()),
            None => current::device(),
        }
    }

    /// Refuses to touch more bytes than there are, where that is known.
    pub(crate) fn check(&self, op: &'static str, what: &str, len: usize) -> PyResult<()> {
        match self.room {
            Some(room) if len > room => Err(logic(format!(
                "{op}: {len} bytes exceed the {room} bytes of {what}"
            ))),
            _ => Ok(()),
        }
    }
}

/// The memory of an allocation of this package.
pub(crate) fn ours<'a>(object: &'a Bound<'_, PyAny>) -> Option<&'a Slot> {
    if let Ok(found) = object.cast::<DeviceAllocation>() {
        return Some(&found.get().slot);
    }
    if let Ok(found) = object.cast::<PooledDeviceAllocation>() {
        return Some(&found.get().slot);
    }
    None
}

/// Whether an object is an integer since it stands for something on a device: memory, a texture or a surface.
pub(crate) fn is_of_device(object: &Bound<'_, PyAny>) -> bool {
    ours(object).is_some()
        || object.is_instance_of::<PointerHolderBase>()
        || object.is_instance_of::<IPCMemoryHandle>()
        || object.is_instance_of::<PyTexture>()
        || object.is_instance_of::<PySurface>()
}

/// The allocation of this package in which an array of ours lies, wherever in there it begins.
pub(crate) fn allocation_of<'py>(
    object: &Bound<'py, PyAny>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    object.getattr_opt(intern!(object.py(), "_allocation"))
}

/// The memory of that allocation for `op`.
pub(crate) fn allocation_for(
    op: &str,
    object: &Bound<'_, PyAny>,
) -> PyResult<Option<InHand<DeviceBytes>>> {
    let found = allocation_of(object)?;
    let slot = found.as_ref().and_then(ours);
    slot.map(|slot| slot.bytes_for(op)).transpose()
}

fn refused(op: &'static str, what: &str, object: &Bound<'_, PyAny>) -> PyErr {
    // In a forked child nobody knows which memory is managed.
    if let Err(error) = object.py().detach(Driver::ready)
        && *error.kind() == ErrorKind::Forked
    {
        return to_cuda(error);
    }
    logic(format!(
        "{op}: {what} is {}, which is no device memory: an allocation, an integer, or an array on a device",
        shown(object)
    ))
}
