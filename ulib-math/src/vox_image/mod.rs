//! [`VoxImage`]: a three-dimensional image of voxels that knows where it is.

mod access;
mod bulk;
mod views;

use std::fmt;
use std::marker::PhantomData;

use ulib_core::{DType, Layout, Result, byte_count};
use ulib_device::block::Block;

use crate::grid::{DataOrder, Grid};
use crate::placed::{Bulk, BulkArray, Placed, field_array, field_names};
use crate::voxel::{ValuePlace, Voxel, VoxelValueCount};

/// An image of `nx x ny x nz` voxels of type `V` in one coherent block.
///
/// The voxels lie in the memory order of the image's [`DataOrder`] (default XYZ: x fastest, NumPy
/// shape `(nz, ny, nx)`). Each has a flat index in that order and a triple `[x, y, z]`. New voxels
/// are zero.
///
/// # Placement
/// See [`Placed`]: the image can live on a device, where the views and the methods of [`Compute`](crate::Compute) work on
/// it in place. Reading a value brings the block home; [`Placed::update`] and whatever asks for the
/// device puts it back.
///
/// # Access
/// | one voxel | all of them |
/// |---|---|
/// | [`value`](VoxImage::value), [`value_at`](VoxImage::value_at), [`set_value`](VoxImage::set_value), [`set_value_at`](VoxImage::set_value_at) | [`values`](VoxImage::values), [`values_mut`](VoxImage::values_mut), [`to_values`](VoxImage::to_values), [`set_values`](VoxImage::set_values) |
/// | [`voxel`](VoxImage::voxel), [`voxel_at`](VoxImage::voxel_at), [`set_voxel`](VoxImage::set_voxel), [`set_voxel_at`](VoxImage::set_voxel_at) | [`voxels`](VoxImage::voxels), [`voxels_mut`](VoxImage::voxels_mut), [`set_voxels`](VoxImage::set_voxels) |
/// | | [`values_view`](VoxImage::values_view), [`grid_view`](VoxImage::grid_view), [`field_view`](VoxImage::field_view), which stay on the device |
///
/// ```
/// use ulib_math::{Compute, Placed, VoxImage};
///
/// let mut image: VoxImage = VoxImage::new([4, 3, 2])?;
/// image.set_value_at([1, 2, 1], 5.5)?;
/// assert_eq!(image.value(1 + 4 * 2 + 12)?, 5.5);
/// assert_eq!(image.sum()?, 5.5);
/// assert_eq!(image.location().to_string(), "Host");
/// # Ok::<(), ulib_core::Error>(())
/// ```
pub struct VoxImage<V: Voxel = VoxelValueCount> {
    grid: Grid,
    block: Block,
    place: ValuePlace,
    voxel: PhantomData<fn() -> V>,
}

impl<V: Voxel> VoxImage<V> {
    /// An image of `dims` zero voxels along x, y and z: order XYZ, spacing 1, at the origin.
    ///
    /// # Errors
    /// `InvalidArgument` when a side is zero (an image without voxels is made by
    /// [`empty`](VoxImage::empty)), `Overflow` when the voxels do not fit the address range, and the
    /// errors of an allocation.
    ///
    /// ```
    /// use ulib_core::ErrorKind;
    /// use ulib_math::VoxImage;
    ///
    /// let none = VoxImage::<ulib_math::VoxelValue>::new([4, 0, 4]).unwrap_err();
    /// assert_eq!(none.kind(), &ErrorKind::InvalidArgument);
    /// let huge = VoxImage::<ulib_math::VoxelValue>::new([1 << 40; 3]).unwrap_err();
    /// assert_eq!(huge.kind(), &ErrorKind::Overflow);
    /// ```
    pub fn new(dims: [usize; 3]) -> Result<Self> {
        VoxImage::with_grid(Grid::new(dims)?)
    }

    /// An image of `dims` zero voxels in the given data order.
    ///
    /// # Errors
    /// As [`new`](VoxImage::new).
    pub fn with_order(dims: [usize; 3], order: DataOrder) -> Result<Self> {
        VoxImage::with_grid(Grid::with_order(dims, order)?)
    }

    /// An image of zero voxels on this grid, which may be empty.
    ///
    /// # Errors
    /// `Overflow` when the voxels do not fit the address range, and the errors of an allocation.
    pub fn with_grid(grid: Grid) -> Result<Self> {
        Ok(VoxImage {
            grid,
            place: ValuePlace::of::<V>()?,
            block: Block::zeroed(byte_count(grid.len(), size_of::<V>())?)?,
            voxel: PhantomData,
        })
    }

    /// An image without voxels, to be given its dimensions by [`resize`](VoxImage::resize).
    ///
    /// # Errors
    /// Only those of a voxel type that breaks the contract of [`Voxel`].
    pub fn empty() -> Result<Self> {
        VoxImage::with_grid(Grid::empty())
    }

    crate::grid::grid_methods!();

    /// The coherent block of the voxels.
    pub fn block(&self) -> &Block {
        &self.block
    }

    /// A copy with its own block. When the device has the newer voxels the copy is made there; the
    /// preference is copied too.
    ///
    /// Not `Clone`, since it can run out of memory.
    ///
    /// # Errors
    /// Those of an allocation and of the device.
    pub fn try_clone(&self) -> Result<Self> {
        Ok(VoxImage {
            grid: self.grid,
            block: self.block.try_clone()?,
            place: self.place,
            voxel: PhantomData,
        })
    }
}

impl<V: Voxel> fmt::Debug for VoxImage<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VoxImage")
            .field("voxel", &V::dtype())
            .field("grid", &self.grid)
            .field("location", &self.location().to_string())
            .finish()
    }
}

impl<V: Voxel> Placed for VoxImage<V> {
    fn bulk(&self) -> Bulk<'_> {
        Bulk::Block(&self.block)
    }

    fn what(&self) -> &'static str {
        "voxels"
    }
}

impl<V: Voxel> BulkArray for VoxImage<V> {
    fn dtype(&self) -> DType {
        DType::F32
    }

    fn layout(&self) -> Result<Layout> {
        self.map().flat_layout(self.place.offset, self.place.step)
    }

    fn field_names(&self) -> Vec<String> {
        field_names::<V>()
    }

    fn field(&self, name: &str) -> Result<(DType, Layout)> {
        field_array::<V>(self.len(), name)
    }
}
