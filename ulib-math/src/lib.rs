//! Objects that own bulk numbers and know where they are, and the operations on them.
//!
//! | object | holds | its array |
//! |---|---|---|
//! | [`VoxImage`] | voxels of a record type with a `Value` | `f32`, strided |
//! | [`MultiVoxImage`] | channels x components of `f32` per voxel | `f32` of the active pair, strided |
//! | [`EventTable`] | rows of `f64` under named columns | `f64`, `(rows, columns)` |
//! | [`MuonScatterCollection`] | muon tracks before and after a volume | raw bytes, a strided array per field |
//! | [`FloatCollection`], [`LineCollection`], [`Collection`] | elements of one type | packed |
//! | [`GeantEventCollection`] | a path and a name per event | none: host only |
//!
//! Every one of them has the placement property, [`Placed`]: where the numbers should be, where they
//! are, and why. What has an array says how it looks through [`BulkArray`], and lends it as a
//! [`View`](view::View); [`ops`] computes on views where they are, with the same numbers on every
//! device.
//!
//! ```
//! use ulib_math::{Compute, Placed, VoxImage};
//!
//! let mut image: VoxImage = VoxImage::new([32, 32, 32])?;
//! // True on a machine with a GPU. Elsewhere the data stays on the host and says why.
//! let on_device = image.set_preferred_device("Device".parse()?)?;
//! println!("{}", image.location());
//! image.fill(0.5)?;
//! image.scale(4.0)?;
//! // The same number either way.
//! assert_eq!(image.sum()?, 2.0 * 32_768.0);
//! assert_eq!(on_device, image.can_use_device());
//! # Ok::<(), ulib_core::Error>(())
//! ```

pub mod collections;
mod compute;
pub mod event_table;
pub mod geant;
pub mod grid;
pub mod host;
pub mod io;
mod memory;
pub mod multi_vox_image;
pub mod muon_scatter;
pub mod ops;
pub mod picture;
pub mod placed;
pub mod scene;
pub mod view;
pub mod vox_image;
pub mod voxel;

pub use collections::{Collection, FloatCollection, Line, LineCollection, Vector4};
pub use compute::Compute;
pub use event_table::{EventTable, parse_columns};
pub use geant::{GeantEvent, GeantEventCollection};
pub use grid::{DataOrder, Grid, IndexMap};
pub use multi_vox_image::MultiVoxImage;
pub use muon_scatter::{LineError, MuonScatter, MuonScatterCollection};
pub use placed::{Bulk, BulkArray, HostPlacement, Placed};
pub use vox_image::VoxImage;
pub use voxel::{Voxel, VoxelValue, VoxelValueCount};
