//! What a number must offer for arithmetic operations, and the rules by which it does.

mod float;
mod integer;

use std::fmt::{Debug, Display};

use ulib_core::DeviceStorable;

use super::extremum::Ranked;
use super::predicate::Bounds;

mod sealed {
    pub trait Sealed {}
}

/// A number that the arithmetic operations accept: `f32`, `f64`, `i32`, `u32`, `i64`, `u64`.
///
/// Sealed: every element has kernels compiled for it, which follow the same rules (`numbers.cuh`). Floats follow IEEE 754
/// and nothing is contracted; integers wrap.
pub trait Element:
    DeviceStorable
    + Copy
    + PartialEq
    + PartialOrd
    + Default
    + Debug
    + Display
    + Bounds
    + Ranked
    + sealed::Sealed
{
    /// What sums of this are accumulated and returned in: `f64`, `i64` or `u64`.
    type Sum: Accumulator;

    /// The kernels' name of the type.
    #[doc(hidden)]
    const KERNEL: Number;

    /// The sum.
    #[doc(hidden)]
    fn plus(self, other: Self) -> Self;

    /// The difference.
    #[doc(hidden)]
    fn minus(self, other: Self) -> Self;

    /// The product.
    #[doc(hidden)]
    fn times(self, factor: Self) -> Self;

    /// The quotient. Integers truncate towards zero; by zero they give 0, and the smallest by -1 gives itself.
    #[doc(hidden)]
    fn over(self, divisor: Self) -> Self;

    /// `self * factor + addend`, of floats with one rounding.
    #[doc(hidden)]
    fn times_plus(self, factor: Self, addend: Self) -> Self;

    /// The magnitude; of the smallest integer, itself.
    #[doc(hidden)]
    fn magnitude(self) -> Self;

    /// The number with the other sign.
    #[doc(hidden)]
    fn negated(self) -> Self;

    /// The smaller of two: NaN if one is, and -0.0 is below 0.0.
    #[doc(hidden)]
    fn smaller(self, other: Self) -> Self;

    /// The larger of two: NaN if one is, and -0.0 is below 0.0.
    #[doc(hidden)]
    fn larger(self, other: Self) -> Self;

    /// The same value as an accumulator.
    #[doc(hidden)]
    fn widen(self) -> Self::Sum;

    /// The nearest `f64`.
    #[doc(hidden)]
    fn to_f64(self) -> f64;

    /// The bits of the value, in the low bytes.
    #[doc(hidden)]
    fn bits(self) -> u64;
}

/// A floating-point [`Element`]: `f32`, `f64`.
pub trait Real: Element {
    /// The square root, correctly rounded; of negative numbers NaN.
    #[doc(hidden)]
    fn square_root(self) -> Self;

    /// e to this power.
    #[doc(hidden)]
    fn exponential(self) -> Self;

    /// The natural logarithm; of zero minus infinity, of negative numbers NaN.
    #[doc(hidden)]
    fn logarithm(self) -> Self;

    /// This number to a power.
    #[doc(hidden)]
    fn to_the(self, power: Self) -> Self;
}

/// A number in which sums are accumulated.
pub trait Accumulator: Element<Sum = Self> {
    /// What a lane starts from: adding it to any `x` gives exactly `x`.
    #[doc(hidden)]
    const IDENTITY: Self;
}

/// The numbers that kernels tell apart.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    F32,
    F64,
    I32,
    U32,
    I64,
    U64,
}

impl Number {
    /// The same, or the unsigned integer of its size: for kernels whose result does not depend on the sign, since the low
    /// bits of sums, differences and products do not.
    pub(crate) fn unsigned(self) -> Self {
        match self {
            Self::I32 => Self::U32,
            Self::I64 => Self::U64,
            other => other,
        }
    }
}

impl Accumulator for f64 {
    // 0.0 would turn a sum of -0.0 into 0.0.
    const IDENTITY: Self = -0.0;
}

impl Accumulator for i64 {
    const IDENTITY: Self = 0;
}

impl Accumulator for u64 {
    const IDENTITY: Self = 0;
}
