//! [`ReadImage`]: images from files.

use std::path::Path;

use ulib_core::{Context, DType, Error, Result};

use super::load::{Components, Target, load};
use super::source::{Disk, Memory, Source};
use super::volume::{Array, Input, Volume, broken, quoted};
use super::{Format, meta_image, nifti, npy, npz, nrrd, vti, vtk};
use crate::grid::DataOrder;
use crate::multi_vox_image::MultiVoxImage;
use crate::vox_image::VoxImage;
use crate::voxel::Voxel;

/// What a file holds, without the numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct ImageInfo {
    /// The format of the file.
    pub format: Format,
    /// The arrays, in the order of the file.
    pub arrays: Vec<ArrayInfo>,
    /// Which one of them [`ReadImage::image`] reads when no name is given.
    pub default: usize,
}

impl ImageInfo {
    /// The array that is read when no name is given.
    #[must_use]
    pub fn array(&self) -> &ArrayInfo {
        &self.arrays[self.default]
    }
}

/// One array of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct ArrayInfo {
    /// Its name; empty in formats that have none.
    pub name: String,
    /// The type of its numbers in the file.
    pub dtype: DType,
    /// Numbers per voxel.
    pub components: usize,
    /// Voxels along x, y and z.
    pub dims: [usize; 3],
    /// The size of a voxel.
    pub spacing: [f64; 3],
    /// The file's origin: see [the module](crate::io).
    pub origin: [f64; 3],
}

/// How an image is read from a file: set what is needed, then call [`image`](ReadImage::image),
/// [`multi_image`](ReadImage::multi_image) or [`info`](ReadImage::info).
///
/// ```
/// use ulib_math::io::{ReadImage, write_image};
/// use ulib_math::VoxImage;
///
/// let path = std::env::temp_dir().join(format!("ulib-read-{}.vti", std::process::id()));
/// let mut image: VoxImage = VoxImage::new([4, 3, 2])?;
/// image.set_value_at([3, 2, 1], 2.5)?;
/// write_image(&image, &path)?;
///
/// let info = ReadImage::new().info(&path)?;
/// assert_eq!(info.array().dims, [4, 3, 2]);
/// assert_eq!(info.array().name, "Value");
/// // The numbers of the file are millionths.
/// let read: VoxImage = ReadImage::new().scale(1e-6).image(&path)?;
/// assert_eq!(read.value_at([3, 2, 1])?, 2.5e-6);
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), ulib_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ReadImage {
    format: Option<Format>,
    scale: f64,
    arrays: Vec<String>,
    component: Option<usize>,
    any_orientation: bool,
}

impl Default for ReadImage {
    fn default() -> Self {
        ReadImage::new()
    }
}

impl ReadImage {
    /// The format of the content, the default array, numbers as they are.
    #[must_use]
    pub fn new() -> Self {
        ReadImage {
            format: None,
            scale: 1.0,
            arrays: Vec::new(),
            component: None,
            any_orientation: false,
        }
    }

    /// Reads the file as this format, whatever it looks like.
    #[must_use]
    pub fn format(mut self, format: Format) -> Self {
        self.format = Some(format);
        self
    }

    /// Multiplies every number, for units: uLib's own files hold the value times 1e6, which 1e-6 undoes. The product is
    /// computed in `f64` and rounded once.
    #[must_use]
    pub fn scale(mut self, scale: f64) -> Self {
        self.scale = scale;
        self
    }

    /// Reads the array of this name. Called again it adds one, for [`multi_image`](ReadImage::multi_image).
    #[must_use]
    pub fn array(mut self, name: impl Into<String>) -> Self {
        self.arrays.push(name.into());
        self
    }

    /// Takes this component of arrays that have several.
    #[must_use]
    pub fn component(mut self, component: usize) -> Self {
        self.component = Some(component);
        self
    }

    /// Takes volumes whose axes are turned or flipped in space, too: voxels in the order of the file, the origin and
    /// the spacing as numbers, the directions dropped. Without it they are refused.
    #[must_use]
    pub fn any_orientation(mut self, any: bool) -> Self {
        self.any_orientation = any;
        self
    }

    /// What the file holds. The numbers are not read (those of an ASCII `.vtk` are gone through).
    ///
    /// # Errors
    /// `Io` when the file cannot be read, `Format` when it is malformed or uses what is not read, `InvalidArgument` when
    /// neither its content nor its name tells its format. The message names the file, the field and its value.
    pub fn info(&self, path: impl AsRef<Path>) -> Result<ImageInfo> {
        self.open(path.as_ref(), |volume, _| Ok(volume))
            .map(|volume| ImageInfo {
                format: volume.format,
                arrays: volume.arrays.iter().map(Array::info).collect(),
                default: volume.default,
            })
    }

    /// The image: the values of one array, order XYZ, on the host and preferring it. Other fields of the voxels are zero.
    ///
    /// Memory is asked for when the size that the file declares was found to be in it (for compressed data: to be
    /// possible in as many compressed bytes), and used as the numbers come. Data that the file has in another order
    /// than x fastest (NumPy's Fortran order) needs twice that memory for a moment.
    ///
    /// # Errors
    /// As [`info`](ReadImage::info); `Index` when there is no such array or component; `InvalidArgument` when
    /// the array has several components and none was chosen; those of an allocation.
    pub fn image<V: Voxel>(&self, path: impl AsRef<Path>) -> Result<VoxImage<V>> {
        self.open(path.as_ref(), |volume, source| self.build(&volume, source))
    }

    /// The image with a channel for each array and the arrays' components, order XYZ, on the host and preferring it.
    ///
    /// The arrays are those named, or all that have the grid and the number of components of the default one.
    ///
    /// # Errors
    /// As [`image`](ReadImage::image); `Shape` when arrays that were named do not go together.
    pub fn multi_image(&self, path: impl AsRef<Path>) -> Result<MultiVoxImage> {
        self.open(path.as_ref(), |volume, source| {
            self.build_multi(&volume, source)
        })
    }

    /// As [`image`](ReadImage::image), from the bytes of a file, which cannot name others.
    ///
    /// # Errors
    /// As [`image`](ReadImage::image).
    pub fn image_from_bytes<V: Voxel>(&self, bytes: &[u8]) -> Result<VoxImage<V>> {
        let source = Memory(bytes);
        let volume = self.parse(&source, None, None)?;
        self.build(&volume, &source)
    }

    /// As [`multi_image`](ReadImage::multi_image), from the bytes of a file, which cannot name others.
    ///
    /// # Errors
    /// As [`multi_image`](ReadImage::multi_image).
    pub fn multi_image_from_bytes(&self, bytes: &[u8]) -> Result<MultiVoxImage> {
        let source = Memory(bytes);
        let volume = self.parse(&source, None, None)?;
        self.build_multi(&volume, &source)
    }

    fn open<T>(
        &self,
        path: &Path,
        finish: impl FnOnce(Volume, &dyn Source) -> Result<T>,
    ) -> Result<T> {
        let read = || {
            let source = Disk::open(path)?;
            finish(self.parse(&source, path.parent(), Some(path))?, &source)
        };
        read().with_context(|| format!("reading {}", path.display()))
    }

    fn parse(
        &self,
        source: &dyn Source,
        folder: Option<&Path>,
        path: Option<&Path>,
    ) -> Result<Volume> {
        if !self.scale.is_finite() {
            return Err(Error::invalid(
                "read image",
                "scale",
                self.scale,
                "a finite number",
            ));
        }
        let format = match (self.format.or_else(|| Format::of_content(source)), path) {
            (Some(format), _) => format,
            (None, Some(path)) => Format::from_path(path)?,
            (None, None) => {
                return Err(Error::invalid(
                    "read image",
                    "the content",
                    "of no known format",
                    "a format to be given",
                ));
            }
        };
        let input = Input {
            source,
            folder,
            any_orientation: self.any_orientation,
        };
        let (arrays, default) = match format {
            Format::Vtk => vtk::parse(&input)?,
            Format::Vti => vti::parse(&input)?,
            Format::MetaImage => (vec![meta_image::parse(&input)?], 0),
            Format::Nrrd => (vec![nrrd::parse(&input)?], 0),
            Format::Nifti => (vec![nifti::parse(&input)?], 0),
            Format::Npy => (vec![npy::parse(&input)?], 0),
            Format::Npz => (npz::parse(&input)?, 0),
        };
        if arrays.is_empty() {
            return Err(broken(format, "there is no array in it"));
        }
        Ok(Volume {
            format,
            arrays,
            default,
        })
    }

    fn build<V: Voxel>(&self, volume: &Volume, source: &dyn Source) -> Result<VoxImage<V>> {
        let array = match self.arrays.as_slice() {
            [] => &volume.arrays[volume.default],
            [name] => named(volume, name)?,
            several => {
                return Err(Error::invalid(
                    "read image",
                    "array",
                    format_args!("{several:?}"),
                    "one array: several make a multi-image",
                ));
            }
        };
        let taken = self.components(array)?;
        if taken.count != 1 {
            return Err(Error::invalid(
                "read image",
                format!("components of array {}", quoted(&array.name)),
                taken.count,
                "one component: choose it, or read a multi-image",
            ));
        }
        let other = array.open()?;
        let source = other.as_ref().map_or(source, |file| file as &dyn Source);
        let start = array.check_room(volume.format, source)?;
        let mut image = VoxImage::<V>::with_grid(array.grid)?;
        let mut values = image.values_mut()?;
        let (words, place) = values.words_mut();
        let mut target = Target {
            values: words,
            offset: place.offset,
            step: place.step,
        };
        load(
            volume.format,
            array,
            source,
            start,
            taken,
            self.scale,
            &mut target,
        )?;
        values.commit()?;
        image.set_order(DataOrder::Xyz)?;
        Ok(image)
    }

    fn build_multi(&self, volume: &Volume, source: &dyn Source) -> Result<MultiVoxImage> {
        let shape =
            |array: &Array| -> Result<_> { Ok((array.grid, self.components(array)?.count)) };
        let first = match self.arrays.first() {
            None => &volume.arrays[volume.default],
            Some(name) => named(volume, name)?,
        };
        let (grid, components) = shape(first)?;
        let mut arrays = Vec::new();
        if self.arrays.is_empty() {
            for array in &volume.arrays {
                if array.grid == grid && array.components == first.components {
                    arrays.push(array);
                }
            }
        }
        for name in &self.arrays {
            let array = named(volume, name)?;
            if shape(array)? != (grid, components) {
                let sides =
                    |array: &Array| [array.grid.dims().as_slice(), &[array.components]].concat();
                return Err(Error::shape(
                    "read multi-image",
                    &sides(first),
                    &sides(array),
                ));
            }
            arrays.push(array);
        }
        let mut opened = Vec::new();
        for array in arrays {
            let other = array.open()?;
            let start = array.check_room(
                volume.format,
                other.as_ref().map_or(source, |file| file as &dyn Source),
            )?;
            opened.push((array, other, start));
        }
        // Arrays that lie on each other would be more memory than the file accounts for.
        let least = opened
            .iter()
            .fold(0_u64, |sum, (array, ..)| sum.saturating_add(array.least()));
        if opened.iter().all(|(_, other, _)| other.is_none()) && least > source.len() {
            return Err(broken(
                volume.format,
                format!(
                    "{} arrays take at least {least} bytes together, and the file has {}",
                    opened.len(),
                    source.len()
                ),
            ));
        }
        let mut image = MultiVoxImage::with_grid(grid, opened.len(), components)?;
        let step = opened.len() * components;
        let mut elements = image.elements_mut()?;
        for (channel, (array, other, start)) in opened.iter().enumerate() {
            let mut target = Target {
                values: &mut elements,
                offset: channel * components,
                step,
            };
            load(
                volume.format,
                array,
                other.as_ref().map_or(source, |file| file as &dyn Source),
                *start,
                self.components(array)?,
                self.scale,
                &mut target,
            )
            .with_context(|| format!("array {}", quoted(&array.name)))?;
        }
        elements.commit()?;
        image.set_order(DataOrder::Xyz)?;
        Ok(image)
    }

    /// The components of an array that are wanted.
    fn components(&self, array: &Array) -> Result<Components> {
        match self.component {
            None => Ok(Components {
                first: 0,
                count: array.components,
            }),
            Some(first) if first < array.components => Ok(Components { first, count: 1 }),
            Some(first) => Err(Error::index("component", first, array.components)),
        }
    }
}

/// The array of this name.
fn named<'a>(volume: &'a Volume, name: &str) -> Result<&'a Array> {
    volume
        .arrays
        .iter()
        .find(|array| array.name == name)
        .ok_or_else(|| {
            let names: Vec<String> = volume
                .arrays
                .iter()
                .map(|array| quoted(&array.name))
                .collect();
            Error::in_op(
                ulib_core::ErrorKind::Index,
                "read image",
                format!(
                    "there is no array {}, only {}",
                    quoted(name),
                    names.join(", ")
                ),
            )
        })
}
