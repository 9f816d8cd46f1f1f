//! Exponentials, logarithms and powers with about a hundred bits, to measure others by: numbers that are sums of two `f64`.
//! Nothing here calls the platform's functions but for a first guess of a logarithm.

use ulib_core::Result;
use ulib_device::block::Block;
use ulib_math::ops::Input;
use ulib_math::view::{View, ViewMut};

use crate::common;
use crate::elementwise::Special;
use crate::support::{contents, on_device, on_host};

/// `high + low`, of which `low` is at most half a last place of `high`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wide {
    high: f64,
    low: f64,
}

/// ln 2, from Python's decimal: `high = float(ln2)`, `low = float(ln2 - Decimal(high))`.
const LN_2: Wide = Wide {
    high: std::f64::consts::LN_2,
    low: 2.319_046_813_846_299_6e-17,
};

/// `significand * 2^exponent`: results beyond the range of `f64`, and subnormal ones, with all of their bits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scaled {
    significand: Wide,
    exponent: i32,
}

fn sum(a: f64, b: f64) -> Wide {
    let high = a + b;
    let back = high - a;
    let low = (a - (high - back)) + (b - back);
    Wide { high, low }
}

fn product(a: f64, b: f64) -> Wide {
    let high = a * b;
    Wide {
        high,
        low: a.mul_add(b, -high),
    }
}

impl Wide {
    pub(crate) const fn new(high: f64) -> Self {
        Self { high, low: 0.0 }
    }

    fn plus(self, other: Self) -> Self {
        let (high, low) = (sum(self.high, other.high), sum(self.low, other.low));
        let first = sum(high.high, high.low + low.high);
        sum(first.high, first.low + low.low)
    }

    fn times(self, other: Self) -> Self {
        let exact = product(self.high, other.high);
        let cross = self.high * other.low + self.low * other.high;
        sum(exact.high, exact.low + cross)
    }

    fn over(self, divisor: f64) -> Self {
        let high = self.high / divisor;
        let rest = product(high, -divisor).plus(self);
        sum(high, rest.high / divisor)
    }

    fn negated(self) -> Self {
        Self {
            high: -self.high,
            low: -self.low,
        }
    }

    /// e to this power, which is less than 2^30.
    pub(crate) fn exp(self) -> Scaled {
        let halvings = (self.high / LN_2.high).round();
        let rest = self.plus(LN_2.times(Self::new(-halvings)));
        Scaled {
            significand: rest.growth().plus(Self::new(1.0)),
            exponent: halvings as i32,
        }
    }

    /// e to this power, less 1; below 1/2, of either sign. Small ones keep their digits.
    fn growth(self) -> Self {
        // The series of a 1024th, squared ten times.
        let small = self.over(1024.0);
        let mut term = Self::new(1.0);
        let mut total = Self::new(0.0);
        for n in 1..9 {
            term = term.times(small).over(f64::from(n));
            total = total.plus(term);
        }
        // (1 + t)^2 - 1 = 2 t + t^2.
        for _ in 0..10 {
            total = total.plus(total).plus(total.times(total));
        }
        total
    }
}

/// The natural logarithm of a positive, finite number.
pub(crate) fn log(a: f64) -> Wide {
    let bits = a.to_bits();
    let (mut exponent, mut significand) = ((bits >> 52) as i32 - 1023, bits << 12 >> 12);
    if bits >> 52 == 0 {
        let zeros = bits.leading_zeros() as i32 - 11;
        (exponent, significand) = (-1022 - zeros, bits << zeros << 12 >> 12);
    }
    let mut fraction = f64::from_bits(significand | 1023 << 52);
    if fraction > 1.5 {
        (fraction, exponent) = (fraction / 2.0, exponent + 1);
    }
    // Newton: y + (f e^-y - 1), and half of the square of that. Written so that a fraction near 1 keeps its digits.
    let mut guess = Wide::new(fraction.ln());
    for _ in 0..2 {
        let scaled = guess.negated().growth().times(Wide::new(fraction));
        let step = scaled.plus(Wide::new(fraction - 1.0));
        guess = guess.plus(step).plus(step.times(step).over(-2.0));
    }
    LN_2.times(Wide::new(f64::from(exponent))).plus(guess)
}

/// A finite number that is not zero to a power, of which the result may be beyond every `f64`. Negative numbers to whole
/// powers only.
pub(crate) fn power(a: f64, b: f64) -> Scaled {
    let magnitude = log(a.abs()).times(Wide::new(b)).exp();
    if a < 0.0 && b % 2.0 != 0.0 {
        magnitude.negated()
    } else {
        magnitude
    }
}

impl From<Wide> for Scaled {
    fn from(significand: Wide) -> Self {
        Self {
            significand,
            exponent: 0,
        }
    }
}

impl Scaled {
    fn negated(self) -> Self {
        Self {
            significand: self.significand.negated(),
            ..self
        }
    }

    /// How many last places lie between `found` and this. Infinity is the first power of two beyond the type, and is right
    /// for all that is not below that.
    pub(crate) fn places<T: Format>(self, found: T) -> f64 {
        let found = found.into();
        let (high, low) = (self.significand.high, self.significand.low);
        if high == 0.0 {
            return if found == 0.0 { 0.0 } else { f64::INFINITY };
        }
        // The exponent of the first digit. Just below a power of two it is that of the smaller one.
        let own = (high.abs().to_bits() >> 52) as i32 - 1023;
        let below = high.abs() == 2.0_f64.powi(own) && low * high < 0.0;
        let first = own - i32::from(below) + self.exponent;
        let beyond = first >= T::BEYOND;
        if found.is_infinite() && beyond {
            return if found * high > 0.0 {
                0.0
            } else {
                f64::INFINITY
            };
        }
        let unit = (first.min(T::BEYOND - 1) + 1 - T::DIGITS).max(T::LEAST);
        let found = if found.is_infinite() {
            scale(found.signum(), T::BEYOND - unit)
        } else {
            scale(found, -unit)
        };
        let shift = self.exponent - unit;
        (found - scale(high, shift) - scale(low, shift)).abs()
    }
}

/// A floating-point type: the bits of its significand, the exponents of its smallest number and of the first power of two
/// beyond it.
pub(crate) trait Format: Special + Into<f64> + std::fmt::LowerExp {
    const DIGITS: i32;
    const LEAST: i32;
    const BEYOND: i32;
}

impl Format for f32 {
    const DIGITS: i32 = 24;
    const LEAST: i32 = -149;
    const BEYOND: i32 = 128;
}

impl Format for f64 {
    const DIGITS: i32 = 53;
    const LEAST: i32 = -1074;
    const BEYOND: i32 = 1024;
}

/// Whether a number is within a few places of one that is itself within one of the truth.
pub(crate) fn close<T: Format>(found: T, expected: T) -> bool {
    let wide: f64 = expected.into();
    found.same(expected) || wide.is_finite() && Scaled::from(Wide::new(wide)).places(found) <= 10.0
}

/// Fails where an operation, on either side, is more than `bound` places from `exact`.
pub(crate) fn within<T: Format, const N: usize>(
    bound: f64,
    inputs: &[[T; N]],
    operation: impl Fn([Input<'_, T>; N], ViewMut<'_, T>) -> Result<()>,
    exact: impl Fn([T; N]) -> Scaled,
) {
    let mode = common::driver();
    let exact: Vec<Scaled> = inputs.iter().map(|&input| exact(input)).collect();
    let check = |make: fn(&[T]) -> Block, side: &str| {
        let blocks: [Block; N] =
            std::array::from_fn(|k| make(&inputs.iter().map(|input| input[k]).collect::<Vec<T>>()));
        let mut out = make(&vec![T::default(); inputs.len()]);
        let given = std::array::from_fn(|k| Input::View(View::flat(&blocks[k]).unwrap()));
        operation(given, ViewMut::flat(&mut out).unwrap()).unwrap();
        let mut most = 0.0_f64;
        for ((&found, exact), input) in contents::<T>(&out).iter().zip(&exact).zip(inputs) {
            let places = exact.places(found);
            assert!(
                places <= bound,
                "{side}: of {input:?} found {found:e}, {places} places from {exact:?}"
            );
            most = most.max(places);
        }
        println!("{side}: at most {most} places from the exact result");
    };
    check(on_host, "host");
    if mode.has_device() {
        check(on_device, "device");
    }
}

/// `a * 2^exponent`, in steps that do not leave the range before the result does.
fn scale(mut a: f64, mut exponent: i32) -> f64 {
    while exponent != 0 {
        let step = exponent.clamp(-1000, 1000);
        a *= 2.0_f64.powi(step);
        exponent -= step;
    }
    a
}

/// The yardstick itself, against Python's decimal:
/// ```python
/// from decimal import Decimal as D, getcontext
/// getcontext().prec = 80
/// for exact in (D(x).exp(), D(x).ln(), (D(a).ln() * D(b)).exp()):
///     high = float(exact); print(high, float(exact - D(high)))
/// ```
#[test]
fn the_yardstick_has_enough_digits() {
    let check = |found: Scaled, high: f64, low: f64, what: &str| {
        let Wide {
            high: own,
            low: rest,
        } = found.significand;
        let (own, rest) = (scale(own, found.exponent), scale(rest, found.exponent));
        let off = ((own - high) + (rest - low)) / high;
        assert!(
            off.abs() < 1e-27,
            "{what}: {own:e} + {rest:e}, off by {off:e}"
        );
    };
    for (a, high, low) in [
        (1.0, std::f64::consts::E, 1.4456468917292502e-16),
        (-1.0, 0.36787944117144233, -1.2428753672788363e-17),
        (0.3, 1.3498588075760032, -9.447314673432387e-17),
        (1e-20, 1.0, 1e-20),
        (-20.25, 1.6052280551856116e-09, -3.657643988865463e-26),
        (700.5, 1.6721859620674984e+304, 1.0957735777569338e+288),
        (-700.25, 7.678723813110872e-305, 3.44e-321),
        (std::f64::consts::LN_2, 2.0, -4.638093627692599e-17),
    ] {
        check(Wide::new(a).exp(), high, low, &format!("exp {a}"));
    }
    for (a, high, low) in [
        (2.0, std::f64::consts::LN_2, 2.3190468138462996e-17),
        (0.75, -0.2876820724517809, -2.607160616442564e-17),
        (
            1.0000000000000002,
            2.2204460492503128e-16,
            3.649214750845877e-48,
        ),
        (
            0.9999999999999999,
            -1.1102230246251565e-16,
            -6.162975822039155e-33,
        ),
        (3e+300, 691.8741401868818, -3.074398115018244e-14),
        (5e-324, -744.4400719213812, -4.422444340918698e-14),
        (1.4999, 0.40539843921917673, -1.5792044448305987e-18),
        (12345.678, 9.421061321291832, -1.9085650743481053e-16),
    ] {
        check(log(a).into(), high, low, &format!("log {a}"));
    }
    for (a, b, high, low) in [
        (2.5, 3.25, 19.647397338795866, -5.159487329981228e-17),
        (
            1.0000000000000002,
            1e+17,
            4398196873.9457445,
            3.672803359134744e-07,
        ),
        (
            0.001,
            -100.5,
            3.162277660168373e+301,
            -1.0300840229292149e+285,
        ),
        (7.0, -0.1, 0.8231712539930442, -2.059629489962915e-17),
    ] {
        check(power(a, b), high, low, &format!("{a} to the {b}"));
    }
}

#[test]
fn places_are_counted() {
    let one = Scaled::from(Wide::new(1.0));
    let places = |found: f64| one.places(found);
    assert_eq!(places(1.0), 0.0);
    assert_eq!(places(1.0 + 3.0 * f64::EPSILON), 3.0);
    assert_eq!(one.places(1.0 - 2.0 * f32::EPSILON), 2.0);
    assert_eq!(one.places(-1.0_f32), 2.0 / f64::from(f32::EPSILON));
    // 2^1024 is infinity, and one place above the largest number.
    let beyond = Scaled {
        exponent: 1024,
        ..one
    };
    assert_eq!(beyond.places(f64::INFINITY), 0.0);
    assert_eq!(beyond.places(f64::MAX), 1.0);
    assert_eq!(Scaled::from(Wide::new(f64::MAX)).places(f64::INFINITY), 1.0);
    assert_eq!(beyond.places(f64::NEG_INFINITY), f64::INFINITY);
    // The smallest numbers have few digits, and places of one size.
    let small = Scaled {
        exponent: -1074,
        significand: Wide::new(1.5),
    };
    assert_eq!((small.places(5e-324), small.places(0.0)), (0.5, 1.5));
    let small = Scaled {
        exponent: -149,
        significand: Wide::new(1.5),
    };
    assert_eq!((small.places(1e-45_f32), small.places(0.0_f32)), (0.5, 1.5));
    let none = Scaled {
        exponent: -5000,
        ..one
    };
    assert_eq!(none.places(0.0_f64), 0.0);
    assert!(one.places(f64::NAN).is_nan());
}
