//! Programs of `uLib.cuda.driver`: modules, the linker, functions and their launches, the compiler.
//!
//! Reading order: [`modules`] and [`linker`], [`function`] (a kernel), [`config`] (what a call says besides its values),
//! [`calls`] (the launches), [`values`] (an argument as bytes: [`numbers`], [`arrays`]), [`prepared`] (calls whose types were said
//! before), [`compile`].

mod arrays;
mod calls;
mod compile;
pub(crate) mod config;
pub(crate) mod function;
mod linker;
mod modules;
mod numbers;
mod numpy;
mod prepared;
mod values;

pub(super) use modules::bytes_of;
use pyo3::prelude::*;

/// Adds the classes and functions of this folder to `uLib.cuda._native_modules`.
pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<modules::Module>()?;
    module.add_class::<linker::Linker>()?;
    module.add_class::<function::Function>()?;
    module.add_class::<prepared::PreparedTime>()?;
    module.add_function(wrap_pyfunction!(modules::module_from_file, module)?)?;
    module.add_function(wrap_pyfunction!(modules::module_from_buffer, module)?)?;
    compile::register(module)
}
