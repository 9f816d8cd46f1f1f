//! [`Volume`]: what pictures need of an image.

use ulib_core::Result;

use crate::grid::Grid;
use crate::multi_vox_image::MultiVoxImage;
use crate::view::View;
use crate::vox_image::VoxImage;
use crate::voxel::Voxel;

/// A volume of `f32` on a grid: a [`VoxImage`] of any voxels, or the active values of a [`MultiVoxImage`].
pub trait Volume {
    /// The geometry.
    fn grid(&self) -> &Grid;

    /// The values, indexed `[z, y, x]`, where they are.
    ///
    /// # Errors
    /// `Overflow` when they reach past the address range.
    fn grid_view(&self) -> Result<View<'_, f32>>;
}

impl<V: Voxel> Volume for VoxImage<V> {
    fn grid(&self) -> &Grid {
        self.grid()
    }

    fn grid_view(&self) -> Result<View<'_, f32>> {
        self.grid_view()
    }
}

impl Volume for MultiVoxImage {
    fn grid(&self) -> &Grid {
        self.grid()
    }

    fn grid_view(&self) -> Result<View<'_, f32>> {
        self.grid_view()
    }
}
