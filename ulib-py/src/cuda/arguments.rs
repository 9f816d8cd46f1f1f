//! Arguments that the operation judges which gets them, so that its error names itself, the argument and the value.

use std::path::PathBuf;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::type_object::PyTypeInfo;
use pyo3::types::PyString;

use super::errors::logic;
use crate::args::{Int, caused, goes_through, shown};

/// An integer of any size, or what was given in its place.
pub(crate) enum Whole {
    /// An integer.
    Number(Int),
    /// What it is instead, and why that is none.
    Wrong(String, PyErr),
}

impl Whole {
    /// The integer.
    pub(crate) fn of(self, op: &str, what: &str) -> PyResult<Int> {
        match self {
            Self::Number(number) => Ok(number),
            Self::Wrong(found, error) => Err(Python::attach(|py| {
                caused(py, error, |error| {
                    let why = error.value(py).to_string();
                    // Some say it themselves.
                    let why = why.strip_prefix(&format!("{found}: ")).unwrap_or(&why);
                    PyTypeError::new_err(format!("{op}: {what} is {found}: {why}"))
                })
            })),
        }
    }
}

impl From<Int> for Whole {
    fn from(number: Int) -> Self {
        Self::Number(number)
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for Whole {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        match object.extract::<Int>() {
            Ok(number) => Ok(Self::Number(number)),
            Err(error) if goes_through(object.py(), &error) => Err(error),
            Err(error) => Ok(Self::Wrong(shown(&object), error)),
        }
    }
}

/// A name that is looked up in a program.
pub(crate) fn name(op: &str, object: &Bound<'_, PyAny>) -> PyResult<String> {
    let text = object.cast::<PyString>().map_err(|_| {
        PyTypeError::new_err(format!("{op}: name is {}, expected a text", shown(object)))
    })?;
    text.extract().map_err(|_| {
        logic(format!(
            "{op}: name is {}, which cannot be written as UTF-8",
            shown(object)
        ))
    })
}

/// The path of a file.
pub(crate) fn path(op: &str, what: &str, object: &Bound<'_, PyAny>) -> PyResult<PathBuf> {
    let py = object.py();
    object.extract().map_err(|error| {
        caused(py, error, |error| {
            let (found, why) = (shown(object), error.value(py));
            PyTypeError::new_err(format!("{op}: {what} is {found}: {why}"))
        })
    })
}

/// An object of one of our classes.
pub(crate) fn instance<'a, 'py, T: PyTypeInfo>(
    op: &str,
    what: &str,
    object: &'a Bound<'py, PyAny>,
) -> PyResult<&'a Bound<'py, T>> {
    object.cast::<T>().map_err(|_| {
        let class = T::type_object(object.py()).name();
        let class = class.map_or_else(|_| String::from("such object"), |name| name.to_string());
        let found = shown(object);
        PyTypeError::new_err(format!("{op}: {what} is {found}, which is no {class}"))
    })
}
