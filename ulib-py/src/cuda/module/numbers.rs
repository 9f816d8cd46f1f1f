//! Arguments that are numbers, of Python and of NumPy.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyFloat, PyInt};
use ulib_device::launch::Arguments;
use ulib_device::module::ParameterKind;
use ulib_math::ops::Castable;

use super::numpy::Scalar;
use super::values::Place;
use crate::args::{Int, caused, shown};
use crate::cuda::errors::logic;
use crate::cuda::memory::pointer::is_of_device;
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
    let scalar = match place.size() {
        Some(4) => Scalar::Float,
        Some(8) => Scalar::Double,
        Some(2) if place.kind() == ParameterKind::Float => Scalar::Half,
        Some(2) => {
            return Err(place.refused(
                object,
                ", and the parameter has 2 bytes: say which half precision by numpy.float16 or ml_dtypes.bfloat16",
            ));
        }
        Some(_) => return Err(place.unfit(object)),
        None => return Err(place.refused(object, SAY_THE_TYPE)),
    };
    let bits = scalar.bits_of_real(value);
    let bits = bits.ok_or_else(|| too_large(place, object))?;
    arguments.push(&bits.to_le_bytes()[..scalar.size()]);
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
    let real = |number: f64| {
        let bits = scalar.part().bits_of_real(number);
        bits.ok_or_else(|| too_large(place, object))
    };
    let bytes = match scalar {
        Scalar::Float | Scalar::Double | Scalar::Half => in_word(real(object.extract()?)?),
        Scalar::Signed(_) => in_word(object.extract::<i64>()?.cast_unsigned()),
        Scalar::Unsigned(_) => in_word(object.extract()?),
        Scalar::Bool => in_word(object.is_truthy()?.into()),
        Scalar::ComplexFloat | Scalar::ComplexDouble => {
            let (re, im) = complex_of(object)?;
            scalar.of_parts(real(re)?, real(im)?)
        }
    };
    let size = scalar.size();
    place.check(object, scalar.kind(), size)?;
    arguments.push(&bytes[..size]);
    Ok(())
}

/// The bytes of a number, beginning with the lowest, of which a type has the first ones.
type Bytes = [u8; 16];

fn in_word(bits: u64) -> Bytes {
    u128::from(bits).to_le_bytes()
}

impl Scalar {
    /// The type of the parts of a complex number; of another one itself.
    fn part(self) -> Self {
        match self {
            Self::ComplexFloat => Self::Float,
            Self::ComplexDouble => Self::Double,
            other => other,
        }
    }

    /// A complex number of the bits of its parts.
    fn of_parts(self, re: u64, im: u64) -> Bytes {
        (u128::from(re) | u128::from(im) << (8 * self.part().size())).to_le_bytes()
    }

    /// The bits of the nearest number of this floating-point type; `None` where that is infinite and the number is not.
    fn bits_of_real(self, number: f64) -> Option<u64> {
        let (bits, finite) = match self {
            Self::Half => {
                // Rounded once, which that crate's own conversion does not.
                let near = number.convert::<half::f16>();
                (near.to_bits().into(), near.is_finite())
            }
            Self::Float => {
                let near = number as f32;
                (near.to_bits().into(), near.is_finite())
            }
            _ => (number.to_bits(), number.is_finite()),
        };
        (finite || !number.is_finite()).then_some(bits)
    }

    /// The bits of an int or a float of Python as a number of this type; `None` of any other value, and of one that does not fit or
    /// needs a closer look.
    fn bits_of_plain(self, value: &Bound<'_, PyAny>) -> Option<u64> {
        let spare = 64 - 8 * self.size().min(8) as u32;
        match self {
            Self::Float | Self::Double if value.is_exact_instance_of::<PyFloat>() => {
                self.bits_of_real(value.extract().ok()?)
            }
            Self::Signed(_) if value.is_exact_instance_of::<PyInt>() => {
                let number: i64 = value.extract().ok()?;
                (number << spare >> spare == number).then_some(number.cast_unsigned())
            }
            Self::Unsigned(_) if value.is_exact_instance_of::<PyInt>() => {
                let number = u64::try_from(value.extract::<i64>().ok()?).ok()?;
                (number << spare >> spare == number).then_some(number)
            }
            _ => None,
        }
    }
}

/// Any value as a number of the type that was said for a parameter of a prepared call. What it says of itself is asked once.
pub(super) fn push_said(
    index: usize,
    value: &Bound<'_, PyAny>,
    scalar: Scalar,
    arguments: &mut Arguments,
) -> PyResult<()> {
    let bytes = match scalar.bits_of_plain(value) {
        Some(bits) => in_word(bits),
        None => said(index, value, scalar)?,
    };
    arguments.push(&bytes[..scalar.size()]);
    Ok(())
}

fn said(index: usize, value: &Bound<'_, PyAny>, scalar: Scalar) -> PyResult<Bytes> {
    let no_number = |error| caused(value.py(), error, |_| refused(index, value, "a number"));
    let real = |number: f64| {
        scalar.part().bits_of_real(number).ok_or_else(|| {
            let most = match scalar.part() {
                Scalar::Half => half::f16::MAX.to_f64(),
                _ => f32::MAX.into(),
            };
            refused(
                index,
                value,
                &format!("a number from -{most:e} to {most:e}"),
            )
        })
    };
    Ok(match scalar {
        Scalar::Signed(_) | Scalar::Unsigned(_) => {
            checked_integer(index, value, scalar)?.to_le_bytes()
        }
        Scalar::ComplexFloat | Scalar::ComplexDouble => {
            let (re, im) = complex_of(value).map_err(no_number)?;
            scalar.of_parts(real(re)?, real(im)?)
        }
        // Its address, or its handle, would be taken for a number.
        _ if is_of_device(value) => return Err(refused(index, value, "a number")),
        Scalar::Bool => in_word((value.extract::<f64>().map_err(no_number)? != 0.0).into()),
        _ => in_word(real(value.extract().map_err(no_number)?)?),
    })
}

pub(super) fn refused(index: usize, value: &Bound<'_, PyAny>, expected: &str) -> PyErr {
    logic(format!(
        "parameter #{index} (0-based) of the prepared call is {}, expected {expected}",
        shown(value)
    ))
}

/// The integer that an object is. Refused is what is none, or none that a number of this type can be.
fn checked_integer(index: usize, value: &Bound<'_, PyAny>, scalar: Scalar) -> PyResult<i128> {
    let bits = 8 * scalar.size() as u32;
    let room = if matches!(scalar, Scalar::Unsigned(_)) {
        0..=(1_i128 << bits) - 1
    } else {
        -(1_i128 << (bits - 1))..=(1_i128 << (bits - 1)) - 1
    };
    let unfit = || {
        let expected = format!("an integer from {} to {}", room.start(), room.end());
        refused(index, value, &expected)
    };
    let py = value.py();
    let whole = if value.is_exact_instance_of::<PyInt>() {
        Ok(value.clone())
    } else {
        match value.getattr_opt(intern!(py, "__index__"))? {
            Some(index) => index.call0(),
            None => return Err(refused(index, value, "an integer")),
        }
    };
    let Int(number) = whole
        .and_then(|whole| whole.extract())
        .map_err(|error| caused(py, error, |_| unfit()))?;
    if room.contains(&number) {
        Ok(number)
    } else {
        Err(unfit())
    }
}
