use ulib_math::ops;

use crate::elementwise::{forms, near, table};
use crate::support::numbers;
use crate::wide::{self, Scaled, Wide, close, within};

#[test]
fn float_twins() {
    near::<f32, 2>(
        |[a, b], out| ops::power_into(a, b, out),
        |[a, b]| f64::from(a).powf(f64::from(b)) as f32,
        close,
    );
    near::<f64, 2>(
        |[a, b], out| ops::power_into(a, b, out),
        |[a, b]| a.powf(b),
        close,
    );
}

#[test]
fn new_and_in_place() {
    forms::<f32>(
        |a, out| ops::power_into(a, 1.5, out),
        |a| ops::power(a, 1.5),
        |view| ops::power_in_place(view, 1.5),
    );
}

macro_rules! special {
    ($float:ident) => {
        [
            // Zero powers and powers of 1 are 1, even of and to what is no number.
            ([$float::NAN, 0.0], 1.0),
            ([$float::INFINITY, -0.0], 1.0),
            ([1.0, $float::NAN], 1.0),
            ([1.0, $float::NEG_INFINITY], 1.0),
            ([-1.0, $float::INFINITY], 1.0),
            ([-1.0, $float::NEG_INFINITY], 1.0),
            ([$float::NAN, 1.0], $float::NAN),
            ([2.0, $float::NAN], $float::NAN),
            ([-8.0, 0.5], $float::NAN),
            // Zeros have the sign of odd powers.
            ([0.0, 3.0], 0.0),
            ([-0.0, 3.0], -0.0),
            ([-0.0, 2.0], 0.0),
            ([-0.0, 0.5], 0.0),
            ([0.0, -1.0], $float::INFINITY),
            ([-0.0, -1.0], $float::NEG_INFINITY),
            ([-0.0, -2.0], $float::INFINITY),
            ([-0.0, $float::NEG_INFINITY], $float::INFINITY),
            ([0.5, $float::INFINITY], 0.0),
            ([0.5, $float::NEG_INFINITY], $float::INFINITY),
            ([-2.0, $float::INFINITY], $float::INFINITY),
            ([-2.0, $float::NEG_INFINITY], 0.0),
            ([$float::NEG_INFINITY, 3.0], $float::NEG_INFINITY),
            ([$float::NEG_INFINITY, 2.0], $float::INFINITY),
            ([$float::NEG_INFINITY, -3.0], -0.0),
            ([$float::INFINITY, -0.5], 0.0),
            ([-10.0, 401.0], $float::NEG_INFINITY),
            ([-10.0, -401.0], -0.0),
            ([10.0, $float::MAX], $float::INFINITY),
        ]
    };
}

#[test]
fn special_values() {
    table::<f32, 2>(|[a, b], out| ops::power_into(a, b, out), &special!(f32));
    table::<f64, 2>(|[a, b], out| ops::power_into(a, b, out), &special!(f64));
}

/// Numbers of every magnitude to powers that make results of every magnitude, subnormal and too large ones included; the
/// neighbours of 1 to huge powers; negative numbers to whole powers.
fn inputs(count: usize, least: f64, most: f64) -> impl Iterator<Item = [f64; 2]> {
    let spread = numbers(count).zip(numbers(2 * count).skip(count));
    spread.map(move |(bits, more)| {
        let part = (more >> 11) as f64 / (1_u64 << 53) as f64;
        let wanted = least + (most - least) * part;
        let scale = (bits % 61) as i32 - 30;
        let near = 1.0 + (bits >> 40) as f64 / (1_u64 << 24) as f64;
        let a = match bits % 4 {
            0 => 1.0 + (near - 1.5) * 2.0_f64.powi(-(more as i32 & 15)),
            1 => -near * 2.0_f64.powi(scale),
            _ => near * 2.0_f64.powi(scale),
        };
        let b = wanted / a.abs().ln();
        [a, if a < 0.0 { b.round() } else { b }]
    })
}

#[test]
fn f32_within_the_bound() {
    let inputs = inputs(60_000, -105.0, 90.0).map(|[a, b]| [a as f32, b as f32]);
    let inputs: Vec<[f32; 2]> = inputs.filter(|[a, b]| *a != 1.0 && b.is_finite()).collect();
    within(
        9.0,
        &inputs,
        |[a, b], out| ops::power_into(a, b, out),
        |[a, b]| Scaled::from(Wide::new(f64::from(a).powf(f64::from(b)))),
    );
}

#[test]
fn f64_within_the_bound() {
    let inputs = inputs(6_000, -750.0, 711.0).filter(|[a, b]| *a != 1.0 && b.is_finite());
    let inputs: Vec<[f64; 2]> = inputs.collect();
    within(
        3.0,
        &inputs,
        |[a, b], out| ops::power_into(a, b, out),
        |[a, b]| wide::power(a, b),
    );
}
