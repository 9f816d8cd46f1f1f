//! [`Profile`]: the means of a volume along an axis.

use ulib_core::Result;

use super::plane::check_not_empty;
use super::{Axis, Plot, Volume};
use crate::ops;

/// One number for each slice of a volume along an axis: the mean of the slice.
///
/// ```
/// use ulib_math::picture::{Axis, Profile};
/// use ulib_math::VoxImage;
///
/// let mut image: VoxImage = VoxImage::new([3, 2, 2])?;
/// image.set_spacing([0.5, 1.0, 1.0])?;
/// image.set_value_at([2, 0, 0], 8.0)?;
/// let profile = Profile::of(&image, Axis::X)?;
/// assert_eq!(profile.positions(), [0.25, 0.75, 1.25]);
/// assert_eq!(profile.means(), [0.0, 0.0, 2.0]);
/// let picture = profile.plot().picture()?;
/// assert_eq!((picture.width(), picture.height()), (800, 400));
/// # Ok::<(), ulib_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    axis: Axis,
    positions: Vec<f64>,
    means: Vec<f64>,
}

impl Profile {
    /// The profile of an image along an axis. The means are computed where the image is.
    ///
    /// # Errors
    /// `InvalidArgument` for an image without voxels; as [`ops::mean`](crate::ops::mean()).
    pub fn of<T: Volume + ?Sized>(image: &T, axis: Axis) -> Result<Self> {
        check_not_empty("profile", image)?;
        let grid = image.grid();
        let others: Vec<usize> = (0..3).filter(|&other| other != axis.of_array()).collect();
        let means = ops::mean(&image.grid_view()?, &others)?;
        let positions = (0..grid.dims()[axis.index()])
            .map(|index| grid.world_from_local([index as f64 + 0.5; 3])[axis.index()])
            .collect();
        Ok(Profile {
            axis,
            positions,
            means: means.into_iter().collect(),
        })
    }

    /// The axis.
    #[must_use]
    pub fn axis(&self) -> Axis {
        self.axis
    }

    /// The middle of each slice in the world: `(index + 0.5) * spacing + (origin + position)`.
    #[must_use]
    pub fn positions(&self) -> &[f64] {
        &self.positions
    }

    /// The mean of each slice.
    #[must_use]
    pub fn means(&self) -> &[f64] {
        &self.means
    }

    /// The plot of the means over the positions.
    #[must_use]
    pub fn plot(&self) -> Plot {
        Plot::new()
            .x_label(self.axis.to_string())
            .line("mean", &self.positions, &self.means)
    }
}
