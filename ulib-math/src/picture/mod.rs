//! Pictures of volumes and tables: slices, projections and profiles, as PNG files and SVG text.
//!
//! [`Render`] draws a slice or a projection of a volume, [`Profile`] the means along an axis, [`Plot`] lines through points, such
//! as the columns of a table.
//!
//! # Orientation
//! | axis | to the right | up |
//! |---|---|---|
//! | [`Axis::Z`] (axial) | x | y |
//! | [`Axis::Y`] | x | z |
//! | [`Axis::X`] | y | z |
//!
//! So the voxel with the smallest indices is at the bottom left, as in a diagram, and the top row of pixels has the largest
//! index of the axis that points up.
//!
//! # Where the work is done
//! A projection is a reduction ([`ops::max`](crate::ops::max()), [`min`](crate::ops::min()), [`mean`](crate::ops::mean())), which
//! runs where the volume is; only its result comes to the host. Of a slice of a volume that only a device has, the slice alone is
//! fetched. The colours are the host's work.
//!
//! ```
//! use ulib_math::picture::{Axis, Projection, Render};
//! use ulib_math::VoxImage;
//!
//! let mut image: VoxImage = VoxImage::new([2, 1, 3])?;
//! image.set_value_at([1, 0, 2], 1.0)?;
//! let picture = Render::new().axis(Axis::Z).projection(Projection::Maximum).image(&image)?;
//! // Two voxels, enlarged 128 times.
//! assert_eq!((picture.width(), picture.height()), (256, 128));
//! assert_eq!(picture.pixel(0, 0), Some([0, 0, 0]));
//! assert_eq!(picture.pixel(255, 127), Some([255, 255, 255]));
//! # Ok::<(), ulib_core::Error>(())
//! ```

mod axis;
mod colour;
mod pixels;
mod plane;
mod plot;
mod profile;
mod render;
mod volume;

pub use axis::Axis;
pub use colour::ColourMap;
pub use pixels::Picture;
pub use plane::Projection;
pub(crate) use plane::{finite_range, numbers};
pub use plot::Plot;
pub(crate) use plot::escaped;
pub use profile::Profile;
pub use render::Render;
pub use volume::Volume;
