use ulib_core::Layout;
use ulib_math::ops;
use ulib_math::view::{View, ViewMut};

use crate::common;
use crate::elementwise::{Special, forms, table, twins};
use crate::support::{contents, on_device, on_host};

/// `expected` is the test's own idea of a product and a sum.
fn fused<T: Special>(expected: impl Fn(T, T, T) -> T) {
    twins::<T, 3>(
        |[a, b, c], out| ops::fma_into(a, b, c, out),
        |[a, b, c]| expected(a, b, c),
    );
}

/// One rounding by way of `f64`, where the product is exact: the sum is rounded to odd, so that rounding it again does no
/// harm.
fn rounded_once(a: f32, b: f32, c: f32) -> f32 {
    let (product, c) = (f64::from(a) * f64::from(b), f64::from(c));
    let sum = product + c;
    let back = sum - product;
    let rest = (product - (sum - back)) + (c - back);
    if !sum.is_finite() || rest == 0.0 || sum.to_bits() & 1 == 1 {
        return sum as f32;
    }
    // The exact sum lies between two neighbours, of which this is the even one.
    let away = (rest > 0.0) == (sum > 0.0);
    let odd = if away {
        sum.to_bits() + 1
    } else {
        sum.to_bits() - 1
    };
    f64::from_bits(odd) as f32
}

#[test]
fn float_twins() {
    fused::<f32>(rounded_once);
    fused::<f64>(f64::mul_add);
}

#[test]
fn integer_twins() {
    fused::<i32>(|a, b, c| (i128::from(a) * i128::from(b) + i128::from(c)) as i32);
    fused::<u32>(|a, b, c| (u128::from(a) * u128::from(b) + u128::from(c)) as u32);
    fused::<i64>(|a, b, c| (i128::from(a) * i128::from(b) + i128::from(c)) as i64);
    fused::<u64>(|a, b, c| (u128::from(a) * u128::from(b) + u128::from(c)) as u64);
}

#[test]
fn new_and_in_place() {
    forms::<f32>(
        |a, out| ops::fma_into(a, 3.0, 0.1, out),
        |a| ops::fma(a, 3.0, 0.1),
        |view| ops::fma_in_place(view, 3.0, 0.1),
    );
}

#[test]
fn one_rounding_is_not_two() {
    // (1 + e)(1 - e) = 1 - e^2: the product alone rounds to 1.
    let e = f32::EPSILON;
    assert_eq!((1.0 + e) * (1.0 - e) - 1.0, 0.0);
    let floats = [
        ([1.0 + e, 1.0 - e, -1.0], -e * e),
        // Rounded to f64 first, 1 + 2^-24 + 2^-80 would lie half way and go to even.
        ([2.0_f32.powi(-40), 2.0_f32.powi(-40), 1.0 + e], 1.0 + e),
        ([1.0 + 2.0 * e, 1.0 + 2.0 * e, -1.0 - 4.0 * e], 4.0 * e * e),
        ([f32::MAX, 2.0, f32::MIN], f32::MAX),
        ([f32::MAX, f32::MAX, f32::NEG_INFINITY], f32::NEG_INFINITY),
        ([0.0, f32::INFINITY, 1.0], f32::NAN),
        ([f32::INFINITY, 1.0, f32::NEG_INFINITY], f32::NAN),
        ([-0.0, 1.0, -0.0], -0.0),
        ([-0.0, 1.0, 0.0], 0.0),
        ([1.0, 1.0, -1.0], 0.0),
        ([f32::NAN, 0.0, 0.0], f32::NAN),
    ];
    table::<f32, 3>(|[a, b, c], out| ops::fma_into(a, b, c, out), &floats);
    let e = f64::EPSILON;
    let floats = [
        ([1.0 + e, 1.0 - e, -1.0], -e * e),
        ([1.0 + e, 1.0 + e, -1.0 - 2.0 * e], e * e),
        ([f64::MAX, 2.0, f64::MIN], f64::MAX),
        // 2^-1074 * 0.75 is nearer to 2^-1074 than to 0; with 2^-1074 it is 1.75 of them.
        ([5e-324, 0.75, 5e-324], 1e-323),
    ];
    table::<f64, 3>(|[a, b, c], out| ops::fma_into(a, b, c, out), &floats);
    let integers = [([i32::MAX, 2, 3], 1), ([i32::MIN, -1, -1], i32::MAX)];
    table::<i32, 3>(|[a, b, c], out| ops::fma_into(a, b, c, out), &integers);
}

#[test]
fn axpy_adds_a_multiple() {
    let mode = common::driver();
    let (x, y) = ([1.0_f64, 2.0, 3.0, 4.0, 5.0], [10.0_f64; 10]);
    for on_the_device in [false, true] {
        if on_the_device && !mode.has_device() {
            continue;
        }
        let make = |values: &[f64]| {
            if on_the_device {
                on_device(values)
            } else {
                on_host(values)
            }
        };
        let (from, mut to) = (make(&x), make(&y));
        let every_second = Layout::new(vec![5], vec![2], 1).unwrap();
        ops::axpy(
            0.5,
            View::flat(&from).unwrap(),
            ViewMut::new(&mut to, every_second).unwrap(),
        )
        .unwrap();
        let expected = [10.0, 10.5, 10.0, 11.0, 10.0, 11.5, 10.0, 12.0, 10.0, 12.5];
        assert_eq!(contents::<f64>(&to), expected);
    }
}
