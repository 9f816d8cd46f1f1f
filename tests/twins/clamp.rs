use ulib_math::ops;

use crate::elementwise::{Special, forms, table, twins};

/// `expected` is the test's own idea of a limited number.
fn limits<T: Special>(expected: impl Fn(T, T, T) -> T) {
    twins::<T, 3>(
        |[a, low, high], out| ops::clamp_into(a, low, high, out),
        |[a, low, high]| expected(a, low, high),
    );
}

macro_rules! limited {
    ($float:ty) => {
        |a: $float, low: $float, high: $float| {
            if a.is_nan() || low.is_nan() || high.is_nan() {
                return <$float>::NAN;
            }
            // The total order has -0.0 below 0.0. The upper limit has the last word.
            let raised = if a.total_cmp(&low).is_lt() { low } else { a };
            if raised.total_cmp(&high).is_gt() {
                high
            } else {
                raised
            }
        }
    };
}

#[test]
fn float_twins() {
    limits::<f32>(limited!(f32));
    limits::<f64>(limited!(f64));
}

#[test]
fn integer_twins() {
    limits::<i32>(|a, low, high| i64::from(a).max(low.into()).min(high.into()) as i32);
    limits::<u32>(|a, low, high| i64::from(a).max(low.into()).min(high.into()) as u32);
    limits::<i64>(|a, low, high| i128::from(a).max(low.into()).min(high.into()) as i64);
    limits::<u64>(|a, low, high| i128::from(a).max(low.into()).min(high.into()) as u64);
}

#[test]
fn new_and_in_place() {
    forms::<f32>(
        |a, out| ops::clamp_into(a, -0.5, 1.0, out),
        |a| ops::clamp(a, -0.5, 1.0),
        |view| ops::clamp_in_place(view, -0.5, 1.0),
    );
}

#[test]
fn special_values() {
    let floats = [
        ([0.5, 0.0, 1.0], 0.5),
        ([-7.0, 0.0, 1.0], 0.0),
        ([7.0, 0.0, 1.0], 1.0),
        ([f32::NAN, 0.0, 1.0], f32::NAN),
        ([0.5, f32::NAN, 1.0], f32::NAN),
        ([0.5, 0.0, f32::NAN], f32::NAN),
        ([7.0, 0.0, f32::NAN], f32::NAN),
        ([-0.0, 0.0, 1.0], 0.0),
        ([0.0, -1.0, -0.0], -0.0),
        ([f32::INFINITY, 0.0, f32::MAX], f32::MAX),
        (
            [f32::NEG_INFINITY, f32::NEG_INFINITY, 0.0],
            f32::NEG_INFINITY,
        ),
        // Views may cross: the upper limit wins.
        ([0.5, 2.0, 1.0], 1.0),
    ];
    table::<f32, 3>(|[a, b, c], out| ops::clamp_into(a, b, c, out), &floats);
    let integers = [
        ([-5, -3, i32::MAX], -3),
        ([5, i32::MIN, 3], 3),
        ([i32::MIN, 0, 0], 0),
    ];
    table::<i32, 3>(|[a, b, c], out| ops::clamp_into(a, b, c, out), &integers);
    let unsigned = [([u32::MAX, 1, 2], 2), ([0, 1, u32::MAX], 1)];
    table::<u32, 3>(|[a, b, c], out| ops::clamp_into(a, b, c, out), &unsigned);
}
