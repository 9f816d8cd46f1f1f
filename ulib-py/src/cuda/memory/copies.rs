//! `memcpy_htod` and its kin.
#![allow(unsafe_code, reason = "addresses are the program's own")]

use std::sync::Arc;

use pyo3::prelude::*;
use ulib_device::Access;
use ulib_device::copy::raw;

use super::buffer::{HostBytes, HostPtr};
use super::device::size_of;
use super::on::On;
use super::pending;
use super::pointer::Pointer;
use super::transfer::{self, named};
use crate::cuda::arguments::Whole;
use crate::cuda::errors::IntoCudaResult;
use crate::cuda::kept::{Keeper, in_graph};

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(memcpy_htod, module)?)?;
    module.add_function(wrap_pyfunction!(memcpy_htod_async, module)?)?;
    module.add_function(wrap_pyfunction!(memcpy_dtoh, module)?)?;
    module.add_function(wrap_pyfunction!(memcpy_dtoh_async, module)?)?;
    module.add_function(wrap_pyfunction!(memcpy_dtod, module)?)?;
    module.add_function(wrap_pyfunction!(memcpy_dtod_async, module)?)
}

/// Copies the bytes of ``src``, anything contiguous with a buffer, to the device memory ``dest``. Returns when they are there.
#[pyfunction]
fn memcpy_htod(dest: &Bound<'_, PyAny>, src: &Bound<'_, PyAny>) -> PyResult<()> {
    const OP: &str = "memcpy_htod";
    let (to, from) = (
        Pointer::to_write(OP, "dest", dest)?,
        HostBytes::of(OP, "src", src)?,
    );
    to.check(OP, "dest", from.len())?;
    let (start, len) = (HostPtr(from.ptr()), from.len());
    // SAFETY: the buffer keeps its bytes there until it is dropped, below.
    let work = || unsafe { transfer::upload(&to, start.get(), len) };
    let outcome = dest.py().detach(work);
    outcome
        .map_err(|error| named(error, OP, "dest", &to))
        .cuda()?;
    pending::let_go(dest.py());
    Ok(())
}

/// Puts a copy of the bytes of ``src`` to the device memory ``dest`` into ``stream``. ``src`` is kept until it has run; only
/// from page-locked memory does it run beside the host.
#[pyfunction]
#[pyo3(signature = (dest, src, stream=None))]
fn memcpy_htod_async(
    dest: &Bound<'_, PyAny>,
    src: &Bound<'_, PyAny>,
    stream: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    const OP: &str = "memcpy_htod_async";
    let py = dest.py();
    let (to, from) = (
        Pointer::to_write(OP, "dest", dest)?,
        HostBytes::of(OP, "src", src)?,
    );
    to.check(OP, "dest", from.len())?;
    let on = On::of(OP, stream)?;
    let (start, len) = (HostPtr(from.ptr()), from.len());
    let keeper = Keeper::Bytes(Arc::new(from));
    let queued = py.detach(|| {
        let stream = on.stream(OP, &to.device()?)?;
        in_graph(&stream, || keeper.clone())?;
        transfer::queue(&to, Access::Write, &stream, || {
            // SAFETY: the buffer is kept until the copy has run; the driver checks the address, and the memory of an
            // allocation of ours outlives the work that is queued on it.
            unsafe { raw::upload(to.address(), start.get(), len, &stream) }
        })
        .map_err(|error| named(error, OP, "dest", &to))?;
        pending::mark(&stream)
    });
    pending::keep(py, queued.cuda()?, keeper);
    Ok(())
}

/// Copies as many bytes as ``dest``, anything contiguous and writable with a buffer, has from the device memory ``src``. Returns
/// when they are there.
#[pyfunction]
fn memcpy_dtoh(dest: &Bound<'_, PyAny>, src: &Bound<'_, PyAny>) -> PyResult<()> {
    const OP: &str = "memcpy_dtoh";
    let (to, from) = (
        HostBytes::writable(OP, "dest", dest)?,
        Pointer::of(OP, "src", src)?,
    );
    from.check(OP, "src", to.len())?;
    let (start, len) = (HostPtr(to.ptr()), to.len());
    // SAFETY: the buffer keeps its bytes there until it is dropped, below.
    let work = || unsafe { transfer::download(start.get(), &from, len) };
    let outcome = dest.py().detach(work);
    outcome
        .map_err(|error| named(error, OP, "src", &from))
        .cuda()?;
    pending::let_go(dest.py());
    Ok(())
}

/// Puts a copy of the device memory ``src`` to ``dest`` into ``stream``. ``dest`` is kept until it has run; only to page-locked
/// memory does it run beside the host.
#[pyfunction]
#[pyo3(signature = (dest, src, stream=None))]
fn memcpy_dtoh_async(
    dest: &Bound<'_, PyAny>,
    src: &Bound<'_, PyAny>,
    stream: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    const OP: &str = "memcpy_dtoh_async";
    let py = dest.py();
    let (to, from) = (
        HostBytes::writable(OP, "dest", dest)?,
        Pointer::of(OP, "src", src)?,
    );
    from.check(OP, "src", to.len())?;
    let on = On::of(OP, stream)?;
    let (start, len) = (HostPtr(to.ptr()), to.len());
    let keeper = Keeper::Bytes(Arc::new(to));
    let queued = py.detach(|| {
        let stream = on.stream(OP, &from.device()?)?;
        in_graph(&stream, || keeper.clone())?;
        transfer::queue(&from, Access::Read, &stream, || {
            // SAFETY: as in `memcpy_htod_async`.
            unsafe { raw::download(start.get(), from.address(), len, &stream) }
        })
        .map_err(|error| named(error, OP, "src", &from))?;
        pending::mark(&stream)
    });
    pending::keep(py, queued.cuda()?, keeper);
    Ok(())
}

fn dtod(
    op: &'static str,
    (dest, src): (&Bound<'_, PyAny>, &Bound<'_, PyAny>),
    size: Whole,
    stream: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let (to, from) = (
        Pointer::to_write(op, "dest", dest)?,
        Pointer::of(op, "src", src)?,
    );
    let size = size_of(op, "size", size)?;
    to.check(op, "dest", size)?;
    from.check(op, "src", size)?;
    let on = On::of(op, stream)?;
    dest.py()
        .detach(|| {
            let stream = on.stream(op, &to.device()?)?;
            transfer::queue_from(&to, &from, &stream, || {
                // SAFETY: as in `memcpy_htod_async`, for both sides.
                unsafe { raw::copy(to.address(), from.address(), size, &stream) }
            })
            .map_err(|error| named(error, op, &format!("src {:#x}, dest", from.address()), &to))
        })
        .cuda()
}

/// Copies ``size`` bytes from one place in device memory to another one, in the order of the default stream.
#[pyfunction]
fn memcpy_dtod(dest: &Bound<'_, PyAny>, src: &Bound<'_, PyAny>, size: Whole) -> PyResult<()> {
    dtod("memcpy_dtod", (dest, src), size, None)
}

/// Puts a copy of ``size`` bytes from one place in device memory to another one into ``stream``.
#[pyfunction]
#[pyo3(signature = (dest, src, size, stream=None))]
fn memcpy_dtod_async(
    dest: &Bound<'_, PyAny>,
    src: &Bound<'_, PyAny>,
    size: Whole,
    stream: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    dtod("memcpy_dtod_async", (dest, src), size, stream)
}
