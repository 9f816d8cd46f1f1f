//! Calls whose types were said before.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyComplex, PyFloat, PyInt, PyString, PyTuple, PyType};
use ulib_core::Result;
use ulib_device::launch::Arguments;
use ulib_device::module::{Parameter, ParameterKind};
use ulib_device::{Event, Stream};

use super::arrays::push_ours;
use super::calls::no_list;
use super::function::Function;
use super::numbers::{push_said, refused};
use super::numpy::{Numpy, Scalar};
use super::values::{Needs, Place, push};
use crate::args::{attempted, shown};
use crate::cuda::errors::{IntoCudaResult, logic};
use crate::cuda::memory::pointer::{is_of_device, ours};
use crate::detached::Detached;

/// What becomes of one value of a prepared call.
enum Kind {
    /// An address, or whatever stands for one.
    Address,
    /// A number.
    Number(Scalar),
    /// A struct, of so many bytes if that was said.
    Struct(Option<usize>),
}

/// The types of a prepared call.
#[pyclass(frozen, module = "uLib.cuda._native")]
pub(super) struct Prepared {
    kinds: Vec<Kind>,
}

/// The letters of the struct module, and NumPy's of complex numbers.
const LETTERS: &[(char, Scalar)] = &[
    ('?', Scalar::Bool),
    ('b', Scalar::Signed(1)),
    ('B', Scalar::Unsigned(1)),
    ('h', Scalar::Signed(2)),
    ('H', Scalar::Unsigned(2)),
    ('i', Scalar::Signed(4)),
    ('I', Scalar::Unsigned(4)),
    ('l', Scalar::Signed(8)),
    ('L', Scalar::Unsigned(8)),
    ('q', Scalar::Signed(8)),
    ('Q', Scalar::Unsigned(8)),
    ('n', Scalar::Signed(8)),
    ('N', Scalar::Unsigned(8)),
    ('e', Scalar::Half),
    ('f', Scalar::Float),
    ('d', Scalar::Double),
    ('F', Scalar::ComplexFloat),
    ('D', Scalar::ComplexDouble),
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
            kinds_of(&text.to_string(), &mut kinds)?;
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
                    Kind::Number(scalar) => (scalar.kind(), scalar.size()),
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

    /// Puts the values into `arguments`, as the types that were said.
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
            match *kind {
                // Memory, and a texture, may be said to be an integer of an address's size.
                Kind::Number(scalar)
                    if !(scalar.is_as_large_as_addresses() && is_of_device(&value)) =>
                {
                    push_said(index, &value, scalar, arguments)?;
                }
                _ => {
                    let place = Place::new(index, function.inner(), parameters);
                    kind.push(&place, &value, arguments, needs)?;
                }
            }
        }
        Ok(())
    }
}

impl Kind {
    /// Puts a struct or an address into `arguments`.
    fn push(
        &self,
        place: &Place<'_>,
        value: &Bound<'_, PyAny>,
        arguments: &mut Arguments,
        needs: &mut Needs,
    ) -> PyResult<()> {
        let (py, index) = (value.py(), place.index);
        match self {
            Self::Struct(_) => {
                // As `struct` has them.
                let bytes = value.is_instance_of::<PyBytes>();
                let void = bytes.then(|| {
                    let numpy = py.import(intern!(py, "numpy"))?;
                    numpy.getattr(intern!(py, "void"))?.call1((value,))
                });
                let void = void.transpose()?;
                push(place, void.as_ref().unwrap_or(value), arguments, needs)?;
            }
            _ => {
                if let Some(slot) = ours(value) {
                    return push_ours(place, value, slot, arguments, needs);
                }
                let number = value.is_instance_of::<PyFloat>()
                    || value.is_instance_of::<PyComplex>()
                    || value.is_instance_of::<PyBool>();
                if number {
                    return Err(refused(index, value, "an address"));
                }
                if value.is_instance_of::<PyInt>() {
                    return push_said(index, value, Scalar::Unsigned(8), arguments);
                }
                push(place, value, arguments, needs)?;
            }
        }
        // Where the sizes of the kernel's own parameters are not known, this is all that tells.
        let said = match self {
            Self::Struct(said) => *said,
            _ => Some(size_of::<u64>()),
        };
        match (arguments.size(index), said) {
            (Some(given), Some(said)) if given != said => Err(logic(format!(
                "parameter #{index} (0-based) of the prepared call has {given} bytes, and its type {said}"
            ))),
            _ => Ok(()),
        }
    }
}

/// The kinds that a string of letters names: a number before one repeats it, before an `s` it is the bytes of a struct.
fn kinds_of(text: &str, kinds: &mut Vec<Kind>) -> PyResult<()> {
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
            add(kinds, letter_kind(letter)?)?;
        }
    }
    if digits.is_empty() {
        Ok(())
    } else {
        Err(wrong(format!("no letter follows {digits}")))
    }
}

fn letter_kind(letter: char) -> PyResult<Kind> {
    if letter == 'P' {
        return Ok(Kind::Address);
    }
    match LETTERS.iter().find(|(known, _)| *known == letter) {
        Some(&(_, scalar)) => Ok(Kind::Number(scalar)),
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
            return letter_kind(letter);
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
    let kind: char = dtype.getattr(intern!(py, "kind"))?.extract()?;
    let size: usize = dtype.getattr(intern!(py, "itemsize"))?.extract()?;
    match known {
        Some(scalar) => Ok(Kind::Number(scalar)),
        None if kind == 'O' => Ok(Kind::Address),
        None if size > 0 && "biufcV".contains(kind) => Ok(Kind::Struct(Some(size))),
        None => Err(no_type()),
    }
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
