//! Arrays, and the textures and surfaces through which kernels use them.
//!
//! | | |
//! |---|---|
//! | what a texel is | [`Format`], [`Texel`] |
//! | sizes and uses of an array | [`ArrayDescriptor`], [`ArrayKind`] |
//! | memory in the device's own order | [`Array`]; with levels [`MipmappedArray`] |
//! | bytes to, from and between arrays | [`copy_to_array`](crate::copy::copy_to_array) and its kin |
//! | how a texture is read | [`Sampling`] |
//! | what a kernel is given | [`TextureObject`], [`SurfaceObject`] |
//! | names in a program's source that stand for them | [`references`] |
//!
//! Everything keeps alive what it depends on, and is destroyed after the work that uses it.

mod array;
mod descriptor;
mod ending;
mod format;
mod limits;
mod mipmap;
mod object;
pub mod references;
mod sampling;
mod surface;
mod view;

pub use array::Array;
pub use descriptor::{ArrayDescriptor, ArrayKind};
pub use format::{Format, Texel};
pub use mipmap::MipmappedArray;
pub use object::{TextureObject, TextureSource};
pub use sampling::{AddressMode, Coordinates, FilterMode, ReadMode, Sampling};
pub use surface::SurfaceObject;
pub use view::{Blocks, View, ViewFormat};
