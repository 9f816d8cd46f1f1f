//! The Python classes of uLib: thin wrappers of `ulib-math` with the array protocols.
//!
//! Python code imports the package `uLib`, which re-exports what is here. Reading order:
//! [`cell`] (how an object is shared between threads), [`holder`] and [`together`] (one and several of any type), [`source`] (which
//! array of which object),
//! [`placement`], [`numeric`] and [`bulk`] (what every class can do), `objects` (one file per class), `interop` (one
//! file per protocol), [`scene`] (documents and proxies), [`io`] and [`picture`] (files and pictures), [`cuda`] (PyCUDA's driver layer), [`errors`] (which exception).

mod args;
mod bulk;
mod cell;
mod compute;
mod cuda;
mod detached;
mod device;
mod errors;
mod gather;
mod holder;
mod hooks;
mod host_view;
mod incoming;
mod interop;
mod interpreter;
mod io;
mod items;
mod lease;
mod log;
mod numeric;
mod objects;
mod persist;
mod picture;
mod placement;
mod scene;
mod source;
mod stream;
mod together;
mod view;

use pyo3::prelude::*;

/// The native part of the package `uLib`.
///
/// A function, not a module with exports: those would make the classes before anything can be refused.
#[pymodule(gil_used = false)]
fn _ulib(module: &Bound<'_, PyModule>) -> PyResult<()> {
    interpreter::refuse_all_but_main(module.py())?;
    hooks::install();
    log::install();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    classes(module)?;
    exceptions(module)?;
    functions(module)
}

fn classes(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<placement::Placed>()?;
    module.add_class::<placement::Transfers>()?;
    module.add_class::<numeric::Numeric>()?;
    module.add_class::<bulk::BulkArray>()?;
    module.add_class::<view::ArrayView>()?;
    module.add_class::<lease::DeviceView>()?;
    module.add_class::<stream::Stream>()?;
    module.add_class::<host_view::HostView>()?;
    module.add_class::<interop::array_interface::HostBytes>()?;
    module.add_class::<objects::image::Image>()?;
    module.add_class::<objects::vox_image::VoxImage>()?;
    module.add_class::<objects::multi_vox_image::MultiVoxImage>()?;
    module.add_class::<objects::event_table::EventTable>()?;
    module.add_class::<objects::float_collection::FloatCollection>()?;
    module.add_class::<objects::line_collection::LineCollection>()?;
    module.add_class::<objects::muon_scatter_collection::MuonScatterCollection>()?;
    module.add_class::<objects::geant_event_collection::GeantEventCollection>()?;
    module.add_class::<objects::recipe::Recipe>()?;
    module.add_class::<scene::proxy::Proxy>()
}

fn exceptions(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("DriverError", py.get_type::<errors::DriverError>())?;
    module.add(
        "DeviceUnavailableError",
        py.get_type::<errors::DeviceUnavailableError>(),
    )?;
    module.add("FormatError", py.get_type::<errors::FormatError>())?;
    module.add("ResidencyError", py.get_type::<errors::ResidencyError>())?;
    module.add("ForkedError", py.get_type::<errors::ForkedError>())?;
    module.add(
        "OutOfMemoryError",
        py.get_type::<errors::OutOfMemoryError>(),
    )
}

fn functions(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(device::device_count, module)?)?;
    module.add_function(wrap_pyfunction!(device::device_unavailable_reason, module)?)?;
    module.add_function(wrap_pyfunction!(device::device_name, module)?)?;
    module.add_function(wrap_pyfunction!(device::device_memory_info, module)?)?;
    module.add_function(wrap_pyfunction!(device::device_held, module)?)?;
    module.add_function(wrap_pyfunction!(device::device_errors, module)?)?;
    module.add_function(wrap_pyfunction!(cuda::load_cuda, module)?)?;
    module.add_function(wrap_pyfunction!(interop::described::described, module)?)?;
    module.add_function(wrap_pyfunction!(log::placement_log, module)?)?;
    module.add_function(wrap_pyfunction!(scene::document::load_document, module)?)?;
    module.add_function(wrap_pyfunction!(scene::document::save_document, module)?)?;
    module.add_function(wrap_pyfunction!(scene::document::write_report, module)?)?;
    module.add_function(wrap_pyfunction!(scene::document::size_of, module)?)?;
    module.add_function(wrap_pyfunction!(scene::document::class_of, module)?)?;
    module.add_function(wrap_pyfunction!(scene::proxy::unwrap, module)?)?;
    module.add_function(wrap_pyfunction!(io::read_image, module)?)?;
    module.add_function(wrap_pyfunction!(io::read_multi_image, module)?)?;
    module.add_function(wrap_pyfunction!(io::write_image, module)?)?;
    module.add_function(wrap_pyfunction!(io::image_info, module)?)?;
    module.add_function(wrap_pyfunction!(io::read_table, module)?)?;
    module.add_function(wrap_pyfunction!(io::write_table, module)?)?;
    module.add_function(wrap_pyfunction!(picture::render_image, module)?)?;
    module.add_function(wrap_pyfunction!(picture::plot_table, module)?)?;
    module.add_function(wrap_pyfunction!(picture::plot_profile, module)?)
}
