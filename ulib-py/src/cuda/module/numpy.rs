//! The types of NumPy that arguments may have, known by their addresses.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;
use ulib_device::module::ParameterKind;

/// What a scalar of NumPy is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scalar {
    /// Of so many bytes.
    Signed(usize),
    Unsigned(usize),
    Bool,
    Half,
    Float,
    Double,
    ComplexFloat,
    ComplexDouble,
}

impl Scalar {
    /// What it is to a kernel.
    pub(super) fn kind(self) -> ParameterKind {
        match self {
            Self::Signed(_) | Self::Unsigned(_) | Self::Bool => ParameterKind::Integer,
            Self::Half | Self::Float | Self::Double => ParameterKind::Float,
            Self::ComplexFloat | Self::ComplexDouble => ParameterKind::Struct,
        }
    }

    /// Whether it is an integer that an address can be.
    pub(super) fn is_as_large_as_addresses(self) -> bool {
        matches!(self, Self::Signed(8) | Self::Unsigned(8))
    }

    /// Its bytes.
    pub(super) fn size(self) -> usize {
        match self {
            Self::Signed(size) | Self::Unsigned(size) => size,
            Self::Bool => 1,
            Self::Half => 2,
            Self::Float => 4,
            Self::Double | Self::ComplexFloat => 8,
            Self::ComplexDouble => 16,
        }
    }
}

/// NumPy's classes, once it has been imported by somebody.
pub(super) struct Numpy {
    scalars: Vec<(usize, Scalar)>,
    generic: Py<PyType>,
    array: Py<PyType>,
}

impl Numpy {
    /// `None` as long as nobody has imported NumPy: then nothing is of a type of it.
    pub(super) fn get(py: Python<'_>) -> PyResult<Option<&Self>> {
        static NUMPY: PyOnceLock<Numpy> = PyOnceLock::new();
        if let Some(known) = NUMPY.get(py) {
            return Ok(Some(known));
        }
        let modules = py
            .import(intern!(py, "sys"))?
            .getattr(intern!(py, "modules"))?;
        if !modules.contains(intern!(py, "numpy"))? {
            return Ok(None);
        }
        NUMPY.get_or_try_init(py, || Self::of(py)).map(Some)
    }

    fn of(py: Python<'_>) -> PyResult<Self> {
        let numpy = py.import(intern!(py, "numpy"))?;
        let class = |name: &str| -> PyResult<Py<PyType>> {
            Ok(numpy.getattr(name)?.cast_into::<PyType>()?.unbind())
        };
        let names = [
            ("float32", Scalar::Float),
            ("float64", Scalar::Double),
            ("float16", Scalar::Half),
            ("complex64", Scalar::ComplexFloat),
            ("complex128", Scalar::ComplexDouble),
            ("bool_", Scalar::Bool),
            ("byte", Scalar::Signed(1)),
            ("short", Scalar::Signed(2)),
            ("intc", Scalar::Signed(4)),
            ("longlong", Scalar::Signed(8)),
            ("ubyte", Scalar::Unsigned(1)),
            ("ushort", Scalar::Unsigned(2)),
            ("uintc", Scalar::Unsigned(4)),
            ("ulonglong", Scalar::Unsigned(8)),
            // One of these is a class of its own, which depends on the system.
            ("int32", Scalar::Signed(4)),
            ("int64", Scalar::Signed(8)),
            ("uint32", Scalar::Unsigned(4)),
            ("uint64", Scalar::Unsigned(8)),
        ];
        let mut scalars = Vec::with_capacity(names.len());
        for (name, scalar) in names {
            scalars.push((class(name)?.as_ptr() as usize, scalar));
        }
        Ok(Self {
            scalars,
            generic: class("generic")?,
            array: class("ndarray")?,
        })
    }

    /// What an object of exactly this class is.
    pub(super) fn scalar(&self, class: usize) -> Option<Scalar> {
        self.scalars
            .iter()
            .find(|(known, _)| *known == class)
            .map(|&(_, scalar)| scalar)
    }

    pub(super) fn is_scalar(&self, object: &Bound<'_, PyAny>) -> PyResult<bool> {
        object.is_instance(self.generic.bind(object.py()))
    }

    pub(super) fn is_array(&self, object: &Bound<'_, PyAny>) -> PyResult<bool> {
        object.is_instance(self.array.bind(object.py()))
    }
}
