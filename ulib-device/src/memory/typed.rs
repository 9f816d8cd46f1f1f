//! Device memory with an element type.

use std::fmt;
use std::marker::PhantomData;

use ulib_core::{DeviceStorable, Error, Result, bytemuck};

use super::DeviceBytes;
use crate::{Device, Stream, copy};

/// `len` elements of `T` in the memory of one device: a typed [`DeviceBytes`].
///
/// `&DeviceMemory` reads and `&mut DeviceMemory` changes. Copies to and from host slices block; fills are ordered on
/// the stream given.
pub struct DeviceMemory<T> {
    bytes: DeviceBytes,
    len: usize,
    element: PhantomData<fn() -> T>,
}

impl<T: DeviceStorable> DeviceMemory<T> {
    /// Allocates `len` elements with unspecified content, ordered on `stream`.
    ///
    /// # Errors
    ///
    /// `Overflow` when `len` elements have more than `usize::MAX` bytes, else as [`DeviceBytes::allocate`].
    pub fn new(stream: &Stream, len: usize) -> Result<Self> {
        let bytes = len.checked_mul(size_of::<T>()).ok_or_else(|| {
            Error::overflow(
                "DeviceMemory::new",
                format_args!("{len} elements of {}", T::dtype()),
            )
        })?;
        Ok(Self {
            bytes: DeviceBytes::allocate(stream, bytes)?,
            len,
            element: PhantomData,
        })
    }

    /// Allocates `len` elements whose bytes are all zero, ordered on `stream`.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new), and whatever the driver says.
    pub fn zeroed(stream: &Stream, len: usize) -> Result<Self> {
        let memory = Self::new(stream, len)?;
        copy::fill(&memory.bytes, 0, memory.bytes.len(), &[0], stream)?;
        Ok(memory)
    }

    /// Allocates as many elements as `values` has and copies them there. Blocks until they are there.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new) and [`copy::upload`].
    pub fn from_slice(values: &[T], stream: &Stream) -> Result<Self> {
        let memory = Self::new(stream, values.len())?;
        copy::upload(&memory.bytes, 0, bytemuck::cast_slice(values), stream)?;
        Ok(memory)
    }

    /// Copies all elements into a new vector. Blocks until they are there.
    ///
    /// # Errors
    ///
    /// `Overflow` when the host has no memory for them, else as [`copy::download`].
    pub fn to_vec(&self, stream: &Stream) -> Result<Vec<T>> {
        let mut values = Vec::new();
        values.try_reserve_exact(self.len).map_err(|_| {
            Error::overflow(
                "DeviceMemory::to_vec",
                format_args!("a host copy of {} bytes", self.bytes.len()),
            )
        })?;
        values.resize(self.len, T::zeroed());
        self.copy_to_slice(&mut values, stream)?;
        Ok(values)
    }

    /// Copies `values` here, from the first element. Blocks until they are there.
    ///
    /// # Errors
    ///
    /// `Shape` when the lengths differ, else as [`copy::upload`].
    pub fn copy_from_slice(&mut self, values: &[T], stream: &Stream) -> Result<()> {
        self.check_len("DeviceMemory::copy_from_slice", values.len())?;
        copy::upload(&self.bytes, 0, bytemuck::cast_slice(values), stream)
    }

    /// Copies all elements to `values`. Blocks until they are there.
    ///
    /// # Errors
    ///
    /// `Shape` when the lengths differ, else as [`copy::download`].
    pub fn copy_to_slice(&self, values: &mut [T], stream: &Stream) -> Result<()> {
        self.check_len("DeviceMemory::copy_to_slice", values.len())?;
        copy::download(&self.bytes, 0, bytemuck::cast_slice_mut(values), stream)
    }

    /// Copies all elements of `source`, which may be on another device. Ordered on `stream`, does not block.
    ///
    /// # Errors
    ///
    /// `Shape` when the lengths differ, else as [`copy::copy_device`].
    pub fn copy_from_device(&mut self, source: &Self, stream: &Stream) -> Result<()> {
        self.check_len("DeviceMemory::copy_from_device", source.len)?;
        copy::copy_device(&self.bytes, 0, &source.bytes, 0, self.bytes.len(), stream)
    }

    /// A new piece of memory of the same content on the device of `stream`, ordered on `stream`. There is no `Clone`,
    /// because the device can be full.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new) and [`copy::copy_device`].
    pub fn try_clone(&self, stream: &Stream) -> Result<Self> {
        let mut clone = Self::new(stream, self.len)?;
        clone.copy_from_device(self, stream)?;
        Ok(clone)
    }

    fn check_len(&self, op: &'static str, len: usize) -> Result<()> {
        if len == self.len {
            Ok(())
        } else {
            Err(Error::shape(op, &[self.len], &[len]))
        }
    }
}

impl<T> DeviceMemory<T> {
    /// The number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The address of the first element; 0 when there is none.
    #[must_use]
    pub fn ptr(&self) -> u64 {
        self.bytes.ptr()
    }

    /// The device whose memory it is.
    #[must_use]
    pub fn device(&self) -> &Device {
        self.bytes.device()
    }

    /// The stream it was allocated on and is freed on.
    #[must_use]
    pub fn stream(&self) -> &Stream {
        self.bytes.stream()
    }

    /// The memory, untyped.
    #[must_use]
    pub fn as_bytes(&self) -> &DeviceBytes {
        &self.bytes
    }

    /// The memory without its element type.
    #[must_use]
    pub fn into_bytes(self) -> DeviceBytes {
        self.bytes
    }

    /// Frees the memory now and says what went wrong, where dropping would only record it.
    ///
    /// # Errors
    ///
    /// As [`DeviceBytes::close`].
    pub fn close(self) -> Result<()> {
        self.bytes.close()
    }
}

impl<T: DeviceStorable> TryFrom<DeviceBytes> for DeviceMemory<T> {
    type Error = Error;

    /// Gives the bytes an element type.
    ///
    /// # Errors
    ///
    /// `Layout` when the length is not a whole number of elements or the address is not aligned for one.
    fn try_from(bytes: DeviceBytes) -> Result<Self> {
        let (len, address, size) = (bytes.len(), bytes.ptr(), size_of::<T>());
        if size == 0 || !len.is_multiple_of(size) || !address.is_multiple_of(align_of::<T>() as u64)
        {
            let message = format!("{len} bytes at {address:#x} are no array of {}", T::dtype());
            return Err(Error::layout("DeviceMemory::try_from", message));
        }
        Ok(Self {
            bytes,
            len: len / size,
            element: PhantomData,
        })
    }
}

impl<T> fmt::Debug for DeviceMemory<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceMemory")
            .field("len", &self.len)
            .field("bytes", &self.bytes)
            .finish()
    }
}
