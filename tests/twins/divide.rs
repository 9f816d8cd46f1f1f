use ulib_math::ops;

use crate::elementwise::{Special, forms, table, twins};

/// `expected` is the test's own idea of a quotient.
fn quotients<T: Special>(expected: impl Fn(T, T) -> T) {
    twins::<T, 2>(
        |[a, b], out| ops::divide_into(a, b, out),
        |[a, b]| expected(a, b),
    );
}

#[test]
fn float_twins() {
    quotients::<f32>(|a, b| a / b);
    quotients::<f64>(|a, b| a / b);
}

#[test]
fn integer_twins() {
    // Zero by rule; the quotient of the smallest by -1 is one more than the largest, and wraps.
    quotients::<i32>(|a, b| i64::from(a).checked_div(b.into()).unwrap_or(0) as i32);
    quotients::<u32>(|a, b| u64::from(a).checked_div(b.into()).unwrap_or(0) as u32);
    quotients::<i64>(|a, b| i128::from(a).checked_div(b.into()).unwrap_or(0) as i64);
    quotients::<u64>(|a, b| u128::from(a).checked_div(b.into()).unwrap_or(0) as u64);
}

#[test]
fn new_and_in_place() {
    forms::<f32>(
        |a, out| ops::divide_into(a, 3.0, out),
        |a| ops::divide(a, 3.0),
        |view| ops::divide_in_place(view, 3.0),
    );
}

#[test]
fn special_values() {
    let floats = [
        ([1.0, 0.0], f64::INFINITY),
        ([1.0, -0.0], f64::NEG_INFINITY),
        ([-1.0, 0.0], f64::NEG_INFINITY),
        ([0.0, 0.0], f64::NAN),
        ([-0.0, 3.0], -0.0),
        ([0.0, f64::NEG_INFINITY], -0.0),
        ([f64::INFINITY, f64::INFINITY], f64::NAN),
        ([f64::INFINITY, -2.0], f64::NEG_INFINITY),
        ([f64::NAN, 1.0], f64::NAN),
        ([f64::MAX, 0.5], f64::INFINITY),
        ([5e-324, 2.0], 0.0),
        ([1.5e-323, 2.0], 1e-323),
        ([1.0, 3.0], 0.333_333_333_333_333_3),
    ];
    table::<f64, 2>(|[a, b], out| ops::divide_into(a, b, out), &floats);
    let integers = [
        ([7, 2], 3),
        ([-7, 2], -3),
        ([7, -2], -3),
        ([-7, -2], 3),
        ([1, 0], 0),
        ([0, 0], 0),
        ([i32::MIN, 0], 0),
        ([i32::MIN, -1], i32::MIN),
        ([i32::MAX, -1], -i32::MAX),
        ([i32::MIN, 1], i32::MIN),
    ];
    table::<i32, 2>(|[a, b], out| ops::divide_into(a, b, out), &integers);
    let integers = [
        ([i64::MIN, -1], i64::MIN),
        ([i64::MIN, 0], 0),
        ([-9, 4], -2),
    ];
    table::<i64, 2>(|[a, b], out| ops::divide_into(a, b, out), &integers);
    let unsigned = [
        ([u32::MAX, 0], 0),
        ([u32::MAX, u32::MAX], 1),
        ([3, u32::MAX], 0),
    ];
    table::<u32, 2>(|[a, b], out| ops::divide_into(a, b, out), &unsigned);
}
