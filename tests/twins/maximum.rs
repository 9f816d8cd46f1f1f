use ulib_math::ops;

use crate::elementwise::{Special, forms, table, twins};

/// `expected` is the test's own idea of the larger.
fn extremes<T: Special>(expected: impl Fn(T, T) -> T) {
    twins::<T, 2>(
        |[a, b], out| ops::maximum_into(a, b, out),
        |[a, b]| expected(a, b),
    );
}

#[test]
fn float_twins() {
    // The total order has -0.0 below 0.0.
    extremes::<f32>(|a, b| match a.total_cmp(&b) {
        _ if a.is_nan() || b.is_nan() => f32::NAN,
        std::cmp::Ordering::Greater => a,
        _ => b,
    });
    extremes::<f64>(|a, b| match a.total_cmp(&b) {
        _ if a.is_nan() || b.is_nan() => f64::NAN,
        std::cmp::Ordering::Greater => a,
        _ => b,
    });
}

#[test]
fn integer_twins() {
    extremes::<i32>(|a, b| i64::from(a).max(b.into()) as i32);
    extremes::<u32>(|a, b| i64::from(a).max(b.into()) as u32);
    extremes::<i64>(|a, b| i128::from(a).max(b.into()) as i64);
    extremes::<u64>(|a, b| i128::from(a).max(b.into()) as u64);
}

#[test]
fn new_and_in_place() {
    forms::<f64>(
        |a, out| ops::maximum_into(a, 0.25, out),
        |a| ops::maximum(a, 0.25),
        |view| ops::maximum_in_place(view, 0.25),
    );
}

#[test]
fn special_values() {
    let floats = [
        ([-0.0, 0.0], 0.0),
        ([0.0, -0.0], 0.0),
        ([-0.0, -0.0], -0.0),
        ([0.0, 0.0], 0.0),
        ([f32::NAN, 1.0], f32::NAN),
        ([1.0, f32::NAN], f32::NAN),
        ([f32::NAN, f32::INFINITY], f32::NAN),
        ([f32::INFINITY, f32::NAN], f32::NAN),
        ([f32::NEG_INFINITY, f32::INFINITY], f32::INFINITY),
        ([1e-45, -1e-45], 1e-45),
        ([-1e-45, 0.0], 0.0),
        ([-3.0, -2.0], -2.0),
    ];
    table::<f32, 2>(|[a, b], out| ops::maximum_into(a, b, out), &floats);
    let floats = [
        ([-0.0, 0.0], 0.0),
        ([0.0, -0.0], 0.0),
        ([f64::NAN, 1.0], f64::NAN),
        ([5e-324, 0.0], 5e-324),
    ];
    table::<f64, 2>(|[a, b], out| ops::maximum_into(a, b, out), &floats);
    // Numbers whose order turns round when the sign is not looked at.
    let integers = [([-1, 1], 1), ([i64::MIN, i64::MAX], i64::MAX)];
    table::<i64, 2>(|[a, b], out| ops::maximum_into(a, b, out), &integers);
    let unsigned = [([u64::MAX, 1], u64::MAX), ([0, 1 << 63], 1 << 63)];
    table::<u64, 2>(|[a, b], out| ops::maximum_into(a, b, out), &unsigned);
}
