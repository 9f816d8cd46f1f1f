//! Texture objects: what kernels read arrays and plain memory through.
#![allow(
    unsafe_code,
    reason = "creates and destroys the driver's texture objects"
)]

use std::sync::Arc;

use ulib_core::{Error, Result};

use super::descriptor::check_channels;
use super::ending::{Outcome, Owned};
use super::limits::check_most;
use super::{Array, FilterMode, Format, MipmappedArray, ReadMode, Sampling, View};
use crate::driver::{check, missing_entry, relaxed_capture};
use crate::memory::{Access, DeviceBytes};
use crate::report::Kind;
use crate::sys::{
    CUDA_RESOURCE_DESC, CUdevice_attribute as Attribute, CUresourcetype, CUtexObject, Table,
};
use crate::{Device, Stream};

/// What a texture reads.
#[derive(Clone, Debug)]
pub enum TextureSource {
    /// An array of any kind.
    Array(Array),
    /// An array with levels.
    Mipmaps(MipmappedArray),
    /// Texels one behind the other in device memory, read by index (`tex1Dfetch`).
    Linear {
        /// Where they are.
        memory: Arc<DeviceBytes>,
        /// Bytes before the first, a multiple of the device's texture alignment in all.
        offset: usize,
        /// Texels.
        width: usize,
        /// Of each number of a texel.
        format: Format,
        /// Numbers of a texel.
        channels: u32,
    },
    /// Rows of texels in device memory, read as a plane.
    Pitched {
        /// Where they are.
        memory: Arc<DeviceBytes>,
        /// Bytes before the first row; as for `Linear`.
        offset: usize,
        /// Texels of a row.
        width: usize,
        /// Rows.
        height: usize,
        /// Bytes from one row to the next, a multiple of the device's texture pitch alignment.
        pitch: usize,
        /// Of each number of a texel.
        format: Format,
        /// Numbers of a texel.
        channels: u32,
    },
}

impl TextureSource {
    /// Ends what is read, where nobody else needs it.
    fn close(self) -> Result<()> {
        match self {
            Self::Array(array) => array.close(),
            Self::Mipmaps(array) => array.close(),
            Self::Linear { memory, .. } | Self::Pitched { memory, .. } => {
                Arc::into_inner(memory).map_or(Ok(()), DeviceBytes::close)
            }
        }
    }

    fn device(&self) -> &Device {
        match self {
            Self::Array(array) => array.device(),
            Self::Mipmaps(array) => array.device(),
            Self::Linear { memory, .. } | Self::Pitched { memory, .. } => memory.device(),
        }
    }

    fn format(&self) -> Format {
        match self {
            Self::Array(array) => array.descriptor().format,
            Self::Mipmaps(array) => array.descriptor().format,
            Self::Linear { format, .. } | Self::Pitched { format, .. } => *format,
        }
    }

    /// What remembers the uses.
    fn ledgers(&self) -> Vec<&DeviceBytes> {
        match self {
            Self::Array(array) => vec![array.ledger()],
            Self::Mipmaps(array) => array.levels().iter().map(Array::ledger).collect(),
            Self::Linear { memory, .. } | Self::Pitched { memory, .. } => vec![memory],
        }
    }

    fn check(&self, op: &'static str) -> Result<()> {
        let device = self.device();
        match self {
            Self::Array(array) => array.check_lent(op),
            Self::Mipmaps(_) => Ok(()),
            Self::Linear {
                memory,
                offset,
                width,
                format,
                channels,
            } => {
                check_channels(op, *channels)?;
                let most = Attribute::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH;
                check_most(op, "width", *width, device, most)?;
                let row = width.checked_mul(format.bytes() * *channels as usize);
                check_memory(op, memory, *offset, row)
            }
            Self::Pitched {
                memory,
                offset,
                width,
                height,
                pitch,
                format,
                channels,
            } => {
                check_channels(op, *channels)?;
                let sizes = [
                    (
                        "width",
                        *width,
                        Attribute::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_WIDTH,
                    ),
                    (
                        "height",
                        *height,
                        Attribute::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_HEIGHT,
                    ),
                    (
                        "pitch",
                        *pitch,
                        Attribute::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_PITCH,
                    ),
                ];
                for (name, size, most) in sizes {
                    if size == 0 {
                        return Err(Error::invalid(op, name, 0, "at least one texel"));
                    }
                    check_most(op, name, size, device, most)?;
                }
                let row = width.checked_mul(format.bytes() * *channels as usize);
                if row.is_none_or(|row| *pitch < row) {
                    let expected = format!("at least a row of {width} texels");
                    return Err(Error::invalid(op, "pitch", *pitch, expected));
                }
                let aligned = Attribute::CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT;
                check_aligned(op, "pitch", *pitch as u64, device, aligned)?;
                let before = height
                    .checked_sub(1)
                    .and_then(|rows| rows.checked_mul(*pitch));
                let span = before
                    .zip(row)
                    .and_then(|(rows, row)| rows.checked_add(row));
                check_memory(op, memory, *offset, span)
            }
        }
    }

    /// As the driver has it.
    fn raw(&self) -> CUDA_RESOURCE_DESC {
        // SAFETY: an all-zero structure is a valid value of it.
        let mut raw: CUDA_RESOURCE_DESC = unsafe { core::mem::zeroed() };
        match self {
            Self::Array(array) => {
                raw.resType = CUresourcetype::CU_RESOURCE_TYPE_ARRAY;
                raw.res.array.hArray = array.raw();
            }
            Self::Mipmaps(array) => {
                raw.resType = CUresourcetype::CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
                raw.res.mipmap.hMipmappedArray = array.raw();
            }
            Self::Linear {
                memory,
                offset,
                width,
                format,
                channels,
            } => {
                raw.resType = CUresourcetype::CU_RESOURCE_TYPE_LINEAR;
                raw.res.linear.devPtr = memory.ptr() + *offset as u64;
                raw.res.linear.format = format.raw();
                raw.res.linear.numChannels = *channels;
                raw.res.linear.sizeInBytes = width * format.bytes() * *channels as usize;
            }
            Self::Pitched {
                memory,
                offset,
                width,
                height,
                pitch,
                format,
                channels,
            } => {
                raw.resType = CUresourcetype::CU_RESOURCE_TYPE_PITCH2D;
                raw.res.pitch2D.devPtr = memory.ptr() + *offset as u64;
                raw.res.pitch2D.format = format.raw();
                raw.res.pitch2D.numChannels = *channels;
                raw.res.pitch2D.width = *width;
                raw.res.pitch2D.height = *height;
                raw.res.pitch2D.pitchInBytes = *pitch;
            }
        }
        raw
    }
}

/// A texture for kernels: a 64-bit number that is passed to them by value (`cudaTextureObject_t`). Clones are the same.
///
/// It keeps alive what it reads. Work that uses it is queued in [`queue_on`](Self::queue_on), or by somebody who got the
/// [`handle`](Self::handle); in both cases it is destroyed after that work.
///
/// # Examples
/// ```no_run
/// use ulib_device::texture::{Array, ArrayDescriptor, Format, Sampling, TextureObject, TextureSource};
/// use ulib_device::{Device, Stream};
///
/// # fn main() -> ulib_core::Result<()> {
/// let device = Device::new(0)?;
/// let array = Array::new(&device, ArrayDescriptor::plane(64, 64, Format::F32, 1))?;
/// let texture = TextureObject::new(TextureSource::Array(array), &Sampling::default())?;
/// let mut argument = texture.handle();
/// // ... `&raw mut argument` is the kernel's parameter of type cudaTextureObject_t ...
/// # let _ = &mut argument;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct TextureObject(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// Remembers the uses, and destroys the object and then lets go of the source after the last one.
    ledger: DeviceBytes,
    raw: CUtexObject,
    outcome: Outcome,
    source: TextureSource,
    sampling: Sampling,
    view: View,
}

impl TextureObject {
    /// A texture that reads `source` as `sampling` says.
    ///
    /// # Errors
    /// Kind `InvalidArgument`, naming the value and the device's bound, when memory is not aligned, sizes are too large, or
    /// the numbers cannot be interpolated (integers that are read as they are); `Index` when a source reaches outside its
    /// memory; whatever the driver says; kind `Forked` in a forked child.
    pub fn new(source: TextureSource, sampling: &Sampling) -> Result<Self> {
        Self::with_view(source, sampling, &View::default())
    }

    /// [`new`](Self::new) that sees the array `source` as `view` says.
    ///
    /// # Errors
    /// As [`new`](Self::new), and kind `InvalidArgument` when memory of another kind is to be viewed, the format does not fit the
    /// array's texels, or the levels or layers are none of the array's.
    pub fn with_view(source: TextureSource, sampling: &Sampling, view: &View) -> Result<Self> {
        const OP: &str = "TextureObject::new";
        let device = source.device().clone();
        let _context = device.bind()?;
        source.check(OP)?;
        let whole = *view == View::default();
        let seen = if whole {
            None
        } else {
            Some(view.raw(OP, &source)?)
        };
        check_sampling(OP, &source, sampling, view)?;
        let table = device.table();
        let create = table
            .cuTexObjectCreate
            .ok_or_else(|| missing_entry("cuTexObjectCreate", "5.0"))?;
        let (resource, texture) = (source.raw(), sampling.raw());
        let seen = seen.as_ref().map_or(core::ptr::null(), core::ptr::from_ref);
        let mut raw: CUtexObject = 0;
        relaxed_capture(|| {
            // SAFETY: the context is current by the guard; the descriptions live through the call and name memory that
            // `source` keeps alive; the view is null or one of them; one integer is written.
            let status =
                unsafe { create(&raw mut raw, &raw const resource, &raw const texture, seen) };
            check(table, "cuTexObjectCreate", status)
        })?;
        let destroy = |table: &Table, raw| {
            // SAFETY: made above, and destroyed only here: `Owned` calls this once.
            table
                .cuTexObjectDestroy
                .map(|destroy| unsafe { destroy(raw) })
        };
        let owner = Owned::new(
            (&device, raw),
            ("cuTexObjectDestroy", destroy),
            Kind::Texture,
            source.clone(),
        );
        let outcome = owner.outcome();
        // SAFETY: nothing is ever accessed at the address of the ledger.
        let ledger = unsafe { DeviceBytes::foreign(&device, raw, 1, Box::new(owner)) };
        Ok(Self(Arc::new(Inner {
            ledger,
            raw,
            outcome,
            source,
            sampling: *sampling,
            view: *view,
        })))
    }

    /// The number that kernels are given. Since nobody tells when they are done, the object is from now on destroyed, and
    /// what it reads given back, after a wait for the whole device.
    #[must_use]
    pub fn handle(&self) -> CUtexObject {
        for ledger in self.0.source.ledgers() {
            ledger.set_outsiders(true);
        }
        self.0.ledger.set_outsiders(true);
        self.0.raw
    }

    /// The number for work that is queued in [`queue_on`](Self::queue_on).
    #[must_use]
    pub fn handle_for_queue(&self) -> CUtexObject {
        self.0.raw
    }

    /// Whether this is its only owner, and nothing that uses it, or what it reads, has to be waited for: dropping it destroys it at
    /// once. Never waits itself; false where that would take a wait.
    #[must_use]
    pub fn is_at_rest(&self) -> bool {
        let rests = |ledger: &DeviceBytes| ledger.is_idle() && !ledger.has_outsiders();
        Arc::strong_count(&self.0) == 1
            && rests(&self.0.ledger)
            && self.0.source.ledgers().into_iter().all(rests)
    }

    /// What it reads.
    #[must_use]
    pub fn source(&self) -> &TextureSource {
        &self.0.source
    }

    /// How it reads.
    #[must_use]
    pub fn sampling(&self) -> &Sampling {
        &self.0.sampling
    }

    /// What it sees of its array.
    #[must_use]
    pub fn view(&self) -> &View {
        &self.0.view
    }

    /// The device whose memory it reads.
    #[must_use]
    pub fn device(&self) -> &Device {
        self.0.ledger.device()
    }

    /// Destroys it now, after the work that uses it, and says what went wrong, where dropping would only record it. Nothing
    /// happens while a clone still needs it; where a graph does, it is destroyed after that.
    ///
    /// # Errors
    /// Whatever the driver says, of what it reads, too, where nobody else needs that. If the texture was not destroyed, what it
    /// reads is not given back either.
    pub fn close(self) -> Result<()> {
        let Some(inner) = Arc::into_inner(self.0) else {
            return Ok(());
        };
        let ended = inner.outcome.of(|| inner.ledger.close());
        ended.and(inner.source.close())
    }

    /// Calls `queue`, which puts work that reads the texture into `stream`, after making that stream wait for writes to
    /// what it reads on other streams.
    ///
    /// # Errors
    /// Whatever the driver says, and then `queue` was not called; whatever `queue` says.
    pub fn queue_on<R>(&self, stream: &Stream, queue: impl FnOnce() -> Result<R>) -> Result<R> {
        for ledger in self.0.source.ledgers() {
            ledger.use_on(stream, Access::Read)?;
        }
        self.0.ledger.queue_on(stream, Access::Read, queue)
    }
}

fn check_sampling(
    op: &'static str,
    source: &TextureSource,
    sampling: &Sampling,
    view: &View,
) -> Result<()> {
    let format = view.format.number(source.format());
    let narrow = format.is_none_or(|format| format.bytes() < 4);
    let as_float = format.is_none_or(Format::is_float)
        || (sampling.read == ReadMode::NormalizedFloat && narrow);
    let linear = sampling.filter == FilterMode::Linear
        || (matches!(source, TextureSource::Mipmaps(_))
            && sampling.mipmap_filter == FilterMode::Linear);
    if linear && !as_float {
        let what = format.unwrap_or_else(|| source.format());
        let found = format_args!("Linear of {what:?} read as {:?}", sampling.read);
        let expected = "floats, or integers of 8 or 16 bits read as NormalizedFloat";
        return Err(Error::invalid(op, "filter", found, expected));
    }
    if sampling.filter == FilterMode::Linear && matches!(source, TextureSource::Linear { .. }) {
        let expected = "Point for linear memory, which is read by index";
        return Err(Error::invalid(op, "filter", "Linear", expected));
    }
    if sampling.max_anisotropy > 16 {
        let found = sampling.max_anisotropy;
        return Err(Error::invalid(op, "max_anisotropy", found, "0 to 16"));
    }
    let bytes = format.is_none_or(|format| format == Format::U8);
    if sampling.srgb && !(bytes && sampling.read == ReadMode::NormalizedFloat) {
        let what = format.unwrap_or_else(|| source.format());
        let found = format_args!("true for {what:?} read as {:?}", sampling.read);
        let expected = "U8 read as NormalizedFloat";
        return Err(Error::invalid(op, "srgb", found, expected));
    }
    Ok(())
}

/// The bytes lie in the memory and begin where the device can read a texture.
fn check_memory(
    op: &'static str,
    memory: &DeviceBytes,
    offset: usize,
    bytes: Option<usize>,
) -> Result<()> {
    let bytes = bytes.ok_or_else(|| Error::overflow(op, "the texels"))?;
    if bytes == 0 {
        return Err(Error::invalid(op, "size", "0 bytes", "at least one texel"));
    }
    crate::copy::check_range(op, "the device memory", offset, bytes, memory.len())?;
    let aligned = Attribute::CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT;
    let address = memory.ptr() + offset as u64;
    check_aligned(op, "address", address, memory.device(), aligned)
}

fn check_aligned(
    op: &'static str,
    name: &'static str,
    value: u64,
    device: &Device,
    attribute: Attribute,
) -> Result<()> {
    let alignment = u64::try_from(device.attribute(attribute)?)
        .unwrap_or(1)
        .max(1);
    if value.is_multiple_of(alignment) {
        return Ok(());
    }
    let found = format_args!("{value:#x}");
    let expected = format!("a multiple of {alignment} bytes on {device}");
    Err(Error::invalid(op, name, found, expected))
}
