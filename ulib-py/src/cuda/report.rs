//! What has been made and not given back.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use ulib_device::report::{self, Kind};

/// What uLib has on the devices now: for each kind of thing how many, and the bytes of all allocations as
/// ``allocation_bytes``. What uLib keeps for itself, such as the programs of kernels that have run, is among it.
#[pyfunction]
pub(super) fn live_objects(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let found = PyDict::new(py);
    for live in py.detach(report::live) {
        let name = match live.kind {
            Kind::Allocation => "allocations",
            Kind::Stream => "streams",
            Kind::Event => "events",
            Kind::Module => "modules",
            Kind::Graph => "graphs",
            Kind::GraphExec => "graph_execs",
            Kind::HostMemory => "host_allocations",
            Kind::Registration => "registrations",
            Kind::Managed => "managed_allocations",
            Kind::Imported => "imported_allocations",
            Kind::Array => "arrays",
            Kind::MipmappedArray => "mipmapped_arrays",
            Kind::Texture => "textures",
            Kind::Surface => "surfaces",
            Kind::Graphics => "graphics",
            _ => continue,
        };
        found.set_item(name, live.count)?;
        if live.kind == Kind::Allocation {
            found.set_item("allocation_bytes", live.bytes)?;
        }
    }
    Ok(found)
}
