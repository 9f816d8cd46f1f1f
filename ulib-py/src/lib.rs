//! The Python classes of uLib: thin wrappers of `ulib-math` with the array protocols.
//!
//! Python code imports the package `uLib`, which re-exports what is here. Reading order:
//! [`cell`] (how an object is shared between threads), [`source`] (which array of which object),
//! [`placement`] and [`bulk`] (what every class can do), `objects` (one file per class), `interop` (one
//! file per protocol), [`errors`] (which exception).

mod args;
mod bulk;
mod cell;
mod compute;
mod device;
mod errors;
mod gather;
mod hooks;
mod host_view;
mod incoming;
mod interop;
mod items;
mod lease;
mod objects;
mod persist;
mod placement;
mod source;
mod view;

/// The native part of the package `uLib`.
#[pyo3::pymodule(gil_used = false)]
mod _ulib {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::bulk::BulkArray;
    #[pymodule_export]
    use crate::device::{
        device_count, device_errors, device_held, device_memory_info, device_name,
        device_unavailable_reason,
    };
    #[pymodule_export]
    use crate::errors::{
        DeviceUnavailableError, DriverError, ForkedError, OutOfMemoryError, ResidencyError,
    };
    #[pymodule_export]
    use crate::host_view::HostView;
    #[pymodule_export]
    use crate::interop::array_interface::HostBytes;
    #[pymodule_export]
    use crate::lease::DeviceView;
    #[pymodule_export]
    use crate::objects::event_table::EventTable;
    #[pymodule_export]
    use crate::objects::float_collection::FloatCollection;
    #[pymodule_export]
    use crate::objects::geant_event_collection::GeantEventCollection;
    #[pymodule_export]
    use crate::objects::image::Image;
    #[pymodule_export]
    use crate::objects::line_collection::LineCollection;
    #[pymodule_export]
    use crate::objects::multi_vox_image::MultiVoxImage;
    #[pymodule_export]
    use crate::objects::muon_scatter_collection::MuonScatterCollection;
    #[pymodule_export]
    use crate::objects::vox_image::VoxImage;
    #[pymodule_export]
    use crate::placement::{Placed, Transfers};
    #[pymodule_export]
    use crate::view::ArrayView;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::hooks::install();
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
