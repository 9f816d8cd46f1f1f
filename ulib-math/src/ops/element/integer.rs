//! The arithmetic of integers.

use super::{Element, Number, sealed::Sealed};

macro_rules! integer {
    ($integer:ty, $sum:ty, $kernel:ident, |$x:ident| magnitude: $magnitude:expr, bits: $bits:expr) => {
        impl Sealed for $integer {}

        impl Element for $integer {
            type Sum = $sum;
            const KERNEL: Number = Number::$kernel;

            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            #[inline(always)]
            fn minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }

            #[inline(always)]
            fn times(self, factor: Self) -> Self {
                self.wrapping_mul(factor)
            }

            #[inline(always)]
            fn over(self, divisor: Self) -> Self {
                if divisor == 0 {
                    0
                } else {
                    self.wrapping_div(divisor)
                }
            }

            #[inline(always)]
            fn times_plus(self, factor: Self, addend: Self) -> Self {
                self.wrapping_mul(factor).wrapping_add(addend)
            }

            #[inline(always)]
            fn magnitude(self) -> Self {
                let $x = self;
                $magnitude
            }

            #[inline(always)]
            fn negated(self) -> Self {
                self.wrapping_neg()
            }

            #[inline(always)]
            fn smaller(self, other: Self) -> Self {
                self.min(other)
            }

            #[inline(always)]
            fn larger(self, other: Self) -> Self {
                self.max(other)
            }

            #[inline(always)]
            fn widen(self) -> $sum {
                <$sum>::from(self)
            }

            #[inline(always)]
            fn to_f64(self) -> f64 {
                self as f64
            }

            #[inline]
            fn bits(self) -> u64 {
                let $x = self;
                $bits
            }
        }
    };
}

integer!(i32, i64, I32, |x| magnitude: x.wrapping_abs(), bits: u64::from(x.cast_unsigned()));
integer!(u32, u64, U32, |x| magnitude: x, bits: u64::from(x));
integer!(i64, i64, I64, |x| magnitude: x.wrapping_abs(), bits: x.cast_unsigned());
integer!(u64, u64, U64, |x| magnitude: x, bits: x);
