use ulib_math::ops;

use crate::elementwise::{forms, table, twins};

/// The square root by integers: of the significand, shifted so that the root has one bit more than the result.
fn root(a: f64) -> f64 {
    if a.is_nan() || a < 0.0 {
        return f64::NAN;
    }
    if a == 0.0 || a == f64::INFINITY {
        return a;
    }
    let bits = a.to_bits();
    // a = significand * 2^exponent, the significand in 2^52 .. 2^53.
    let (mut significand, mut exponent) =
        ((bits << 12 >> 12) | 1 << 52, (bits >> 52) as i32 - 1075);
    if bits >> 52 == 0 {
        let zeros = (bits.leading_zeros() - 11) as i32;
        (significand, exponent) = (bits << zeros, -1074 - zeros);
    }
    let shift = 54 + exponent.rem_euclid(2);
    let wide = (u128::from(significand) << shift).isqrt();
    // Never half way: the square of an odd number is odd.
    let rounded = (wide + 1) >> 1;
    rounded as f64 * 2.0_f64.powi((exponent - shift) / 2 + 1)
}

#[test]
fn float_twins() {
    // Twice as many digits and two more: rounding twice gives what rounding once gives.
    twins::<f32, 1>(
        |[a], out| ops::sqrt_into(a, out),
        |[a]| f64::from(a).sqrt() as f32,
    );
    twins::<f64, 1>(|[a], out| ops::sqrt_into(a, out), |[a]| root(a));
}

#[test]
fn new_and_in_place() {
    forms::<f64>(
        |a, out| ops::sqrt_into(a, out),
        |a| ops::sqrt(a),
        ops::sqrt_in_place,
    );
}

#[test]
fn special_values() {
    let floats = [
        ([0.0], 0.0),
        ([-0.0], -0.0),
        ([-1e-45], f32::NAN),
        ([f32::NEG_INFINITY], f32::NAN),
        ([f32::INFINITY], f32::INFINITY),
        ([f32::NAN], f32::NAN),
        ([2.25], 1.5),
        ([2.0], std::f32::consts::SQRT_2),
        ([1e-45], 3.743_392e-23),
        ([f32::MAX], 1.844_674_3e19),
    ];
    table::<f32, 1>(|[a], out| ops::sqrt_into(a, out), &floats);
    let floats = [
        ([-0.0], -0.0),
        ([-1.0], f64::NAN),
        ([5e-324], 2.222_758_749_485_077_5e-162),
        ([2.0], std::f64::consts::SQRT_2),
        ([f64::MAX], 1.340_780_792_994_259_6e154),
    ];
    table::<f64, 1>(|[a], out| ops::sqrt_into(a, out), &floats);
}
