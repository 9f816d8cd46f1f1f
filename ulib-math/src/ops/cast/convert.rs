//! [`Castable`]: the numbers casts are between, and the definition of each conversion. cast.cu says the same for kernels.

use half::{bf16, f16};
use ulib_core::DeviceStorable;

mod sealed {
    pub trait Sealed {}
}

/// A number that [`cast`](super::cast()) converts from and to: `i8`, `u8`, `i16`, `u16`, `i32`, `u32`, `i64`, `u64`,
/// [`struct@f16`], [`bf16`], `f32`, `f64`.
///
/// Sealed: every pair has a kernel. Each number is one of `i64`, `u64`, `f32` and `f64` exactly, and a cast goes by way of that.
pub trait Castable: DeviceStorable + sealed::Sealed {
    /// The type, for kernels.
    #[doc(hidden)]
    const KIND: Kind;

    /// The value as another type.
    #[doc(hidden)]
    fn convert<B: Castable>(self) -> B;

    #[doc(hidden)]
    fn from_signed(value: i64) -> Self;

    #[doc(hidden)]
    fn from_unsigned(value: u64) -> Self;

    #[doc(hidden)]
    fn from_single(value: f32) -> Self;

    #[doc(hidden)]
    fn from_double(value: f64) -> Self;
}

/// The types, numbered as in cast.cu.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F16,
    BF16,
    F32,
    F64,
}

impl Kind {
    pub(super) fn is_integer(self) -> bool {
        (self as u64) < Self::F16 as u64
    }
}

/// Numbers that Rust's `as` knows.
macro_rules! native {
    ($($type:ty: $kind:ident by $way:ident;)*) => {$(
        impl sealed::Sealed for $type {}

        impl Castable for $type {
            const KIND: Kind = Kind::$kind;

            #[inline(always)]
            fn convert<B: Castable>(self) -> B {
                B::$way(self.into())
            }

            #[inline(always)]
            fn from_signed(value: i64) -> Self {
                value as Self
            }

            #[inline(always)]
            fn from_unsigned(value: u64) -> Self {
                value as Self
            }

            #[inline(always)]
            fn from_single(value: f32) -> Self {
                value as Self
            }

            #[inline(always)]
            fn from_double(value: f64) -> Self {
                value as Self
            }
        }
    )*};
}

native! {
    i8: I8 by from_signed;
    u8: U8 by from_unsigned;
    i16: I16 by from_signed;
    u16: U16 by from_unsigned;
    i32: I32 by from_signed;
    u32: U32 by from_unsigned;
    i64: I64 by from_signed;
    u64: U64 by from_unsigned;
    f32: F32 by from_single;
    f64: F64 by from_double;
}

/// The two 16-bit floats, which are rounded to here: what they take away from a wider mantissa must be rounded once.
macro_rules! half_float {
    ($type:ty: $kind:ident, $widened:ident, $single:ident, $double:ident) => {
        impl sealed::Sealed for $type {}

        impl Castable for $type {
            const KIND: Kind = Kind::$kind;

            #[inline(always)]
            fn convert<B: Castable>(self) -> B {
                B::from_single($widened(self.to_bits()))
            }

            #[inline(always)]
            fn from_signed(value: i64) -> Self {
                let magnitude = Self::from_unsigned(value.unsigned_abs()).to_bits();
                Self::from_bits(magnitude | if value < 0 { 0x8000 } else { 0 })
            }

            #[inline(always)]
            fn from_unsigned(value: u64) -> Self {
                if value < 1 << 24 {
                    return Self::from_single(value as f32);
                }
                // A double holds 53 bits: of what is beyond, whether it is there is enough for a tie not to look like one.
                if value >> 53 != 0 {
                    let odd = value >> 11 | u64::from(value & 0x7ff != 0);
                    return Self::from_double(odd as f64 * 2048.0);
                }
                Self::from_double(value as f64)
            }

            #[inline(always)]
            fn from_single(value: f32) -> Self {
                Self::from_bits($single(value))
            }

            #[inline(always)]
            fn from_double(value: f64) -> Self {
                Self::from_bits($double(value))
            }
        }
    };
}

half_float!(f16: F16, widened_f16, f16_from_f32, f16_from_f64);
half_float!(bf16: BF16, widened_bf16, bf16_from_f32, bf16_from_f64);

#[inline(always)]
fn widened_bf16(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

#[inline(always)]
fn widened_f16(bits: u16) -> f32 {
    const UP: f32 = f32::from_bits((127 + 112) << 23);
    let magnitude = u32::from(bits & 0x7fff) << 13;
    // The fields moved to their places are the number times 2^-112, subnormal ones too.
    let out = if bits & 0x7c00 == 0x7c00 {
        magnitude | f32::INFINITY.to_bits()
    } else {
        (f32::from_bits(magnitude) * UP).to_bits()
    };
    f32::from_bits(out | u32::from(bits & 0x8000) << 16)
}

/// `$name`: a float `$from` of bits `$bits` with a mantissa and an exponent's bias, to the nearest of the format with
/// `$to_mantissa` and `$to_bias`, ties to even.
macro_rules! rounded {
    ($name:ident: $from:ty, $bits:ty, $mantissa:literal, $bias:literal => $to_mantissa:literal, $to_bias:literal) => {
        #[inline(always)]
        fn $name(value: $from) -> u16 {
            const DROP: u32 = $mantissa - $to_mantissa;
            const SIGN: $bits = 1 << (<$bits>::BITS - 1);
            const INFINITY: $bits = (2 * $to_bias + 1) << $to_mantissa;
            const SMALLEST_NORMAL: $bits = ($bias + 1 - $to_bias) << $mantissa;
            // The last bit of this power of 2 is worth the smallest number of the target, so adding it rounds.
            const POWER: $bits = ($bias + DROP as $bits + 1 - $to_bias) << $mantissa;
            let bits = value.to_bits();
            let rest = bits & !SIGN;
            let magnitude = if value.is_nan() {
                INFINITY | 1 << ($to_mantissa - 1)
            } else if $to_bias < $bias && rest < SMALLEST_NORMAL {
                (<$from>::from_bits(rest) + <$from>::from_bits(POWER)).to_bits() - POWER
            } else {
                let rest = rest - (($bias - $to_bias) << $mantissa);
                ((rest + ((1 << (DROP - 1)) - 1) + (rest >> DROP & 1)) >> DROP).min(INFINITY)
            };
            magnitude as u16 | (bits >> (<$bits>::BITS - 16)) as u16 & 0x8000
        }
    };
}

rounded!(f16_from_f32: f32, u32, 23, 127 => 10, 15);
rounded!(f16_from_f64: f64, u64, 52, 1023 => 10, 15);
rounded!(bf16_from_f32: f32, u32, 23, 127 => 7, 127);
rounded!(bf16_from_f64: f64, u64, 52, 1023 => 7, 127);
