//! Volumes in files.
//!
//! [`read_image`] and [`write_image`] do the usual; [`ReadImage`] and [`WriteImage`] have the choices: which array and
//! component, a factor for units, the type of the numbers, compression, text.
//!
//! # Formats
//! | format | ends in | read | written |
//! |---|---|---|---|
//! | [`Vti`](Format::Vti) | `.vti` | point and cell data; ascii, base64, appended (base64, raw); zlib blocks; both byte orders | cell data, appended raw or ascii |
//! | [`Vtk`](Format::Vtk) | `.vtk` | structured points: scalars, vectors, tensors, fields of points and cells; ASCII and BINARY | point data, binary or ASCII |
//! | [`MetaImage`](Format::MetaImage) | `.mha`, `.mhd` | raw, zlib, ASCII; both byte orders; channels | `.mha`, or `.mhd` with `.raw` or `.zraw` |
//! | [`Nrrd`](Format::Nrrd) | `.nrrd`, `.nhdr` | raw, gzip, text; both byte orders; a vector axis first or last | `.nrrd`, or `.nhdr` with a data file |
//! | [`Nifti`](Format::Nifti) | `.nii`, `.nii.gz` | versions 1 and 2, both byte orders, scaled | no |
//! | [`Npy`](Format::Npy) | `.npy` | booleans, integers, floats of 16 to 64 bits; C and Fortran order | C order |
//! | [`Npz`](Format::Npz) | `.npz` | as `.npy`, stored and deflated | one array for each channel |
//!
//! # Numbers
//! Numbers of every type become `f32`, the nearest one; NaN stays, and a finite number too large for `f32` is refused. Files are written x fastest from images of every data order,
//! and read images have the order XYZ. NumPy's shape is `(nz, ny, nx)`, with a fourth side for components.
//!
//! # Place
//! The origin and the spacing of a file are kept as the numbers they are, `image.grid().origin()` and `spacing()`, with a position of
//! 0; what is written is origin plus position. In cell data of VTK and in images here the origin is a corner of the first voxel. In point
//! data, MetaImage, NRRD and NIfTI it is the middle of the first voxel, and the number is still the same. Volumes
//! whose axes are turned or flipped are refused unless [`ReadImage::any_orientation`] allows them.
//!
//! # Stopping
//! Long reads and writes ask the watch of [`ulib_device::hooks`] about every 20 ms. One that it stops fails with `Interrupted`:
//! nothing is read, and what was at the place of a file that is written stays. Putting numbers into another order in memory
//! and giving a finished file its name are not stopped.
//!
//! # Files from strangers
//! Everything in a header is checked before it is used; memory is asked for in proportion to what the file holds (a
//! compressed byte can hold 1032); arrays of one image do not share bytes; data files
//! that headers name have to be in the header's own folder; nothing is read twice and no file is held in memory.

mod ascii;
mod asking;
mod atomic;
mod checksum;
mod element;
mod format;
mod load;
mod meta_image;
mod nifti;
mod npy;
mod npz;
mod nrrd;
mod read;
mod source;
mod store;
mod table;
mod text;
mod volume;
mod vti;
mod vtk;
mod write;

use std::path::Path;

use ulib_core::Result;

pub use atomic::AtomicFile;
pub(crate) use atomic::behind_links;
pub use format::Format;
pub use read::{ArrayInfo, ImageInfo, ReadImage};
pub(crate) use source::open_ordinary;
pub use table::{TableFormat, read_columns, read_table, write_table};
pub use write::WriteImage;

use crate::vox_image::VoxImage;
use crate::voxel::Voxel;

/// The image in a file: [`ReadImage`] with nothing set.
///
/// # Errors
/// As [`ReadImage::image`].
pub fn read_image(path: impl AsRef<Path>) -> Result<VoxImage> {
    ReadImage::new().image(path)
}

/// Writes the values of an image to a file, whose name says the format: [`WriteImage`] with nothing set.
///
/// # Errors
/// As [`WriteImage::image`].
///
/// ```
/// use ulib_math::io::{read_image, write_image};
/// use ulib_math::VoxImage;
///
/// let path = std::env::temp_dir().join(format!("ulib-io-{}.npy", std::process::id()));
/// let mut image: VoxImage = VoxImage::new([4, 3, 2])?;
/// image.set_value_at([1, 2, 0], -1.5)?;
/// write_image(&image, &path)?;
/// assert_eq!(read_image(&path)?.to_values()?, image.to_values()?);
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), ulib_core::Error>(())
/// ```
pub fn write_image<V: Voxel>(image: &VoxImage<V>, path: impl AsRef<Path>) -> Result<()> {
    WriteImage::new().image(image, path)
}
