//! What one texel is: its numbers and how many of them.

use crate::sys::CUarray_format;
use ulib_core::bytemuck::Pod;
use ulib_core::{Error, Result};

/// The type of each number (channel) of a texel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Unsigned, 8 bits.
    U8,
    /// Unsigned, 16 bits.
    U16,
    /// Unsigned, 32 bits.
    U32,
    /// Signed, 8 bits.
    I8,
    /// Signed, 16 bits.
    I16,
    /// Signed, 32 bits.
    I32,
    /// IEEE half precision.
    F16,
    /// IEEE single precision.
    F32,
}

impl Format {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::U8,
        Self::U16,
        Self::U32,
        Self::I8,
        Self::I16,
        Self::I32,
        Self::F16,
        Self::F32,
    ];

    /// Bytes of one number.
    #[must_use]
    pub fn bytes(self) -> usize {
        match self {
            Self::U8 | Self::I8 => 1,
            Self::U16 | Self::I16 | Self::F16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
        }
    }

    /// Whether the numbers are floating-point ones.
    #[must_use]
    pub fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::F32)
    }

    /// The driver's number for it.
    #[must_use]
    pub fn raw(self) -> CUarray_format {
        match self {
            Self::U8 => CUarray_format::CU_AD_FORMAT_UNSIGNED_INT8,
            Self::U16 => CUarray_format::CU_AD_FORMAT_UNSIGNED_INT16,
            Self::U32 => CUarray_format::CU_AD_FORMAT_UNSIGNED_INT32,
            Self::I8 => CUarray_format::CU_AD_FORMAT_SIGNED_INT8,
            Self::I16 => CUarray_format::CU_AD_FORMAT_SIGNED_INT16,
            Self::I32 => CUarray_format::CU_AD_FORMAT_SIGNED_INT32,
            Self::F16 => CUarray_format::CU_AD_FORMAT_HALF,
            Self::F32 => CUarray_format::CU_AD_FORMAT_FLOAT,
        }
    }

    /// The format with this number.
    ///
    /// # Errors
    /// Kind `InvalidArgument` for a number that is none of [`ALL`](Self::ALL): compressed and planar formats of pictures
    /// cannot be described by a type and a number of channels.
    pub fn from_raw(raw: CUarray_format) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|format| format.raw() == raw);
        found.ok_or_else(|| {
            Error::invalid(
                "Format::from_raw",
                "format",
                raw.0,
                "one of 1, 2, 3, 8, 9, 10, 16, 32",
            )
        })
    }
}

mod sealed {
    pub trait Sealed {}
}

/// A type whose values are texels: a number, or two or four of them.
///
/// # Examples
/// ```
/// use ulib_device::texture::{Format, Texel};
///
/// assert_eq!((<[u8; 4]>::FORMAT, <[u8; 4]>::CHANNELS), (Format::U8, 4));
/// assert_eq!((f32::FORMAT, f32::CHANNELS), (Format::F32, 1));
/// ```
pub trait Texel: Pod + sealed::Sealed {
    /// Of each number.
    const FORMAT: Format;
    /// Numbers of a texel.
    const CHANNELS: u32;
}

macro_rules! texels {
    ($($number:ty = $format:ident),*) => {$(
        texels!(@ $number, $format, 1);
        texels!(@ [$number; 2], $format, 2);
        texels!(@ [$number; 4], $format, 4);
    )*};
    (@ $texel:ty, $format:ident, $channels:literal) => {
        impl sealed::Sealed for $texel {}
        impl Texel for $texel {
            const FORMAT: Format = Format::$format;
            const CHANNELS: u32 = $channels;
        }
    };
}
texels! { u8 = U8, u16 = U16, u32 = U32, i8 = I8, i16 = I16, i32 = I32, f32 = F32 }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_and_numbers_go_together_both_ways() {
        for format in Format::ALL {
            assert_eq!(Format::from_raw(format.raw()).ok(), Some(format));
        }
        let error = Format::from_raw(CUarray_format::CU_AD_FORMAT_NV12).err();
        let text = error.map(|error| error.to_string()).unwrap_or_default();
        assert!(text.contains("format is 176"), "{text}");
    }

    #[test]
    fn texels_have_the_size_of_their_numbers() {
        fn check<T: Texel>() {
            assert_eq!(size_of::<T>(), T::FORMAT.bytes() * T::CHANNELS as usize);
        }
        check::<u8>();
        check::<[u16; 2]>();
        check::<[i32; 4]>();
        check::<f32>();
    }
}
