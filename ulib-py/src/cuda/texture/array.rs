//! `Array`.

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use ulib_core::Result;
use ulib_device::copy::{Pitch, Source, Target, copy_from_array, copy_to_array};
use ulib_device::texture::Array;

use super::given::{count, described, descriptor};
use super::held::Held;
use crate::cuda::arguments::Whole;
use crate::cuda::current;
use crate::cuda::errors::{IntoCudaResult, logic};
use crate::cuda::memory::buffer::{HostBytes, HostPtr};
use crate::cuda::memory::device::after_collecting;
use crate::cuda::memory::on::On;
use crate::cuda::memory::pointer::Pointer;
use crate::cuda::memory::transfer::{bytes, named, of_op};
use crate::detached::InHand;

/// Texels in device memory, in an order of the device's own, made from an ``ArrayDescriptor`` or ``ArrayDescriptor3D``.
///
/// Textures and surfaces over it keep it. Freed with the object, by ``free()``, or at the end of ``with array:``; on any
/// thread, and after the work that uses it.
#[pyclass(frozen, subclass, weakref, name = "Array", module = "uLib.cuda.driver")]
pub(crate) struct PyArray(Held<Array>);

const CLASS: &str = "Array";

impl PyArray {
    pub(crate) fn of(array: Array) -> Self {
        Self(Held::new(array))
    }

    /// The array for `op`, as long as it is not freed.
    pub(crate) fn array(&self, op: &str) -> PyResult<InHand<Array>> {
        self.0.get(op, CLASS)
    }
}

/// Host bytes as long as the buffer that has them.
#[allow(unsafe_code, reason = "the buffer's bytes as a slice")]
pub(super) fn slice(bytes: &HostBytes) -> &[u8] {
    if bytes.len() == 0 {
        return &[];
    }
    // SAFETY: the buffer keeps its bytes where they are while it is borrowed; who writes them meanwhile in another thread
    // does so to a copy's source, as with every buffer.
    unsafe { std::slice::from_raw_parts(bytes.ptr(), bytes.len()) }
}

/// The pitches that a program gives; packed where it gives none.
fn pitches(
    op: &'static str,
    array: &Array,
    pitch: Option<Whole>,
    rows: Option<Whole>,
) -> PyResult<Pitch> {
    let own = array.packed();
    let row = pitch.map_or(Ok(own.row), |pitch| count(op, "pitch", pitch))?;
    let rows = rows.map_or(Ok(array.descriptor().rows()), |rows| {
        count(op, "height", rows)
    })?;
    let plane = row.checked_mul(rows);
    Ok(Pitch {
        offset: 0,
        row,
        plane: plane.ok_or_else(|| logic(format!("{op}: pitch times height is too large")))?,
    })
}

/// Bytes that a copy of the whole array touches at these pitches.
fn span(array: &Array, pitch: Pitch) -> usize {
    let whole = array.whole();
    let planes = pitch.plane.saturating_mul(whole.depth - 1);
    let rows = pitch.row.saturating_mul(whole.height - 1);
    planes.saturating_add(rows).saturating_add(whole.width)
}

#[pymethods]
impl PyArray {
    #[new]
    fn new(py: Python<'_>, descr: &Bound<'_, PyAny>) -> PyResult<Self> {
        let wanted = descriptor(CLASS, descr)?;
        let made = after_collecting(py, || Array::new(&current::device()?, wanted))?;
        Ok(Self::of(made))
    }

    /// Frees the array as soon as no texture, surface or graph needs it. A second time is a ``LogicError``.
    fn free(&self, py: Python<'_>) -> PyResult<()> {
        self.0.free(py, CLASS)
    }

    /// As ``free``, and nothing where that has happened already.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.0.close(py)
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        self.0.close(py)
    }

    /// Width, height, format and number of channels.
    fn get_descriptor<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let array = self.array("Array.get_descriptor")?;
        described(py, array.descriptor(), false)
    }

    /// The same with depth and flags.
    fn get_descriptor_3d<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let array = self.array("Array.get_descriptor_3d")?;
        described(py, array.descriptor(), true)
    }

    /// The driver's ``CUarray``, as an integer.
    #[getter]
    fn handle(&self) -> PyResult<usize> {
        Ok(self.array("Array.handle")?.handle() as usize)
    }

    /// Bytes of all texels.
    #[getter]
    fn nbytes(&self) -> PyResult<usize> {
        self.array("Array.nbytes")?.descriptor().bytes().cuda()
    }

    /// Fills the array: with the bytes of anything contiguous that has a buffer, or of device memory, row after row and slice
    /// after slice. ``pitch`` is the number of bytes from one row to the next, ``height`` that of rows from one slice to
    /// the next, where there are gaps. Returns when host bytes are there.
    #[pyo3(signature = (source, *, pitch=None, height=None, stream=None))]
    fn copy_from(
        &self,
        source: &Bound<'_, PyAny>,
        pitch: Option<Whole>,
        height: Option<Whole>,
        stream: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        const OP: &str = "Array.copy_from";
        let (py, array) = (source.py(), self.array(OP)?);
        let pitch = pitches(OP, &array, pitch, height)?;
        let (on, whole) = (On::of(OP, stream)?, array.whole());
        let fill = |from: Source<'_>| -> Result<()> {
            let stream = on.stream(OP, array.device())?;
            copy_to_array(&array, [0; 3], from, pitch, whole, &stream)
        };
        if HostBytes::are_in(source) {
            let host = HostBytes::of(OP, "source", source)?;
            let host = slice(&host);
            let filled = py.detach(|| fill(Source::Host(host)));
            return filled.map_err(|error| of_op(error, OP)).cuda();
        }
        let from = Pointer::of(OP, "source", source)?;
        let len = span(&array, pitch);
        from.check(OP, "source", len)?;
        py.detach(|| {
            let from = bytes(&from, array.device(), len)?;
            fill(Source::Device(&from))
        })
        .map_err(|error| named(error, OP, "source", &from))
        .cuda()
    }

    /// Copies all texels to anything contiguous and writable with a buffer, or to device memory; the rest as in
    /// ``copy_from``.
    #[pyo3(signature = (dest, *, pitch=None, height=None, stream=None))]
    #[allow(unsafe_code, reason = "the buffer's bytes as a slice")]
    fn copy_to(
        &self,
        dest: &Bound<'_, PyAny>,
        pitch: Option<Whole>,
        height: Option<Whole>,
        stream: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        const OP: &str = "Array.copy_to";
        let (py, array) = (dest.py(), self.array(OP)?);
        let pitch = pitches(OP, &array, pitch, height)?;
        let (on, whole) = (On::of(OP, stream)?, array.whole());
        let read = |to: Target<'_>| -> Result<()> {
            let stream = on.stream(OP, array.device())?;
            copy_from_array(to, pitch, &array, [0; 3], whole, &stream)
        };
        if HostBytes::are_in(dest) {
            let host = HostBytes::writable(OP, "dest", dest)?;
            let (start, len) = (HostPtr(host.ptr()), host.len());
            return py
                .detach(|| {
                    // SAFETY: the buffer keeps its bytes there until it is dropped, below, and lets them be written.
                    let to = unsafe { std::slice::from_raw_parts_mut(start.get(), len) };
                    read(Target::Host(to))
                })
                .map_err(|error| of_op(error, OP))
                .cuda();
        }
        let to = Pointer::to_write(OP, "dest", dest)?;
        let len = span(&array, pitch);
        to.check(OP, "dest", len)?;
        py.detach(|| {
            let to = bytes(&to, array.device(), len)?;
            read(Target::Device(&to))
        })
        .map_err(|error| named(error, OP, "dest", &to))
        .cuda()
    }

    fn __repr__(&self) -> String {
        let Some(array) = self.0.there() else {
            return "<uLib.cuda.driver.Array, freed>".to_owned();
        };
        let own = array.descriptor();
        let size = [own.width, own.height, own.depth];
        format!(
            "<uLib.cuda.driver.Array: {:?} of {size:?} texels of {} {:?}>",
            own.kind(),
            own.channels,
            own.format
        )
    }
}
