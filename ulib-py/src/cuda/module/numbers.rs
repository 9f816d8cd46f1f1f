//! Arguments that are numbers, of Python and of NumPy.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyFloat, PyInt};
use ulib_device::launch::Arguments;
use ulib_device::module::ParameterKind;

use super::numpy::Scalar;
use super::values::Place;
use crate::cuda::errors::logic;
use crate::errors::shortened;

/// A number of Python, of the size and kind of the parameter; `None` for anything else.
pub(super) fn python_number(
    place: &Place<'_>,
    object: &Bound<'_, PyAny>,
    arguments: &mut Arguments,
) -> Option<PyResult<()>> {
    if object.is_exact_instance_of::<PyInt>() {
        Some(push_int(place, object, arguments))
    } else if object.is_exact_instance_of::<PyFloat>() {
        Some(push_float(place, object, arguments))
    } else if object.is_exact_instance_of::<PyBool>() {
        Some(push_bool(place, object, arguments))
    } else if object.is_exact_instance_of::<PyComplex>() {
        Some(push_complex(place, object, arguments))
    } else {
        None
    }
}

/// An object of a class that is derived from a number.
pub(super) fn subclass(
    place: &Place<'_>,
    object: &Bound<'_, PyAny>,
    arguments: &mut Arguments,
) -> PyResult<()> {
    if object.is_instance_of::<PyFloat>() {
        push_float(place, object, arguments)
    } else {
        push_int(place, object, arguments)
    }
}

const SAY_THE_TYPE: &str = ", whose size is not known for this program and driver: say it with one of NumPy, such as numpy.int32(1)";

/// The size of an integer that the kernel takes.
fn size_of_integer(place: &Place<'_>, object: &Bound<'_, PyAny>) -> PyResult<usize> {
    match place.size() {
        Some(size @ (1 | 2 | 4 | 8)) if place.kind() != ParameterKind::Struct => Ok(size),
        Some(_) => Err(place.unfit(object)),
        None => Err(place.refused(object, SAY_THE_TYPE)),
    }
}

fn too_large(place: &Place<'_>, object: &Bound<'_, PyAny>) -> PyErr {
    let text = object
        .str()
        .map_or_else(|_| String::from("an integer"), |text| text.to_string());
    logic(format!(
        "parameter #{} (0-based) of kernel {} has {} bytes, and {} does not fit in there",
        place.index,
        place.kernel,
        place.size().unwrap_or(0),
        shortened(&text)
    ))
}

fn push_int(
    place: &Place<'_>,
    object: &Bound<'_, PyAny>,
    arguments: &mut Arguments,
) -> PyResult<()> {
    if place.kind() == ParameterKind::Float {
        let value = object
            .extract::<f64>()
            .map_err(|_| too_large(place, object))?;
        if place.size() == Some(4) && (value as f32).is_infinite() {
            return Err(too_large(place, object));
        }
        return push_real(place, object, value, arguments);
    }
    let size = size_of_integer(place, object)?;
    let bits = match object.extract::<i64>() {
        Ok(value) => {
            let (least, most) = (i64::MIN >> (64 - 8 * size), u64::MAX >> (64 - 8 * size));
            if value < least || (value > 0 && value as u64 > most) {
                return Err(too_large(place, object));
            }
            value as u64
        }
        Err(_) if size == 8 => object
            .extract::<u64>()
            .map_err(|_| too_large(place, object))?,
        Err(_) => return Err(too_large(place, object)),
    };
    arguments.push(&bits.to_le_bytes()[..size]);
    Ok(())
}

fn push_float(
    place: &Place<'_>,
    object: &Bound<'_, PyAny>,
    arguments: &mut Arguments,
) -> PyResult<()> {
    if place.takes.is_some() && !place.kind().takes(ParameterKind::Float)
        || place.kind() == ParameterKind::Struct
    {
        return Err(place.unfit(object));
    }
    push_real(place, object, object.extract()?, arguments)
}

/// A number for a parameter that is a floating-point number, or may be one.
fn push_real(
    place: &Place<'_>,
    object: &Bound<'_, PyAny>,
    value: f64,
    arguments: &mut Arguments,
) -> PyResult<()> {
    match place.size() {
        Some(4) => arguments.push(&(value as f32).to_ne_bytes()),
        Some(8) => arguments.push(&value.to_ne_bytes()),
        Some(2) if place.kind() == ParameterKind::Float => {
            arguments.push(&half::f16::from_f64(value).to_ne_bytes());
        }
        Some(2) => {
            return Err(place.refused(
                object,
                ", and the parameter has 2 bytes: say which half precision by numpy.float16 or ml_dtypes.bfloat16",
            ));
        }
        Some(_) => return Err(place.unfit(object)),
        None => return Err(place.refused(object, SAY_THE_TYPE)),
    }
    Ok(())
}

fn push_bool(
    place: &Place<'_>,
    object: &Bound<'_, PyAny>,
    arguments: &mut Arguments,
) -> PyResult<()> {
    let value = object.is_truthy()?;
    if place.kind() == ParameterKind::Float {
        return push_real(place, object, f64::from(value), arguments);
    }
    let size = match place.takes {
        Some(_) => size_of_integer(place, object)?,
        None => 1,
    };
    arguments.push(&u64::from(value).to_le_bytes()[..size]);
    Ok(())
}

fn push_complex(
    place: &Place<'_>,
    object: &Bound<'_, PyAny>,
    arguments: &mut Arguments,
) -> PyResult<()> {
    match place.size() {
        Some(8) => push_scalar(place, object, Scalar::ComplexFloat, arguments),
        Some(16) => push_scalar(place, object, Scalar::ComplexDouble, arguments),
        Some(_) => Err(place.unfit(object)),
        None => Err(place.refused(object, SAY_THE_TYPE)),
    }
}

fn complex_of(object: &Bound<'_, PyAny>) -> PyResult<(f64, f64)> {
    let py = object.py();
    let part = |name| object.getattr(name)?.extract::<f64>();
    Ok((part(intern!(py, "real"))?, part(intern!(py, "imag"))?))
}

/// A scalar of NumPy.
pub(super) fn push_scalar(
    place: &Place<'_>,
    object: &Bound<'_, PyAny>,
    scalar: Scalar,
    arguments: &mut Arguments,
) -> PyResult<()> {
    let float = || object.extract::<f64>();
    let mut bytes = [0_u8; 16];
    let size = match scalar {
        Scalar::Float => {
            bytes[..4].copy_from_slice(&(float()? as f32).to_ne_bytes());
            4
        }
        Scalar::Double => {
            bytes[..8].copy_from_slice(&float()?.to_ne_bytes());
            8
        }
        Scalar::Half => {
            bytes[..2].copy_from_slice(&half::f16::from_f64(float()?).to_ne_bytes());
            2
        }
        Scalar::Signed(size) => {
            bytes[..8].copy_from_slice(&object.extract::<i64>()?.to_le_bytes());
            size
        }
        Scalar::Unsigned(size) => {
            bytes[..8].copy_from_slice(&object.extract::<u64>()?.to_le_bytes());
            size
        }
        Scalar::Bool => {
            bytes[0] = u8::from(object.is_truthy()?);
            1
        }
        Scalar::ComplexFloat => {
            let (re, im) = complex_of(object)?;
            bytes[..4].copy_from_slice(&(re as f32).to_ne_bytes());
            bytes[4..8].copy_from_slice(&(im as f32).to_ne_bytes());
            8
        }
        Scalar::ComplexDouble => {
            let (re, im) = complex_of(object)?;
            bytes[..8].copy_from_slice(&re.to_ne_bytes());
            bytes[8..].copy_from_slice(&im.to_ne_bytes());
            16
        }
    };
    place.check(object, scalar.kind(), size)?;
    arguments.push(&bytes[..size]);
    Ok(())
}
