use ulib_math::ops;

use crate::elementwise::{Special, forms, table, twins};

/// `expected` is the test's own idea of the other sign.
fn signs<T: Special>(expected: impl Fn(T) -> T) {
    twins::<T, 1>(|[a], out| ops::negate_into(a, out), |[a]| expected(a));
}

#[test]
fn float_twins() {
    signs::<f32>(|a| f32::from_bits(a.to_bits() ^ 1 << 31));
    signs::<f64>(|a| f64::from_bits(a.to_bits() ^ 1 << 63));
}

#[test]
fn integer_twins() {
    signs::<i32>(|a| (0 - i64::from(a)) as i32);
    signs::<u32>(|a| (0 - i64::from(a)) as u32);
    signs::<i64>(|a| (0 - i128::from(a)) as i64);
    signs::<u64>(|a| (0 - i128::from(a)) as u64);
}

#[test]
fn new_and_in_place() {
    forms::<f32>(
        |a, out| ops::negate_into(a, out),
        |a| ops::negate(a),
        ops::negate_in_place,
    );
}

#[test]
fn special_values() {
    let floats = [
        ([0.0], -0.0),
        ([-0.0], 0.0),
        ([f64::INFINITY], f64::NEG_INFINITY),
        ([f64::NAN], f64::NAN),
        ([5e-324], -5e-324),
    ];
    table::<f64, 1>(|[a], out| ops::negate_into(a, out), &floats);
    let integers = [([i32::MIN], i32::MIN), ([7], -7), ([0], 0)];
    table::<i32, 1>(|[a], out| ops::negate_into(a, out), &integers);
    let unsigned = [([1], u64::MAX), ([0], 0), ([1 << 63], 1 << 63)];
    table::<u64, 1>(|[a], out| ops::negate_into(a, out), &unsigned);
}
