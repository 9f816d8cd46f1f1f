//! How a texture is read: between its texels, beyond its edges, and as which numbers.

use crate::sys::{
    CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION, CU_TRSF_NORMALIZED_COORDINATES,
    CU_TRSF_READ_AS_INTEGER, CU_TRSF_SEAMLESS_CUBEMAP, CU_TRSF_SRGB, CUDA_TEXTURE_DESC,
    CUaddress_mode, CUfilter_mode,
};

/// What lies beyond the edges along one axis. The first and the third need normalised coordinates; with others the
/// device clamps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum AddressMode {
    /// The texture again.
    Wrap,
    /// The texel at the edge.
    #[default]
    Clamp,
    /// The texture mirrored.
    Mirror,
    /// [`Sampling::border`].
    Border,
}

impl AddressMode {
    /// All of them, in the order of the driver's numbers.
    pub const ALL: [Self; 4] = [Self::Wrap, Self::Clamp, Self::Mirror, Self::Border];

    fn raw(self) -> CUaddress_mode {
        match self {
            Self::Wrap => CUaddress_mode::CU_TR_ADDRESS_MODE_WRAP,
            Self::Clamp => CUaddress_mode::CU_TR_ADDRESS_MODE_CLAMP,
            Self::Mirror => CUaddress_mode::CU_TR_ADDRESS_MODE_MIRROR,
            Self::Border => CUaddress_mode::CU_TR_ADDRESS_MODE_BORDER,
        }
    }
}

/// What lies between texels, or between levels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FilterMode {
    /// The nearest one.
    #[default]
    Point,
    /// The weighted mean of the neighbours.
    Linear,
}

impl FilterMode {
    /// All of them, in the order of the driver's numbers.
    pub const ALL: [Self; 2] = [Self::Point, Self::Linear];

    fn raw(self) -> CUfilter_mode {
        match self {
            Self::Point => CUfilter_mode::CU_TR_FILTER_MODE_POINT,
            Self::Linear => CUfilter_mode::CU_TR_FILTER_MODE_LINEAR,
        }
    }
}

/// As which numbers integers of 8 and 16 bits are read; floats and integers of 32 bits are read as they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ReadMode {
    /// As they are.
    #[default]
    Element,
    /// As floats from 0 to 1, or from -1 to 1 where signed.
    NormalizedFloat,
}

/// What coordinates mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Coordinates {
    /// Texels: the middle of the first is at 0.5.
    #[default]
    Texels,
    /// Parts of the size: 0 to 1.
    Normalized,
}

/// How a texture is read. The default is the nearest texel, clamped at the edges, as it is, at coordinates in texels.
///
/// # Examples
/// ```
/// use ulib_device::texture::{AddressMode, FilterMode, Sampling};
///
/// let smooth = Sampling { filter: FilterMode::Linear, ..Sampling::default() };
/// assert_eq!(smooth.address, [AddressMode::Clamp; 3]);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sampling {
    /// Beyond the edges along x, y and z.
    pub address: [AddressMode; 3],
    /// Between texels.
    pub filter: FilterMode,
    /// As which numbers.
    pub read: ReadMode,
    /// At which coordinates.
    pub coordinates: Coordinates,
    /// Whether 8-bit colours are decoded from sRGB to linear floats.
    pub srgb: bool,
    /// What [`AddressMode::Border`] gives.
    pub border: [f32; 4],
    /// The most samples along the direction in which a picture is squeezed: 0 to 16.
    pub max_anisotropy: u32,
    /// Between the levels of a mipmapped array.
    pub mipmap_filter: FilterMode,
    /// Added to the level.
    pub mipmap_bias: f32,
    /// The first and the last level that are used.
    pub mipmap_levels: [f32; 2],
    /// Whether faces of a cubemap are joined at their edges when filtered.
    pub seamless_cubemap: bool,
    /// Whether filtering between levels must be exact.
    pub exact_trilinear: bool,
}

impl Sampling {
    /// As the driver has it.
    pub(super) fn raw(&self) -> CUDA_TEXTURE_DESC {
        let bits = [
            (self.read == ReadMode::Element, CU_TRSF_READ_AS_INTEGER),
            (
                self.coordinates == Coordinates::Normalized,
                CU_TRSF_NORMALIZED_COORDINATES,
            ),
            (self.srgb, CU_TRSF_SRGB),
            (self.seamless_cubemap, CU_TRSF_SEAMLESS_CUBEMAP),
            (self.exact_trilinear, CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION),
        ];
        let flags = bits.into_iter().filter(|(set, _)| *set);
        CUDA_TEXTURE_DESC {
            addressMode: self.address.map(AddressMode::raw),
            filterMode: self.filter.raw(),
            flags: flags.fold(0, |flags, (_, bit)| flags | bit),
            maxAnisotropy: self.max_anisotropy,
            mipmapFilterMode: self.mipmap_filter.raw(),
            mipmapLevelBias: self.mipmap_bias,
            minMipmapLevelClamp: self.mipmap_levels[0],
            maxMipmapLevelClamp: self.mipmap_levels[1],
            borderColor: self.border,
            reserved: [0; 12],
        }
    }
}
