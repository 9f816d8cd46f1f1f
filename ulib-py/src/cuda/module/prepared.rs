//! Calls whose types were said before.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyComplex, PyFloat, PyInt, PyString, PyTuple, PyType};
use ulib_core::Result;
use ulib_device::launch::Arguments;
use ulib_device::module::{Parameter, ParameterKind};
use ulib_device::{Event, Stream};

use super::calls::no_list;
use super::function::Function;
use super::numpy::{Numpy, Scalar};
use super::values::{Needs, Place, push};
use crate::args::{Int, attempted, caused, shown};
use crate::cuda::errors::{IntoCudaResult, logic};
use crate::detached::Detached;

/// What becomes of one value of a prepared call.
enum Kind {
    /// An address, or whatever stands for one.
    Address,
    /// A number, which this class makes of it.
    Number(Scalar, Py<PyType>),
    /// A struct, of so many bytes if that was said.
    Struct(Option<usize>),
}

/// The types of a prepared call.
#[pyclass(frozen, module = "uLib.cuda._native")]
pub(super) struct Prepared {
    kinds: Vec<Kind>,
}

/// The letters of the struct module, and NumPy's of the same kinds.
const LETTERS: &[(char, &str, Scalar)] = &[
    ('?', "bool_", Scalar::Bool),
    ('b', "int8", Scalar::Signed(1)),
    ('B', "uint8", Scalar::Unsigned(1)),
    ('h', "int16", Scalar::Signed(2)),
    ('H', "uint16", Scalar::Unsigned(2)),
    ('i', "int32", Scalar::Signed(4)),
    ('I', "uint32", Scalar::Unsigned(4)),
    ('l', "int64", Scalar::Signed(8)),
    ('L', "uint64", Scalar::Unsigned(8)),
    ('q', "int64", Scalar::Signed(8)),
    ('Q', "uint64", Scalar::Unsigned(8)),
    ('n', "int64", Scalar::Signed(8)),
    ('N', "uint64", Scalar::Unsigned(8)),
    ('e', "float16", Scalar::Half),
    ('f', "float32", Scalar::Float),
    ('d', "float64", Scalar::Double),
    ('F', "complex64", Scalar::ComplexFloat),
    ('D', "complex128", Scalar::ComplexDouble),
];

/// Types that one call has at most: more than the parameters of any kernel.
const MOST: usize = 1 << 12;

/// Bytes of a struct: those of all parameters of the kernels of newer devices, and room for more.
const LARGEST: usize = 1 << 16;

/// Takes one more type.
fn add(kinds: &mut Vec<Kind>, kind: Kind) -> PyResult<()> {
    if kinds.len() == MOST {
        return Err(PyValueError::new_err(format!(
            "prepare: more than {MOST} types, which no kernel takes"
        )));
    }
    kinds.push(kind);
    Ok(())
}

impl Prepared {
    /// Those of `types`, which have to agree with the kernel's own parameters as far as the driver tells those.
    pub(super) fn of(function: &Function, types: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = types.py();
        let mut kinds = Vec::new();
        if let Ok(text) = types.cast::<PyString>() {
            kinds_of(py, &text.to_string(), &mut kinds)?;
        } else {
            let all = no_list(types.try_iter(), || {
                format!(
                    "prepare: the types are {}, expected a string or a list of types",
                    shown(types)
                )
            })?;
            for (index, item) in all.enumerate() {
                add(&mut kinds, type_kind(index, &item?)?)?;
            }
        }
        if let Some(parameters) = function.declared(py)? {
            if parameters.len() != kinds.len() {
                return Err(logic(format!(
                    "prepare: kernel {} takes {} arguments, and {} types are given",
                    function.inner().name(),
                    parameters.len(),
                    kinds.len()
                )));
            }
            for (index, (kind, parameter)) in kinds.iter().zip(parameters).enumerate() {
                let (given, size) = match kind {
                    Kind::Address => (ParameterKind::Integer, 8),
                    Kind::Number(scalar, _) => (scalar.kind(), scalar.size()),
                    Kind::Struct(None) => continue,
                    Kind::Struct(Some(size)) => (ParameterKind::Unknown, *size),
                };
                let named = format!(
                    "prepare: parameter #{index} (0-based) of kernel {}",
                    function.inner().name()
                );
                if size != parameter.size {
                    return Err(logic(format!(
                        "{named} has {} bytes, and its type {size}",
                        parameter.size
                    )));
                }
                if !parameter.kind.takes(given) {
                    return Err(logic(format!(
                        "{named} is {}, and its type {}",
                        parameter.kind.describe(size),
                        given.describe(size)
                    )));
                }
            }
        }
        Ok(Self { kinds })
    }

    /// Puts the values into `arguments`, made numbers of the types that were said where they are none yet.
    pub(super) fn pack(
        &self,
        function: &Function,
        parameters: Option<&[Parameter]>,
        values: &Bound<'_, PyTuple>,
        arguments: &mut Arguments,
        needs: &mut Needs,
    ) -> PyResult<()> {
        if values.len() != self.kinds.len() {
            return Err(logic(format!(
                "the prepared call takes {} arguments, and got {}",
                self.kinds.len(),
                values.len()
            )));
        }
        for (index, (kind, value)) in self.kinds.iter().zip(values.iter_borrowed()).enumerate() {
            let place = Place::new(index, function.inner(), parameters);
            // Most are numbers of Python, of which NumPy need not make others first.
            if let (Kind::Number(scalar, _), Some(_)) = (kind, place.takes)
                && let Some(bits) = scalar.bits_of(&value)
            {
                arguments.push(&bits.to_le_bytes()[..scalar.size()]);
                continue;
            }
            let made = kind.made(index, &value, parameters.is_some())?;
            push(&place, made.as_ref().unwrap_or(&value), arguments, needs)?;
        }
        Ok(())
    }
}

impl Kind {
    /// What is made of a value that is not of the type yet; `None` of one that goes as it is.
    fn made<'py>(
        &self,
        index: usize,
        value: &Bound<'py, PyAny>,
        sizes_known: bool,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let py = value.py();
        let of_numpy = |name| py.import(intern!(py, "numpy"))?.getattr(name);
        let (class, whole) = match self {
            Self::Number(_, class) if value.get_type_ptr().cast() == class.as_ptr() => {
                return Ok(None);
            }
            Self::Number(scalar, class) => {
                // What an object says of itself is asked once.
                let whole = match scalar {
                    Scalar::Signed(_) | Scalar::Unsigned(_) => {
                        Some(checked_integer(index, value, *scalar)?)
                    }
                    _ => None,
                };
                if sizes_known && scalar.is_kind_of(value) {
                    return Ok(None);
                }
                (class.bind(py).clone().into_any(), whole)
            }
            Self::Address if !sizes_known && value.is_exact_instance_of::<PyInt>() => {
                (of_numpy(intern!(py, "uint64"))?, None)
            }
            // As `struct` has them.
            Self::Struct(_) if value.is_instance_of::<PyBytes>() => {
                return of_numpy(intern!(py, "void"))?.call1((value,)).map(Some);
            }
            _ => return Ok(None),
        };
        if value.is_none()
            || value.is_instance_of::<PyString>()
            || value.is_instance_of::<PyBytes>()
        {
            // NumPy would read them, and take None for NaN.
            return Err(refused(index, value, "a number"));
        }
        let made = class.call1((whole.as_ref().unwrap_or(value),));
        made.map(Some).map_err(|error| {
            caused(py, error, |error| {
                logic(format!(
                    "parameter #{index} (0-based) of the prepared call: {error}"
                ))
            })
        })
    }
}

fn refused(index: usize, value: &Bound<'_, PyAny>, expected: &str) -> PyErr {
    logic(format!(
        "parameter #{index} (0-based) of the prepared call is {}, expected {expected}",
        shown(value)
    ))
}

/// The integer that an object is. Refused is what is none, or none that a number of this type can be: NumPy would cut it off, or turn
/// it over.
fn checked_integer<'py>(
    index: usize,
    value: &Bound<'py, PyAny>,
    scalar: Scalar,
) -> PyResult<Bound<'py, PyAny>> {
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
    let whole = whole.and_then(|whole| Ok((whole.extract()?, whole)));
    let (Int(number), whole) = whole.map_err(|error| caused(py, error, |_| unfit()))?;
    if room.contains(&number) {
        Ok(whole)
    } else {
        Err(unfit())
    }
}

impl Scalar {
    /// Whether a value is a number of Python that becomes the same as one of this type without being made one first.
    fn is_kind_of(self, value: &Bound<'_, PyAny>) -> bool {
        match self {
            Self::Signed(_) | Self::Unsigned(_) => value.is_exact_instance_of::<PyInt>(),
            Self::Float | Self::Double => value.is_exact_instance_of::<PyFloat>(),
            Self::ComplexFloat | Self::ComplexDouble => value.is_exact_instance_of::<PyComplex>(),
            _ => false,
        }
    }

    /// The bits of such a number, beginning with the lowest; `None` for any other value, and for integers that are refused or need
    /// a closer look.
    fn bits_of(self, value: &Bound<'_, PyAny>) -> Option<u64> {
        match self {
            Self::Float if value.is_exact_instance_of::<PyFloat>() => {
                Some((value.extract::<f64>().ok()? as f32).to_bits().into())
            }
            Self::Double if value.is_exact_instance_of::<PyFloat>() => {
                Some(value.extract::<f64>().ok()?.to_bits())
            }
            Self::Signed(size @ (4 | 8)) if value.is_exact_instance_of::<PyInt>() => {
                let number = value.extract::<i64>().ok()?;
                (size == 8 || i32::try_from(number).is_ok()).then_some(number.cast_unsigned())
            }
            Self::Unsigned(size @ (4 | 8)) if value.is_exact_instance_of::<PyInt>() => {
                let number = u64::try_from(value.extract::<i64>().ok()?).ok()?;
                (size == 8 || u32::try_from(number).is_ok()).then_some(number)
            }
            _ => None,
        }
    }
}

fn number(py: Python<'_>, name: &str, scalar: Scalar) -> PyResult<Kind> {
    let class = py.import(intern!(py, "numpy"))?.getattr(name)?;
    Ok(Kind::Number(scalar, class.cast_into::<PyType>()?.unbind()))
}

/// The kinds that a string of letters names: a number before one repeats it, before an `s` it is the bytes of a struct.
fn kinds_of(py: Python<'_>, text: &str, kinds: &mut Vec<Kind>) -> PyResult<()> {
    let wrong = |what: String| PyValueError::new_err(format!("prepare: {what} in {text:?}"));
    let mut digits = String::new();
    for letter in text.chars() {
        if letter.is_ascii_digit() {
            digits.push(letter);
            continue;
        }
        if letter.is_ascii_whitespace() && digits.is_empty() {
            continue;
        }
        let count = match digits.as_str() {
            "" => None,
            number => Some(
                number
                    .parse()
                    .ok()
                    .filter(|count| {
                        (1..=if letter == 's' { LARGEST } else { MOST }).contains(count)
                    })
                    .ok_or_else(|| wrong(format!("{number} is no number of arguments")))?,
            ),
        };
        digits.clear();
        if letter == 's' {
            add(kinds, Kind::Struct(count))?;
            continue;
        }
        for _ in 0..count.unwrap_or(1) {
            add(kinds, letter_kind(py, letter)?)?;
        }
    }
    if digits.is_empty() {
        Ok(())
    } else {
        Err(wrong(format!("no letter follows {digits}")))
    }
}

fn letter_kind(py: Python<'_>, letter: char) -> PyResult<Kind> {
    if letter == 'P' {
        return Ok(Kind::Address);
    }
    match LETTERS.iter().find(|(known, ..)| *known == letter) {
        Some(&(_, name, scalar)) => number(py, name, scalar),
        None => Err(PyValueError::new_err(format!(
            "prepare: {letter:?} is no type of an argument"
        ))),
    }
}

/// The kind of a type in a list: a class or dtype of NumPy, or the name of one; a letter; any other class is an address.
fn type_kind(index: usize, item: &Bound<'_, PyAny>) -> PyResult<Kind> {
    let py = item.py();
    if let Ok(text) = item.cast::<PyString>() {
        let text = text.to_string();
        let mut letters = text.chars();
        if let (Some(letter), None) = (letters.next(), letters.next()) {
            return letter_kind(py, letter);
        }
    }
    let numpy = py.import(intern!(py, "numpy"))?;
    let is_type = item.is_instance_of::<PyType>()
        || item.is_instance(&numpy.getattr(intern!(py, "dtype"))?)?;
    let no_type = || {
        let found = shown(item);
        PyTypeError::new_err(format!(
            "prepare: #{index} (0-based) of the types is {found}, which is no type of an argument"
        ))
    };
    if !is_type && !item.is_instance_of::<PyString>() {
        return Err(no_type());
    }
    let made = numpy.call_method1(intern!(py, "dtype"), (item,));
    let Some(dtype) = attempted(py, made)? else {
        // A class that is no number, such as that of pointers.
        return if is_type {
            Ok(Kind::Address)
        } else {
            Err(no_type())
        };
    };
    let class = dtype.getattr(intern!(py, "type"))?;
    let known = Numpy::get(py)?.and_then(|known| known.scalar(class.as_ptr() as usize));
    let kind: String = dtype.getattr(intern!(py, "kind"))?.extract()?;
    Ok(match known {
        Some(scalar) => Kind::Number(scalar, class.cast_into::<PyType>()?.unbind()),
        None if kind == "O" => Kind::Address,
        None => Kind::Struct(None),
    })
}

/// The seconds a kernel took: calling it waits for the kernel.
#[pyclass(frozen, module = "uLib.cuda.driver")]
pub(crate) struct PreparedTime {
    begin: Detached<Event>,
    end: Detached<Event>,
}

impl PreparedTime {
    pub(super) fn new(begin: Detached<Event>, end: Detached<Event>) -> Self {
        Self { begin, end }
    }

    /// The present end of a stream.
    pub(super) fn mark(stream: &Stream) -> Result<Detached<Event>> {
        let event = Event::timed(stream.device())?;
        event.record(stream)?;
        Ok(Detached::new(event))
    }
}

#[pymethods]
impl PreparedTime {
    fn __call__(&self, py: Python<'_>) -> PyResult<f64> {
        py.detach(|| {
            self.end.synchronize()?;
            Ok(f64::from(self.end.elapsed_ms(&self.begin)?) / 1000.0)
        })
        .cuda()
    }
}
