//! One voxel at a time.

use bytemuck::{bytes_of, bytes_of_mut};
use ulib_core::{Error, Result};

use super::VoxImage;
use crate::voxel::Voxel;

impl<V: Voxel> VoxImage<V> {
    /// The value of the voxel with flat index `index`.
    ///
    /// On an image shared with somebody outside this fetches one element from the device; otherwise
    /// it brings the block home first when the device has the newer voxels.
    ///
    /// # Errors
    /// `Index` when `index` is not below [`len`](VoxImage::len); `Driver` when the device breaks.
    pub fn value(&self, index: usize) -> Result<f32> {
        let mut value = 0.0_f32;
        self.block
            .read_at(self.value_byte(index)?, bytes_of_mut(&mut value))?;
        Ok(value)
    }

    /// As [`value`](VoxImage::value) where that takes no lock, no wait and no transfer; `None` where it does. For
    /// who has the image alone.
    ///
    /// # Errors
    /// `Index` as there.
    #[inline]
    pub fn value_at_hand(&mut self, index: usize) -> Result<Option<f32>> {
        let (byte, mut value) = (self.value_byte(index)?, 0.0_f32);
        let here = self.block.read_at_hand(byte, bytes_of_mut(&mut value))?;
        Ok(here.then_some(value))
    }

    /// The value of the voxel `[x, y, z]`.
    ///
    /// # Errors
    /// As [`value`](VoxImage::value); the message names the axis.
    pub fn value_at(&self, index: [usize; 3]) -> Result<f32> {
        self.value(self.map().map(index)?)
    }

    /// Sets the value of the voxel with flat index `index`; its other fields stay.
    ///
    /// # Errors
    /// As [`value`](VoxImage::value).
    pub fn set_value(&mut self, index: usize, value: f32) -> Result<()> {
        let byte = self.value_byte(index)?;
        self.block.write_at(byte, bytes_of(&value))
    }

    /// As [`set_value`](VoxImage::set_value) where that takes no lock, no wait and no transfer; false, with nothing changed,
    /// where it does.
    ///
    /// # Errors
    /// `Index` as there.
    #[inline]
    pub fn set_value_at_hand(&mut self, index: usize, value: f32) -> Result<bool> {
        let byte = self.value_byte(index)?;
        self.block.write_at_hand(byte, bytes_of(&value))
    }

    /// Sets the value of the voxel `[x, y, z]`; its other fields stay.
    ///
    /// # Errors
    /// As [`value`](VoxImage::value); the message names the axis.
    pub fn set_value_at(&mut self, index: [usize; 3], value: f32) -> Result<()> {
        let flat = self.map().map(index)?;
        self.set_value(flat, value)
    }

    /// The whole voxel with flat index `index`.
    ///
    /// # Errors
    /// As [`value`](VoxImage::value).
    pub fn voxel(&self, index: usize) -> Result<V> {
        let mut voxel = V::zeroed();
        self.block
            .read_at(self.voxel_byte(index)?, bytes_of_mut(&mut voxel))?;
        Ok(voxel)
    }

    /// The whole voxel `[x, y, z]`.
    ///
    /// # Errors
    /// As [`value`](VoxImage::value); the message names the axis.
    pub fn voxel_at(&self, index: [usize; 3]) -> Result<V> {
        self.voxel(self.map().map(index)?)
    }

    /// Replaces the whole voxel with flat index `index`.
    ///
    /// # Errors
    /// As [`value`](VoxImage::value).
    pub fn set_voxel(&mut self, index: usize, voxel: V) -> Result<()> {
        let byte = self.voxel_byte(index)?;
        self.block.write_at(byte, bytes_of(&voxel))
    }

    /// Replaces the whole voxel `[x, y, z]`.
    ///
    /// # Errors
    /// As [`value`](VoxImage::value); the message names the axis.
    pub fn set_voxel_at(&mut self, index: [usize; 3], voxel: V) -> Result<()> {
        let flat = self.map().map(index)?;
        self.set_voxel(flat, voxel)
    }

    /// The first byte of a voxel.
    #[inline]
    fn voxel_byte(&self, index: usize) -> Result<usize> {
        if index >= self.len() {
            return Err(Error::index("voxel", index, self.len()));
        }
        // Cannot overflow: the voxel lies in the block.
        Ok(index * size_of::<V>())
    }

    /// The first byte of the value of a voxel.
    #[inline]
    fn value_byte(&self, index: usize) -> Result<usize> {
        Ok(self.voxel_byte(index)? + self.place.offset * size_of::<f32>())
    }
}
