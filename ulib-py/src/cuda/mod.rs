//! The native part of `uLib.cuda`: PyCUDA's driver layer over `ulib-device`.
//!
//! Reading order: [`current`] (which device a call is about), [`errors`] (which exception), then one file or folder for each
//! kind of object.

mod callbacks;
mod context;
mod current;
mod device;
mod errors;
mod event;
mod gl;
mod graph;
mod memory;
mod module;
mod report;
mod stream;
mod texture;

use pyo3::intern;
use pyo3::prelude::*;

/// Makes the module `uLib.cuda._native`, which nobody but `uLib.cuda` needs.
#[pyfunction]
pub(crate) fn load_cuda(py: Python<'_>) -> PyResult<()> {
    const NAME: &str = "uLib.cuda._native";
    let modules = py.import("sys")?.getattr(intern!(py, "modules"))?;
    if modules.contains(NAME)? {
        return Ok(());
    }
    let module = PyModule::new(py, NAME)?;
    classes(&module)?;
    functions(&module)?;
    modules.set_item(NAME, module)
}

fn classes(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<context::PyContext>()?;
    module.add_class::<device::PyDevice>()?;
    module.add_class::<device::PyPeerAccess>()?;
    module.add_class::<event::PyEvent>()?;
    module.add_class::<graph::PyCapture>()?;
    module.add_class::<graph::PyGraph>()?;
    module.add_class::<graph::PyGraphExec>()?;
    module.add_class::<stream::PyStream>()
}

fn functions(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(device::default_device, module)?)?;
    module.add_function(wrap_pyfunction!(current::get_driver_version, module)?)?;
    module.add_function(wrap_pyfunction!(current::get_version, module)?)?;
    module.add_function(wrap_pyfunction!(current::start_profiler, module)?)?;
    module.add_function(wrap_pyfunction!(current::stop_profiler, module)?)?;
    module.add_function(wrap_pyfunction!(current::init, module)?)?;
    module.add_function(wrap_pyfunction!(current::mem_get_info, module)?)?;
    module.add_function(wrap_pyfunction!(report::live_objects, module)?)?;
    memory::register(module)?;
    texture::register(module)?;
    gl::register(module)?;
    self::module::register(module)
}
