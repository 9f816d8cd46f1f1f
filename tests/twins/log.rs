use ulib_math::ops;

use crate::elementwise::{forms, near, table};
use crate::support::numbers;
use crate::wide::{self, Scaled, Wide, close, within};

#[test]
fn float_twins() {
    near::<f32, 1>(
        |[a], out| ops::log_into(a, out),
        |[a]| f64::from(a).ln() as f32,
        close,
    );
    near::<f64, 1>(|[a], out| ops::log_into(a, out), |[a]| a.ln(), close);
}

#[test]
fn new_and_in_place() {
    forms::<f64>(
        |a, out| ops::log_into(a, out),
        |a| ops::log(a),
        ops::log_in_place,
    );
}

#[test]
fn special_values() {
    let floats = [
        ([1.0], 0.0),
        ([0.0], f64::NEG_INFINITY),
        ([-0.0], f64::NEG_INFINITY),
        ([-5e-324], f64::NAN),
        ([-1.0], f64::NAN),
        ([f64::NEG_INFINITY], f64::NAN),
        ([f64::INFINITY], f64::INFINITY),
        ([f64::NAN], f64::NAN),
    ];
    table::<f64, 1>(|[a], out| ops::log_into(a, out), &floats);
    let floats = [
        ([1.0], 0.0),
        ([0.0], f32::NEG_INFINITY),
        ([-0.0], f32::NEG_INFINITY),
        ([-1e-45], f32::NAN),
        ([f32::INFINITY], f32::INFINITY),
        ([f32::NAN], f32::NAN),
    ];
    table::<f32, 1>(|[a], out| ops::log_into(a, out), &floats);
}

/// Every positive number in steps, and the neighbours of 1, where logarithms are small.
#[test]
fn f32_within_the_bound() {
    let all = (0..60_000).map(|i| [f32::from_bits(1 + i * 35_651)]);
    let one = (0..40_000).map(|i| [f32::from_bits(1.0_f32.to_bits() - 20_000 + i)]);
    let finite = |[a]: &[f32; 1]| a.is_finite();
    let inputs: Vec<[f32; 1]> = all.chain(one).filter(finite).collect();
    within(
        2.0,
        &inputs,
        |[a], out| ops::log_into(a, out),
        |[a]| Scaled::from(Wide::new(f64::from(a).ln())),
    );
}

#[test]
fn f64_within_the_bound() {
    let all = numbers(4_000).map(|bits| [f64::from_bits(bits >> 1)]);
    let small = numbers(300).map(|bits| [f64::from_bits(bits >> (12 + bits % 50))]);
    let one = (0..500).map(|i| [f64::from_bits(1.0_f64.to_bits() - 250 + i)]);
    let middle = (0..2_000).map(|i| [0.5 + f64::from(i) * (1.6 / 2_000.0)]);
    let finite = |[a]: &[f64; 1]| *a > 0.0 && a.is_finite();
    let inputs = all.chain(small).chain(one).chain(middle).filter(finite);
    let inputs: Vec<[f64; 1]> = inputs.collect();
    within(
        2.0,
        &inputs,
        |[a], out| ops::log_into(a, out),
        |[a]| wide::log(a).into(),
    );
}
