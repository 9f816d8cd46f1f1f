//! The geometry of images: how triples, flat indices and world coordinates belong together.
//!
//! [`DataOrder`] says which axis runs fastest, [`IndexMap`] turns triples into flat indices and
//! back, and [`Grid`] places the map in the world with a spacing, an origin and a position.

mod geometry;
mod index_map;
mod methods;
mod order;
mod rearrange;

pub use geometry::Grid;
pub use index_map::IndexMap;
pub(crate) use methods::grid_methods;
pub use order::DataOrder;
pub(crate) use rearrange::move_voxels;
