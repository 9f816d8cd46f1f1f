//! What a number must offer for arithmetic operations.

use std::fmt::{Debug, Display};

use ulib_core::DeviceStorable;

mod sealed {
    pub trait Sealed {}
}

/// A number that the arithmetic operations accept: `f32`, `f64`, `i32`, `u32`, `i64`, `u64`.
///
/// Sealed: every element has kernels compiled for it.
pub trait Element:
    DeviceStorable + Copy + PartialEq + PartialOrd + Default + Debug + Display + sealed::Sealed
{
    /// What sums of this are accumulated and returned in: `f64`, `i64` or `u64`.
    type Sum: Accumulator;

    /// The kernels' name of the type where its sign matters.
    #[doc(hidden)]
    const KERNEL: Number;

    /// The product; integers wrap.
    #[doc(hidden)]
    fn times(self, factor: Self) -> Self;

    /// The same value as an accumulator.
    #[doc(hidden)]
    fn widen(self) -> Self::Sum;

    /// The bits of the value, in the low bytes.
    #[doc(hidden)]
    fn bits(self) -> u64;
}

/// A number in which sums are accumulated.
pub trait Accumulator: Element<Sum = Self> {
    /// What a lane starts from: adding it to any `x` gives exactly `x`.
    #[doc(hidden)]
    const IDENTITY: Self;

    /// The sum; integers wrap.
    #[doc(hidden)]
    fn plus(self, other: Self) -> Self;
}

/// The numbers that kernels tell apart.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    F32,
    F64,
    I32,
    U32,
    /// Both signs: sums and products of 64-bit integers wrap alike.
    I64,
}

macro_rules! element {
    ($type:ty, $sum:ty, $kernel:ident, |$a:ident, $b:ident| $times:expr, |$x:ident| $widen:expr, |$y:ident| $to_bits:expr) => {
        impl sealed::Sealed for $type {}
        impl Element for $type {
            type Sum = $sum;
            const KERNEL: Number = Number::$kernel;
            #[inline]
            fn times(self, factor: Self) -> Self {
                let ($a, $b) = (self, factor);
                $times
            }
            #[inline]
            fn widen(self) -> $sum {
                let $x = self;
                $widen
            }
            fn bits(self) -> u64 {
                let $y = self;
                $to_bits
            }
        }
    };
}

element!(
    f32,
    f64,
    F32,
    |a, b| a * b,
    |x| f64::from(x),
    |y| u64::from(y.to_bits())
);
element!(f64, f64, F64, |a, b| a * b, |x| x, |y| y.to_bits());
element!(
    i32,
    i64,
    I32,
    |a, b| a.wrapping_mul(b),
    |x| i64::from(x),
    |y| u64::from(y.cast_unsigned())
);
element!(
    u32,
    u64,
    U32,
    |a, b| a.wrapping_mul(b),
    |x| u64::from(x),
    |y| u64::from(y)
);
element!(i64, i64, I64, |a, b| a.wrapping_mul(b), |x| x, |y| y
    .cast_unsigned());
element!(u64, u64, I64, |a, b| a.wrapping_mul(b), |x| x, |y| y);

macro_rules! accumulator {
    ($type:ty, $identity:expr, |$a:ident, $b:ident| $plus:expr) => {
        impl Accumulator for $type {
            const IDENTITY: Self = $identity;
            #[inline]
            fn plus(self, other: Self) -> Self {
                let ($a, $b) = (self, other);
                $plus
            }
        }
    };
}

// -0.0 is the identity of floating-point addition: 0.0 would turn a sum of -0.0 into 0.0.
accumulator!(f64, -0.0, |a, b| a + b);
accumulator!(i64, 0, |a, b| a.wrapping_add(b));
accumulator!(u64, 0, |a, b| a.wrapping_add(b));
