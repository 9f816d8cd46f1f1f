use ulib_math::ops;

use crate::elementwise::{Special, forms, table, twins};

/// `expected` is the test's own idea of a magnitude.
fn magnitudes<T: Special>(expected: impl Fn(T) -> T) {
    twins::<T, 1>(|[a], out| ops::abs_into(a, out), |[a]| expected(a));
}

#[test]
fn float_twins() {
    magnitudes::<f32>(|a| f32::from_bits(a.to_bits() << 1 >> 1));
    magnitudes::<f64>(|a| f64::from_bits(a.to_bits() << 1 >> 1));
}

#[test]
fn integer_twins() {
    magnitudes::<i32>(|a| i64::from(a).abs() as i32);
    magnitudes::<u32>(|a| a);
    magnitudes::<i64>(|a| i128::from(a).abs() as i64);
    magnitudes::<u64>(|a| a);
}

#[test]
fn new_and_in_place() {
    forms::<i32>(
        |a, out| ops::abs_into(a, out),
        |a| ops::abs(a),
        ops::abs_in_place,
    );
}

#[test]
fn special_values() {
    let floats = [
        ([-0.0], 0.0),
        ([0.0], 0.0),
        ([f32::NEG_INFINITY], f32::INFINITY),
        ([-f32::NAN], f32::NAN),
        ([-1e-45], 1e-45),
        ([f32::MIN], f32::MAX),
    ];
    table::<f32, 1>(|[a], out| ops::abs_into(a, out), &floats);
    let integers = [([i32::MIN], i32::MIN), ([-1], 1), ([i32::MAX], i32::MAX)];
    table::<i32, 1>(|[a], out| ops::abs_into(a, out), &integers);
    let integers = [([i64::MIN], i64::MIN), ([i64::MIN + 1], i64::MAX)];
    table::<i64, 1>(|[a], out| ops::abs_into(a, out), &integers);
    // What would be negative if it had a sign.
    table::<u64, 1>(|[a], out| ops::abs_into(a, out), &[([u64::MAX], u64::MAX)]);
}
