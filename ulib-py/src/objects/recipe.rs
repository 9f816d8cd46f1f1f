//! `Recipe`: a program in Python as an object of a scene.

use std::sync::Arc;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyType};
use ulib_core::{Error, PreferredDevice, Result};
use ulib_math::scene::{Recipe as Program, SceneObject};
use ulib_math::{BulkArray, Placed as _};

use crate::cell::Shared;
use crate::errors::{IntoPyResult, shortened};
use crate::placement::Placed;
use crate::source::{AnyViewMut, Object, Which};

impl Object for Program {
    fn placed(&self) -> &dyn ulib_math::Placed {
        self
    }

    fn scene(&self) -> &dyn SceneObject {
        self
    }

    fn arrays(&self) -> Option<&dyn BulkArray> {
        None
    }

    fn view_mut(&mut self, _which: &Which) -> Result<AnyViewMut<'_>> {
        Err(no_bytes())
    }

    fn change_bytes(
        &mut self,
        _overwrite: bool,
        _change: &mut dyn FnMut(&mut [u8]) -> Result<()>,
    ) -> Result<()> {
        Err(no_bytes())
    }
}

fn no_bytes() -> Error {
    Error::residency("array", "a recipe is text")
}

/// A program in Python that works on the scene it is in: its source has a function ``run(ctx)``.
///
/// ``parameters`` are what ``ctx.parameter(name, default)`` answers; values are kept as texts. Making, loading and saving a
/// recipe runs nothing. The preference says where the stage is meant to work; the text is always on the host.
#[pyclass(frozen, extends = Placed, module = "uLib")]
pub(crate) struct Recipe {
    shared: Arc<Shared<Program>>,
}

/// Source, parameters and preference.
type State = (String, Vec<(String, String)>, PreferredDevice);

/// The class, its arguments, and the preference.
type Reduced<'py> = (Bound<'py, PyType>, (String, Bound<'py, PyDict>), String);

impl Recipe {
    pub(crate) fn init(recipe: Program) -> PyClassInitializer<Self> {
        let shared = Arc::new(Shared::new(recipe));
        PyClassInitializer::from(Placed {
            holder: shared.clone(),
        })
        .add_subclass(Recipe { shared })
    }

    fn state(&self, py: Python<'_>) -> PyResult<State> {
        self.shared
            .peek(py, |recipe| {
                let source = recipe.source().to_owned();
                let parameters = recipe.parameters().to_vec();
                Ok((source, parameters, recipe.preferred_device()))
            })
            .py()
    }
}

/// The parameters in a dict: their names, and the texts of their values.
fn texts(parameters: &Bound<'_, PyDict>) -> PyResult<Vec<(String, String)>> {
    parameters
        .iter()
        .map(|(name, value)| {
            let Ok(name) = name.cast::<PyString>() else {
                let message = "Recipe: the name of a parameter has to be a text";
                return Err(PyTypeError::new_err(message));
            };
            let name = text("the name of a parameter", name)?;
            if name.is_empty() {
                return Err(PyValueError::new_err("Recipe: a parameter needs a name"));
            }
            Ok((name, text("a parameter", &value.str()?)?))
        })
        .collect()
}

/// A text of Python as one that files can hold.
fn text(what: &str, found: &Bound<'_, PyString>) -> PyResult<String> {
    found.to_str().map(str::to_owned).map_err(|_| {
        let shown = found.repr().map(|shown| shown.to_string());
        let shown = shortened(&shown.unwrap_or_default());
        let message = format!("Recipe: {what} is {shown}, with halves of letters in it");
        PyValueError::new_err(message)
    })
}

#[pymethods]
#[allow(non_snake_case)]
impl Recipe {
    #[new]
    #[pyo3(signature = (source="", parameters=None))]
    fn new(
        source: &str,
        parameters: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let mut recipe = Program::new(source);
        if let Some(parameters) = parameters {
            recipe.set_parameters(texts(parameters)?);
        }
        Ok(Recipe::init(recipe))
    }

    /// The text of the program.
    #[getter]
    fn Source(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.state(py)?.0)
    }

    #[setter(Source)]
    fn set_source(&self, py: Python<'_>, source: String) -> PyResult<()> {
        self.shared
            .tiny_mut(py, |recipe| {
                recipe.set_source(source);
                Ok(())
            })
            .py()
    }

    /// A copy of the parameters that are set: names and the texts of their values, in order. Setting replaces them all.
    #[getter]
    fn Parameters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let parameters = PyDict::new(py);
        for (name, value) in self.state(py)?.1 {
            parameters.set_item(name, value)?;
        }
        Ok(parameters)
    }

    #[setter(Parameters)]
    fn set_parameters(&self, py: Python<'_>, parameters: &Bound<'_, PyDict>) -> PyResult<()> {
        let parameters = texts(parameters)?;
        self.shared
            .tiny_mut(py, |recipe| {
                recipe.set_parameters(parameters);
                Ok(())
            })
            .py()
    }

    /// Sets one parameter to the text of ``value``.
    #[pyo3(signature = (name, value))]
    fn SetParameter(&self, py: Python<'_>, name: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
        if name.is_empty() {
            return Err(PyValueError::new_err("Recipe: a parameter needs a name"));
        }
        let value = text("a parameter", &value.str()?)?;
        self.shared
            .tiny_mut(py, |recipe| {
                recipe.set_parameter(name, value);
                Ok(())
            })
            .py()
    }

    fn __copy__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, Self>> {
        let copy = self.shared.peek(py, |recipe| Ok(recipe.clone())).py()?;
        Bound::new(py, Recipe::init(copy))
    }

    #[pyo3(signature = (_memo, /))]
    fn __deepcopy__<'py>(
        &self,
        py: Python<'py>,
        _memo: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, Self>> {
        self.__copy__(py)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        let (source, parameters, preferred) = self.state(py)?;
        let texts = PyDict::new(py);
        for (name, value) in parameters {
            texts.set_item(name, value)?;
        }
        let class = py.get_type::<Self>();
        Ok((class, (source, texts), preferred.to_string()))
    }

    #[pyo3(signature = (preferred, /))]
    fn __setstate__(&self, py: Python<'_>, preferred: &str) -> PyResult<()> {
        let preferred: PreferredDevice = preferred.parse().py()?;
        self.shared
            .peek(py, |recipe| recipe.set_preferred_device(preferred))
            .py()
            .map(|_there| ())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        self.shared
            .peek(py, |recipe| {
                let (size, location) = (recipe.size(), recipe.location());
                Ok(format!("<uLib.Recipe {size}, {location}>"))
            })
            .py()
    }
}
