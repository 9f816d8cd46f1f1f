//! Arrays, textures and surfaces of `uLib.cuda.driver`.
//!
//! Reading order: [`given`] (what a program says about arrays and memory), [`held`] (an object that Python may free at any
//! time), then one file for each kind of object.

mod array;
mod copies;
mod given;
mod held;
mod mipmap;
mod object;
mod surface;

pub(crate) use array::PyArray;
pub(super) use held::Held;
pub(crate) use object::PyTexture;
pub(crate) use surface::PySurface;

use pyo3::prelude::*;

/// Adds the classes and functions of this folder to `uLib.cuda._native_textures`.
pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyArray>()?;
    module.add_class::<mipmap::PyMipmappedArray>()?;
    module.add_class::<PyTexture>()?;
    module.add_class::<surface::PySurface>()?;
    module.add_function(wrap_pyfunction!(references_prefix, module)?)?;
    copies::register(module)
}

/// What has to stand before a source that declares texture or surface references; None for any other.
#[pyfunction]
fn references_prefix(source: &str) -> Option<String> {
    ulib_device::texture::references::prefix(source)
}
