//! [`Format`]: the kinds of files.

use std::fmt;
use std::path::Path;

use flate2::read::MultiGzDecoder;
use ulib_core::{Error, Result};

use super::source::{Section, Source};
use super::volume;

/// A file format of volumes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// VTK's legacy files, `.vtk`: structured points.
    Vtk,
    /// VTK's XML image data, `.vti`.
    Vti,
    /// MetaImage: `.mha`, or a header `.mhd` with a data file.
    MetaImage,
    /// Nearly raw raster data: `.nrrd`, or a header `.nhdr` with a data file.
    Nrrd,
    /// NIfTI-1 and NIfTI-2: `.nii`, `.nii.gz`. Read only.
    Nifti,
    /// One NumPy array: `.npy`.
    Npy,
    /// Named NumPy arrays in a zip archive: `.npz`.
    Npz,
}

impl Format {
    /// All formats.
    pub const ALL: [Format; 7] = [
        Format::Vtk,
        Format::Vti,
        Format::MetaImage,
        Format::Nrrd,
        Format::Nifti,
        Format::Npy,
        Format::Npz,
    ];

    /// The name, as messages have it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Format::Vtk => "vtk",
            Format::Vti => "vti",
            Format::MetaImage => "metaimage",
            Format::Nrrd => "nrrd",
            Format::Nifti => "nifti",
            Format::Npy => "npy",
            Format::Npz => "npz",
        }
    }

    /// The ends of file names of this format, in lower case.
    #[must_use]
    pub const fn extensions(self) -> &'static [&'static str] {
        match self {
            Format::Vtk => &[".vtk"],
            Format::Vti => &[".vti"],
            Format::MetaImage => &[".mha", ".mhd"],
            Format::Nrrd => &[".nrrd", ".nhdr"],
            Format::Nifti => &[".nii", ".nii.gz"],
            Format::Npy => &[".npy"],
            Format::Npz => &[".npz"],
        }
    }

    /// The format that the end of a file's name stands for, in any case.
    ///
    /// # Errors
    /// `InvalidArgument`, listing the ends that are known.
    ///
    /// ```
    /// use ulib_math::io::Format;
    /// assert_eq!(Format::from_path("scan.NII.gz")?, Format::Nifti);
    /// assert!(Format::from_path("scan.gz").is_err());
    /// # Ok::<(), ulib_core::Error>(())
    /// ```
    pub fn from_path(path: impl AsRef<Path>) -> Result<Self> {
        Self::named_by(path.as_ref(), |_| true)
    }

    /// [`from_path`](Self::from_path) for a file to be written: the ends that are listed are of formats that are written.
    pub(super) fn to_write(path: &Path) -> Result<Self> {
        Self::named_by(path, |format| format != Format::Nifti)
    }

    /// The format that a file's name stands for; where it stands for none, the ends of those that are `listed` are named.
    fn named_by(path: &Path, listed: impl Fn(Self) -> bool) -> Result<Self> {
        let name = path
            .file_name()
            .map(|name| name.to_string_lossy().to_lowercase())
            .unwrap_or_default();
        Format::ALL
            .into_iter()
            .find(|format| format.extensions().iter().any(|end| name.ends_with(end)))
            .ok_or_else(|| {
                let known: Vec<&str> = Format::ALL
                    .into_iter()
                    .filter(|format| listed(*format))
                    .flat_map(Format::extensions)
                    .copied()
                    .collect();
                Error::invalid(
                    "file format",
                    "the file name",
                    path.display(),
                    format!("one that ends in {}", known.join(", ")),
                )
            })
    }

    /// The format that the first bytes of a file are those of.
    pub(super) fn of_content(source: &dyn Source) -> Option<Self> {
        let mut bytes = [0; 352];
        let count = volume::head(Section::all(source), &mut bytes).ok()?;
        let start = &bytes[..count];
        if start.starts_with(&[0x1f, 0x8b]) {
            let mut inside = [0; 352];
            let count =
                volume::head(MultiGzDecoder::new(Section::all(source)), &mut inside).ok()?;
            return is_nifti(&inside[..count]).then_some(Format::Nifti);
        }
        let text = start
            .strip_prefix(b"\xef\xbb\xbf")
            .unwrap_or(start)
            .trim_ascii_start();
        let begins = |words: &[&[u8]]| words.iter().any(|word| text.starts_with(word));
        match text {
            _ if begins(&[b"# vtk DataFile"]) => Some(Format::Vtk),
            _ if begins(&[b"<?xml", b"<VTKFile"]) => Some(Format::Vti),
            _ if begins(&[b"NRRD000"]) => Some(Format::Nrrd),
            _ if begins(&[b"ObjectType", b"NDims", b"Comment"]) => Some(Format::MetaImage),
            _ if start.starts_with(b"\x93NUMPY") => Some(Format::Npy),
            _ if start.starts_with(b"PK\x03\x04") => Some(Format::Npz),
            _ if is_nifti(start) => Some(Format::Nifti),
            _ => None,
        }
    }
}

fn is_nifti(bytes: &[u8]) -> bool {
    bytes.get(4..8) == Some(b"n+2\0") || bytes.get(344..348) == Some(b"n+1\0")
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
