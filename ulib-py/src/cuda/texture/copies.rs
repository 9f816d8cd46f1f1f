//! `memcpy_dtoa` and its kin: bytes of arrays of one row.
#![allow(unsafe_code, reason = "buffers' bytes as slices")]

use pyo3::prelude::*;
use ulib_device::Stream;
use ulib_device::copy::{
    Extent, Pitch, Source, Target, copy_between_arrays, copy_from_array, copy_to_array,
};
use ulib_device::texture::Array;

use super::array::{PyArray, slice};
use super::given::count;
use crate::cuda::arguments::{Whole, instance};
use crate::cuda::errors::{IntoCudaResult, logic};
use crate::cuda::memory::buffer::{HostBytes, HostPtr};
use crate::cuda::memory::pointer::Pointer;
use crate::cuda::memory::transfer::{bytes, named, of_op};
use crate::detached::InHand;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(memcpy_dtoa, module)?)?;
    module.add_function(wrap_pyfunction!(memcpy_atod, module)?)?;
    module.add_function(wrap_pyfunction!(memcpy_atoa, module)?)?;
    module.add_function(wrap_pyfunction!(py_memcpy_htoa, module)?)?;
    module.add_function(wrap_pyfunction!(py_memcpy_atoh, module)?)
}

/// The array, which has one row, and the byte of it that `index` is.
fn row(
    op: &'static str,
    array: (&str, &Bound<'_, PyAny>),
    index: Whole,
) -> PyResult<(InHand<Array>, [usize; 3])> {
    let array = instance::<PyArray>(op, array.0, array.1)?.get().array(op)?;
    let own = array.descriptor();
    if own.rows() != 1 || own.slices() != 1 {
        return Err(logic(format!(
            "{op}: an array of {} rows and {} slices has no bytes by one index; Memcpy2D and Memcpy3D copy blocks of it",
            own.rows(),
            own.slices()
        )));
    }
    Ok((array, [count(op, "index", index)?, 0, 0]))
}

fn of(width: usize) -> (Extent, Pitch) {
    let extent = Extent {
        width,
        height: 1,
        depth: 1,
    };
    (extent, Pitch::default())
}

/// Copies ``len`` bytes of the device memory ``src`` to the row ``ary`` from byte ``index`` on.
#[pyfunction]
fn memcpy_dtoa(
    ary: &Bound<'_, PyAny>,
    index: Whole,
    src: &Bound<'_, PyAny>,
    len: Whole,
) -> PyResult<()> {
    const OP: &str = "memcpy_dtoa";
    let (array, origin) = row(OP, ("ary", ary), index)?;
    let (from, len) = (Pointer::of(OP, "src", src)?, count(OP, "len", len)?);
    from.check(OP, "src", len)?;
    let (extent, pitch) = of(len);
    src.py()
        .detach(|| {
            let (from, stream) = (
                bytes(&from, array.device(), len)?,
                Stream::legacy(array.device()),
            );
            copy_to_array(
                &array,
                origin,
                Source::Device(&from),
                pitch,
                extent,
                &stream,
            )
        })
        .map_err(|error| named(error, OP, "src", &from))
        .cuda()
}

/// Copies ``len`` bytes of the row ``ary`` from byte ``index`` on to the device memory ``dest``.
#[pyfunction]
fn memcpy_atod(
    dest: &Bound<'_, PyAny>,
    ary: &Bound<'_, PyAny>,
    index: Whole,
    len: Whole,
) -> PyResult<()> {
    const OP: &str = "memcpy_atod";
    let (array, origin) = row(OP, ("ary", ary), index)?;
    let (to, len) = (Pointer::to_write(OP, "dest", dest)?, count(OP, "len", len)?);
    to.check(OP, "dest", len)?;
    let (extent, pitch) = of(len);
    dest.py()
        .detach(|| {
            let (to, stream) = (
                bytes(&to, array.device(), len)?,
                Stream::legacy(array.device()),
            );
            copy_from_array(Target::Device(&to), pitch, &array, origin, extent, &stream)
        })
        .map_err(|error| named(error, OP, "dest", &to))
        .cuda()
}

/// Copies ``len`` bytes of the row ``src`` from byte ``src_index`` on to the row ``dest`` from byte ``dest_index`` on.
#[pyfunction]
fn memcpy_atoa(
    py: Python<'_>,
    dest: &Bound<'_, PyAny>,
    dest_index: Whole,
    src: &Bound<'_, PyAny>,
    src_index: Whole,
    len: Whole,
) -> PyResult<()> {
    const OP: &str = "memcpy_atoa";
    let (to, to_origin) = row(OP, ("dest", dest), dest_index)?;
    let (from, from_origin) = row(OP, ("src", src), src_index)?;
    let (extent, _) = of(count(OP, "len", len)?);
    py.detach(|| {
        let stream = Stream::legacy(to.device());
        copy_between_arrays(&to, to_origin, &from, from_origin, extent, &stream)
    })
    .map_err(|error| of_op(error, OP))
    .cuda()
}

/// Copies the bytes of ``src``, anything contiguous with a buffer, to the row ``ary`` from byte ``index`` on.
#[pyfunction]
fn py_memcpy_htoa(ary: &Bound<'_, PyAny>, index: Whole, src: &Bound<'_, PyAny>) -> PyResult<()> {
    const OP: &str = "memcpy_htoa";
    let (array, origin) = row(OP, ("ary", ary), index)?;
    let host = HostBytes::of(OP, "src", src)?;
    let host = slice(&host);
    let (extent, pitch) = of(host.len());
    src.py()
        .detach(|| {
            let stream = Stream::legacy(array.device());
            copy_to_array(&array, origin, Source::Host(host), pitch, extent, &stream)
        })
        .map_err(|error| of_op(error, OP))
        .cuda()
}

/// Copies as many bytes as ``dest``, anything contiguous and writable with a buffer, has from the row ``ary`` from byte ``index``
/// on.
#[pyfunction]
fn py_memcpy_atoh(dest: &Bound<'_, PyAny>, ary: &Bound<'_, PyAny>, index: Whole) -> PyResult<()> {
    const OP: &str = "memcpy_atoh";
    let (array, origin) = row(OP, ("ary", ary), index)?;
    let host = HostBytes::writable(OP, "dest", dest)?;
    let (start, len) = (HostPtr(host.ptr()), host.len());
    let (extent, pitch) = of(len);
    dest.py()
        .detach(|| {
            let to = if len == 0 {
                &mut []
            } else {
                // SAFETY: the buffer keeps its bytes there until it is dropped, after this, and lets them be written.
                unsafe { std::slice::from_raw_parts_mut(start.get(), len) }
            };
            let stream = Stream::legacy(array.device());
            copy_from_array(Target::Host(to), pitch, &array, origin, extent, &stream)
        })
        .map_err(|error| of_op(error, OP))
        .cuda()
}
