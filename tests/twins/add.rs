use ulib_math::ops;

use crate::elementwise::{Special, forms, table, twins};

/// `expected` is the test's own idea of a sum.
fn sums<T: Special>(expected: impl Fn(T, T) -> T) {
    twins::<T, 2>(
        |[a, b], out| ops::add_into(a, b, out),
        |[a, b]| expected(a, b),
    );
}

#[test]
fn float_twins() {
    sums::<f32>(|a, b| a + b);
    sums::<f64>(|a, b| a + b);
}

#[test]
fn integer_twins() {
    sums::<i32>(|a, b| (i64::from(a) + i64::from(b)) as i32);
    sums::<u32>(|a, b| (i64::from(a) + i64::from(b)) as u32);
    sums::<i64>(|a, b| (i128::from(a) + i128::from(b)) as i64);
    sums::<u64>(|a, b| (i128::from(a) + i128::from(b)) as u64);
}

#[test]
fn new_and_in_place() {
    forms::<f64>(
        |a, out| ops::add_into(a, 2.5, out),
        |a| ops::add(a, 2.5),
        |view| ops::add_in_place(view, 2.5),
    );
}

#[test]
fn special_values() {
    let floats = [
        // Zeros of both signs make a positive one, opposite infinities nothing, and halves of the last place go to even.
        ([-0.0, -0.0], -0.0),
        ([-0.0, 0.0], 0.0),
        ([0.0, -0.0], 0.0),
        ([1.0, -1.0], 0.0),
        ([f32::INFINITY, f32::NEG_INFINITY], f32::NAN),
        ([f32::INFINITY, -1.0], f32::INFINITY),
        ([f32::NAN, 1.0], f32::NAN),
        ([f32::MAX, f32::MAX], f32::INFINITY),
        ([f32::MAX, 1.0], f32::MAX),
        ([16_777_216.0, 1.0], 16_777_216.0),
        ([16_777_218.0, 1.0], 16_777_220.0),
        ([f32::MIN_POSITIVE, -1e-45], 1.175_494_2e-38),
    ];
    table::<f32, 2>(|[a, b], out| ops::add_into(a, b, out), &floats);
    let integers = [
        ([i32::MAX, 1], i32::MIN),
        ([i32::MIN, -1], i32::MAX),
        ([-5, 3], -2),
    ];
    table::<i32, 2>(|[a, b], out| ops::add_into(a, b, out), &integers);
    let unsigned = [([u64::MAX, 1], 0), ([u64::MAX, u64::MAX], u64::MAX - 1)];
    table::<u64, 2>(|[a, b], out| ops::add_into(a, b, out), &unsigned);
}
