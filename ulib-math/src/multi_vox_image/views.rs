//! Strided views of a multi-channel image, and computing on the active pair.

use ndarray::ArrayD;
use ulib_core::{Layout, Result};

use super::MultiVoxImage;
use crate::ops;
use crate::placed::BulkArray;
use crate::view::{View, ViewMut};
use crate::voxel::ValuePlace;

impl MultiVoxImage {
    /// The active values as a flat array in memory order: shape `(n,)`, stride
    /// channels x components.
    ///
    /// # Errors
    /// `Overflow` when the view reaches past the address range.
    pub fn values_view(&self) -> Result<View<'_, f32>> {
        View::new(&self.block, self.layout()?)
    }

    /// As [`values_view`](MultiVoxImage::values_view), for writing; the other pairs are out of its reach.
    ///
    /// # Errors
    /// As [`values_view`](MultiVoxImage::values_view).
    pub fn values_view_mut(&mut self) -> Result<ViewMut<'_, f32>> {
        let layout = self.layout()?;
        ViewMut::new(&mut self.block, layout)
    }

    /// The layout of the active values as an array indexed `[z, y, x]` under every data order: shape
    /// `(nz, ny, nx)`.
    ///
    /// # Errors
    /// `Overflow` when the layout reaches past the address range.
    pub fn grid_layout(&self) -> Result<Layout> {
        let ValuePlace { offset, step } = self.place();
        self.map().grid_layout(offset, step)
    }

    /// The active values as an array indexed `[z, y, x]`.
    ///
    /// # Errors
    /// As [`grid_layout`](MultiVoxImage::grid_layout).
    pub fn grid_view(&self) -> Result<View<'_, f32>> {
        View::new(&self.block, self.grid_layout()?)
    }

    /// As [`grid_view`](MultiVoxImage::grid_view), for writing.
    ///
    /// # Errors
    /// As [`grid_layout`](MultiVoxImage::grid_layout).
    pub fn grid_view_mut(&mut self) -> Result<ViewMut<'_, f32>> {
        let layout = self.grid_layout()?;
        ViewMut::new(&mut self.block, layout)
    }

    /// The layout of all numbers: shape `(n, channels, components)`, packed, voxels in memory order.
    ///
    /// # Errors
    /// `Overflow` when the layout reaches past the address range.
    pub fn full_layout(&self) -> Result<Layout> {
        Layout::contiguous(&[self.len(), self.channels, self.components])
    }

    /// All numbers (see [`full_layout`](MultiVoxImage::full_layout)).
    ///
    /// # Errors
    /// As [`full_layout`](MultiVoxImage::full_layout).
    pub fn full_view(&self) -> Result<View<'_, f32>> {
        View::new(&self.block, self.full_layout()?)
    }

    /// All numbers, for writing (see [`full_layout`](MultiVoxImage::full_layout)).
    ///
    /// # Errors
    /// As [`full_layout`](MultiVoxImage::full_layout).
    pub fn full_view_mut(&mut self) -> Result<ViewMut<'_, f32>> {
        let layout = self.full_layout()?;
        ViewMut::new(&mut self.block, layout)
    }

    /// Sets every active value to `value`, where the numbers are.
    ///
    /// # Errors
    /// `Driver` when the device breaks.
    pub fn fill(&mut self, value: f32) -> Result<()> {
        ops::fill(self.values_view_mut()?, value)
    }

    /// Multiplies every active value by `factor`, where the numbers are.
    ///
    /// # Errors
    /// `Driver` when the device breaks.
    pub fn scale(&mut self, factor: f32) -> Result<()> {
        ops::scale(self.values_view_mut()?, factor)
    }

    /// The sum of the active values in `f64`, where the numbers are.
    ///
    /// # Errors
    /// `Driver` when the device breaks.
    pub fn sum(&self) -> Result<f64> {
        ops::sum_all(&self.values_view()?)
    }

    /// The sums of the active values over some axes of the `[z, y, x]` array, in `f64`.
    ///
    /// # Errors
    /// `InvalidArgument` for an axis that does not exist or is named twice; `Driver` when the
    /// device breaks.
    pub fn sum_axes(&self, axes: &[usize]) -> Result<ArrayD<f64>> {
        ops::sum(&self.grid_view()?, axes)
    }
}
