//! All voxels at once, on the host; resizing and reordering.

use ulib_core::{Error, Result};

use super::VoxImage;
use crate::grid::{DataOrder, IndexMap, move_voxels};
use crate::host::{HostSlice, HostSliceMut, Values, ValuesMut};
use crate::voxel::Voxel;

impl<V: Voxel> VoxImage<V> {
    /// The values in memory order, for reading.
    ///
    /// # Errors
    /// `Driver` when the voxels have to come home and the device breaks.
    pub fn values(&self) -> Result<Values<'_>> {
        Values::read(&self.block, self.place, self.grid.len())
    }

    /// The values in memory order, for reading and writing; the other fields stay.
    ///
    /// # Errors
    /// As [`values`](VoxImage::values).
    pub fn values_mut(&mut self) -> Result<ValuesMut<'_>> {
        ValuesMut::write(&mut self.block, self.place, self.grid.len())
    }

    /// A copy of the values in memory order.
    ///
    /// # Errors
    /// As [`values`](VoxImage::values).
    pub fn to_values(&self) -> Result<Vec<f32>> {
        Ok(self.values()?.iter().collect())
    }

    /// Sets every value from `values`, in memory order; the other fields stay.
    ///
    /// # Errors
    /// `Shape` when `values` has not one number per voxel; nothing changes then.
    pub fn set_values(&mut self, values: &[f32]) -> Result<()> {
        let len = self.grid.len();
        if values.len() != len {
            return Err(Error::shape("set values", &[len], &[values.len()]));
        }
        let mut guard = ValuesMut::overwrite(&mut self.block, self.place, len)?;
        guard.copy_from(values)?;
        guard.commit()
    }

    /// The whole voxels in memory order, for reading.
    ///
    /// # Errors
    /// As [`values`](VoxImage::values).
    pub fn voxels(&self) -> Result<HostSlice<'_, V>> {
        HostSlice::read(&self.block)
    }

    /// The whole voxels in memory order, for reading and writing.
    ///
    /// # Errors
    /// As [`values`](VoxImage::values).
    pub fn voxels_mut(&mut self) -> Result<HostSliceMut<'_, V>> {
        HostSliceMut::write(&mut self.block)
    }

    /// Replaces every voxel, in memory order. The old ones are not brought home for it.
    ///
    /// # Errors
    /// `Shape` when `voxels` has not one element per voxel; nothing changes then.
    pub fn set_voxels(&mut self, voxels: &[V]) -> Result<()> {
        let len = self.grid.len();
        if voxels.len() != len {
            return Err(Error::shape("set voxels", &[len], &[voxels.len()]));
        }
        let mut guard = HostSliceMut::overwrite(&mut self.block)?;
        guard.copy_from_slice(voxels);
        guard.commit()
    }

    /// Gives the image new dimensions. A voxel whose triple `[x, y, z]` exists before and after is
    /// kept, new ones are zero; the data order, spacing, origin and position stay.
    ///
    /// With another number of voxels they get a new device copy; leases and exports of the old one keep
    /// seeing the old voxels. With the same number whoever shares the device copy sees them move.
    ///
    /// # Errors
    /// As [`new`](VoxImage::new), and `Busy` while somebody holds a host view; nothing changes then.
    ///
    /// ```
    /// use ulib_math::{VoxImage, VoxelValue};
    ///
    /// let mut image = VoxImage::<VoxelValue>::new([2, 2, 1])?;
    /// image.set_values(&[1.0, 2.0, 3.0, 4.0])?;
    /// image.resize([3, 1, 2])?;
    /// assert_eq!(image.to_values()?, [1.0, 2.0, 0.0, 0.0, 0.0, 0.0]);
    /// # Ok::<(), ulib_core::Error>(())
    /// ```
    pub fn resize(&mut self, dims: [usize; 3]) -> Result<()> {
        let map = IndexMap::new(dims, self.order())?;
        move_voxels(&mut self.block, size_of::<V>(), &mut self.grid, map)
    }

    /// Removes all voxels; the geometry but for the dimensions stays.
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
    /// As [`resize`](VoxImage::resize).
    pub fn set_order(&mut self, order: DataOrder) -> Result<()> {
        let map = self.map().reordered(order)?;
        move_voxels(&mut self.block, size_of::<V>(), &mut self.grid, map)
    }
}
