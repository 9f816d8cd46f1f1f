//! [`ArrayView`]: another array over the memory of an object, such as its grid or one field.

use std::sync::Arc;

use pyo3::exceptions::{PyAttributeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::bulk::BulkArray;
use crate::errors::IntoPyResult;
use crate::scene::proxy;
use crate::source::{Holder, Source, Which};

/// An array over the memory of an object: the grid of an image, or one field of every element.
///
/// It is a view in every respect: placement, changes and protocols are those of the object, and
/// after a resize of the object it shows the new elements.
#[pyclass(frozen, extends = BulkArray, module = "uLib")]
pub(crate) struct ArrayView;

impl ArrayView {
    /// The array `which` of the object behind `holder`, checked to exist.
    pub(crate) fn of(
        py: Python<'_>,
        holder: Arc<dyn Holder>,
        which: Which,
    ) -> PyResult<Bound<'_, ArrayView>> {
        holder.peek(py, |object| which.of(object)).py()?;
        Bound::new(py, BulkArray::bases(holder, which).add_subclass(ArrayView))
    }

    /// The end of `object.Name += other`, where Python hands the view back to the object. Nothing else can be put there.
    pub(crate) fn put_back(
        holder: Arc<dyn Holder>,
        name: &str,
        given: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let own = Source {
            holder,
            which: Which::Field(name.to_owned()),
        };
        match proxy::own::<BulkArray>(given)? {
            Some(view) if view.get().source.is(&own) => Ok(()),
            _ => Err(PyAttributeError::new_err(format!(
                "{name} cannot be replaced; {name}.SetValues() sets its elements"
            ))),
        }
    }
}

#[pymethods]
impl ArrayView {
    fn __repr__(slf: PyRef<'_, Self>, py: Python<'_>) -> PyResult<String> {
        let source = &slf.as_super().source;
        let (desc, location) = source
            .holder
            .read(py, |object| {
                Ok((
                    source.which.of(object)?,
                    object.placed().location().to_string(),
                ))
            })
            .py()?;
        let shape = PyTuple::new(py, desc.layout.shape())?.repr()?;
        Ok(format!(
            "<uLib.ArrayView {} {} {shape}, {location}>",
            source.which.label(),
            desc.dtype.typestr()
        ))
    }

    /// None: what notebooks show is the object, not a part of it.
    fn _repr_html_(&self) -> Option<String> {
        None
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "a view cannot be copied or pickled; do that with the object, or with GetValues()",
        ))
    }
}
