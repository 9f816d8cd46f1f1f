//! The native part of `uLib.cuda`: PyCUDA's driver layer over `ulib-device`.
//!
//! Reading order: [`current`] (which device a call is about), [`errors`] (which exception), then one file or folder for each
//! kind of object.

mod arguments;
mod callbacks;
mod context;
mod current;
mod device;
mod errors;
mod event;
mod gl;
mod graph;
pub(crate) mod kept;
mod memory;
mod module;
mod report;
mod stream;
mod texture;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyString;

/// Adds to a module what it is made of.
type Register = fn(&Bound<'_, PyModule>) -> PyResult<()>;

/// The parts of `uLib.cuda._native`, each a module with a stub of its own.
const PARTS: [(&str, Register); 5] = [
    ("uLib.cuda._native_contexts", contexts),
    ("uLib.cuda._native_memory", memory::register),
    ("uLib.cuda._native_blocks", memory::strided::register),
    ("uLib.cuda._native_textures", textures),
    ("uLib.cuda._native_modules", self::module::register),
];

/// Makes the module `uLib.cuda._native`, which nobody but `uLib.cuda` needs, and its parts.
#[pyfunction]
pub(crate) fn load_cuda(py: Python<'_>) -> PyResult<()> {
    const NAME: &str = "uLib.cuda._native";
    let modules = py.import("sys")?.getattr(intern!(py, "modules"))?;
    if modules.contains(NAME)? {
        return Ok(());
    }
    let whole = PyModule::new(py, NAME)?;
    for (name, register) in PARTS {
        let part = PyModule::new(py, name)?;
        register(&part)?;
        for found in part.index()? {
            let found = found.cast_into::<PyString>()?;
            whole.setattr(&found, part.getattr(&found)?)?;
        }
        modules.set_item(name, part)?;
    }
    modules.set_item(NAME, whole)
}

fn textures(module: &Bound<'_, PyModule>) -> PyResult<()> {
    texture::register(module)?;
    gl::register(module)
}

/// Devices, contexts, streams, events, graphs, and what is asked of the driver as a whole.
fn contexts(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<context::PyContext>()?;
    module.add_class::<device::PyDevice>()?;
    module.add_class::<device::PyPeerAccess>()?;
    module.add_class::<event::PyEvent>()?;
    module.add_class::<graph::PyCapture>()?;
    module.add_class::<graph::PyGraph>()?;
    module.add_class::<graph::PyGraphExec>()?;
    module.add_class::<stream::PyStream>()?;
    module.add_function(wrap_pyfunction!(device::default_device, module)?)?;
    module.add_function(wrap_pyfunction!(current::get_driver_version, module)?)?;
    module.add_function(wrap_pyfunction!(current::get_version, module)?)?;
    module.add_function(wrap_pyfunction!(current::start_profiler, module)?)?;
    module.add_function(wrap_pyfunction!(current::stop_profiler, module)?)?;
    module.add_function(wrap_pyfunction!(current::init, module)?)?;
    module.add_function(wrap_pyfunction!(current::mem_get_info, module)?)?;
    module.add_function(wrap_pyfunction!(kept::captures_are_open, module)?)?;
    module.add_function(wrap_pyfunction!(kept::keep_in_capture, module)?)?;
    module.add_function(wrap_pyfunction!(report::live_objects, module)?)
}
