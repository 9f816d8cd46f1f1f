//! [`Predicate`]: a condition on one number, the same on the host and on a device.

use super::element::Element;

/// A condition on one number, for [`count`](super::count()) and thresholds.
///
/// Comparisons are those of IEEE 754: NaN is less than, greater than and equal to nothing, so of all conditions only
/// [`NotEqual`](Self::NotEqual) and [`IsNan`](Self::IsNan) hold for it; -0.0 equals 0.0.
///
/// # Examples
/// ```
/// use ulib_math::ops::Predicate;
///
/// assert!(Predicate::Between(1.0_f32, 2.0).matches(2.0));
/// assert!(!Predicate::Less(0.0_f32).matches(-0.0));
/// assert!(Predicate::NotEqual(0.0_f64).matches(f64::NAN));
/// assert!(Predicate::IsFinite.matches(7_i64));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Predicate<T> {
    /// `x < a`.
    Less(T),
    /// `x <= a`.
    LessEqual(T),
    /// `x > a`.
    Greater(T),
    /// `x >= a`.
    GreaterEqual(T),
    /// `x == a`.
    Equal(T),
    /// `x != a`.
    NotEqual(T),
    /// `a <= x` and `x <= b`; for no `x` when `a > b`.
    Between(T, T),
    /// `x` is NaN; no integer is.
    IsNan,
    /// `x` is neither infinite nor NaN; every integer is finite.
    IsFinite,
}

impl<T: Element> Predicate<T> {
    /// Whether the condition holds for `x`.
    #[must_use]
    pub fn matches(&self, x: T) -> bool {
        self.range().holds(x)
    }

    /// Every condition is to be in a closed range of numbers, or not to be.
    pub(crate) fn range(self) -> Range<T> {
        let within = |low, high| Range {
            low,
            high,
            inside: true,
        };
        let nowhere = within(T::HIGHEST, T::LOWEST);
        match self {
            Self::Less(a) => a.below().map_or(nowhere, |high| within(T::LOWEST, high)),
            Self::LessEqual(a) => within(T::LOWEST, a),
            Self::Greater(a) => a.above().map_or(nowhere, |low| within(low, T::HIGHEST)),
            Self::GreaterEqual(a) => within(a, T::HIGHEST),
            Self::Equal(a) => within(a, a),
            Self::NotEqual(a) => Range {
                inside: false,
                ..within(a, a)
            },
            Self::Between(a, b) => within(a, b),
            Self::IsNan => Range {
                inside: false,
                ..within(T::LOWEST, T::HIGHEST)
            },
            Self::IsFinite => within(T::MOST_NEGATIVE, T::MOST_POSITIVE),
        }
    }
}

/// The numbers from `low` to `high`, or all others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Range<T> {
    pub(crate) low: T,
    pub(crate) high: T,
    pub(crate) inside: bool,
}

impl<T: Element> Range<T> {
    #[inline(always)]
    pub(crate) fn holds(&self, x: T) -> bool {
        // Not short-circuited: loops over it become vector instructions.
        ((x >= self.low) & (x <= self.high)) == self.inside
    }

    /// The form that kernels read.
    pub(crate) fn for_device(&self) -> DeviceRange {
        DeviceRange {
            low: self.low.bits(),
            high: self.high.bits(),
            inside: u64::from(self.inside),
        }
    }
}

/// `RangeBits` of `predicate.cuh`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct DeviceRange {
    pub(crate) low: u64,
    pub(crate) high: u64,
    pub(crate) inside: u64,
}

/// The order of a number's type, in which conditions become ranges.
pub trait Bounds: Copy {
    /// Not above any number but NaN.
    const LOWEST: Self;
    /// Not below any number but NaN.
    const HIGHEST: Self;
    /// The lowest finite number.
    const MOST_NEGATIVE: Self;
    /// The highest finite number.
    const MOST_POSITIVE: Self;

    /// The highest number less than this one; NaN for NaN.
    fn below(self) -> Option<Self>;

    /// The lowest number greater than this one; NaN for NaN.
    fn above(self) -> Option<Self>;
}

macro_rules! float_bounds {
    ($($float:ty),*) => {$(
        impl Bounds for $float {
            const LOWEST: Self = Self::NEG_INFINITY;
            const HIGHEST: Self = Self::INFINITY;
            const MOST_NEGATIVE: Self = Self::MIN;
            const MOST_POSITIVE: Self = Self::MAX;

            fn below(self) -> Option<Self> {
                (self != Self::NEG_INFINITY).then(|| self.next_down())
            }

            fn above(self) -> Option<Self> {
                (self != Self::INFINITY).then(|| self.next_up())
            }
        }
    )*};
}

macro_rules! integer_bounds {
    ($($integer:ty),*) => {$(
        impl Bounds for $integer {
            const LOWEST: Self = Self::MIN;
            const HIGHEST: Self = Self::MAX;
            const MOST_NEGATIVE: Self = Self::MIN;
            const MOST_POSITIVE: Self = Self::MAX;

            fn below(self) -> Option<Self> {
                self.checked_sub(1)
            }

            fn above(self) -> Option<Self> {
                self.checked_add(1)
            }
        }
    )*};
}

float_bounds!(f32, f64);
integer_bounds!(i32, u32, i64, u64);

#[cfg(test)]
mod tests {
    use super::{Bounds, Element, Predicate};

    /// The conditions as they are written down, against the ranges.
    fn check<T: Element>(numbers: &[T], is_nan: fn(T) -> bool, is_finite: fn(T) -> bool) {
        for &x in numbers {
            for &a in numbers {
                let plain = [
                    (Predicate::Less(a), x < a),
                    (Predicate::LessEqual(a), x <= a),
                    (Predicate::Greater(a), x > a),
                    (Predicate::GreaterEqual(a), x >= a),
                    (Predicate::Equal(a), x == a),
                    (Predicate::NotEqual(a), x != a),
                ];
                for (predicate, expected) in plain {
                    assert_eq!(predicate.matches(x), expected, "{predicate:?} of {x}");
                }
                for &b in numbers {
                    let predicate = Predicate::Between(a, b);
                    assert_eq!(
                        predicate.matches(x),
                        a <= x && x <= b,
                        "{predicate:?} of {x}"
                    );
                }
            }
            assert_eq!(Predicate::IsNan.matches(x), is_nan(x), "{x}");
            assert_eq!(Predicate::IsFinite.matches(x), is_finite(x), "{x}");
        }
    }

    #[test]
    fn floats() {
        let ends = [0.0, 1.0, 1.5, f32::MIN_POSITIVE, f32::MAX, f32::INFINITY];
        let tiny = f32::from_bits(1);
        let mut numbers: Vec<f32> = ends.iter().flat_map(|&x| [x, -x]).collect();
        numbers.extend([tiny, -tiny, 1.0_f32.next_up(), f32::NAN]);
        check(&numbers, f32::is_nan, f32::is_finite);
        let wide: Vec<f64> = numbers
            .iter()
            .map(|&x| f64::from(x))
            .chain([f64::MAX, f64::from_bits(1)])
            .collect();
        check(&wide, f64::is_nan, f64::is_finite);
    }

    #[test]
    fn integers() {
        check(
            &[i32::MIN, i32::MIN + 1, -1, 0, 1, 7, i32::MAX],
            |_| false,
            |_| true,
        );
        check(&[u32::MIN, 1, 7, u32::MAX], |_| false, |_| true);
        check(
            &[i64::MIN, -1, 0, 1, i64::MAX - 1, i64::MAX],
            |_| false,
            |_| true,
        );
        check(&[0, 1, u64::MAX - 1, u64::MAX], |_| false, |_| true);
    }

    #[test]
    fn neighbours_end_where_the_type_does() {
        assert_eq!(f32::NEG_INFINITY.below(), None);
        assert_eq!(f32::INFINITY.below(), Some(f32::MAX));
        assert_eq!(u32::MIN.below(), None);
        assert_eq!(i64::MAX.above(), None);
    }
}
