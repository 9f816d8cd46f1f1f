use ulib_math::ops;

use crate::elementwise::{Special, forms, table, twins};

/// `expected` is the test's own idea of a difference.
fn differences<T: Special>(expected: impl Fn(T, T) -> T) {
    twins::<T, 2>(
        |[a, b], out| ops::subtract_into(a, b, out),
        |[a, b]| expected(a, b),
    );
}

#[test]
fn float_twins() {
    differences::<f32>(|a, b| a - b);
    differences::<f64>(|a, b| a - b);
}

#[test]
fn integer_twins() {
    differences::<i32>(|a, b| (i64::from(a) - i64::from(b)) as i32);
    differences::<u32>(|a, b| (i64::from(a) - i64::from(b)) as u32);
    differences::<i64>(|a, b| (i128::from(a) - i128::from(b)) as i64);
    differences::<u64>(|a, b| (i128::from(a) - i128::from(b)) as u64);
}

#[test]
fn new_and_in_place() {
    forms::<f64>(
        |a, out| ops::subtract_into(a, 2.5, out),
        |a| ops::subtract(a, 2.5),
        |view| ops::subtract_in_place(view, 2.5),
    );
}

#[test]
fn special_values() {
    let floats = [
        // Equal numbers make a positive zero, equal infinities nothing, and halves of the last place go to even.
        ([1.0, 1.0], 0.0),
        ([0.0, 0.0], 0.0),
        ([-0.0, 0.0], -0.0),
        ([0.0, -0.0], 0.0),
        ([f32::INFINITY, f32::INFINITY], f32::NAN),
        ([f32::NEG_INFINITY, 1.0], f32::NEG_INFINITY),
        ([1.0, f32::NAN], f32::NAN),
        ([f32::MIN, f32::MAX], f32::NEG_INFINITY),
        ([-16_777_216.0, 1.0], -16_777_216.0),
        ([-16_777_218.0, 1.0], -16_777_220.0),
        ([f32::MIN_POSITIVE, 1e-45], 1.175_494_2e-38),
    ];
    table::<f32, 2>(|[a, b], out| ops::subtract_into(a, b, out), &floats);
    let integers = [
        ([i32::MIN, 1], i32::MAX),
        ([0, i32::MIN], i32::MIN),
        ([-5, 3], -8),
    ];
    table::<i32, 2>(|[a, b], out| ops::subtract_into(a, b, out), &integers);
    let unsigned = [([0, 1], u64::MAX), ([1, u64::MAX], 2)];
    table::<u64, 2>(|[a, b], out| ops::subtract_into(a, b, out), &unsigned);
}
