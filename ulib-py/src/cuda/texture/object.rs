//! `TextureObject`.

use std::sync::Arc;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use pyo3::{PyTraverseError, PyVisit};
use ulib_core::{Error, ErrorKind, Result};
use ulib_device::DeviceBytes;
use ulib_device::memory::PointerInfo;
use ulib_device::sys::CUresourceViewFormat;
use ulib_device::texture::{
    AddressMode, Coordinates, FilterMode, Format, ReadMode, Sampling, TextureObject, TextureSource,
    View, ViewFormat,
};

use super::array::PyArray;
use super::given::{count, format, small, texels};
use super::held::Held;
use super::mipmap::PyMipmappedArray;
use crate::args::{Int, attempted, caused, shown};
use crate::cuda::arguments::Whole;
use crate::cuda::errors::{IntoCudaResult, logic, to_cuda};
use crate::cuda::kept::Object;
use crate::cuda::memory::pointer::Pointer;
use crate::detached::{Ends, InHand};

/// A texture, through which kernels read ``resource``: an argument for a parameter of type ``cudaTextureObject_t``, an integer of 64
/// bits.
///
/// ``resource`` is an ``Array``, a ``MipmappedArray``, or device memory: an array on a device with one axis (read by index) or two (rows,
/// at any pitch the device takes), or an allocation or address with ``format`` and ``num_channels``, read as a line of ``width``
/// texels or as ``height`` rows, ``pitch`` bytes apart. With more than one channel the last axis of a device array has them.
///
/// ``address_mode`` is one value of ``address_mode``, or one for each axis; ``normalized_float`` reads integers of 8 and 16 bits as
/// floats up to 1. ``view_format``, of ``resource_view_format``, takes the bytes of an array's texels for other numbers or for compressed
/// blocks; ``view_levels`` and ``view_layers`` are the first and the last one that are seen. The texture keeps what it reads, and is
/// destroyed after the kernels, and with the graphs, that use it. Of an array of another library it is the program that orders kernels
/// behind the work which that library has queued.
#[pyclass(frozen, weakref, name = "TextureObject", module = "uLib.cuda.driver")]
pub(crate) struct PyTexture(Held<Texture>);

/// The texture, and the object of Python that keeps the memory that it reads, which the texture keeps.
#[derive(Clone)]
struct Texture {
    object: TextureObject,
    resource: Option<Object>,
}

impl Ends for Texture {
    fn end(self) -> Result<()> {
        self.object.close()
    }
}

const CLASS: &str = "TextureObject";

/// How memory is to be read, where its object does not say.
struct Given {
    format: Option<Format>,
    channels: u32,
    width: Option<usize>,
    height: Option<usize>,
    pitch: Option<usize>,
}

fn optional(name: &'static str, number: Option<Whole>) -> PyResult<Option<usize>> {
    number.map(|number| count(CLASS, name, number)).transpose()
}

/// The first and the last of several.
fn part(name: &'static str, given: Option<(Whole, Whole)>) -> PyResult<Option<(u32, u32)>> {
    let number = |number| small(CLASS, name, count(CLASS, name, number)?);
    let both = |(first, last)| Ok((number(first)?, number(last)?));
    given.map(both).transpose()
}

fn nth<T: Copy>(name: &'static str, all: &[T], number: Whole) -> PyResult<T> {
    let found = count(CLASS, name, number)?;
    all.get(found).copied().ok_or_else(|| {
        logic(format!(
            "{CLASS}: {name} is {found}, expected less than {}",
            all.len()
        ))
    })
}

fn address_modes(given: Option<&Bound<'_, PyAny>>) -> PyResult<[AddressMode; 3]> {
    let Some(given) = given else {
        return Ok([AddressMode::Clamp; 3]);
    };
    let py = given.py();
    if let Some(one) = attempted(py, given.extract::<Int>())? {
        return Ok([nth("address_mode", &AddressMode::ALL, one.into())?; 3]);
    }
    let mut modes = [AddressMode::Clamp; 3];
    let wrong = |error| {
        caused(py, error, |_| {
            PyTypeError::new_err(format!(
                "{CLASS}: address_mode is {}, expected an address_mode, or one for each axis",
                shown(given)
            ))
        })
    };
    for (axis, mode) in given.try_iter().map_err(wrong)?.enumerate() {
        let slot = modes.get_mut(axis);
        let slot =
            slot.ok_or_else(|| logic(format!("{CLASS}: address_mode has more than 3 axes")))?;
        *slot = nth(
            "address_mode",
            &AddressMode::ALL,
            mode?.extract().map_err(wrong)?,
        )?;
    }
    Ok(modes)
}

impl PyTexture {
    /// The texture as an argument of a kernel, as long as it is not freed.
    pub(crate) fn texture(&self) -> Option<TextureObject> {
        Some(self.0.there()?.object.clone())
    }

    fn handle_in(&self, op: &str) -> PyResult<u64> {
        Ok(self.0.get(op, CLASS)?.object.handle())
    }

    fn source(
        resource: &Bound<'_, PyAny>,
        given: &Given,
    ) -> PyResult<(TextureSource, Option<Object>)> {
        if let Ok(array) = resource.cast::<PyArray>() {
            return Ok((
                TextureSource::Array((*array.get().array(CLASS)?).clone()),
                None,
            ));
        }
        if let Ok(array) = resource.cast::<PyMipmappedArray>() {
            return Ok((
                TextureSource::Mipmaps((*array.get().array(CLASS)?).clone()),
                None,
            ));
        }
        let seen = if given.format.is_none() {
            texels(CLASS, resource, given.channels)?
        } else {
            None
        };
        let (format, width, height, pitch) = match &seen {
            Some(seen) => (seen.format, Some(seen.width), seen.height, Some(seen.pitch)),
            None => {
                let format = given.format.ok_or_else(|| {
                    logic(format!(
                        "{CLASS}: the format of plain memory has to be said (format=)"
                    ))
                })?;
                (format, given.width, given.height, given.pitch)
            }
        };
        let texel = format.bytes() * given.channels.max(1) as usize;
        if height.is_some() && width.is_none() {
            let message = format!("{CLASS}: rows have to have a width (width=)");
            return Err(logic(message));
        }
        let (address, owner) = match &seen {
            Some(seen) => (seen.address, None),
            None => {
                let pointer = Pointer::of(CLASS, "resource", resource)?;
                (pointer.address(), pointer.owner().cloned())
            }
        };
        let (memory, kept) = memory(resource, address, owner)?;
        let room = memory.len();
        let source = match height {
            None => TextureSource::Linear {
                width: width.unwrap_or(room / texel),
                memory,
                offset: 0,
                format,
                channels: given.channels,
            },
            Some(height) => {
                let width = width.unwrap_or(0);
                TextureSource::Pitched {
                    memory,
                    offset: 0,
                    width,
                    height,
                    pitch: pitch.unwrap_or(width.saturating_mul(texel)),
                    format,
                    channels: given.channels,
                }
            }
        };
        Ok((source, kept))
    }
}

/// The memory at `address` up to the end of its allocation, kept by the allocation of ours or by the object that names it.
#[allow(unsafe_code, reason = "memory of somebody else")]
fn memory(
    resource: &Bound<'_, PyAny>,
    address: u64,
    owner: Option<InHand<DeviceBytes>>,
) -> PyResult<(Arc<DeviceBytes>, Option<Object>)> {
    if let Some(owner) = owner.filter(|owner| owner.ptr() == address) {
        return Ok((owner.shared(), None));
    }
    let kept = Object::new(resource);
    let keep = kept.clone();
    let found = resource.py().detach(|| {
        let known = PointerInfo::of(address)?;
        let known = known.ok_or_else(|| {
            let expected = "device memory, and the driver knows none there";
            Error::invalid(CLASS, "address", format_args!("{address:#x}"), expected)
        })?;
        let device = ulib_device::Device::new(known.ordinal)?;
        let len = (known.start + known.len).saturating_sub(address);
        let len = usize::try_from(len).map_err(|_| Error::overflow(CLASS, "the memory"))?;
        // SAFETY: the driver says that the memory is there; the object that names it keeps it, as its protocol promises. Who
        // gives a bare number vouches for it.
        Ok(unsafe { DeviceBytes::foreign(&device, address, len, Box::new(keep)) })
    });
    Ok((Arc::new(found.map_err(to_cuda)?), Some(kept)))
}

#[pymethods]
impl PyTexture {
    #[new]
    #[pyo3(signature = (
        resource, *, address_mode=None, filter_mode=Whole::Number(Int(0)), normalized_float=false, normalized_coords=false, srgb=false,
        border=[0.0; 4], max_anisotropy=Whole::Number(Int(0)), mipmap_filter_mode=Whole::Number(Int(0)), mipmap_bias=0.0, mipmap_levels=[0.0; 2],
        seamless_cubemap=false, exact_trilinear=false, format=None, num_channels=Whole::Number(Int(1)), width=None, height=None,
        pitch=None, view_format=Whole::Number(Int(0)), view_levels=None, view_layers=None
    ), text_signature = "(resource, *, address_mode=None, filter_mode=0, normalized_float=False, normalized_coords=False, \
        srgb=False, border=(0.0, 0.0, 0.0, 0.0), max_anisotropy=0, mipmap_filter_mode=0, mipmap_bias=0.0, \
        mipmap_levels=(0.0, 0.0), seamless_cubemap=False, exact_trilinear=False, format=None, num_channels=1, width=None, \
        height=None, pitch=None, view_format=0, view_levels=None, view_layers=None)")]
    #[allow(clippy::too_many_arguments, reason = "keywords")]
    fn new(
        resource: &Bound<'_, PyAny>,
        address_mode: Option<&Bound<'_, PyAny>>,
        filter_mode: Whole,
        normalized_float: bool,
        normalized_coords: bool,
        srgb: bool,
        border: [f32; 4],
        max_anisotropy: Whole,
        mipmap_filter_mode: Whole,
        mipmap_bias: f32,
        mipmap_levels: [f32; 2],
        seamless_cubemap: bool,
        exact_trilinear: bool,
        format: Option<Whole>,
        num_channels: Whole,
        width: Option<Whole>,
        height: Option<Whole>,
        pitch: Option<Whole>,
        view_format: Whole,
        view_levels: Option<(Whole, Whole)>,
        view_layers: Option<(Whole, Whole)>,
    ) -> PyResult<Self> {
        let format = match optional("format", format)? {
            Some(number) => Some(self::format(CLASS, number)?),
            None => None,
        };
        let given = Given {
            format,
            channels: small(
                CLASS,
                "num_channels",
                count(CLASS, "num_channels", num_channels)?,
            )?,
            width: optional("width", width)?,
            height: optional("height", height)?,
            pitch: optional("pitch", pitch)?,
        };
        let sampling = Sampling {
            address: address_modes(address_mode)?,
            filter: nth("filter_mode", &FilterMode::ALL, filter_mode)?,
            read: match normalized_float {
                true => ReadMode::NormalizedFloat,
                false => ReadMode::Element,
            },
            coordinates: match normalized_coords {
                true => Coordinates::Normalized,
                false => Coordinates::Texels,
            },
            srgb,
            border,
            max_anisotropy: small(
                CLASS,
                "max_anisotropy",
                count(CLASS, "max_anisotropy", max_anisotropy)?,
            )?,
            mipmap_filter: nth("mipmap_filter_mode", &FilterMode::ALL, mipmap_filter_mode)?,
            mipmap_bias,
            mipmap_levels,
            seamless_cubemap,
            exact_trilinear,
        };
        let view_format = count(CLASS, "view_format", view_format)?;
        let view_format = CUresourceViewFormat(small(CLASS, "view_format", view_format)?);
        let view = View {
            format: ViewFormat::from_raw(view_format).cuda()?,
            levels: part("view_levels", view_levels)?,
            layers: part("view_layers", view_layers)?,
        };
        let (source, kept) = Self::source(resource, &given)?;
        let py = resource.py();
        let made = py.detach(|| TextureObject::with_view(source, &sampling, &view));
        Ok(Self(Held::new(Texture {
            // That the memory ends before the texels is no matter of an index.
            object: made.map_err(|error| match error.kind() {
                ErrorKind::Index => logic(error.to_string()),
                _ => to_cuda(error),
            })?,
            resource: kept,
        })))
    }

    /// Destroys the object, as soon as no graph uses it. A second time is a ``LogicError``.
    fn free(&self, py: Python<'_>) -> PyResult<()> {
        self.0.free(py, CLASS)
    }

    /// As ``free``, and nothing where that has happened already.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.0.close(py)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        // What a launch or a graph uses is not to be collected, nor its memory.
        let visited = self.0.peek(|texture| match &texture.resource {
            Some(resource) if texture.object.is_at_rest() => resource.traverse(2, &visit),
            _ => Ok(()),
        });
        visited.unwrap_or(Ok(()))
    }

    fn __clear__(&self) {
        self.0.clear();
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        self.0.close(py)
    }

    /// What kernels are given.
    #[getter]
    fn handle(&self) -> PyResult<u64> {
        self.handle_in("TextureObject.handle")
    }

    fn __int__(&self) -> PyResult<u64> {
        self.handle_in("TextureObject.__int__")
    }

    fn __index__(&self) -> PyResult<u64> {
        self.handle_in("TextureObject.__index__")
    }
}
