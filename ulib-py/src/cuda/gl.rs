//! Objects of OpenGL: `uLib.cuda.gl`.

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use ulib_core::Result;
use ulib_device::gl::{Mapping, Registered, Usage};

use super::current;
use super::device::PyDevice;
use super::errors::{IntoCudaResult, gone, logic};
use super::memory::on::On;
use super::texture::{Held, PyArray};
use crate::args::Int;
use crate::cuda::arguments::Whole;
use crate::detached::{Ends, InHand};

impl Ends for Registered {}

impl Ends for Mapping {}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<RegisteredBuffer>()?;
    module.add_class::<RegisteredImage>()?;
    module.add_class::<RegisteredMapping>()?;
    module.add_function(wrap_pyfunction!(gl_devices, module)?)
}

/// A 32-bit number.
fn number(op: &str, what: &str, given: Whole) -> PyResult<u32> {
    let given = given.of(op, what)?;
    u32::try_from(given.0).map_err(|_| logic(format!("{op}: {what} is {given}, expected 32 bits")))
}

fn map(
    py: Python<'_>,
    op: &'static str,
    registered: &InHand<Registered>,
    stream: Option<&Bound<'_, PyAny>>,
) -> PyResult<RegisteredMapping> {
    let on = On::of(op, stream)?;
    // OpenGL contexts belong to threads, and detaching does not change the thread.
    let mapping = py.detach(|| -> Result<Mapping> {
        registered.map(on.stream(op, registered.device())?.as_ref())
    });
    Ok(RegisteredMapping(Held::new(mapping.cuda()?)))
}

/// A buffer of OpenGL, by its number there, that the device may use while it is mapped. ``flags`` is of
/// ``driver.graphics_register_flags``.
#[pyclass(frozen, weakref, module = "uLib.cuda.gl")]
pub(super) struct RegisteredBuffer(Held<Registered>);

#[pymethods]
impl RegisteredBuffer {
    #[new]
    #[pyo3(signature = (glbuf, flags=Whole::Number(Int(0))), text_signature = "(glbuf, flags=0)")]
    fn new(py: Python<'_>, glbuf: Whole, flags: Whole) -> PyResult<Self> {
        const OP: &str = "RegisteredBuffer";
        let (name, usage) = (
            number(OP, "glbuf", glbuf)?,
            Usage(number(OP, "flags", flags)?),
        );
        let made = py.detach(|| Registered::buffer(&current::device()?, name, usage));
        Ok(Self(Held::new(made.cuda()?)))
    }

    /// Gives it to the device, for work in ``stream``; OpenGL must leave it alone until it is unmapped.
    #[pyo3(signature = (stream=None))]
    fn map(
        &self,
        py: Python<'_>,
        stream: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<RegisteredMapping> {
        const OP: &str = "RegisteredBuffer.map";
        map(py, OP, &self.0.get(OP, "RegisteredBuffer")?, stream)
    }

    /// Ends the registration.
    fn unregister(&self, py: Python<'_>) -> PyResult<()> {
        let registered = self
            .0
            .get("RegisteredBuffer.unregister", "RegisteredBuffer")?;
        py.detach(|| registered.unregister()).cuda()
    }

    /// Its number in OpenGL.
    fn gl_handle(&self) -> PyResult<u32> {
        Ok(self
            .0
            .get("RegisteredBuffer.gl_handle", "RegisteredBuffer")?
            .name())
    }
}

/// A texture of OpenGL, or a renderbuffer, by its number there and its target (``GL_TEXTURE_2D``, ...), that the device may use while
/// it is mapped. ``flags`` is of ``driver.graphics_register_flags``.
#[pyclass(frozen, weakref, module = "uLib.cuda.gl")]
pub(super) struct RegisteredImage(Held<Registered>);

#[pymethods]
impl RegisteredImage {
    #[new]
    #[pyo3(signature = (gltex, target, flags=Whole::Number(Int(0))), text_signature = "(gltex, target, flags=0)")]
    fn new(py: Python<'_>, gltex: Whole, target: Whole, flags: Whole) -> PyResult<Self> {
        const OP: &str = "RegisteredImage";
        let (name, target) = (number(OP, "gltex", gltex)?, number(OP, "target", target)?);
        let usage = Usage(number(OP, "flags", flags)?);
        let made = py.detach(|| Registered::image(&current::device()?, name, target, usage));
        Ok(Self(Held::new(made.cuda()?)))
    }

    /// Gives it to the device, for work in ``stream``; OpenGL must leave it alone until it is unmapped.
    #[pyo3(signature = (stream=None))]
    fn map(
        &self,
        py: Python<'_>,
        stream: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<RegisteredMapping> {
        const OP: &str = "RegisteredImage.map";
        map(py, OP, &self.0.get(OP, "RegisteredImage")?, stream)
    }

    /// Ends the registration.
    fn unregister(&self, py: Python<'_>) -> PyResult<()> {
        let registered = self
            .0
            .get("RegisteredImage.unregister", "RegisteredImage")?;
        py.detach(|| registered.unregister()).cuda()
    }

    /// Its number in OpenGL.
    fn gl_handle(&self) -> PyResult<u32> {
        Ok(self
            .0
            .get("RegisteredImage.gl_handle", "RegisteredImage")?
            .name())
    }
}

/// An object of OpenGL while the device has it: until ``unmap()``, or the end of ``with mapping:``. What was got from it ends
/// with it.
#[pyclass(frozen, weakref, module = "uLib.cuda.gl")]
pub(super) struct RegisteredMapping(Held<Mapping>);

impl RegisteredMapping {
    /// The mapping for `op`, as long as it is mapped.
    fn mapping(&self, op: &str) -> PyResult<InHand<Mapping>> {
        let mapping = self.0.there();
        mapping.ok_or_else(|| gone(op, "RegisteredMapping", "unmapped"))
    }
}

#[pymethods]
impl RegisteredMapping {
    /// Gives it back to OpenGL, after what is in ``stream``, by default the one it was mapped in. A second time is a ``LogicError``.
    #[pyo3(signature = (stream=None))]
    fn unmap(&self, py: Python<'_>, stream: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        const OP: &str = "RegisteredMapping.unmap";
        let mapping = self.mapping(OP)?;
        let on = stream.filter(|stream| !stream.is_none());
        let on = on.map(|stream| On::of(OP, Some(stream))).transpose()?;
        py.detach(|| match on {
            Some(on) => mapping.unmap_in(on.stream(OP, mapping.device())?.as_ref()),
            None => mapping.unmap(),
        })
        .cuda()?;
        self.0.close(py)
    }

    /// Address and bytes of a buffer.
    fn device_ptr_and_size(&self, py: Python<'_>) -> PyResult<(u64, usize)> {
        let mapping = self.mapping("RegisteredMapping.device_ptr_and_size")?;
        py.detach(|| mapping.pointer()).cuda()
    }

    /// One level of one layer or face of a picture, as an ``Array``.
    #[pyo3(signature = (index=Whole::Number(Int(0)), level=Whole::Number(Int(0))), text_signature = "($self, index=0, level=0)")]
    fn array(&self, py: Python<'_>, index: Whole, level: Whole) -> PyResult<PyArray> {
        const OP: &str = "RegisteredMapping.array";
        let (index, level) = (number(OP, "index", index)?, number(OP, "level", level)?);
        let mapping = self.mapping(OP)?;
        Ok(PyArray::of(
            py.detach(|| mapping.array(index, level)).cuda()?,
        ))
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        match self.0.there() {
            Some(_) => self.unmap(py, None),
            None => Ok(()),
        }
    }
}

/// The devices that draw for the OpenGL context of this thread.
#[pyfunction]
fn gl_devices(py: Python<'_>) -> PyResult<Vec<PyDevice>> {
    let found = py.detach(ulib_device::gl::devices).cuda()?;
    Ok(found.into_iter().map(PyDevice).collect())
}
