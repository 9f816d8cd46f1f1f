//! What an array looks like: its sizes, its texels, and what it may be used for.

use super::{Format, limits};
use crate::Device;
use crate::sys::{
    CUDA_ARRAY3D_CUBEMAP, CUDA_ARRAY3D_DESCRIPTOR, CUDA_ARRAY3D_LAYERED, CUDA_ARRAY3D_SURFACE_LDST,
    CUDA_ARRAY3D_TEXTURE_GATHER,
};
use ulib_core::{Error, Result};

/// What the sizes of an array mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ArrayKind {
    /// A line of texels.
    Line,
    /// Rows of texels.
    Plane,
    /// Slices of rows.
    Volume,
    /// Lines beside each other, between which nothing is interpolated; `depth` counts them.
    LayeredLine,
    /// Planes beside each other; `depth` counts them.
    LayeredPlane,
    /// The six square faces of a cube.
    Cubemap,
    /// Cubes beside each other; `depth` is six times their number.
    LayeredCubemap,
}

/// Sizes, texels and uses of an array. Sizes are in texels; one that an array of its kind lacks is 0.
///
/// # Examples
/// ```
/// use ulib_device::texture::{ArrayDescriptor, ArrayKind, Format};
///
/// let picture = ArrayDescriptor::plane(640, 480, Format::U8, 4).with_surface();
/// assert_eq!(picture.kind(), ArrayKind::Plane);
/// assert_eq!((picture.texel_bytes(), picture.row_bytes(), picture.rows()), (4, 2560, 480));
/// assert_eq!(picture.bytes()?, 640 * 480 * 4);
/// # Ok::<(), ulib_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ArrayDescriptor {
    /// Texels of a row.
    pub width: usize,
    /// Rows of a slice.
    pub height: usize,
    /// Slices, layers or faces.
    pub depth: usize,
    /// Of each number of a texel.
    pub format: Format,
    /// Numbers of a texel: 1, 2 or 4.
    pub channels: u32,
    /// The driver's `CUDA_ARRAY3D_*` bits.
    pub flags: u32,
}

impl ArrayDescriptor {
    fn new(size: [usize; 3], format: Format, channels: u32, flags: u32) -> Self {
        let [width, height, depth] = size;
        Self {
            width,
            height,
            depth,
            format,
            channels,
            flags,
        }
    }

    /// One row.
    #[must_use]
    pub fn line(width: usize, format: Format, channels: u32) -> Self {
        Self::new([width, 0, 0], format, channels, 0)
    }

    /// Rows of one slice.
    #[must_use]
    pub fn plane(width: usize, height: usize, format: Format, channels: u32) -> Self {
        Self::new([width, height, 0], format, channels, 0)
    }

    /// Slices of rows.
    #[must_use]
    pub fn volume(
        width: usize,
        height: usize,
        depth: usize,
        format: Format,
        channels: u32,
    ) -> Self {
        Self::new([width, height, depth], format, channels, 0)
    }

    /// `layers` rows.
    #[must_use]
    pub fn layered_line(width: usize, layers: usize, format: Format, channels: u32) -> Self {
        Self::new([width, 0, layers], format, channels, CUDA_ARRAY3D_LAYERED)
    }

    /// `layers` planes.
    #[must_use]
    pub fn layered_plane(
        width: usize,
        height: usize,
        layers: usize,
        format: Format,
        channels: u32,
    ) -> Self {
        let size = [width, height, layers];
        Self::new(size, format, channels, CUDA_ARRAY3D_LAYERED)
    }

    /// The faces +x, -x, +y, -y, +z, -z of a cube, `width` texels wide and high.
    #[must_use]
    pub fn cubemap(width: usize, format: Format, channels: u32) -> Self {
        Self::new([width, width, 6], format, channels, CUDA_ARRAY3D_CUBEMAP)
    }

    /// `cubes` cubes.
    #[must_use]
    pub fn layered_cubemap(width: usize, cubes: usize, format: Format, channels: u32) -> Self {
        let flags = CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_LAYERED;
        let faces = cubes.saturating_mul(6);
        Self::new([width, width, faces], format, channels, flags)
    }

    /// The same for an array that kernels may write through a [`SurfaceObject`](super::SurfaceObject).
    #[must_use]
    pub fn with_surface(self) -> Self {
        self.with_flags(CUDA_ARRAY3D_SURFACE_LDST)
    }

    /// The same for a plane that kernels may gather from (`tex2Dgather`).
    #[must_use]
    pub fn with_gather(self) -> Self {
        self.with_flags(CUDA_ARRAY3D_TEXTURE_GATHER)
    }

    fn with_flags(self, flags: u32) -> Self {
        Self {
            flags: self.flags | flags,
            ..self
        }
    }

    /// What the sizes mean.
    #[must_use]
    pub fn kind(&self) -> ArrayKind {
        let layered = self.has(CUDA_ARRAY3D_LAYERED);
        match (self.has(CUDA_ARRAY3D_CUBEMAP), layered) {
            (true, true) => ArrayKind::LayeredCubemap,
            (true, false) => ArrayKind::Cubemap,
            (false, true) if self.height == 0 => ArrayKind::LayeredLine,
            (false, true) => ArrayKind::LayeredPlane,
            (false, false) if self.depth > 0 => ArrayKind::Volume,
            (false, false) if self.height > 0 => ArrayKind::Plane,
            (false, false) => ArrayKind::Line,
        }
    }

    /// Whether kernels may write it.
    #[must_use]
    pub fn has_surface(&self) -> bool {
        self.has(CUDA_ARRAY3D_SURFACE_LDST)
    }

    fn has(&self, flag: u32) -> bool {
        self.flags & flag != 0
    }

    /// Bytes of a texel.
    #[must_use]
    pub fn texel_bytes(&self) -> usize {
        self.format.bytes().saturating_mul(self.channels as usize)
    }

    /// Bytes of a row.
    #[must_use]
    pub fn row_bytes(&self) -> usize {
        self.width.saturating_mul(self.texel_bytes())
    }

    /// Rows of a slice, at least 1.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.height.max(1)
    }

    /// Slices, layers or faces, at least 1.
    #[must_use]
    pub fn slices(&self) -> usize {
        self.depth.max(1)
    }

    /// Texels in all.
    ///
    /// # Errors
    /// Kind `Overflow` when the number does not fit.
    pub fn texels(&self) -> Result<usize> {
        self.times(self.width)
    }

    /// Bytes of all texels.
    ///
    /// # Errors
    /// Kind `Overflow` when the number does not fit.
    pub fn bytes(&self) -> Result<usize> {
        let row = self.width.checked_mul(self.texel_bytes());
        self.times(row.ok_or_else(|| self.too_large())?)
    }

    fn times(&self, row: usize) -> Result<usize> {
        let rows = self.rows().checked_mul(self.slices());
        rows.and_then(|rows| rows.checked_mul(row))
            .ok_or_else(|| self.too_large())
    }

    fn too_large(&self) -> Error {
        let size = [self.width, self.height, self.depth];
        Error::overflow("Array::new", format_args!("an array of {size:?} texels"))
    }

    /// As the driver has it.
    #[must_use]
    pub fn raw(&self) -> CUDA_ARRAY3D_DESCRIPTOR {
        CUDA_ARRAY3D_DESCRIPTOR {
            Width: self.width,
            Height: self.height,
            Depth: self.depth,
            Format: self.format.raw(),
            NumChannels: self.channels,
            Flags: self.flags,
        }
    }

    /// From what the driver says.
    ///
    /// # Errors
    /// As [`Format::from_raw`].
    pub fn from_raw(raw: &CUDA_ARRAY3D_DESCRIPTOR) -> Result<Self> {
        Ok(Self {
            width: raw.Width,
            height: raw.Height,
            depth: raw.Depth,
            format: Format::from_raw(raw.Format)?,
            channels: raw.NumChannels,
            flags: raw.Flags,
        })
    }

    /// Checks that there is such an array on `device`.
    pub(super) fn check(&self, op: &'static str, device: &Device) -> Result<()> {
        check_channels(op, self.channels)?;
        if self.width == 0 {
            return Err(Error::invalid(op, "width", 0, "at least one texel"));
        }
        let kind = self.kind();
        if matches!(kind, ArrayKind::Cubemap | ArrayKind::LayeredCubemap) {
            self.check_cube(op, kind)?;
        } else if kind == ArrayKind::Volume && self.height == 0 {
            let expected = "at least one row, since there are slices";
            return Err(Error::invalid(op, "height", 0, expected));
        } else if self.has(CUDA_ARRAY3D_LAYERED) && self.depth == 0 {
            return Err(Error::invalid(op, "depth", 0, "at least one layer"));
        }
        if self.has(CUDA_ARRAY3D_TEXTURE_GATHER) && kind != ArrayKind::Plane {
            let found = format_args!("with the bit for gathering in {kind:?}");
            return Err(Error::invalid(op, "flags", found, "that bit for a Plane"));
        }
        self.bytes()?;
        self.check_limits(op, device, limits::bounds(kind))?;
        if self.has_surface() {
            self.check_limits(op, device, limits::surface_bounds(kind))?;
        }
        if self.has(CUDA_ARRAY3D_TEXTURE_GATHER) {
            self.check_limits(op, device, &limits::GATHER)?;
        }
        Ok(())
    }

    fn check_cube(&self, op: &'static str, kind: ArrayKind) -> Result<()> {
        if self.width != self.height {
            let expected = format!("the width of a face, {}", self.width);
            return Err(Error::invalid(op, "height", self.height, expected));
        }
        let whole = match kind {
            ArrayKind::Cubemap => self.depth == 6,
            _ => self.depth > 0 && self.depth.is_multiple_of(6),
        };
        if whole {
            return Ok(());
        }
        let expected = "6 faces, or for layers a multiple";
        Err(Error::invalid(op, "depth", self.depth, expected))
    }
}

/// A texel has one, two or four numbers.
pub(super) fn check_channels(op: &'static str, channels: u32) -> Result<()> {
    if matches!(channels, 1 | 2 | 4) {
        return Ok(());
    }
    Err(Error::invalid(op, "channels", channels, "1, 2 or 4"))
}
