//! Values of the active pair, of any pair, and all of them at once; resizing.

use bytemuck::{bytes_of, bytes_of_mut};
use ulib_core::{Error, Result};

use super::MultiVoxImage;
use crate::grid::{DataOrder, IndexMap, move_voxels};
use crate::host::{HostSlice, HostSliceMut, Values, ValuesMut};

impl MultiVoxImage {
    /// The active value of the voxel with flat index `index`.
    ///
    /// # Errors
    /// `Index` when `index` is not below [`len`](MultiVoxImage::len); `Driver` when the device breaks.
    pub fn value(&self, index: usize) -> Result<f32> {
        let (channel, component) = self.active;
        self.value_of(index, channel, component)
    }

    /// As [`value`](MultiVoxImage::value) where that takes no lock, no wait and no transfer; `None` where it does. For
    /// who has the image alone.
    ///
    /// # Errors
    /// `Index` as there.
    #[inline]
    pub fn value_at_hand(&mut self, index: usize) -> Result<Option<f32>> {
        let (channel, component) = self.active;
        let (byte, mut value) = (self.byte(index, channel, component)?, 0.0_f32);
        let here = self.block.read_at_hand(byte, bytes_of_mut(&mut value))?;
        Ok(here.then_some(value))
    }

    /// The active value of the voxel `[x, y, z]`.
    ///
    /// # Errors
    /// As [`value`](MultiVoxImage::value); the message names the axis.
    pub fn value_at(&self, index: [usize; 3]) -> Result<f32> {
        self.value(self.map().map(index)?)
    }

    /// Sets the active value of the voxel with flat index `index`.
    ///
    /// # Errors
    /// As [`value`](MultiVoxImage::value).
    pub fn set_value(&mut self, index: usize, value: f32) -> Result<()> {
        let (channel, component) = self.active;
        self.set_value_of(index, channel, component, value)
    }

    /// As [`set_value`](MultiVoxImage::set_value) where that takes no lock, no wait and no transfer; false, with nothing
    /// changed, where it does.
    ///
    /// # Errors
    /// `Index` as there.
    #[inline]
    pub fn set_value_at_hand(&mut self, index: usize, value: f32) -> Result<bool> {
        let (channel, component) = self.active;
        let byte = self.byte(index, channel, component)?;
        self.block.write_at_hand(byte, bytes_of(&value))
    }

    /// Sets the active value of the voxel `[x, y, z]`.
    ///
    /// # Errors
    /// As [`value`](MultiVoxImage::value); the message names the axis.
    pub fn set_value_at(&mut self, index: [usize; 3], value: f32) -> Result<()> {
        let flat = self.map().map(index)?;
        self.set_value(flat, value)
    }

    /// The value of a voxel in any channel and component.
    ///
    /// # Errors
    /// `Index` when there is no such voxel, channel or component; `Driver` when the device breaks.
    pub fn value_of(&self, index: usize, channel: usize, component: usize) -> Result<f32> {
        let mut value = 0.0_f32;
        self.block.read_at(
            self.byte(index, channel, component)?,
            bytes_of_mut(&mut value),
        )?;
        Ok(value)
    }

    /// Sets the value of a voxel in any channel and component.
    ///
    /// # Errors
    /// As [`value_of`](MultiVoxImage::value_of).
    pub fn set_value_of(
        &mut self,
        index: usize,
        channel: usize,
        component: usize,
        value: f32,
    ) -> Result<()> {
        let byte = self.byte(index, channel, component)?;
        self.block.write_at(byte, bytes_of(&value))
    }

    /// The active values in memory order, for reading.
    ///
    /// # Errors
    /// `Driver` when the numbers have to come home and the device breaks.
    pub fn values(&self) -> Result<Values<'_>> {
        Values::read(&self.block, self.place(), self.grid.len())
    }

    /// The active values in memory order, for reading and writing; the other pairs stay.
    ///
    /// # Errors
    /// As [`values`](MultiVoxImage::values).
    pub fn values_mut(&mut self) -> Result<ValuesMut<'_>> {
        let place = self.place();
        ValuesMut::write(&mut self.block, place, self.grid.len())
    }

    /// A copy of the active values in memory order.
    ///
    /// # Errors
    /// As [`values`](MultiVoxImage::values).
    pub fn to_values(&self) -> Result<Vec<f32>> {
        Ok(self.values()?.iter().collect())
    }

    /// Sets every active value from `values`, in memory order; the other pairs stay.
    ///
    /// # Errors
    /// `Shape` when `values` has not one number per voxel; nothing changes then.
    pub fn set_values(&mut self, values: &[f32]) -> Result<()> {
        let (place, len) = (self.place(), self.grid.len());
        if values.len() != len {
            return Err(Error::shape("set values", &[len], &[values.len()]));
        }
        let mut guard = ValuesMut::overwrite(&mut self.block, place, len)?;
        guard.copy_from(values)?;
        guard.commit()
    }

    /// All numbers of all voxels in memory order, for reading.
    ///
    /// # Errors
    /// As [`values`](MultiVoxImage::values).
    pub fn elements(&self) -> Result<HostSlice<'_, f32>> {
        HostSlice::read(&self.block)
    }

    /// All numbers of all voxels in memory order, for reading and writing.
    ///
    /// # Errors
    /// As [`values`](MultiVoxImage::values).
    pub fn elements_mut(&mut self) -> Result<HostSliceMut<'_, f32>> {
        HostSliceMut::write(&mut self.block)
    }

    /// Gives the image new dimensions. A voxel whose triple `[x, y, z]` exists before and after is
    /// kept with all its channels, new ones are zero.
    ///
    /// With another number of voxels they get a new device copy; leases and exports of the old one keep
    /// seeing the old voxels. With the same number whoever shares the device copy sees them move.
    ///
    /// # Errors
    /// As [`new`](MultiVoxImage::new), and `Busy` while somebody holds a host view; nothing changes
    /// then.
    pub fn resize(&mut self, dims: [usize; 3]) -> Result<()> {
        let map = IndexMap::new(dims, self.order())?;
        let voxel = self.step() * size_of::<f32>();
        move_voxels(&mut self.block, voxel, &mut self.grid, map)
    }

    /// Removes all voxels; channels, components and the rest of the geometry stay.
    ///
    /// # Errors
    /// `Busy` while somebody holds a host view.
    pub fn clear(&mut self) -> Result<()> {
        self.block.clear()?;
        self.grid = self.grid.with_map(IndexMap::empty(self.order()));
        Ok(())
    }

    /// Gives the voxels another order in memory. Every triple `[x, y, z]` keeps its voxel; the flat
    /// indices change. The block stays: whoever shares the device copy sees the voxels move.
    ///
    /// # Errors
    /// As [`resize`](MultiVoxImage::resize).
    pub fn set_order(&mut self, order: DataOrder) -> Result<()> {
        let map = self.map().reordered(order)?;
        let voxel = self.step() * size_of::<f32>();
        move_voxels(&mut self.block, voxel, &mut self.grid, map)
    }

    /// The first byte of a number.
    fn byte(&self, index: usize, channel: usize, component: usize) -> Result<usize> {
        if index >= self.len() {
            return Err(Error::index("voxel", index, self.len()));
        }
        self.check_pair(channel, component)?;
        // Cannot overflow: the number lies in the block.
        Ok((index * self.step() + channel * self.components + component) * size_of::<f32>())
    }
}
