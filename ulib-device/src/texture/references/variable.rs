//! The variable of a program that stands for a texture or surface.

use ulib_core::{Error, Result};

use crate::copy::fill;
use crate::memory::{Access, DeviceBytes};
use crate::texture::{SurfaceObject, TextureObject};
use crate::{Module, Stream};

/// What is in the variable.
#[derive(Debug)]
enum Bound {
    Texture(TextureObject),
    Surface(SurfaceObject),
}

/// A texture or surface reference of a loaded program: its variable, and what has been bound to it. It keeps both.
///
/// # Examples
/// ```no_run
/// use ulib_device::texture::references::ReferenceVariable;
/// use ulib_device::texture::{Array, ArrayDescriptor, Format, Sampling, TextureObject, TextureSource};
/// use ulib_device::{Module, Stream};
///
/// # fn example(module: &Module, stream: &Stream) -> ulib_core::Result<()> {
/// // `texture<float, 2> tex;` in the source.
/// let mut tex = ReferenceVariable::find(module, "tex")?;
/// let array = Array::new(module.device(), ArrayDescriptor::plane(64, 64, Format::F32, 1))?;
/// tex.bind_texture(&TextureObject::new(TextureSource::Array(array), &Sampling::default())?, stream)?;
/// tex.queue_on(stream, || {
///     // ... launch a kernel of the module in `stream` ...
///     Ok(())
/// })
/// # }
/// ```
#[derive(Debug)]
pub struct ReferenceVariable {
    name: String,
    /// The variable's bytes, which the module owns.
    bytes: DeviceBytes,
    bound: Option<Bound>,
}

impl ReferenceVariable {
    /// The reference that a program declares under this name.
    ///
    /// # Errors
    /// Kind `InvalidArgument` when there is no such variable, or it is none of 64 bits; whatever the driver says.
    pub fn find(module: &Module, name: &str) -> Result<Self> {
        let (address, len) = module.global(name)?;
        if len != 8 {
            let found = format_args!("{name:?}, a variable of {len} bytes");
            let expected = "a texture or surface reference, which has 8";
            return Err(Error::invalid(
                "ReferenceVariable::find",
                "name",
                found,
                expected,
            ));
        }
        let owner = Box::new(module.clone());
        // SAFETY: the driver has said that the variable is there, and it lives as long as the module, which the owner keeps.
        // That kernels of the module read it in work that is queued here is what `queue_on` is for.
        #[allow(unsafe_code, reason = "memory of the module")]
        let bytes = unsafe { DeviceBytes::foreign(module.device(), address, len, owner) };
        Ok(Self {
            name: name.to_owned(),
            bytes,
            bound: None,
        })
    }

    /// Its name in the program.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Makes launches that are queued from now on read `texture`; ordered on `stream`, after launches that are queued already.
    ///
    /// # Errors
    /// Kind `InvalidArgument` when `stream` or the texture is of another device; whatever the driver says.
    pub fn bind_texture(&mut self, texture: &TextureObject, stream: &Stream) -> Result<()> {
        stream.check_device("bind_texture", texture.device())?;
        self.write(texture.handle(), stream)?;
        self.bound = Some(Bound::Texture(texture.clone()));
        Ok(())
    }

    /// As [`bind_texture`](Self::bind_texture), for a surface.
    ///
    /// # Errors
    /// As [`bind_texture`](Self::bind_texture).
    pub fn bind_surface(&mut self, surface: &SurfaceObject, stream: &Stream) -> Result<()> {
        stream.check_device("bind_surface", surface.device())?;
        self.write(surface.handle(), stream)?;
        self.bound = Some(Bound::Surface(surface.clone()));
        Ok(())
    }

    /// By fills, whose values are part of the call: a graph that is being captured has them in it.
    fn write(&self, handle: u64, stream: &Stream) -> Result<()> {
        let bytes = handle.to_ne_bytes();
        fill(&self.bytes, 0, 4, &bytes[..4], stream)?;
        fill(&self.bytes, 4, 4, &bytes[4..], stream)
    }

    /// Calls `queue`, which puts work that reads the variable into `stream`, after making that stream wait for what was bound on
    /// another one, and for work on what is bound.
    ///
    /// # Errors
    /// Kind `InvalidArgument` when nothing is bound; whatever the driver says; whatever `queue` says.
    pub fn queue_on<R>(&self, stream: &Stream, queue: impl FnOnce() -> Result<R>) -> Result<R> {
        let with_variable = || self.bytes.queue_on(stream, Access::Read, queue);
        match &self.bound {
            Some(Bound::Texture(texture)) => texture.queue_on(stream, with_variable),
            Some(Bound::Surface(surface)) => surface.queue_on(stream, with_variable),
            None => Err(Error::invalid(
                "queue_on",
                "reference",
                format_args!("{:?} with nothing bound to it", self.name),
                "one with a texture or surface",
            )),
        }
    }
}
