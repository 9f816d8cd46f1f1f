//! Conversions between numbers by their definition, slowly: every finite number is a sign, a mantissa and a power of 2, and
//! the nearest float is found among all floats by comparing exactly. Shares no code with the operations.

use std::cmp::Ordering;

use half::{bf16, f16};
use ulib_math::ops::Castable;

/// A format of numbers, and its bits in the low bits of a `u64`.
pub(crate) trait Format: Castable + std::fmt::Debug {
    const NAME: &'static str;
    const CLASS: Class;
    fn bits(self) -> u64;
    fn of_bits(bits: u64) -> Self;
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    Unsigned,
    Signed,
    /// Bits of the mantissa and of the exponent.
    Float(u32, u32),
}

macro_rules! formats {
    ($($type:ty: $class:expr, |$x:ident| $bits:expr, |$b:ident| $of_bits:expr;)*) => {$(
        impl Format for $type {
            const NAME: &'static str = stringify!($type);
            const CLASS: Class = $class;
            fn bits(self) -> u64 {
                let $x = self;
                $bits.into()
            }
            fn of_bits($b: u64) -> Self {
                $of_bits
            }
        }
    )*};
}

formats! {
    i8: Class::Signed, |x| x.cast_unsigned(), |b| b as i8;
    u8: Class::Unsigned, |x| x, |b| b as u8;
    i16: Class::Signed, |x| x.cast_unsigned(), |b| b as i16;
    u16: Class::Unsigned, |x| x, |b| b as u16;
    i32: Class::Signed, |x| x.cast_unsigned(), |b| b as i32;
    u32: Class::Unsigned, |x| x, |b| b as u32;
    i64: Class::Signed, |x| x.cast_unsigned(), |b| b as i64;
    u64: Class::Unsigned, |x| x, |b| b;
    f16: Class::Float(10, 5), |x| x.to_bits(), |b| f16::from_bits(b as u16);
    bf16: Class::Float(7, 8), |x| x.to_bits(), |b| bf16::from_bits(b as u16);
    f32: Class::Float(23, 8), |x| x.to_bits(), |b| f32::from_bits(b as u32);
    f64: Class::Float(52, 11), |x| x.to_bits(), |b| f64::from_bits(b);
}

/// `mantissa * 2^exponent`, negative or not.
#[derive(Clone, Copy)]
enum Exact {
    Nan,
    Infinite {
        negative: bool,
    },
    Finite {
        negative: bool,
        mantissa: u64,
        exponent: i32,
    },
}

fn exact<A: Format>(bits: u64) -> Exact {
    let width = 8 * size_of::<A>() as u32;
    match A::CLASS {
        Class::Unsigned => Exact::Finite {
            negative: false,
            mantissa: bits,
            exponent: 0,
        },
        Class::Signed => {
            let value = (bits << (64 - width)).cast_signed() >> (64 - width);
            Exact::Finite {
                negative: value < 0,
                mantissa: value.unsigned_abs(),
                exponent: 0,
            }
        }
        Class::Float(mantissa, exponent) => {
            let negative = bits >> (width - 1) != 0;
            let magnitude = bits & ((1 << (width - 1)) - 1);
            let infinity = ((1 << exponent) - 1) << mantissa;
            match magnitude.cmp(&infinity) {
                Ordering::Greater => Exact::Nan,
                Ordering::Equal => Exact::Infinite { negative },
                Ordering::Less => {
                    let (mantissa, exponent) = finite(magnitude, mantissa, exponent);
                    Exact::Finite {
                        negative,
                        mantissa,
                        exponent,
                    }
                }
            }
        }
    }
}

/// Mantissa and power of 2 of a positive finite float.
fn finite(magnitude: u64, mantissa_bits: u32, exponent_bits: u32) -> (u64, i32) {
    let bias = (1 << (exponent_bits - 1)) - 1;
    let field = (magnitude >> mantissa_bits) as i32;
    let fraction = magnitude & ((1 << mantissa_bits) - 1);
    let least = 1 - bias - mantissa_bits as i32;
    match field {
        0 => (fraction, least),
        _ => (fraction | 1 << mantissa_bits, least + field - 1),
    }
}

/// Compares `a.0 * 2^a.1` with `b.0 * 2^b.1`.
fn compare(a: (u64, i32), b: (u64, i32)) -> Ordering {
    // Above the highest bit of the number.
    let top = |(mantissa, exponent): (u64, i32)| exponent + 64 - mantissa.leading_zeros() as i32;
    match (a.0, b.0) {
        (0, 0) => Ordering::Equal,
        (0, _) => Ordering::Less,
        (_, 0) => Ordering::Greater,
        _ => top(a).cmp(&top(b)).then_with(|| {
            let aligned = |mantissa: u64| mantissa << mantissa.leading_zeros();
            aligned(a.0).cmp(&aligned(b.0))
        }),
    }
}

/// The positive float nearest to `value`, as bits.
fn nearest(value: (u64, i32), mantissa_bits: u32, exponent_bits: u32) -> u64 {
    let infinity = ((1_u64 << exponent_bits) - 1) << mantissa_bits;
    let at = |bits| finite(bits, mantissa_bits, exponent_bits);
    // The largest finite float that is not above it. Floats are ordered as their bits.
    let (mut low, mut high) = (0, infinity);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        match compare(at(middle), value) {
            Ordering::Greater => high = middle,
            _ => low = middle,
        }
    }
    // Half way to the next: (2 m + 1) * 2^(e - 1).
    let (mantissa, exponent) = at(low);
    match compare(value, (2 * mantissa + 1, exponent - 1)) {
        Ordering::Less => low,
        Ordering::Greater => low + 1,
        Ordering::Equal => low + low % 2,
    }
}

/// Without the fraction; what is beyond every integer type is somewhere beyond.
fn whole(value: Exact) -> i128 {
    const BEYOND: i128 = 1 << 100;
    match value {
        Exact::Nan => 0,
        Exact::Infinite { negative: false } => BEYOND,
        Exact::Infinite { negative: true } => -BEYOND,
        Exact::Finite {
            negative,
            mantissa,
            exponent,
        } => {
            let mantissa = i128::from(mantissa);
            let magnitude = match exponent {
                ..=-64 => 0,
                -63..0 => mantissa >> -exponent,
                0..=63 => mantissa << exponent,
                _ if mantissa == 0 => 0,
                _ => BEYOND,
            };
            if negative { -magnitude } else { magnitude }
        }
    }
}

/// The bits of what `A` with these bits is as `B`.
pub(crate) fn convert<A: Format, B: Format>(bits: u64) -> u64 {
    let value = exact::<A>(bits);
    let width = 8 * size_of::<B>() as u32;
    let mask = u64::MAX >> (64 - width);
    let integer = |least: i128, most: i128| {
        let whole = whole(value);
        let kept = match A::CLASS {
            Class::Float(..) => whole.clamp(least, most),
            _ => whole,
        };
        kept as u64 & mask
    };
    match B::CLASS {
        Class::Unsigned => integer(0, i128::from(mask)),
        Class::Signed => {
            let half = 1_i128 << (width - 1);
            integer(-half, half - 1)
        }
        Class::Float(mantissa_bits, exponent_bits) => {
            let infinity = ((1_u64 << exponent_bits) - 1) << mantissa_bits;
            let (negative, magnitude) = match value {
                Exact::Nan => (false, infinity + 1),
                Exact::Infinite { negative } => (negative, infinity),
                Exact::Finite {
                    negative,
                    mantissa,
                    exponent,
                } => (
                    negative,
                    nearest((mantissa, exponent), mantissa_bits, exponent_bits),
                ),
            };
            magnitude | u64::from(negative) << (width - 1)
        }
    }
}

/// Whether these bits of `A` are not a number.
pub(crate) fn is_nan<A: Format>(bits: u64) -> bool {
    matches!(exact::<A>(bits), Exact::Nan)
}

#[test]
fn the_definition_gives_what_is_known() {
    let f16_of = |x: f64| convert::<f64, f16>(x.to_bits());
    // The largest number, half a step above it, just below that; the smallest, half of it, just above that.
    assert_eq!(
        [65504.0, 65520.0, 65519.999].map(f16_of),
        [0x7bff, 0x7c00, 0x7bff]
    );
    let least = 2.0_f64.powi(-24);
    assert_eq!(
        [least, least / 2.0, least * 0.500_000_1].map(f16_of),
        [1, 0, 1]
    );
    assert_eq!(
        [1.0, -2.0, -0.0, f64::NEG_INFINITY].map(f16_of),
        [0x3c00, 0xc000, 0x8000, 0xfc00]
    );
    assert_eq!(
        convert::<i32, f32>(16_777_217),
        u64::from(16_777_216.0_f32.to_bits())
    );
    assert_eq!(
        convert::<i64, f64>(9_007_199_254_740_995),
        9_007_199_254_740_996.0_f64.to_bits()
    );
    assert_eq!(convert::<f32, u8>((-1.5_f32).to_bits().into()), 0);
    assert_eq!(convert::<f32, i8>((-128.9_f32).to_bits().into()), 0x80);
    assert_eq!(convert::<i16, u8>(u64::from((-2_i16).cast_unsigned())), 254);
    assert_eq!(convert::<i8, u32>(0xff), 0xffff_ffff);
    assert_eq!(convert::<f64, i64>(f64::NAN.to_bits()), 0);
}
