//! Strided views of an image, which leave the voxels where they are.

use ulib_core::{Error, Layout, Result};

use super::VoxImage;
use crate::placed::BulkArray;
use crate::view::{Element, View, ViewMut};
use crate::voxel::Voxel;

impl<V: Voxel> VoxImage<V> {
    /// The values as a flat array in memory order: `f32`, shape `(n,)`, stride voxel size / 4.
    ///
    /// # Errors
    /// `Overflow` when the view reaches past the address range.
    pub fn values_view(&self) -> Result<View<'_, f32>> {
        View::new(&self.block, self.layout()?)
    }

    /// As [`values_view`](VoxImage::values_view), for writing. The other fields of the voxels are out
    /// of its reach.
    ///
    /// # Errors
    /// As [`values_view`](VoxImage::values_view).
    pub fn values_view_mut(&mut self) -> Result<ViewMut<'_, f32>> {
        let layout = self.layout()?;
        ViewMut::new(&mut self.block, layout)
    }

    /// The layout of the values as a three-dimensional array, indexed `[z, y, x]` under every data
    /// order: shape `(nz, ny, nx)`, strides in `f32` elements from the order.
    ///
    /// # Errors
    /// `Overflow` when the layout reaches past the address range.
    ///
    /// ```
    /// use ulib_math::{DataOrder, VoxImage};
    ///
    /// let image: VoxImage = VoxImage::with_order([4, 3, 2], DataOrder::Xyz)?;
    /// assert_eq!(image.grid_layout()?.shape(), [2, 3, 4]);
    /// assert_eq!(image.grid_layout()?.strides(), [24, 8, 2]);
    /// let image: VoxImage = VoxImage::with_order([4, 3, 2], DataOrder::Yxz)?;
    /// assert_eq!(image.grid_layout()?.shape(), [2, 3, 4]);
    /// assert_eq!(image.grid_layout()?.strides(), [24, 2, 6]);
    /// # Ok::<(), ulib_core::Error>(())
    /// ```
    pub fn grid_layout(&self) -> Result<Layout> {
        self.map().grid_layout(self.place.offset, self.place.step)
    }

    /// The values as a three-dimensional array, indexed `[z, y, x]` (see
    /// [`grid_layout`](VoxImage::grid_layout)).
    ///
    /// # Errors
    /// As [`grid_layout`](VoxImage::grid_layout).
    pub fn grid_view(&self) -> Result<View<'_, f32>> {
        View::new(&self.block, self.grid_layout()?)
    }

    /// As [`grid_view`](VoxImage::grid_view), for writing.
    ///
    /// # Errors
    /// As [`grid_layout`](VoxImage::grid_layout).
    pub fn grid_view_mut(&mut self) -> Result<ViewMut<'_, f32>> {
        let layout = self.grid_layout()?;
        ViewMut::new(&mut self.block, layout)
    }

    /// One field of every voxel, by name, as a flat array in memory order.
    ///
    /// # Errors
    /// `Index` when there is no such field, `DType` when its numbers are not `T`.
    ///
    /// ```
    /// use ulib_math::VoxImage;
    ///
    /// let image: VoxImage = VoxImage::new([2, 2, 2])?;
    /// let counts = image.field_view::<u32>("Count")?;
    /// assert_eq!((counts.layout().strides(), counts.layout().offset()), (&[2][..], 1));
    /// assert!(image.field_view::<f32>("Count").is_err());
    /// # Ok::<(), ulib_core::Error>(())
    /// ```
    pub fn field_view<T: Element>(&self, name: &str) -> Result<View<'_, T>> {
        let (dtype, layout) = self.field(name)?;
        if dtype != T::dtype() {
            return Err(Error::dtype("field view", dtype, T::dtype()));
        }
        View::new(&self.block, layout)
    }

    /// As [`field_view`](VoxImage::field_view), for writing.
    ///
    /// # Errors
    /// As [`field_view`](VoxImage::field_view).
    pub fn field_view_mut<T: Element>(&mut self, name: &str) -> Result<ViewMut<'_, T>> {
        let (dtype, layout) = self.field(name)?;
        if dtype != T::dtype() {
            return Err(Error::dtype("field view", dtype, T::dtype()));
        }
        ViewMut::new(&mut self.block, layout)
    }
}
