//! What a texture sees of its array: other numbers in the same bytes, some of its levels and layers.

use ulib_core::{Error, Result};

use super::{ArrayDescriptor, ArrayKind, Format, TextureSource};
use crate::sys::{CUDA_RESOURCE_VIEW_DESC, CUresourceViewFormat};

/// Compressed texels: blocks of four by four in one texel of the array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Blocks {
    /// BC1: colours with a bit of coverage, 8 bytes.
    Bc1,
    /// BC2: colours with coverage of four bits, 16 bytes.
    Bc2,
    /// BC3: colours with interpolated coverage, 16 bytes.
    Bc3,
    /// BC4: one number from 0 to 1, 8 bytes.
    Bc4,
    /// BC4: one number from -1 to 1, 8 bytes.
    SignedBc4,
    /// BC5: two numbers from 0 to 1, 16 bytes.
    Bc5,
    /// BC5: two numbers from -1 to 1, 16 bytes.
    SignedBc5,
    /// BC6H: colours of half precision that are not negative, 16 bytes.
    Bc6h,
    /// BC6H: colours of half precision, 16 bytes.
    SignedBc6h,
    /// BC7: colours with coverage, 16 bytes.
    Bc7,
}

impl Blocks {
    /// All of them, in the order of the driver's numbers.
    pub const ALL: [Self; 10] = [
        Self::Bc1,
        Self::Bc2,
        Self::Bc3,
        Self::Bc4,
        Self::SignedBc4,
        Self::Bc5,
        Self::SignedBc5,
        Self::Bc6h,
        Self::SignedBc6h,
        Self::Bc7,
    ];

    /// Bytes of a block.
    #[must_use]
    pub fn bytes(self) -> usize {
        match self {
            Self::Bc1 | Self::Bc4 | Self::SignedBc4 => 8,
            _ => 16,
        }
    }
}

/// What the bytes of a texel are taken for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ViewFormat {
    /// What the array says.
    #[default]
    Own,
    /// 1, 2 or 4 numbers, as many bytes in all as the array's texels have.
    Texels(Format, u32),
    /// Compressed texels. The array has two (blocks of 8 bytes) or four numbers of [`Format::U32`], and the texture is four times as
    /// wide and high.
    Blocks(Blocks),
}

/// The first number of each format, for one channel; two and four come behind.
const FIRST: [(Format, u32); 8] = [
    (Format::U8, 1),
    (Format::I8, 4),
    (Format::U16, 7),
    (Format::I16, 10),
    (Format::U32, 13),
    (Format::I32, 16),
    (Format::F16, 19),
    (Format::F32, 22),
];
const FIRST_OF_BLOCKS: u32 = 25;

impl ViewFormat {
    /// The driver's number for it (`CU_RES_VIEW_FORMAT_*`).
    ///
    /// # Errors
    /// Kind `InvalidArgument` when texels have another number of channels than 1, 2 or 4.
    pub fn raw(self) -> Result<CUresourceViewFormat> {
        let number = match self {
            Self::Own => 0,
            Self::Texels(format, channels) => {
                super::descriptor::check_channels("ViewFormat::raw", channels)?;
                let first = FIRST.iter().find(|(known, _)| *known == format);
                first.map_or(0, |(_, first)| first + channels.ilog2())
            }
            Self::Blocks(blocks) => {
                let place = Blocks::ALL.iter().position(|&known| known == blocks);
                FIRST_OF_BLOCKS + place.unwrap_or(0) as u32
            }
        };
        Ok(CUresourceViewFormat(number))
    }

    /// The format with this number.
    ///
    /// # Errors
    /// Kind `InvalidArgument` when there is none.
    pub fn from_raw(raw: CUresourceViewFormat) -> Result<Self> {
        let number = raw.0;
        if number == 0 {
            return Ok(Self::Own);
        }
        if number < FIRST_OF_BLOCKS {
            let (format, first) = FIRST[(number as usize - 1) / 3];
            return Ok(Self::Texels(format, 1 << (number - first)));
        }
        let blocks = Blocks::ALL.get((number - FIRST_OF_BLOCKS) as usize);
        blocks
            .map(|&blocks| Self::Blocks(blocks))
            .ok_or_else(|| Error::invalid("ViewFormat::from_raw", "format", number, "0 to 34"))
    }

    /// What a number is, of an array with this format; `None` where it is part of a block.
    pub(super) fn number(self, own: Format) -> Option<Format> {
        match self {
            Self::Own => Some(own),
            Self::Texels(format, _) => Some(format),
            Self::Blocks(_) => None,
        }
    }
}

/// What a [`TextureObject`](super::TextureObject) sees of an array. By default it is all of it, as it is.
///
/// # Examples
/// ```
/// use ulib_device::texture::{Format, View, ViewFormat};
///
/// // The bytes of packed colours as one number each, and of the layers the second and third.
/// let view = View { format: ViewFormat::Texels(Format::U32, 1), layers: Some((1, 2)), ..View::default() };
/// assert_eq!(ViewFormat::from_raw(view.format.raw()?)?, view.format);
/// # Ok::<(), ulib_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct View {
    /// What the bytes of a texel are taken for.
    pub format: ViewFormat,
    /// The first and the last level of a mipmapped array; the first becomes level 0.
    pub levels: Option<(u32, u32)>,
    /// The first and the last layer of an array with layers; the first becomes layer 0.
    pub layers: Option<(u32, u32)>,
}

impl View {
    /// As the driver has it, for an array that has what is asked for.
    pub(super) fn raw(
        &self,
        op: &'static str,
        source: &TextureSource,
    ) -> Result<CUDA_RESOURCE_VIEW_DESC> {
        let (own, levels) = match source {
            TextureSource::Array(array) => (array.descriptor(), None),
            TextureSource::Mipmaps(array) => (array.descriptor(), Some(array.levels().len())),
            TextureSource::Linear { .. } | TextureSource::Pitched { .. } => {
                let found = "one of linear memory";
                return Err(Error::invalid(op, "view", found, "one of an array"));
            }
        };
        let scale = self.check_format(op, own)?;
        let layers = layers_of(own);
        let (first_level, last_level) = part(op, "levels", self.levels, levels)?;
        let (first_layer, last_layer) = part(op, "layers", self.layers, layers)?;
        // SAFETY: an all-zero structure is a valid value of it.
        #[allow(unsafe_code, reason = "a structure of numbers")]
        let mut raw: CUDA_RESOURCE_VIEW_DESC = unsafe { core::mem::zeroed() };
        // The driver knows no view that leaves the format to the array.
        raw.format = match self.format {
            ViewFormat::Own => ViewFormat::Texels(own.format, own.channels),
            format => format,
        }
        .raw()?;
        raw.width = own.width * scale;
        raw.height = own.height * scale;
        raw.depth = own.depth;
        raw.firstMipmapLevel = first_level;
        raw.lastMipmapLevel = last_level;
        raw.firstLayer = first_layer;
        raw.lastLayer = last_layer;
        Ok(raw)
    }

    /// The texels of a side for each of the array's.
    fn check_format(&self, op: &'static str, own: &ArrayDescriptor) -> Result<usize> {
        let refused = |expected: String| {
            let found = format_args!(
                "{:?} of texels with {} numbers of {:?}",
                self.format, own.channels, own.format
            );
            Error::invalid(op, "view.format", found, expected)
        };
        match self.format {
            ViewFormat::Own => Ok(1),
            ViewFormat::Texels(format, channels) => {
                super::descriptor::check_channels(op, channels)?;
                let bytes = format.bytes() * channels as usize;
                if bytes == own.texel_bytes() {
                    return Ok(1);
                }
                Err(refused(format!("one of {} bytes", own.texel_bytes())))
            }
            ViewFormat::Blocks(blocks) => {
                let channels = blocks.bytes() as u32 / 4;
                if (own.format, own.channels) == (Format::U32, channels) {
                    return Ok(4);
                }
                Err(refused(format!("{channels} numbers of U32 in the array")))
            }
        }
    }
}

/// How many layers there are, of those that an index chooses.
fn layers_of(own: &ArrayDescriptor) -> Option<usize> {
    match own.kind() {
        ArrayKind::LayeredLine | ArrayKind::LayeredPlane => Some(own.depth),
        ArrayKind::LayeredCubemap => Some(own.depth),
        _ => None,
    }
}

/// The first and the last of `all`, which are counted from 0; `None` where the array has none of the kind.
fn part(
    op: &'static str,
    what: &'static str,
    wanted: Option<(u32, u32)>,
    all: Option<usize>,
) -> Result<(u32, u32)> {
    let refused = |found: (u32, u32), expected: String| {
        Err(Error::invalid(
            op,
            what,
            format_args!("{found:?}"),
            expected,
        ))
    };
    match (wanted, all) {
        (None, None) => Ok((0, 0)),
        (None, Some(all)) => Ok((0, u32::try_from(all.saturating_sub(1)).unwrap_or(u32::MAX))),
        (Some(found), None) => refused(found, format!("none of an array without {what}")),
        (Some((first, last)), Some(all)) => {
            if first <= last && (last as usize) < all {
                return Ok((first, last));
            }
            refused(
                (first, last),
                format!("the first and the last of 0 to {}", all.saturating_sub(1)),
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_and_numbers_go_together_both_ways() {
        for number in 0..=34 {
            let format = ViewFormat::from_raw(CUresourceViewFormat(number)).ok();
            let again = format.and_then(|format| format.raw().ok());
            assert_eq!(again.map(|raw| raw.0), Some(number), "{format:?}");
        }
        let known = [
            (
                ViewFormat::Texels(Format::U8, 4),
                CUresourceViewFormat::CU_RES_VIEW_FORMAT_UINT_4X8,
            ),
            (
                ViewFormat::Texels(Format::I16, 2),
                CUresourceViewFormat::CU_RES_VIEW_FORMAT_SINT_2X16,
            ),
            (
                ViewFormat::Texels(Format::F16, 1),
                CUresourceViewFormat::CU_RES_VIEW_FORMAT_FLOAT_1X16,
            ),
            (
                ViewFormat::Texels(Format::F32, 4),
                CUresourceViewFormat::CU_RES_VIEW_FORMAT_FLOAT_4X32,
            ),
            (
                ViewFormat::Blocks(Blocks::Bc1),
                CUresourceViewFormat::CU_RES_VIEW_FORMAT_UNSIGNED_BC1,
            ),
            (
                ViewFormat::Blocks(Blocks::SignedBc5),
                CUresourceViewFormat::CU_RES_VIEW_FORMAT_SIGNED_BC5,
            ),
            (
                ViewFormat::Blocks(Blocks::Bc7),
                CUresourceViewFormat::CU_RES_VIEW_FORMAT_UNSIGNED_BC7,
            ),
        ];
        for (format, raw) in known {
            assert_eq!(format.raw().ok().map(|raw| raw.0), Some(raw.0));
        }
        assert!(ViewFormat::from_raw(CUresourceViewFormat(35)).is_err());
        assert!(ViewFormat::Texels(Format::U8, 3).raw().is_err());
    }
}
