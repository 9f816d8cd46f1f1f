//! The arithmetic of floats.

use super::{Element, Number, Real, sealed::Sealed};

macro_rules! float {
    ($float:ty, $kernel:ident) => {
        impl Sealed for $float {}

        impl Element for $float {
            type Sum = f64;
            const KERNEL: Number = Number::$kernel;

            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self + other
            }

            #[inline(always)]
            fn minus(self, other: Self) -> Self {
                self - other
            }

            #[inline(always)]
            fn times(self, factor: Self) -> Self {
                self * factor
            }

            #[inline(always)]
            fn over(self, divisor: Self) -> Self {
                self / divisor
            }

            #[inline(always)]
            fn times_plus(self, factor: Self, addend: Self) -> Self {
                self.mul_add(factor, addend)
            }

            #[inline(always)]
            fn magnitude(self) -> Self {
                self.abs()
            }

            #[inline(always)]
            fn negated(self) -> Self {
                -self
            }

            // Choices and no branches: loops over both are compiled to vector instructions.
            #[inline(always)]
            fn smaller(self, other: Self) -> Self {
                let sum = self + other;
                let one = if self < other { self } else { other };
                let two = if other < self { other } else { self };
                // They are the same, or zeros of two signs.
                let smaller = Self::from_bits(one.to_bits() | two.to_bits());
                if self.is_nan() | other.is_nan() {
                    sum
                } else {
                    smaller
                }
            }

            #[inline(always)]
            fn larger(self, other: Self) -> Self {
                let sum = self + other;
                let one = if self > other { self } else { other };
                let two = if other > self { other } else { self };
                let larger = Self::from_bits(one.to_bits() & two.to_bits());
                if self.is_nan() | other.is_nan() {
                    sum
                } else {
                    larger
                }
            }

            #[inline(always)]
            fn widen(self) -> f64 {
                f64::from(self)
            }

            #[inline(always)]
            fn to_f64(self) -> f64 {
                f64::from(self)
            }

            #[inline]
            fn bits(self) -> u64 {
                u64::from(self.to_bits())
            }
        }

        impl Real for $float {
            #[inline(always)]
            fn square_root(self) -> Self {
                self.sqrt()
            }

            #[inline(always)]
            fn exponential(self) -> Self {
                self.exp()
            }

            #[inline(always)]
            fn logarithm(self) -> Self {
                self.ln()
            }

            #[inline(always)]
            fn to_the(self, power: Self) -> Self {
                self.powf(power)
            }
        }
    };
}

float!(f32, F32);
float!(f64, F64);
