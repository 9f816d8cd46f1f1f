use ulib_math::ops;

use crate::elementwise::{forms, near, table};
use crate::support::numbers;
use crate::wide::{Scaled, Wide, close, within};

#[test]
fn float_twins() {
    near::<f32, 1>(
        |[a], out| ops::exp_into(a, out),
        |[a]| f64::from(a).exp() as f32,
        close,
    );
    near::<f64, 1>(|[a], out| ops::exp_into(a, out), |[a]| a.exp(), close);
}

#[test]
fn new_and_in_place() {
    forms::<f32>(
        |a, out| ops::exp_into(a, out),
        |a| ops::exp(a),
        ops::exp_in_place,
    );
}

#[test]
fn special_values() {
    let floats = [
        ([0.0], 1.0),
        ([-0.0], 1.0),
        ([5e-324], 1.0),
        ([f64::INFINITY], f64::INFINITY),
        ([f64::NEG_INFINITY], 0.0),
        ([f64::NAN], f64::NAN),
        ([710.0], f64::INFINITY),
        ([f64::MAX], f64::INFINITY),
        ([-746.0], 0.0),
        ([f64::MIN], 0.0),
    ];
    table::<f64, 1>(|[a], out| ops::exp_into(a, out), &floats);
    let floats = [
        ([-0.0], 1.0),
        ([f32::INFINITY], f32::INFINITY),
        ([f32::NEG_INFINITY], 0.0),
        ([f32::NAN], f32::NAN),
        ([89.0], f32::INFINITY),
        ([-105.0], 0.0),
    ];
    table::<f32, 1>(|[a], out| ops::exp_into(a, out), &floats);
}

/// All of the range, results that are subnormal or too large included, and numbers of every magnitude.
#[test]
fn f32_within_the_bound() {
    let range = (0..60_000).map(|i| [-104.5 + i as f32 * (194.5 / 60_000.0)]);
    let all = (0..60_000).map(|i| [f32::from_bits(i * 71_551)]);
    let inputs: Vec<[f32; 1]> = range.chain(all.filter(|[a]| a.abs() < 700.0)).collect();
    within(
        3.0,
        &inputs,
        |[a], out| ops::exp_into(a, out),
        |[a]| Scaled::from(Wide::new(f64::from(a).exp())),
    );
}

#[test]
fn f64_within_the_bound() {
    let range = (0..8_000).map(|i| [-746.0 + f64::from(i) * (1457.0 / 8_000.0)]);
    let all = numbers(4_000).map(|bits| [f64::from_bits(bits)]);
    let inputs: Vec<[f64; 1]> = range.chain(all.filter(|[a]| a.abs() < 1e6)).collect();
    within(
        2.0,
        &inputs,
        |[a], out| ops::exp_into(a, out),
        |[a]| Wide::new(a).exp(),
    );
}
