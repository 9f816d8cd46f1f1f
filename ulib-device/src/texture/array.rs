//! Arrays: memory in an order of the device's own, made for textures.
#![allow(unsafe_code, reason = "creates, asks and destroys the driver's arrays")]

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ulib_core::{Error, Result};

use super::ending::{Outcome, Owned};
use super::{ArrayDescriptor, Texel};
use crate::copy::{Extent, Pitch, Source, Target, copy_from_array, copy_to_array};
use crate::driver::{check, missing_entry, relaxed_capture};
use crate::memory::{Access, DeviceBytes, with_room};
use crate::report::Kind;
use crate::sys::{CUDA_ARRAY3D_DESCRIPTOR, CUarray, Table};
use crate::{Device, Stream};

/// Texels in device memory, in an order that only the device knows. Clones are the same array.
///
/// Kernels read it through a [`TextureObject`](super::TextureObject) and write it through a
/// [`SurfaceObject`](super::SurfaceObject), both of which keep it alive. Its fresh content is unspecified. Like
/// [`DeviceBytes`] it remembers which streams use it: copies wait for each other, and the last clone gives the memory
/// back after the last use.
///
/// # Examples
/// ```no_run
/// use ulib_device::texture::{Array, ArrayDescriptor, Format};
/// use ulib_device::{Device, Stream};
///
/// # fn main() -> ulib_core::Result<()> {
/// let device = Device::new(0)?;
/// let stream = Stream::legacy(&device);
/// let array = Array::new(&device, ArrayDescriptor::plane(3, 2, Format::F32, 1))?;
/// array.upload(&[0.0_f32, 1.0, 2.0, 3.0, 4.0, 5.0], &stream)?;
/// assert_eq!(array.to_vec::<f32>(&stream)?[4], 4.0);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Array(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    descriptor: ArrayDescriptor,
    /// The driver's handle as an integer: it is only ever handed to the driver, so any thread may hold it.
    raw: usize,
    /// Remembers the uses, and owns what destroys the array after the last one. Its "address" is the handle, at which
    /// nothing is ever read.
    ledger: DeviceBytes,
    /// Set when whoever has lent the array takes it back.
    ended: Option<Arc<AtomicBool>>,
    /// How it ends, where that is for this to do.
    outcome: Outcome,
}

impl Inner {
    /// # Safety
    /// As [`Array::foreign`], or [`Array::foreign_until`].
    unsafe fn lent(
        device: &Device,
        handle: usize,
        owner: Box<dyn Any + Send + Sync>,
    ) -> Result<Self> {
        let descriptor = {
            let _context = device.bind()?;
            let table = device.table();
            let ask = table
                .cuArray3DGetDescriptor_v2
                .ok_or_else(|| missing_entry("cuArray3DGetDescriptor_v2", "3.2"))?;
            // SAFETY: an all-zero structure is a valid value of it.
            let mut found: CUDA_ARRAY3D_DESCRIPTOR = unsafe { core::mem::zeroed() };
            // SAFETY: the context is current by the guard; the array is alive, as the caller promises; one structure is
            // written.
            let status = unsafe { ask(&raw mut found, handle as CUarray) };
            check(table, "cuArray3DGetDescriptor_v2", status)?;
            ArrayDescriptor::from_raw(&found)?
        };
        // SAFETY: as promised by the caller.
        unsafe { Self::new(device, handle, descriptor, owner) }
    }

    /// # Safety
    /// As [`Array::foreign`].
    unsafe fn new(
        device: &Device,
        raw: usize,
        descriptor: ArrayDescriptor,
        owner: Box<dyn Any + Send + Sync>,
    ) -> Result<Self> {
        let bytes = descriptor.bytes()?.max(1);
        // SAFETY: nothing ever accesses memory at the address of the ledger: copies take the array from its handle.
        let ledger = unsafe { DeviceBytes::foreign(device, raw as u64, bytes, owner) };
        Ok(Self {
            descriptor,
            raw,
            ledger,
            ended: None,
            outcome: Outcome::default(),
        })
    }
}

impl Array {
    /// A new array with unspecified content.
    ///
    /// # Errors
    /// Kind `InvalidArgument` when there is no such array or the device allows none so large, naming the size and the
    /// bound; `OutOfMemory`; whatever else the driver says; kind `Forked` in a forked child.
    pub fn new(device: &Device, descriptor: ArrayDescriptor) -> Result<Self> {
        let _context = device.bind()?;
        descriptor.check("Array::new", device)?;
        let table = device.table();
        let create = table
            .cuArray3DCreate_v2
            .ok_or_else(|| missing_entry("cuArray3DCreate_v2", "3.2"))?;
        let wanted = descriptor.raw();
        let mut raw: CUarray = core::ptr::null_mut();
        with_room(device, || {
            relaxed_capture(|| {
                // SAFETY: the device's context is current, by the guard; the call reads the descriptor and writes one pointer.
                let status = unsafe { create(&raw mut raw, &raw const wanted) };
                check(table, "cuArray3DCreate_v2", status)
            })
        })?;
        let raw = raw as usize;
        let destroy = |table: &Table, raw| {
            // SAFETY: made above, and destroyed only here: `Owned` calls this once, after the last use that the ledger knows.
            table
                .cuArrayDestroy
                .map(|destroy| unsafe { destroy(raw as CUarray) })
        };
        let owner = Owned::new(
            (device, raw as u64),
            ("cuArrayDestroy", destroy),
            Kind::Array,
            (),
        );
        let outcome = owner.outcome();
        // SAFETY: made above, and destroyed by `owner`.
        let inner = unsafe { Inner::new(device, raw, descriptor, Box::new(owner)) }?;
        Ok(Self(Arc::new(Inner { outcome, ..inner })))
    }

    /// An array that something else owns, such as a picture of a graphics library. `owner` keeps it alive and is dropped
    /// after the last use known here has finished.
    ///
    /// # Errors
    /// Kind `InvalidArgument` when its texels are in a format that is none of [`Format`](super::Format); whatever the
    /// driver says; kind `Forked` in a forked child.
    ///
    /// # Safety
    /// `handle` is a `CUarray` of the primary context of `device` that lives as long as `owner`, and nothing accesses it
    /// in conflict with the uses made through the returned value.
    pub unsafe fn foreign(
        device: &Device,
        handle: usize,
        owner: Box<dyn Any + Send + Sync>,
    ) -> Result<Self> {
        // SAFETY: the caller's promise.
        let inner = unsafe { Inner::lent(device, handle, owner) }?;
        Ok(Self(Arc::new(inner)))
    }

    /// A [`foreign`](Self::foreign) array whose owner tells `outcome` how it ends.
    ///
    /// # Safety
    /// As [`foreign`](Self::foreign).
    pub(super) unsafe fn part(
        device: &Device,
        handle: usize,
        owner: Box<dyn Any + Send + Sync>,
        outcome: Outcome,
    ) -> Result<Self> {
        // SAFETY: the caller's promise.
        let inner = unsafe { Inner::lent(device, handle, owner) }?;
        Ok(Self(Arc::new(Inner { outcome, ..inner })))
    }

    /// [`foreign`](Self::foreign) until `ended` is set; then it refuses to be used.
    ///
    /// # Safety
    /// As [`foreign`](Self::foreign), until then.
    pub(crate) unsafe fn foreign_until(
        device: &Device,
        handle: usize,
        owner: Box<dyn Any + Send + Sync>,
        ended: Arc<AtomicBool>,
    ) -> Result<Self> {
        // SAFETY: the caller's promise.
        let inner = unsafe { Inner::lent(device, handle, owner) }?;
        let ended = Some(ended);
        Ok(Self(Arc::new(Inner { ended, ..inner })))
    }

    /// What it looks like.
    #[must_use]
    pub fn descriptor(&self) -> &ArrayDescriptor {
        &self.0.descriptor
    }

    /// The device whose memory it is.
    #[must_use]
    pub fn device(&self) -> &Device {
        self.0.ledger.device()
    }

    /// The driver's handle, for calls this crate does not wrap; as an integer, `handle() as usize`. Since nobody tells
    /// when such a call is over, the array is from now on destroyed after a wait for the whole device.
    #[must_use]
    pub fn handle(&self) -> CUarray {
        self.0.ledger.set_outsiders(true);
        self.raw()
    }

    pub(crate) fn raw(&self) -> CUarray {
        self.0.raw as CUarray
    }

    /// Refuses an array that was lent and has been taken back.
    pub(crate) fn check_lent(&self, op: &'static str) -> Result<()> {
        match &self.0.ended {
            Some(ended) if ended.load(Ordering::Acquire) => {
                let found = "one of a mapping that has ended";
                Err(Error::invalid(op, "array", found, "one that is mapped"))
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn ledger(&self) -> &DeviceBytes {
        &self.0.ledger
    }

    /// Whether both are the same array.
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Destroys it now, after the last use, and says what went wrong, where dropping would only record it. Nothing happens while a
    /// clone, a texture, a surface or a graph still needs it: then the last of them destroys it.
    ///
    /// # Errors
    /// Whatever the driver says, including failures of the work itself.
    pub fn close(self) -> Result<()> {
        Arc::into_inner(self.0).map_or(Ok(()), |inner| inner.outcome.of(|| inner.ledger.close()))
    }

    /// As [`DeviceBytes::queue_on`]: calls `queue`, which puts work that uses the array into `stream`, after making that
    /// stream wait for conflicting work of other streams.
    ///
    /// # Errors
    /// Whatever the driver says, and then `queue` was not called; whatever `queue` says.
    pub fn queue_on<R>(
        &self,
        stream: &Stream,
        access: Access,
        queue: impl FnOnce() -> Result<R>,
    ) -> Result<R> {
        self.0.ledger.queue_on(stream, access, queue)
    }

    /// Fills the array: all texels, row after row and slice after slice. Blocks until they are there.
    ///
    /// # Errors
    /// Kind `InvalidArgument` when `T` is not the array's texel, or the stream is of another device; `Shape` when the
    /// numbers of texels differ; whatever the driver says.
    pub fn upload<T: Texel>(&self, texels: &[T], stream: &Stream) -> Result<()> {
        self.check_texels::<T>("Array::upload", texels.len())?;
        let from = Source::Host(ulib_core::bytemuck::cast_slice(texels));
        copy_to_array(self, [0; 3], from, self.packed(), self.whole(), stream)
    }

    /// Fills `texels` with the array's. Blocks until they are there.
    ///
    /// # Errors
    /// As [`upload`](Self::upload).
    pub fn download<T: Texel>(&self, texels: &mut [T], stream: &Stream) -> Result<()> {
        self.check_texels::<T>("Array::download", texels.len())?;
        let to = Target::Host(ulib_core::bytemuck::cast_slice_mut(texels));
        copy_from_array(to, self.packed(), self, [0; 3], self.whole(), stream)
    }

    /// All texels, row after row and slice after slice.
    ///
    /// # Errors
    /// As [`upload`](Self::upload).
    pub fn to_vec<T: Texel>(&self, stream: &Stream) -> Result<Vec<T>> {
        let count = self.descriptor().texels()?;
        self.check_texels::<T>("Array::to_vec", count)?;
        let mut texels = vec![T::zeroed(); count];
        self.download(&mut texels, stream)?;
        Ok(texels)
    }

    fn check_texels<T: Texel>(&self, op: &'static str, count: usize) -> Result<()> {
        let own = self.descriptor();
        if (T::FORMAT, T::CHANNELS) != (own.format, own.channels) {
            let found = format_args!("{} of {:?}", T::CHANNELS, T::FORMAT);
            let expected = format!("{} of {:?}, as the array has", own.channels, own.format);
            return Err(Error::invalid(op, "texel", found, expected));
        }
        let all = own.texels()?;
        if count != all {
            return Err(Error::shape(op, &[all], &[count]));
        }
        Ok(())
    }

    /// The whole array as a block of bytes.
    #[must_use]
    pub fn whole(&self) -> Extent {
        let own = self.descriptor();
        Extent {
            width: own.row_bytes(),
            height: own.rows(),
            depth: own.slices(),
        }
    }

    /// Where the rows of the whole array are in packed memory.
    #[must_use]
    pub fn packed(&self) -> Pitch {
        let own = self.descriptor();
        let row = own.row_bytes();
        Pitch {
            offset: 0,
            row,
            plane: row.saturating_mul(own.rows()),
        }
    }
}
