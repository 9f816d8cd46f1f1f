//! What an object says of its device array in `__cuda_array_interface__`: the one reader of it, which checks all of it.
//!
//! A description that is read here is whole: its entries are there and of their types, its numbers fit each other and the 64 bits
//! of an address. Whether there is such memory the driver knows ([`foreign`](super::foreign)).

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PyString, PyTuple};
use ulib_core::words::counted;

use crate::args::{Int, caused, shown};
use crate::errors::shortened;

/// More axes than any array library knows.
pub(crate) const MAX_AXES: usize = 64;
const PROTOCOL: &str = "__cuda_array_interface__";

/// A device array as its owner describes it.
pub(crate) struct Described<'py> {
    /// Address of the element with all indices zero.
    pub(crate) address: u64,
    /// Whether the owner forbids that the array is written.
    pub(crate) read_only: bool,
    pub(crate) shape: Vec<usize>,
    /// In bytes; `None` where there are no gaps, in C order.
    pub(crate) strides: Option<Vec<isize>>,
    pub(crate) typestr: Bound<'py, PyString>,
    /// Bytes of an element.
    pub(crate) item: usize,
    /// The stream on which the owner may still work: 1 the legacy default one, 2 the thread's own. Never 0.
    pub(crate) stream: Option<usize>,
}

/// Who reads a description: how messages begin, and what a wrong value raises. Wrong types, also of the elements, raise a `TypeError`.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'a> {
    /// The operation, and its parameter where it has several.
    pub(crate) place: &'a dyn Fn() -> String,
    pub(crate) wrong: fn(String) -> PyErr,
}

/// What a value raises that is wrong for a class outside of `uLib.cuda`.
pub(crate) fn value_error(message: String) -> PyErr {
    PyValueError::new_err(message)
}

/// A description for Python: address, whether it is read-only, shape, strides in bytes, type string, bytes of an element, stream.
pub(crate) type Row<'py> = (
    u64,
    bool,
    Bound<'py, PyTuple>,
    Bound<'py, PyTuple>,
    Bound<'py, PyString>,
    usize,
    Option<usize>,
);

/// What the ``__cuda_array_interface__`` of ``object`` says, if it has one.
#[pyfunction]
pub(crate) fn described<'py>(op: &str, object: &Bound<'py, PyAny>) -> PyResult<Option<Row<'py>>> {
    let reader = Reader {
        place: &|| op.to_owned(),
        wrong: value_error,
    };
    let found = Described::of(reader, object)?;
    found.map(|found| found.row(object.py())).transpose()
}

impl<'py> Described<'py> {
    /// The description for Python.
    pub(crate) fn row(self, py: Python<'py>) -> PyResult<Row<'py>> {
        let strides = PyTuple::new(py, self.all_strides())?;
        let shape = PyTuple::new(py, self.shape)?;
        let (typestr, item) = (self.typestr, self.item);
        Ok((
            self.address,
            self.read_only,
            shape,
            strides,
            typestr,
            item,
            self.stream,
        ))
    }

    /// The description that `object` has, if it has one.
    pub(crate) fn of(reader: Reader<'_>, object: &Bound<'py, PyAny>) -> PyResult<Option<Self>> {
        let py = object.py();
        match object.getattr_opt(intern!(py, "__cuda_array_interface__")) {
            Ok(Some(found)) if !found.is_none() => reader.read(&found).map(Some),
            Ok(_) => Ok(None),
            Err(error) => Err(reader.raised(object, error)),
        }
    }

    /// Whether the elements follow each other without gaps, whichever axis is the fastest one of the two ends.
    pub(crate) fn is_packed(&self) -> bool {
        self.strides.as_ref().is_none_or(|strides| {
            let axes = self.shape.iter().copied().zip(strides.iter().copied());
            packed(axes.clone().rev(), self.item) || packed(axes, self.item)
        })
    }

    /// The strides in bytes, also where the description leaves them out.
    pub(crate) fn all_strides(&self) -> Vec<isize> {
        if let Some(strides) = &self.strides {
            return strides.clone();
        }
        let mut next = self.item;
        let mut strides = vec![0; self.shape.len()];
        for (stride, &n) in strides.iter_mut().zip(&self.shape).rev() {
            *stride = isize::try_from(next).unwrap_or(isize::MAX);
            next = next.saturating_mul(n);
        }
        strides
    }

    /// Bytes of all elements.
    pub(crate) fn bytes(&self) -> usize {
        self.shape
            .iter()
            .fold(self.item, |bytes, &n| bytes.saturating_mul(n))
    }
}

/// Whether an array of these lengths and strides, fastest axis first, has no gaps.
fn packed(axes: impl Iterator<Item = (usize, isize)> + Clone, item: usize) -> bool {
    if axes.clone().any(|(n, _)| n == 0) {
        return true;
    }
    let mut expected = item as isize;
    axes.filter(|&(n, _)| n > 1).all(|(n, stride)| {
        let fits = stride == expected;
        expected = expected.saturating_mul(n as isize);
        fits
    })
}

impl Reader<'_> {
    fn read<'py>(self, found: &Bound<'py, PyAny>) -> PyResult<Described<'py>> {
        let py = found.py();
        let Ok(entries) = found.cast::<PyDict>() else {
            return Err(self.type_error("the attribute", found, "a dict"));
        };
        let need = |key: &Bound<'py, PyString>| {
            entries.get_item(key)?.ok_or_else(|| {
                (self.wrong)(format!("{}: {PROTOCOL}: '{key}' is missing", self.start()))
            })
        };
        let may = |key: &Bound<'py, PyString>| -> PyResult<Option<Bound<'py, PyAny>>> {
            Ok(entries.get_item(key)?.filter(|value| !value.is_none()))
        };
        let version = need(intern!(py, "version"))?;
        // What earlier versions than 3 have means the same in it, and later ones are to add to it.
        if self.number("version", &version, &version, "an integer")? < 0 {
            return Err(self.value_error("version", &version, "an integer of 0 or more"));
        }
        if let Some(mask) = may(intern!(py, "mask"))? {
            return Err(self.value_error("mask", &mask, "None: masked arrays are not supported"));
        }
        let shape = self.shape(&need(intern!(py, "shape"))?)?;
        let (typestr, item) = self.element(need(intern!(py, "typestr"))?)?;
        let data = need(intern!(py, "data"))?;
        let (address, read_only) = self.data(&data)?;
        let strides = match may(intern!(py, "strides"))? {
            Some(strides) => Some((self.strides(&strides, shape.len())?, strides)),
            None => None,
        };
        let stream = match may(intern!(py, "stream"))? {
            Some(stream) => Some(self.stream(&stream)?),
            None => None,
        };
        self.reach(&shape, item, (address, &data), strides.as_ref())?;
        Ok(Described {
            address,
            read_only,
            shape,
            strides: strides.map(|(strides, _)| strides),
            typestr,
            item,
            stream,
        })
    }

    fn shape(self, given: &Bound<'_, PyAny>) -> PyResult<Vec<usize>> {
        const EXPECTED: &str = "a tuple of lengths";
        self.axes("shape", given, EXPECTED, |n| {
            // No memory holds more than isize counts.
            isize::try_from(n).ok()?;
            usize::try_from(n).ok()
        })
    }

    fn strides(self, given: &Bound<'_, PyAny>, axes: usize) -> PyResult<Vec<isize>> {
        const EXPECTED: &str = "None or a tuple of bytes between elements";
        let strides = self.axes("strides", given, EXPECTED, |n| isize::try_from(n).ok())?;
        if strides.len() != axes {
            let expected = format!("{}, as shape has", counted(axes, "number"));
            return Err(self.value_error("strides", given, &expected));
        }
        Ok(strides)
    }

    /// One number for each axis.
    fn axes<T>(
        self,
        key: &str,
        given: &Bound<'_, PyAny>,
        expected: &str,
        fitting: impl Fn(i128) -> Option<T>,
    ) -> PyResult<Vec<T>> {
        let Ok(tuple) = given.cast::<PyTuple>() else {
            return Err(self.type_error(key, given, expected));
        };
        if tuple.len() > MAX_AXES {
            return Err((self.wrong)(format!(
                "{}: {PROTOCOL}: {key} has {} axes, expected at most {MAX_AXES}",
                self.start(),
                tuple.len()
            )));
        }
        let mut numbers = Vec::with_capacity(tuple.len());
        for item in tuple.iter_borrowed() {
            let number = self.number(key, &item, given, expected)?;
            numbers.push(fitting(number).ok_or_else(|| self.value_error(key, given, expected))?);
        }
        Ok(numbers)
    }

    /// A number of the entry `key`, which is `whole`.
    fn number(
        self,
        key: &str,
        given: &Bound<'_, PyAny>,
        whole: &Bound<'_, PyAny>,
        expected: &str,
    ) -> PyResult<i128> {
        if given.is_exact_instance_of::<PyInt>()
            && let Ok(number) = given.extract::<i64>()
        {
            return Ok(number.into());
        }
        given
            .extract::<Int>()
            .map(|Int(n)| n)
            .map_err(|error| caused(given.py(), error, |_| self.type_error(key, whole, expected)))
    }

    fn data(self, given: &Bound<'_, PyAny>) -> PyResult<(u64, bool)> {
        const EXPECTED: &str = "a tuple of an address and whether the array is read-only";
        let parts = given.cast::<PyTuple>().ok().filter(|data| data.len() == 2);
        let Some(parts) = parts else {
            return Err(self.type_error("data", given, EXPECTED));
        };
        let address = self.number("data", &*parts.get_borrowed_item(0)?, given, EXPECTED)?;
        let Ok(read_only) = parts.get_borrowed_item(1)?.extract::<bool>() else {
            return Err(self.type_error("data", given, EXPECTED));
        };
        let address = u64::try_from(address)
            .map_err(|_| self.value_error("data", given, "an address of 64 bits"))?;
        Ok((address, read_only))
    }

    fn stream(self, given: &Bound<'_, PyAny>) -> PyResult<usize> {
        const EXPECTED: &str = "None, 1, 2 or the handle of a stream";
        match usize::try_from(self.number("stream", given, given, EXPECTED)?) {
            Ok(0) => Err((self.wrong)(format!(
                "{}: {PROTOCOL}: stream 0 is ambiguous; 1 is the legacy default stream, 2 the per-thread one",
                self.start()
            ))),
            Ok(stream) => Ok(stream),
            Err(_) => Err(self.value_error("stream", given, EXPECTED)),
        }
    }

    /// The type string, and the bytes of an element.
    fn element<'py>(self, given: Bound<'py, PyAny>) -> PyResult<(Bound<'py, PyString>, usize)> {
        let text = match given.cast_into::<PyString>() {
            Ok(text) => text,
            Err(error) => {
                let given = error.into_inner();
                return Err(self.type_error("typestr", &given, "a text such as '<f4'"));
            }
        };
        let size = text.to_str().map_err(|_| "a text such as '<f4'");
        match size.and_then(size_of) {
            Ok(size) => Ok((text, size)),
            Err(expected) => Err(self.type_error("typestr", &text, expected)),
        }
    }

    /// Checks that all elements have addresses.
    fn reach(
        self,
        shape: &[usize],
        item: usize,
        (address, data): (u64, &Bound<'_, PyAny>),
        strides: Option<&(Vec<isize>, Bound<'_, PyAny>)>,
    ) -> PyResult<()> {
        if shape.contains(&0) || item == 0 {
            return Ok(());
        }
        let bytes = shape
            .iter()
            .try_fold(item, |bytes, &n| bytes.checked_mul(n))
            .filter(|&bytes| isize::try_from(bytes).is_ok());
        let beyond = |why: String| (self.wrong)(format!("{}: {PROTOCOL}: {why}", self.start()));
        let Some(bytes) = bytes else {
            return Err(beyond(format!(
                "shape is {shape:?}, which is more elements of {item} bytes than any memory has"
            )));
        };
        if address == 0 {
            return Err(self.value_error(
                "data",
                data,
                "an address, of an array that is not empty",
            ));
        }
        let (mut low, mut high) = (0_i128, bytes as i128);
        if let Some((strides, _)) = strides {
            high = item as i128;
            for (&n, &stride) in shape.iter().zip(strides) {
                // Two numbers of 63 bits, and at most 64 of them.
                let far = (n as i128 - 1).saturating_mul(stride as i128);
                let end = if far < 0 { &mut low } else { &mut high };
                *end = end.saturating_add(far);
            }
        }
        let whole = 0..=1_i128 << 64;
        let address = i128::from(address);
        if whole.contains(&address.saturating_add(low))
            && whole.contains(&address.saturating_add(high))
        {
            return Ok(());
        }
        let strides = strides.map_or(String::from("None"), |(_, given)| shown(given));
        Err(beyond(format!(
            "shape is {shape:?} and strides is {strides}, which from {address:#x} on reach beyond every address"
        )))
    }

    /// What is raised where reading the attribute raises. What uLib raises says itself what it is about, and there may be no memory
    /// to say more.
    fn raised(self, object: &Bound<'_, PyAny>, error: PyErr) -> PyErr {
        let py = object.py();
        let kind = error.get_type(py);
        let ours = kind
            .getattr(intern!(py, "__module__"))
            .and_then(|module| module.extract::<String>())
            .is_ok_and(|module| module == "uLib" || module.starts_with("uLib."));
        if ours {
            return error;
        }
        caused(py, error, |error| {
            let message = format!(
                "{}: {PROTOCOL} of {} raised {error}",
                self.start(),
                object.get_type()
            );
            (self.wrong)(shortened(&message))
        })
    }

    fn type_error(self, key: &str, found: &Bound<'_, PyAny>, expected: &str) -> PyErr {
        PyTypeError::new_err(self.unlike(key, found, expected))
    }

    fn value_error(self, key: &str, found: &Bound<'_, PyAny>, expected: &str) -> PyErr {
        (self.wrong)(self.unlike(key, found, expected))
    }

    fn unlike(self, key: &str, found: &Bound<'_, PyAny>, expected: &str) -> String {
        let found = shown(found);
        format!(
            "{}: {PROTOCOL}: {key} is {found}, expected {expected}",
            self.start()
        )
    }

    fn start(self) -> String {
        (self.place)()
    }
}

/// The bytes of an element of a type string: byte order, kind and size, and the unit of times. Or what is expected instead.
fn size_of(text: &str) -> Result<usize, &'static str> {
    const FORM: &str = "a byte order, a kind and a size, such as '<f4'";
    let [order @ (b'<' | b'>' | b'|'), kind, ..] = *text.as_bytes() else {
        return Err(FORM);
    };
    let rest = text.get(2..).ok_or(FORM)?;
    let (digits, unit) = rest.split_at(rest.find('[').unwrap_or(rest.len()));
    let is_time = matches!(kind, b'm' | b'M');
    let has_form = digits.bytes().all(|digit| digit.is_ascii_digit())
        && (unit.is_empty() || is_time && unit.len() > 2 && unit.ends_with(']'));
    let size: usize = digits.parse().ok().filter(|_| has_form).ok_or(FORM)?;
    let known = match kind {
        b'b' => size == 1,
        b'i' | b'u' => matches!(size, 1 | 2 | 4 | 8),
        b'f' => matches!(size, 1 | 2 | 4 | 8 | 12 | 16),
        b'c' => matches!(size, 4 | 8 | 16 | 24 | 32),
        b'm' | b'M' => size == 8,
        b'S' | b'U' | b'V' => true,
        _ => false,
    };
    if !known {
        return Err("a kind of NumPy's (b i u f c m M S U V) in a size that it has");
    }
    // Text has four bytes for each letter.
    let bytes = if kind == b'U' {
        size.checked_mul(4)
    } else {
        Some(size)
    };
    let bytes = bytes.filter(|&bytes| isize::try_from(bytes).is_ok());
    let bytes = bytes.ok_or("an element that some memory has room for")?;
    let has_order = bytes > 1 && !matches!(kind, b'S' | b'V');
    match (order, has_order) {
        (b'>', true) if cfg!(target_endian = "little") => {
            Err("the byte order of this machine ('<'), which kernels read")
        }
        (b'<', true) if cfg!(target_endian = "big") => {
            Err("the byte order of this machine ('>'), which kernels read")
        }
        (b'|', true) => Err("a byte order ('<'), for elements of more than one byte"),
        _ => Ok(bytes),
    }
}
