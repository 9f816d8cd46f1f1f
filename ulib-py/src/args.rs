//! Arguments that several classes take in the same form.

use std::any::Any;
use std::fmt;

use pyo3::conversion::FromPyObjectOwned;
use pyo3::exceptions::{
    PyException, PyMemoryError, PyOverflowError, PyRecursionError, PyTypeError, PyValueError,
};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyFloat, PyInt, PyString};
use ulib_core::{Error, ErrorKind, Result};

use crate::errors::{IntoPyResult, shortened};
use crate::hooks;
use crate::items::triple;

/// An attribute that most objects do not have. Unlike with `getattr_opt` no exception is made and thrown away for those, which takes
/// longer than all else.
pub(crate) fn attribute<'py>(
    object: &Bound<'py, PyAny>,
    name: &Bound<'py, PyString>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    static GETATTR: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let getattr = GETATTR.import(object.py(), "builtins", "getattr")?;
    // No attribute is the function itself.
    let found = getattr.call1((object, name, getattr))?;
    Ok((!found.is(getattr)).then_some(found))
}

/// Whether an error that code of the caller raised is no refusal but goes through as it is: an interrupt, an exit, or that there is no
/// memory or stack.
pub(crate) fn goes_through(py: Python<'_>, error: &PyErr) -> bool {
    !error.is_instance_of::<PyException>(py)
        || error.is_instance_of::<PyMemoryError>(py)
        || error.is_instance_of::<PyRecursionError>(py)
        || hooks::is_interruption(py, error)
}

/// The error that `named` makes of one, with that as its cause; one that [goes through](goes_through) stays.
pub(crate) fn caused(py: Python<'_>, error: PyErr, named: impl FnOnce(&PyErr) -> PyErr) -> PyErr {
    if goes_through(py, &error) {
        return error;
    }
    let named = named(&error);
    named.set_cause(py, Some(error));
    named
}

/// What came out, or nothing where it was refused.
pub(crate) fn attempted<T>(py: Python<'_>, outcome: PyResult<T>) -> PyResult<Option<T>> {
    match outcome {
        Ok(found) => Ok(Some(found)),
        Err(error) if goes_through(py, &error) => Err(error),
        Err(_) => Ok(None),
    }
}

/// A Python integer of any size, to be judged by the operation that gets it, which then can name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Int(pub(crate) i128);

impl Int {
    /// The nearest number of 64 bits.
    pub(crate) fn near(self) -> i64 {
        self.0.clamp(i64::MIN.into(), i64::MAX.into()) as i64
    }
}

impl fmt::Display for Int {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl From<usize> for Int {
    fn from(number: usize) -> Int {
        Int(number as i128)
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for Int {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Int> {
        match object.extract::<i64>() {
            Ok(number) => Ok(Int(number.into())),
            // Too large for 64 bits; one too large for 128 is shown as the largest of those.
            Err(error) if is_large(&object, &error) => match object.extract::<i128>() {
                Ok(number) => Ok(Int(number)),
                Err(error) if error.is_instance_of::<PyOverflowError>(object.py()) => {
                    let below = object.lt(0)?;
                    Ok(Int(if below { i128::MIN } else { i128::MAX }))
                }
                Err(error) => Err(error),
            },
            Err(error)
                if object
                    .getattr_opt(intern!(object.py(), "__index__"))?
                    .is_none() =>
            {
                Err(quoted(&object, &error))
            }
            Err(error) => Err(error),
        }
    }
}

/// The `TypeError` of a conversion that does not say which value it could not convert.
fn quoted(object: &Bound<'_, PyAny>, error: &PyErr) -> PyErr {
    let py = object.py();
    let message = format!("{}: {}", shown(object), error.value(py));
    // Made at once: callers look at its class, for which PyO3 would make it then, and cannot while the interpreter ends.
    let made = py.get_type::<PyTypeError>().call1((message,));
    made.map_or_else(|failed| failed, PyErr::from_value)
}

/// An object in a message; of arrays on a device, whose elements it would take to copy, the class.
pub(crate) fn shown(object: &Bound<'_, PyAny>) -> String {
    let (py, class) = (object.py(), object.get_type());
    let on_device = class.hasattr(intern!(py, "__cuda_array_interface__"));
    if on_device.unwrap_or(false)
        && let Ok(name) = class.name()
    {
        return format!("a {name}");
    }
    let text = object.repr().map(|text| text.to_string());
    shortened(&text.unwrap_or_else(|_| String::from("an object")))
}

/// [`Int`] for an argument with a default, which the signature shows as the number that it is.
pub(crate) fn whole(object: &Bound<'_, PyAny>) -> PyResult<i128> {
    object.extract().map(|Int(number)| number)
}

/// Whether `error` is about the size of the integer `object`, and not raised by a conversion of the caller's own.
fn is_large(object: &Bound<'_, PyAny>, error: &PyErr) -> bool {
    object.is_instance_of::<PyInt>() && error.is_instance_of::<PyOverflowError>(object.py())
}

/// A number of type `T`. A finite one beyond the ends of `f32` is refused, not made infinite.
pub(crate) fn extracted<T: for<'py> FromPyObjectOwned<'py> + 'static>(
    object: &Bound<'_, PyAny>,
) -> PyResult<T> {
    let number: T = object.extract().map_err(Into::into)?;
    if let Some(single) = (&number as &dyn Any).downcast_ref::<f32>()
        && single.is_infinite()
        && object.extract::<f64>()?.is_finite()
    {
        return Err(PyOverflowError::new_err("too large for float32"));
    }
    Ok(number)
}

/// A number for the elements of an array, with the operation and the value in what is raised when it is none.
pub(crate) fn number<T: for<'py> FromPyObjectOwned<'py> + 'static>(
    op: &str,
    what: &str,
    object: &Bound<'_, PyAny>,
) -> PyResult<T> {
    let py = object.py();
    let converted = match is_unlike_numbers(object)? {
        true => Err(PyTypeError::new_err("must be a real number")),
        false => extracted(object),
    };
    let error: PyErr = match converted {
        Ok(number) => return Ok(number),
        Err(error) => error,
    };
    let (found, why) = (shown(object), error.value(py).to_string());
    // Some say it themselves.
    let why = why.strip_prefix(&format!("{found}: ")).unwrap_or(&why);
    let message = format!("{op}: {what} {found}: {why}");
    let kind = error.get_type(py);
    let named = if kind.is(py.get_type::<PyTypeError>()) {
        PyTypeError::new_err(message)
    } else if kind.is(py.get_type::<PyOverflowError>()) {
        PyOverflowError::new_err(message)
    } else if kind.is(py.get_type::<PyValueError>()) {
        PyValueError::new_err(message)
    } else {
        return Err(error);
    };
    named.set_cause(py, Some(error));
    Err(named)
}

/// Whether `object` is a scalar or an array of NumPy whose elements convert to numbers without being any: text, times, and
/// complex numbers, which would lose their imaginary part.
pub(crate) fn is_unlike_numbers(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = object.py();
    if object.is_exact_instance_of::<PyFloat>() || object.is_exact_instance_of::<PyInt>() {
        return Ok(false);
    }
    let Some(dtype) = object.getattr_opt(intern!(py, "dtype"))? else {
        return Ok(false);
    };
    let Some(kind) = dtype.getattr_opt(intern!(py, "kind"))? else {
        return Ok(false);
    };
    Ok(matches!(
        kind.extract::<char>(),
        Ok('c' | 'S' | 'U' | 'm' | 'M')
    ))
}

/// Which voxel: by its flat index or by its triple.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place {
    Flat(Int),
    Triple([Int; 3]),
}

/// A positional argument that may be left out, which is not the same as `None`.
pub(crate) struct Given<'a, 'py>(Option<Borrowed<'a, 'py, PyAny>>);

impl Given<'_, '_> {
    /// Left out.
    pub(crate) const NOT: Self = Given(None);
}

impl<'a, 'py> FromPyObject<'a, 'py> for Given<'a, 'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        Ok(Given(Some(object)))
    }
}

impl Place {
    /// `i`, `x, y, z` or `(x, y, z)`.
    pub(crate) fn of(
        op: &str,
        x: &Bound<'_, PyAny>,
        y: Given<'_, '_>,
        z: Given<'_, '_>,
    ) -> PyResult<Place> {
        match (y.0, z.0) {
            (None, None) => match x.extract::<Int>() {
                Err(error) if error.is_instance_of::<PyTypeError>(x.py()) => {
                    Ok(Place::Triple(triple(x)?))
                }
                index => Ok(Place::Flat(index?)),
            },
            (Some(y), Some(z)) => Ok(Place::Triple([
                number(op, "x", x)?,
                number(op, "y", &y)?,
                number(op, "z", &z)?,
            ])),
            _ => Err(PyTypeError::new_err(format!(
                "{op}: 2 numbers are neither an index i nor a triple x, y, z"
            ))),
        }
    }

    /// `i, value`, `x, y, z, value` or `(x, y, z), value`.
    pub(crate) fn and_value(
        op: &str,
        x: &Bound<'_, PyAny>,
        y: &Bound<'_, PyAny>,
        z: Given<'_, '_>,
        value: Given<'_, '_>,
    ) -> PyResult<(Place, f32)> {
        let (place, value) = match (z, value.0) {
            (Given(None), _) => (Place::of(op, x, Given::NOT, Given::NOT), y.as_borrowed()),
            (z, None) => (Place::of(op, x, z, Given::NOT), y.as_borrowed()),
            (z, Some(value)) => (Place::of(op, x, Given(Some(y.as_borrowed())), z), value),
        };
        let place = place?;
        Ok((place, number(op, "value", &value)?))
    }

    /// The flat index in this grid.
    pub(crate) fn flat(self, grid: &ulib_math::Grid) -> Result<usize> {
        match self {
            Place::Flat(index) => index_in("voxel", index, grid.len()),
            Place::Triple(triple) => {
                let dims = grid.dims();
                grid.map().map([
                    index_in("voxel x", triple[0], dims[0])?,
                    index_in("voxel y", triple[1], dims[1])?,
                    index_in("voxel z", triple[2], dims[2])?,
                ])
            }
        }
    }
}

/// A Python integer as an index below `len`. Negative ones are refused, not counted from the back:
/// an index here names a voxel or a row, and is often computed.
pub(crate) fn index_in(what: &'static str, index: Int, len: usize) -> Result<usize> {
    match usize::try_from(index.0) {
        Ok(found) if found < len => Ok(found),
        _ => Err(match i64::try_from(index.0) {
            Ok(index) => Error::index(what, index, len),
            Err(_) => Error::new(
                ErrorKind::Index,
                format!("{what}: index {index} is out of range for length {len}"),
            ),
        }),
    }
}

/// A Python integer as a number of things.
pub(crate) fn count(op: &'static str, what: &'static str, number: Int) -> PyResult<usize> {
    // No memory holds more things than isize counts.
    isize::try_from(number.0)
        .ok()
        .and_then(|number| usize::try_from(number).ok())
        .ok_or_else(|| match number.0 {
            ..0 => Error::invalid(op, what, number, "no negative number"),
            _ => Error::overflow(op, format_args!("{what} {number}")),
        })
        .py()
}
