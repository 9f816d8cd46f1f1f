//! Copies between host and device memory, and fills.
//!
//! | function | host side | blocks |
//! |---|---|---|
//! | [`upload`], [`download`] | any slice | until the bytes are there |
//! | [`upload_async`], [`download_async`] | a [`PinnedBytes`](crate::pinned::PinnedBytes), owned by the returned [`Pending`] | no |
//! | [`copy_device`] (one device or two) | none | no |
//! | [`copy_2d`], [`copy_3d`] (rows at a pitch) | any slice, or none | when the host takes part |
//! | [`copy_to_array`], [`copy_from_array`], [`copy_between_arrays`] | any slice, or none | when the host takes part |
//! | [`fill`] | none | no |
//! | [`raw`] (addresses and the driver's own descriptions) | anything, on the caller's word | no |
//!
//! All are ordered on the stream given and after conflicting work that the memory remembers on other streams, and all
//! check their bounds before anything is touched.
//!
//! Large copies from or to ordinary memory go through a ring of pinned buffers filled by several threads, which is
//! several times faster than what the driver does with such memory. The ring is made when it is first needed and has at
//! most 64 MiB for each device. One copy at a time uses it; another one that would have to wait for it longer than 200 ms
//! goes directly. Long blocking copies ask [`hooks::poll`](crate::hooks::poll) about every 20 ms whether
//! to go on.

mod arrays;
mod bounds;
mod device;
mod fill;
mod gate;
mod lane;
mod linear;
mod paced;
mod pending;
pub mod raw;
mod ring;
mod sides;
mod strided;
mod strided_calls;
mod work;

pub use arrays::{copy_between_arrays, copy_from_array, copy_to_array};
pub(crate) use bounds::check_range;
pub use device::copy_device;
pub use fill::fill;
pub(crate) use linear::{Over, STAGED_FROM_BYTES, until_over};
pub use linear::{download, upload};
pub use pending::{Pending, download_async, upload_async};
pub use strided::{Extent, Pitch, Source, Target, copy_2d, copy_3d};
