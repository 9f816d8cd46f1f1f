//! What a program says about arrays and about memory that is read as a texture.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;
use ulib_device::sys::CUarray_format;
use ulib_device::texture::{ArrayDescriptor, Format};

use crate::cuda::arguments::Whole;
use crate::cuda::errors::{IntoCudaResult, logic};
use crate::interop::described::{Described, Reader};

/// A size or an index.
pub(super) fn count(op: &'static str, what: &'static str, number: Whole) -> PyResult<usize> {
    let number = number.of(op, what)?;
    usize::try_from(number.0)
        .map_err(|_| logic(format!("{op}: {what} is {number}, expected a size")))
}

/// A number of `object`'s, or `other` where it has none.
fn field(
    op: &'static str,
    object: &Bound<'_, PyAny>,
    name: &'static str,
    other: Option<usize>,
) -> PyResult<usize> {
    match object.getattr_opt(name)? {
        Some(value) if !value.is_none() => count(op, name, value.extract::<Whole>()?),
        _ => other.ok_or_else(|| logic(format!("{op}: the descriptor has no {name}"))),
    }
}

/// What an `ArrayDescriptor` or `ArrayDescriptor3D` says; an object with the same attributes will do.
pub(super) fn descriptor(op: &'static str, object: &Bound<'_, PyAny>) -> PyResult<ArrayDescriptor> {
    let get = |name, other| field(op, object, name, other);
    Ok(ArrayDescriptor {
        width: get("width", None)?,
        height: get("height", Some(0))?,
        depth: get("depth", Some(0))?,
        format: format(op, get("format", None)?)?,
        channels: small(op, "num_channels", get("num_channels", Some(1))?)?,
        flags: small(op, "flags", get("flags", Some(0))?)?,
    })
}

/// The format with this number.
pub(super) fn format(op: &'static str, number: usize) -> PyResult<Format> {
    let raw = CUarray_format(small(op, "format", number)?);
    Format::from_raw(raw).cuda()
}

pub(super) fn small(op: &'static str, name: &'static str, number: usize) -> PyResult<u32> {
    u32::try_from(number)
        .map_err(|_| logic(format!("{op}: {name} is {number}, which is too large")))
}

/// A new object of the Python class `name` that says the same as `found`, or what of it the class can say.
pub(super) fn described<'py>(
    py: Python<'py>,
    found: &ArrayDescriptor,
    three: bool,
) -> PyResult<Bound<'py, PyAny>> {
    static FLAT: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    static DEEP: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    const MODULE: &str = "uLib.cuda._arrays";
    let class = if three {
        DEEP.import(py, MODULE, "ArrayDescriptor3D")?
    } else {
        FLAT.import(py, MODULE, "ArrayDescriptor")?
    };
    let made = class.call0()?;
    made.setattr(intern!(py, "width"), found.width)?;
    made.setattr(intern!(py, "height"), found.height)?;
    made.setattr(intern!(py, "format"), found.format.raw().0)?;
    made.setattr(intern!(py, "num_channels"), found.channels)?;
    if three {
        made.setattr(intern!(py, "depth"), found.depth)?;
        made.setattr(intern!(py, "flags"), found.flags)?;
    }
    Ok(made)
}

/// A device array as a texture would read it.
pub(super) struct Texels {
    pub(super) address: u64,
    pub(super) format: Format,
    pub(super) width: usize,
    /// Rows, where there are any.
    pub(super) height: Option<usize>,
    /// Bytes between them.
    pub(super) pitch: usize,
}

/// What the `__cuda_array_interface__` of `object` says, if it has one: a line, or rows with any distance between them. With
/// more than one channel its last axis has them.
pub(super) fn texels(
    op: &'static str,
    object: &Bound<'_, PyAny>,
    channels: u32,
) -> PyResult<Option<Texels>> {
    let reader = Reader {
        place: &|| op.to_owned(),
        wrong: logic,
    };
    let Some(found) = Described::of(reader, object)? else {
        return Ok(None);
    };
    let typestr = found.typestr.to_str()?;
    let format = match typestr.get(1..) {
        Some("u1") => Format::U8,
        Some("u2") => Format::U16,
        Some("u4") => Format::U32,
        Some("i1") => Format::I8,
        Some("i2") => Format::I16,
        Some("i4") => Format::I32,
        Some("f2") => Format::F16,
        Some("f4") => Format::F32,
        _ => {
            return Err(logic(format!(
                "{op}: elements of type {typestr} are no texels; expected integers of 8 to 32 bits, float16 or float32"
            )));
        }
    };
    let item = found.item;
    let mut strides = found.all_strides();
    let (address, mut shape) = (found.address, found.shape);
    let named = format!(
        "{op}: an array of shape {shape:?} and strides {strides:?} is not read as a texture"
    );
    let refused = |what: &str| logic(format!("{named}: {what}"));
    if channels > 1 {
        let last = shape.last().copied();
        if last != Some(channels as usize) || strides.last() != Some(&(item as isize)) {
            return Err(refused(
                "its last axis has to be the channels, side by side",
            ));
        }
        shape.pop();
        strides.pop();
    }
    let texel = item * channels as usize;
    let near = strides
        .last()
        .is_none_or(|&stride| stride == texel as isize)
        || shape.last().is_some_and(|&n| n <= 1);
    if !near {
        return Err(refused("the texels of a row are not side by side"));
    }
    let (width, height, pitch) = match (&shape[..], &strides[..]) {
        ([width], _) => (*width, None, 0),
        ([height, width], [pitch, _]) => {
            let pitch = usize::try_from(*pitch).map_err(|_| refused("its rows go backwards"))?;
            (*width, Some(*height), pitch)
        }
        _ => return Err(refused("it has neither one axis nor two")),
    };
    Ok(Some(Texels {
        address,
        format,
        width,
        height,
        pitch,
    }))
}
