//! Memory of `uLib.cuda.driver`: allocations, copies and fills.
//!
//! Reading order: [`slot`] (what every allocation is), [`pointer`] and [`buffer`] (the two kinds of arguments: a place on a
//! device, and host bytes), [`on`] (which stream), [`transfer`] (a copy or a fill, now or on a stream), then one file for each
//! kind of object.

pub(super) mod buffer;
mod copies;
pub(super) mod device;
mod dlpack;
mod fills;
mod host;
mod host_pool;
mod ipc;
mod managed;
pub(crate) mod on;
mod peer;
pub(super) mod pending;
pub(super) mod pointer;
mod pools;
mod query;
mod sides;
pub(super) mod slot;
pub(super) mod strided;
mod strided_run;
pub(super) mod transfer;

use pyo3::prelude::*;

/// Adds the classes and functions of this folder to `uLib.cuda._native_memory`, but for the copies of rows and slices ([`strided`]).
pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<device::DeviceAllocation>()?;
    module.add_class::<pointer::PointerHolderBase>()?;
    module.add_function(wrap_pyfunction!(device::mem_alloc, module)?)?;
    module.add_function(wrap_pyfunction!(device::mem_alloc_pitch, module)?)?;
    pools::register(module)?;
    host::register(module)?;
    host_pool::register(module)?;
    module.add_class::<managed::ManagedAllocation>()?;
    ipc::register(module)?;
    dlpack::register(module)?;
    peer::register(module)?;
    query::register(module)?;
    copies::register(module)?;
    fills::register(module)
}
