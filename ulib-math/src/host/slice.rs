//! [`HostSlice`] and [`HostSliceMut`]: the elements of a block as a slice.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use bytemuck::Pod;
use ulib_core::{Error, Result};
use ulib_device::block::{Block, HostMut, HostRef};

/// The current elements of an object, for reading. Dereferences to `[T]`.
///
/// While the guard lives the object cannot change.
pub struct HostSlice<'a, T> {
    bytes: HostRef<'a>,
    items: PhantomData<&'a [T]>,
}

impl<'a, T: Pod> HostSlice<'a, T> {
    /// The elements of `block`, brought home first when the device has the newer ones.
    pub(crate) fn read(block: &'a Block) -> Result<Self> {
        let bytes = block.read()?;
        bytemuck::try_cast_slice::<u8, T>(&bytes).map_err(misfit)?;
        Ok(HostSlice {
            bytes,
            items: PhantomData,
        })
    }
}

impl<T: Pod> Deref for HostSlice<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // The cast succeeded when the guard was made, and the bytes do not move under it.
        bytemuck::try_cast_slice(&self.bytes).unwrap_or_default()
    }
}

impl<T: Pod + fmt::Debug> fmt::Debug for HostSlice<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

/// The current elements of an object, for reading and writing. Dereferences to `[T]`.
///
/// When the guard ends, the host copy counts as the newer one; an object that is shared with
/// somebody outside is written through to the device at that moment.
/// [`commit`](HostSliceMut::commit) ends the guard and says whether that worked; dropping it does the
/// same and leaves a failure with the device's recorded errors.
pub struct HostSliceMut<'a, T> {
    bytes: HostMut<'a>,
    items: PhantomData<&'a mut [T]>,
}

impl<'a, T: Pod> HostSliceMut<'a, T> {
    /// The elements of `block`, brought home first when the device has the newer ones.
    pub(crate) fn write(block: &'a mut Block) -> Result<Self> {
        HostSliceMut::checked(block.write()?)
    }

    /// As [`write`](HostSliceMut::write) without bringing the old elements home: their content is
    /// unspecified, and the caller writes all of them.
    pub(crate) fn overwrite(block: &'a mut Block) -> Result<Self> {
        HostSliceMut::checked(block.overwrite()?)
    }

    fn checked(bytes: HostMut<'a>) -> Result<Self> {
        bytemuck::try_cast_slice::<u8, T>(&bytes).map_err(misfit)?;
        Ok(HostSliceMut {
            bytes,
            items: PhantomData,
        })
    }

    /// Ends the guard: an object shared with somebody outside is written through now.
    ///
    /// # Errors
    /// `Driver` when writing through fails.
    pub fn commit(self) -> Result<()> {
        self.bytes.commit()
    }
}

impl<T: Pod> Deref for HostSliceMut<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        bytemuck::try_cast_slice(&self.bytes).unwrap_or_default()
    }
}

impl<T: Pod> DerefMut for HostSliceMut<'_, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        bytemuck::try_cast_slice_mut(&mut self.bytes).unwrap_or_default()
    }
}

impl<T: Pod + fmt::Debug> fmt::Debug for HostSliceMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

/// A block whose bytes are no slice of the element type.
fn misfit(cause: bytemuck::PodCastError) -> Error {
    Error::layout("host access", format!("the bytes of the block: {cause}"))
}
