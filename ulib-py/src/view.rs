//! [`ArrayView`]: another array over the memory of an object, such as its grid or one field.

use std::sync::Arc;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::bulk::BulkArray;
use crate::errors::IntoPyResult;
use crate::source::{Holder, Which};

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

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "a view cannot be copied or pickled; do that with the object, or with GetValues()",
        ))
    }
}
