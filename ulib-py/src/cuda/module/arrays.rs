//! Arguments that are structs, arrays, or addresses of memory.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyInt};
use ulib_device::launch::Arguments;
use ulib_device::memory::managed_range;
use ulib_device::module::ParameterKind;

use super::values::{Needs, Place};
use crate::args::{Int, attribute, caused};
use crate::cuda::errors::{IntoCudaResult, logic};
use crate::cuda::memory::pointer::{Pointer, allocation_of, ours};
use crate::cuda::memory::slot::Slot;
use crate::interop::described::{Described, Reader};
use crate::interop::dlpack;

/// A struct, a bfloat16, and what else NumPy has of scalars or arrays of plain bytes.
pub(super) fn push_bytes(
    place: &Place<'_>,
    object: &Bound<'_, PyAny>,
    arguments: &mut Arguments,
) -> PyResult<()> {
    let py = object.py();
    let dtype = object.getattr(intern!(py, "dtype"))?;
    let kind: char = dtype.getattr(intern!(py, "kind"))?.extract()?;
    let of_objects: bool = dtype.getattr(intern!(py, "hasobject"))?.extract()?;
    if of_objects || !"biufcV".contains(kind) {
        return Err(place.refused(object, &format!(" of dtype {dtype}, which no kernel takes")));
    }
    native(place, object, &dtype)?;
    let of = match kind {
        'b' | 'i' | 'u' => ParameterKind::Integer,
        'f' => ParameterKind::Float,
        'c' => ParameterKind::Struct,
        _ => ParameterKind::Unknown,
    };
    let bytes = object.call_method0(intern!(py, "tobytes"))?;
    let bytes = bytes.cast::<PyBytes>()?.as_bytes();
    place.check(object, of, bytes.len())?;
    arguments.push(bytes);
    Ok(())
}

/// Refuses numbers whose bytes are in the other order.
fn native(place: &Place<'_>, object: &Bound<'_, PyAny>, dtype: &Bound<'_, PyAny>) -> PyResult<()> {
    if dtype
        .getattr(intern!(object.py(), "isnative"))?
        .is_truthy()?
    {
        return Ok(());
    }
    Err(place.refused(
        object,
        &format!(
            " of dtype {dtype}, whose bytes are in the other order than the device's: \
             a.astype(a.dtype.newbyteorder('=')) turns them round"
        ),
    ))
}

/// An array of the host: managed memory by its address, another one by value if it is as large as the parameter.
pub(super) fn push_array(
    place: &Place<'_>,
    object: &Bound<'_, PyAny>,
    arguments: &mut Arguments,
) -> PyResult<()> {
    let py = object.py();
    let address: u64 = object
        .getattr(intern!(py, "ctypes"))?
        .getattr(intern!(py, "data"))?
        .extract()?;
    if managed_range(address).is_some() {
        native(place, object, &object.getattr(intern!(py, "dtype"))?)?;
        arguments.push(&address.to_ne_bytes());
        return place.check_address(object);
    }
    let bytes: usize = object.getattr(intern!(py, "nbytes"))?.extract()?;
    if place.size().is_some_and(|size| size != bytes) {
        return Err(logic(format!(
            "parameter #{} (0-based) of kernel {} has {} bytes, and the array of the host given for it {bytes}: arrays that \
             kernels reach by address are those of the device and managed ones; In, Out and InOut copy",
            place.index,
            place.kernel,
            place.size().unwrap_or(0)
        )));
    }
    push_bytes(place, object, arguments)
}

/// What an array of somebody else says of itself.
fn described<'py>(
    place: &Place<'_>,
    object: &Bound<'py, PyAny>,
) -> PyResult<Option<Described<'py>>> {
    let reader = Reader {
        place: &|| place.named(object),
        wrong: logic,
    };
    Described::of(reader, object)
}

fn push_described(
    place: &Place<'_>,
    object: &Bound<'_, PyAny>,
    array: &Described<'_>,
    arguments: &mut Arguments,
    needs: &mut Needs,
) -> PyResult<()> {
    if let Some(stream) = array.stream {
        needs.others().after.push(stream);
    }
    arguments.push(&array.address.to_ne_bytes());
    place.check_address(object)
}

/// Anything that stands for a place in device memory.
pub(super) fn push_address(
    place: &Place<'_>,
    object: &Bound<'_, PyAny>,
    arguments: &mut Arguments,
    needs: &mut Needs,
) -> PyResult<()> {
    let py = object.py();
    let data =
        attribute(object, intern!(py, "gpudata")).map_err(|error| match allocation_of(object) {
            Ok(Some(owner)) if ours(&owner).is_some_and(|slot| slot.there().is_none()) => {
                place.freed(&owner)
            }
            _ => error,
        })?;
    if let Some(data) = data {
        if data.is_none() {
            arguments.push(&[0; 8]);
            return place.check_address(object);
        }
        if data.is_exact_instance_of::<PyInt>() {
            // An array that begins somewhere in an allocation.
            let number: Int = data.extract()?;
            let address = u64::try_from(number.0).map_err(|_| {
                let named = place.named(object);
                logic(format!("{named}: gpudata is {number}, which is no address"))
            })?;
            arguments.push(&address.to_ne_bytes());
            let allocation = allocation_of(object)?;
            if let Some(allocation) = &allocation
                && let Some(slot) = ours(allocation)
            {
                needs.owners.push(place.memory(allocation, slot)?);
            }
            return place.check_address(object);
        }
        return push_memory(place, &data, arguments, needs);
    }
    if let Some(array) = described(place, object)? {
        return push_described(place, object, &array, arguments, needs);
    }
    if object.hasattr(intern!(py, "__dlpack__"))? {
        // Lent in the order of the default stream, on which the producer's work is over when others begin.
        const LEGACY: i64 = 1;
        let device =
            dlpack::import::device_of(object).map_err(|error| lent(place, object, error))?;
        let Some(said @ (dlpack::abi::CUDA | dlpack::abi::CUDA_MANAGED, _)) = device else {
            return Err(place.refused(object, ", whose data is not on a CUDA device"));
        };
        let taken = dlpack::import::take_cuda(object, said, LEGACY)
            .and_then(|taken| Ok((taken.checked_address().cuda()?, taken)));
        let (address, taken) = taken.map_err(|error| lent(place, object, error))?;
        let others = needs.others();
        others.lent.push(taken);
        others.after.push(LEGACY as usize);
        arguments.push(&address.to_ne_bytes());
        return place.check_address(object);
    }
    match object.getattr_opt(intern!(py, "__index__"))? {
        Some(_) => push_memory(place, object, arguments, needs),
        None => Err(place.refused(object, "")),
    }
}

/// What is wrong with an array that a parameter's object lends by DLPack.
fn lent(place: &Place<'_>, object: &Bound<'_, PyAny>, error: PyErr) -> PyErr {
    caused(object.py(), error, |error| {
        logic(format!("{}: {error}", place.named(object)))
    })
}

/// An allocation of ours.
pub(super) fn push_ours(
    place: &Place<'_>,
    object: &Bound<'_, PyAny>,
    slot: &Slot,
    arguments: &mut Arguments,
    needs: &mut Needs,
) -> PyResult<()> {
    let bytes = place.memory(object, slot)?;
    arguments.push(&bytes.ptr().to_ne_bytes());
    needs.owners.push(bytes);
    place.check_address(object)
}

/// What stands for device memory, and nothing else.
pub(super) fn push_memory(
    place: &Place<'_>,
    object: &Bound<'_, PyAny>,
    arguments: &mut Arguments,
    needs: &mut Needs,
) -> PyResult<()> {
    if let Some(slot) = ours(object) {
        return push_ours(place, object, slot, arguments, needs);
    }
    let pointer = Pointer::of("launch", &place.parameter(), object)?;
    arguments.push(&pointer.address().to_ne_bytes());
    if let Some(owner) = pointer.owner() {
        needs.owners.push(owner.clone());
    }
    if let Some(imported) = pointer.imported() {
        needs.others().imported.push(imported.clone());
    }
    place.check_address(object)
}
