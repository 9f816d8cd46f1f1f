//! Strided views of a multi-channel image.

use ulib_core::{Layout, Result};

use super::MultiVoxImage;
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
}
