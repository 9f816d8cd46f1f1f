//! [`MultiVoxImage`]: an image with several channels of several components.

mod access;
mod views;

use std::fmt;

use ulib_core::{DType, Error, ErrorKind, Layout, Result, byte_count};
use ulib_device::block::Block;

use crate::grid::Grid;
use crate::placed::{Bulk, BulkArray, Placed};
use crate::voxel::ValuePlace;

/// An image whose voxels hold `channels x components` `f32` numbers each, in one coherent block.
///
/// A channel is a quantity (density, scattering), a component one number of it (the three of a
/// vector). The numbers of a voxel lie together: that of channel `c` and component `k` is number
/// `c * components + k` of the voxel. One pair is *active*; the array that the image offers, its
/// values and its views are those of the active pair, a strided array that shares the block with the
/// others.
///
/// # Placement
/// See [`Placed`]: all channels move together.
///
/// ```
/// use ulib_math::{BulkArray, MultiVoxImage};
///
/// let mut image = MultiVoxImage::new([4, 4, 4], 2, 3)?;
/// image.set_active(1, 2)?;
/// image.set_value(0, 7.0)?;
/// assert_eq!(image.value_of(0, 1, 2)?, 7.0);
/// assert_eq!(image.value_of(0, 0, 0)?, 0.0);
/// assert_eq!(image.layout()?.strides(), [6]);
/// assert_eq!(image.layout()?.offset(), 5);
/// # Ok::<(), ulib_core::Error>(())
/// ```
pub struct MultiVoxImage {
    grid: Grid,
    block: Block,
    channels: usize,
    components: usize,
    active: (usize, usize),
}

impl MultiVoxImage {
    /// An image of `dims` voxels of `channels x components` zeros: order XYZ, spacing 1, at the
    /// origin; channel 0, component 0 is active.
    ///
    /// # Errors
    /// `InvalidArgument` when a side, or the number of channels or components, is zero; `Overflow`
    /// when the numbers do not fit the address range; the errors of an allocation.
    pub fn new(dims: [usize; 3], channels: usize, components: usize) -> Result<Self> {
        MultiVoxImage::with_grid(Grid::new(dims)?, channels, components)
    }

    /// An image of zeros on this grid, which may be empty.
    ///
    /// # Errors
    /// As [`new`](MultiVoxImage::new).
    pub fn with_grid(grid: Grid, channels: usize, components: usize) -> Result<Self> {
        if channels == 0 || components == 0 {
            return Err(Error::invalid(
                "image channels",
                "channels x components",
                format_args!("{channels} x {components}"),
                "at least one of each",
            ));
        }
        let step = byte_count(channels, components)?;
        let bytes = byte_count(grid.len(), byte_count(step, size_of::<f32>())?)?;
        Ok(MultiVoxImage {
            grid,
            block: Block::zeroed(bytes)?,
            channels,
            components,
            active: (0, 0),
        })
    }

    /// An image without voxels, to be given its dimensions by [`resize`](MultiVoxImage::resize).
    ///
    /// # Errors
    /// `InvalidArgument` when the number of channels or components is zero.
    pub fn empty(channels: usize, components: usize) -> Result<Self> {
        MultiVoxImage::with_grid(Grid::empty(), channels, components)
    }

    /// The number of channels.
    pub fn channels(&self) -> usize {
        self.channels
    }

    /// The numbers per channel.
    pub fn components(&self) -> usize {
        self.components
    }

    /// The active channel and component.
    pub fn active(&self) -> (usize, usize) {
        self.active
    }

    /// Makes another channel and component the active one. Nothing moves.
    ///
    /// Arrays that were given out before keep showing the earlier pair.
    ///
    /// # Errors
    /// `Index` when there is no such channel or component.
    pub fn set_active(&mut self, channel: usize, component: usize) -> Result<()> {
        self.check_pair(channel, component)?;
        self.active = (channel, component);
        Ok(())
    }

    crate::grid::grid_methods!();

    /// The coherent block of the numbers.
    pub fn block(&self) -> &Block {
        &self.block
    }

    /// A copy with its own block and the same active pair. When the device has the newer numbers the
    /// copy is made there; the preference is copied too.
    ///
    /// # Errors
    /// Those of an allocation and of the device.
    pub fn try_clone(&self) -> Result<Self> {
        Ok(MultiVoxImage {
            block: self.block.try_clone()?,
            ..*self
        })
    }

    /// Numbers per voxel.
    fn step(&self) -> usize {
        self.channels * self.components
    }

    /// Where the values of the active pair lie.
    fn place(&self) -> ValuePlace {
        ValuePlace {
            offset: self.active.0 * self.components + self.active.1,
            step: self.step(),
        }
    }

    fn check_pair(&self, channel: usize, component: usize) -> Result<()> {
        if channel >= self.channels {
            return Err(Error::index("channel", channel, self.channels));
        }
        if component >= self.components {
            return Err(Error::index("component", component, self.components));
        }
        Ok(())
    }
}

impl fmt::Debug for MultiVoxImage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MultiVoxImage")
            .field("channels", &self.channels)
            .field("components", &self.components)
            .field("active", &self.active)
            .field("grid", &self.grid)
            .field("location", &self.location().to_string())
            .finish()
    }
}

impl Placed for MultiVoxImage {
    fn bulk(&self) -> Bulk<'_> {
        Bulk::Block(&self.block)
    }

    fn what(&self) -> &'static str {
        "voxels"
    }
}

impl BulkArray for MultiVoxImage {
    fn dtype(&self) -> DType {
        DType::F32
    }

    fn layout(&self) -> Result<Layout> {
        let ValuePlace { offset, step } = self.place();
        self.map().flat_layout(offset, step)
    }

    fn field(&self, name: &str) -> Result<(DType, Layout)> {
        Err(Error::new(
            ErrorKind::Index,
            format!(
                "the image has no field '{}': its channels and components have numbers",
                name.escape_debug()
            ),
        ))
    }
}
