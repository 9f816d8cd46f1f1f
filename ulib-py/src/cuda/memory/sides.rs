//! The two sides of a copy of rows and slices.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::{PyTraverseError, PyVisit};
use ulib_device::Device;
use ulib_device::copy::{Extent, raw};
use ulib_device::sys::CUmemorytype;
use ulib_device::texture::Array;

use super::buffer::HostBytes;
use super::pointer::{Pointer, ours};
use crate::cuda::context::PyContext;
use crate::cuda::errors::logic;
use crate::cuda::kept::{Keeper, Object};
use crate::cuda::texture::PyArray;
use crate::detached::InHand;

/// One side of a copy, as the program describes it.
pub(super) struct Side {
    pub(super) told: raw::Side,
    pub(super) place: Place,
    pub(super) context: Option<Py<PyContext>>,
}

impl Default for Side {
    fn default() -> Self {
        Self {
            // Before anything is set, it is of no kind.
            told: raw::Side::at(CUmemorytype(0), 0),
            place: Place::default(),
            context: None,
        }
    }
}

/// What one side is in, and what keeps it.
#[derive(Default)]
pub(super) enum Place {
    #[default]
    Nothing,
    Host(Arc<HostBytes>),
    Device(Pointer),
    /// The object and its array, which outlives a free by name.
    Array(Object, InHand<Array>),
}

#[derive(Default)]
pub(super) struct Description {
    pub(super) src: Side,
    pub(super) dst: Side,
    pub(super) extent: Extent,
}

/// What a setter was given, looked at before the description is locked: that runs code of the program, which may use the
/// description itself.
pub(super) struct Given {
    kind: CUmemorytype,
    address: u64,
    place: Place,
}

impl Given {
    pub(super) fn host(op: &'static str, object: &Bound<'_, PyAny>, write: bool) -> PyResult<Self> {
        let bytes = match write {
            true => HostBytes::writable(op, "buffer", object)?,
            false => HostBytes::of(op, "buffer", object)?,
        };
        Ok(Self {
            kind: CUmemorytype::CU_MEMORYTYPE_HOST,
            address: bytes.ptr() as u64,
            place: Place::Host(Arc::new(bytes)),
        })
    }

    pub(super) fn device(
        op: &'static str,
        object: &Bound<'_, PyAny>,
        write: bool,
    ) -> PyResult<Self> {
        let pointer = match write {
            true => Pointer::to_write(op, "device memory", object)?,
            false => Pointer::of(op, "device memory", object)?,
        };
        Ok(Self {
            kind: CUmemorytype::CU_MEMORYTYPE_DEVICE,
            address: pointer.address(),
            place: Place::Device(pointer),
        })
    }

    /// Anything with an address that both sides know: device memory, or host memory with a buffer.
    pub(super) fn unified(
        op: &'static str,
        object: &Bound<'_, PyAny>,
        write: bool,
    ) -> PyResult<Self> {
        let given = match Self::device(op, object, write) {
            // Nothing of the host is behind it.
            Err(error) if ours(object).is_some() => return Err(error),
            given => given.or_else(|_| Self::host(op, object, write))?,
        };
        Ok(Self {
            kind: CUmemorytype::CU_MEMORYTYPE_UNIFIED,
            ..given
        })
    }

    pub(super) fn array(op: &'static str, array: &Bound<'_, PyAny>) -> PyResult<Self> {
        let ours = array
            .cast::<PyArray>()
            .map_err(|_| logic(format!("{op}: {} is no Array", array.get_type())))?;
        let ours = ours.get().array(op)?;
        Ok(Self {
            kind: CUmemorytype::CU_MEMORYTYPE_ARRAY,
            address: ours.handle() as u64,
            place: Place::Array(Object::new(array), ours),
        })
    }
}

impl Side {
    /// Takes what was given, and answers what was there, to be dropped when nothing is locked.
    pub(super) fn set(&mut self, given: Given) -> Place {
        self.told.address = given.address;
        self.told.kind = given.kind.0;
        std::mem::replace(&mut self.place, given.place)
    }

    /// Refuses what lies outside what is known to be there, and rows and slices that overlap each other.
    pub(super) fn check(&self, op: &'static str, what: &str, extent: Extent) -> PyResult<()> {
        self.check_kind(op, what)?;
        let len = match &self.place {
            Place::Nothing => {
                return Err(logic(format!("{op}: {what} has not been set")));
            }
            Place::Array(_, array) => return self.check_in(op, what, array, extent),
            Place::Host(bytes) => Some(bytes.len()),
            Place::Device(_) => None,
        };
        let (told, [x, y, z]) = (&self.told, self.told.origin);
        let beyond = || logic(format!("{op}: {what} reaches beyond every address"));
        let row = x.checked_add(extent.width).ok_or_else(beyond)?;
        let has_rows = extent.height > 1 || extent.depth > 1 || y > 0 || z > 0;
        if has_rows && told.pitch < row {
            return Err(logic(format!(
                "{op}: the pitch of {what} is {}, expected at least the {row} bytes of a row",
                told.pitch
            )));
        }
        let rows = y.checked_add(extent.height).ok_or_else(beyond)?;
        let has_slices = extent.depth > 1 || z > 0;
        if has_slices && told.height < rows {
            return Err(logic(format!(
                "{op}: the height of {what} is {}, expected at least the {rows} rows of a slice",
                told.height
            )));
        }
        let end = || -> Option<usize> {
            let slices = z.checked_add(extent.depth - 1)?;
            let slices = if has_slices {
                slices.checked_mul(told.height)?
            } else {
                0
            };
            let before = slices.checked_add(rows - 1)?;
            let before = if has_rows {
                before.checked_mul(told.pitch)?
            } else {
                0
            };
            before.checked_add(row)
        };
        let end = end().ok_or_else(beyond)?;
        match (len, &self.place) {
            (_, Place::Device(pointer)) => pointer.check(op, what, end),
            (Some(len), _) if end > len => Err(logic(format!(
                "{op}: {end} bytes exceed the {len} bytes of {what}"
            ))),
            _ => Ok(()),
        }
    }

    /// Refuses a memory type that would have the driver take the place for another.
    fn check_kind(&self, op: &'static str, what: &str) -> PyResult<()> {
        let (place, kind) = match &self.place {
            Place::Nothing => return Ok(()),
            Place::Host(_) => ("host memory", CUmemorytype::CU_MEMORYTYPE_HOST),
            Place::Device(_) => ("device memory", CUmemorytype::CU_MEMORYTYPE_DEVICE),
            Place::Array(..) => ("an Array", CUmemorytype::CU_MEMORYTYPE_ARRAY),
        };
        let told = CUmemorytype(self.told.kind);
        let is_memory = kind != CUmemorytype::CU_MEMORYTYPE_ARRAY;
        if told == kind || (is_memory && told == CUmemorytype::CU_MEMORYTYPE_UNIFIED) {
            return Ok(());
        }
        Err(logic(format!(
            "{op}: the memory type of {what} is {}, and it is {place}, of type {}",
            told.0, kind.0
        )))
    }

    fn check_in(
        &self,
        op: &'static str,
        what: &str,
        array: &Array,
        extent: Extent,
    ) -> PyResult<()> {
        let own = array.descriptor();
        let axes = [
            ("bytes of a row", extent.width, own.row_bytes()),
            ("rows", extent.height, own.rows()),
            ("slices", extent.depth, own.slices()),
        ];
        for ((axis, len, all), from) in axes.into_iter().zip(self.told.origin) {
            if from.checked_add(len).is_none_or(|end| end > all) {
                return Err(logic(format!(
                    "{op}: {len} {axis} from {from} exceed the {all} of {what}"
                )));
            }
        }
        Ok(())
    }

    pub(super) fn pointer(&self) -> Option<&Pointer> {
        match &self.place {
            Place::Device(pointer) => Some(pointer),
            _ => None,
        }
    }

    pub(super) fn is_host(&self) -> bool {
        matches!(self.place, Place::Host(_))
    }

    /// The device on which this side is, where that is not the one that calls of this thread are about.
    pub(super) fn device(&self) -> Option<Device> {
        match (&self.context, &self.place) {
            (Some(context), _) => Some(context.get().0.context.device().clone()),
            (None, Place::Device(pointer)) => pointer.owner().map(|owner| owner.device().clone()),
            (None, Place::Array(_, array)) => Some(array.device().clone()),
            (None, _) => None,
        }
    }

    /// The array.
    pub(super) fn array(&self) -> Option<InHand<Array>> {
        match &self.place {
            Place::Array(_, array) => Some(array.clone()),
            _ => None,
        }
    }

    /// What keeps host bytes and arrays.
    pub(super) fn keeper(&self) -> Option<Keeper> {
        match &self.place {
            Place::Host(bytes) => Some(Keeper::Bytes(Arc::clone(bytes))),
            Place::Array(object, _) => Some(Keeper::Object(object.clone())),
            _ => None,
        }
    }

    /// Tells the garbage collector of the objects.
    pub(super) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.context)?;
        match &self.place {
            Place::Host(bytes) if Arc::strong_count(bytes) == 1 => bytes.traverse(visit),
            Place::Array(object, _) => object.traverse(1, visit),
            Place::Device(pointer) => pointer
                .named()
                .map_or(Ok(()), |named| named.traverse(1, visit)),
            _ => Ok(()),
        }
    }
}
