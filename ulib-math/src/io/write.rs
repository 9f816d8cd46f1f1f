//! [`WriteImage`]: images into files.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use ulib_core::{Context, DType, Error, Result};

use super::atomic::AtomicFile;
use super::element::COMMON;
use super::store::{Outgoing, Outline};
use super::{Format, meta_image, npy, npz, nrrd, vti, vtk};
use crate::grid::Grid;
use crate::multi_vox_image::MultiVoxImage;
use crate::vox_image::VoxImage;
use crate::voxel::Voxel;

/// How an image is written to a file: set what is needed, then call [`image`](WriteImage::image) or
/// [`multi_image`](WriteImage::multi_image).
///
/// ```
/// use ulib_core::DType;
/// use ulib_math::io::{ReadImage, WriteImage};
/// use ulib_math::VoxImage;
///
/// let path = std::env::temp_dir().join(format!("ulib-write-{}.nrrd", std::process::id()));
/// let mut image: VoxImage = VoxImage::new([4, 3, 2])?;
/// image.set_value_at([3, 2, 1], 2.5)?;
/// WriteImage::new().dtype(DType::U16).scale(100.0).compressed(true).image(&image, &path)?;
///
/// let read: VoxImage = ReadImage::new().image(&path)?;
/// assert_eq!(read.value_at([3, 2, 1])?, 250.0);
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), ulib_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct WriteImage {
    format: Option<Format>,
    scale: f64,
    dtype: DType,
    arrays: Vec<String>,
    compressed: bool,
    ascii: bool,
}

impl Default for WriteImage {
    fn default() -> Self {
        WriteImage::new()
    }
}

impl WriteImage {
    /// The format of the file's name; `f32`, binary, not compressed, numbers as they are.
    #[must_use]
    pub fn new() -> Self {
        WriteImage {
            format: None,
            scale: 1.0,
            dtype: DType::F32,
            arrays: Vec::new(),
            compressed: false,
            ascii: false,
        }
    }

    /// Writes this format, whatever the file is called.
    #[must_use]
    pub fn format(mut self, format: Format) -> Self {
        self.format = Some(format);
        self
    }

    /// Multiplies every number, for units: 1e6 is what uLib's own files have. The product is computed in `f64` and
    /// rounded once.
    #[must_use]
    pub fn scale(mut self, scale: f64) -> Self {
        self.scale = scale;
        self
    }

    /// The type of the numbers in the file: `f32`, `f64` or an integer; in `.npy` and `.npz` also `f16`. Numbers
    /// become the nearest one (ties to even); beyond the range they become the smallest or largest integer or an
    /// infinite float, and NaN becomes the integer 0.
    #[must_use]
    pub fn dtype(mut self, dtype: DType) -> Self {
        self.dtype = dtype;
        self
    }

    /// The name of the array, where the format has names; called again, that of the next one of a multi-image. Without
    /// it an image has `Value`, and a multi-image `Value0`, `Value1` and so on when it has several channels.
    #[must_use]
    pub fn array(mut self, name: impl Into<String>) -> Self {
        self.arrays.push(name.into());
        self
    }

    /// Whether the numbers are compressed: not in `.vtk` and `.npy`.
    #[must_use]
    pub fn compressed(mut self, compressed: bool) -> Self {
        self.compressed = compressed;
        self
    }

    /// Whether the numbers are written as text, from which the same ones are read: not in `.npy` and `.npz`.
    #[must_use]
    pub fn ascii(mut self, ascii: bool) -> Self {
        self.ascii = ascii;
        self
    }

    /// Writes the values of an image. Other fields of the voxels are not written.
    ///
    /// The file appears whole or not at all (see [`AtomicFile`]). Voxels that are newer on the device come home once, as one
    /// copy.
    ///
    /// # Errors
    /// `InvalidArgument` when the format cannot be told from the name or has not what was asked for, and for an image
    /// without voxels; `Io` when writing fails; `Driver` when the device breaks.
    pub fn image<V: Voxel>(&self, image: &VoxImage<V>, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let write = || {
            let values = image.values()?;
            let (words, place) = values.words();
            let names = self.names(1)?;
            let arrays = names
                .into_iter()
                .map(|name| Outline {
                    name,
                    offset: place.offset,
                    components: 1,
                })
                .collect();
            self.write(path, image.grid(), words, place.step, arrays)
        };
        write().with_context(|| format!("writing {}", path.display()))
    }

    /// Writes all channels of an image, each as an array with its components. Formats that hold one array (MetaImage,
    /// NRRD, `.npy`) get the channels one after the other as components of it.
    ///
    /// # Errors
    /// As [`image`](WriteImage::image).
    pub fn multi_image(&self, image: &MultiVoxImage, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let write = || {
            let elements = image.elements()?;
            let components = image.components();
            let names = self.names(image.channels())?;
            let arrays = names
                .into_iter()
                .enumerate()
                .map(|(channel, name)| Outline {
                    name,
                    offset: channel * components,
                    components,
                })
                .collect();
            let step = image.channels() * components;
            self.write(path, image.grid(), &elements, step, arrays)
        };
        write().with_context(|| format!("writing {}", path.display()))
    }

    /// The names of that many arrays.
    fn names(&self, count: usize) -> Result<Vec<String>> {
        let names = match (self.arrays.as_slice(), count) {
            ([], 1) => vec!["Value".to_owned()],
            ([], _) => (0..count).map(|number| format!("Value{number}")).collect(),
            (names, _) if names.len() == count => names.to_vec(),
            (names, _) => {
                return Err(invalid(
                    "arrays",
                    format!("{names:?}"),
                    "a name for each channel",
                ));
            }
        };
        for (number, name) in names.iter().enumerate() {
            let odd = name.is_empty() || name.chars().any(char::is_control);
            if odd || names[..number].contains(name) {
                return Err(invalid(
                    "arrays",
                    format!("{names:?}"),
                    "different names of visible characters",
                ));
            }
        }
        Ok(names)
    }

    fn write(
        &self,
        path: &Path,
        grid: &Grid,
        values: &[f32],
        step: usize,
        arrays: Vec<Outline>,
    ) -> Result<()> {
        let format = match self.format {
            Some(format) => format,
            None => Format::to_write(path)?,
        };
        if !self.scale.is_finite() {
            return Err(invalid("scale", self.scale, "a finite number"));
        }
        let half = self.dtype == DType::F16 && matches!(format, Format::Npy | Format::Npz);
        if !half && !COMMON.contains(&self.dtype) {
            return Err(Error::dtype(
                "write image",
                self.dtype,
                "a number that the format has",
            ));
        }
        if self.ascii && self.compressed {
            return Err(invalid("ascii", true, "false for compressed numbers"));
        }
        if self.ascii && matches!(format, Format::Npy | Format::Npz) {
            return Err(invalid("ascii", true, "false: the format is binary"));
        }
        if self.compressed && matches!(format, Format::Npy | Format::Vtk) {
            return Err(invalid(
                "compressed",
                true,
                "false: the format has no compression",
            ));
        }
        if grid.is_empty() {
            return Err(invalid("the image", "empty", "at least one voxel"));
        }
        let (origin, position) = (grid.origin(), grid.position());
        let image = Outgoing {
            dims: grid.dims(),
            spacing: grid.spacing(),
            origin: std::array::from_fn(|axis| origin[axis] + position[axis]),
            values,
            strides: grid.map().increments().map(|increment| increment * step),
            arrays,
            dtype: self.dtype,
            scale: self.scale,
            compressed: self.compressed,
            ascii: self.ascii,
        };
        match format {
            Format::Vtk => vtk::write(&image, path),
            Format::Vti => vti::write(&image, path),
            Format::MetaImage => meta_image::write(&image, path),
            Format::Nrrd => nrrd::write(&image, path),
            Format::Npy => npy::write(&image, path),
            Format::Npz => npz::write(&image, path),
            Format::Nifti => Err(invalid("format", format, "another one: NIfTI is read only")),
        }
    }
}

fn invalid(argument: &'static str, value: impl std::fmt::Display, expected: &'static str) -> Error {
    Error::invalid("write image", argument, value, expected)
}

/// Makes a file at `path` of what `write` writes.
pub(super) fn whole_file(path: &Path, write: impl FnOnce(&File) -> io::Result<()>) -> Result<()> {
    let file = AtomicFile::create(path)?;
    write(file.file()).map_err(|error| Error::io("write", error))?;
    file.commit()
}

/// [`whole_file`] through a buffer.
pub(super) fn whole_stream(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>,
) -> Result<()> {
    whole_file(path, |file| {
        let mut stream = BufWriter::with_capacity(1 << 18, file);
        write(&mut stream)?;
        stream.flush()
    })
}

/// Makes the data file of a header, which is there first, and a header at `path`, made when the length of the data is known.
pub(super) fn header_and_data(
    path: &Path,
    header: impl FnOnce(u64) -> String,
    data: &Path,
    write: impl FnOnce(&File) -> io::Result<u64>,
) -> Result<()> {
    let failed = |error| Error::io("write", error);
    let header_file = AtomicFile::create(path)?;
    let data_file = AtomicFile::create(data)?;
    let size = write(data_file.file()).map_err(failed)?;
    header_file
        .file()
        .write_all(header(size).as_bytes())
        .map_err(failed)?;
    data_file.commit()?;
    header_file.commit()
}

/// The name of the data file of a header: that of the header with another end.
pub(super) fn data_name(path: &Path, end: &str) -> Result<String> {
    path.file_stem()
        .and_then(|stem| stem.to_str())
        .filter(|stem| {
            !stem
                .chars()
                .any(|c| c.is_control() || c == '%' || c == '\\')
        })
        .map(|stem| format!("{stem}.{end}"))
        .ok_or_else(|| {
            invalid(
                "the file name",
                path.display(),
                "a name that a header can have in it",
            )
        })
}

/// Whether a file name ends in `.end`, in any case.
pub(super) fn ends_in(path: &Path, end: &str) -> bool {
    path.extension()
        .is_some_and(|own| own.eq_ignore_ascii_case(end))
}
