//! Computing on an image where it is: shorthands for the operations in [`ops`](crate::ops).

use ndarray::ArrayD;
use ulib_core::Result;

use super::VoxImage;
use crate::ops;
use crate::voxel::Voxel;

impl<V: Voxel> VoxImage<V> {
    /// Sets every value to `value`, where the voxels are; the other fields stay.
    ///
    /// # Errors
    /// `Driver` when the device breaks.
    pub fn fill(&mut self, value: f32) -> Result<()> {
        ops::fill(self.values_view_mut()?, value)
    }

    /// Multiplies every value by `factor`, where the voxels are; the other fields stay.
    ///
    /// # Errors
    /// `Driver` when the device breaks.
    pub fn scale(&mut self, factor: f32) -> Result<()> {
        ops::scale(self.values_view_mut()?, factor)
    }

    /// The sum of all values in `f64`, where the voxels are; the same bits on every device.
    ///
    /// # Errors
    /// `Driver` when the device breaks.
    pub fn sum(&self) -> Result<f64> {
        ops::sum_all(&self.values_view()?)
    }

    /// The sums over some axes of the `[z, y, x]` array, in `f64`, where the voxels are.
    ///
    /// The axes that are not summed stay, in their order: `sum_axes(&[0, 1])` is the profile along
    /// x, with one total for every slice of constant x.
    ///
    /// # Errors
    /// `InvalidArgument` for an axis that does not exist or is named twice; `Driver` when the
    /// device breaks.
    ///
    /// ```
    /// use ulib_math::VoxImage;
    ///
    /// let mut image: VoxImage = VoxImage::new([3, 2, 2])?;
    /// image.fill(1.0)?;
    /// image.set_value_at([2, 0, 0], 5.0)?;
    /// assert_eq!(image.sum_axes(&[0, 1])?.as_slice(), Some(&[4.0, 4.0, 8.0][..]));
    /// assert_eq!(image.sum_axes(&[1, 2])?.as_slice(), Some(&[10.0, 6.0][..]));
    /// # Ok::<(), ulib_core::Error>(())
    /// ```
    pub fn sum_axes(&self, axes: &[usize]) -> Result<ArrayD<f64>> {
        ops::sum(&self.grid_view()?, axes)
    }
}
