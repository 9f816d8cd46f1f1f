use ulib_device::block::Block;
use ulib_math::ops;
use ulib_math::view::{Element, View};

use crate::common;
use crate::reductions::twins;
use crate::support::{Sample, for_grids, on_device, on_host, samples};

fn check<T: Sample + Element>(widen: fn(T) -> f64) {
    twins::<T, f64>(samples, ops::norm, |name, values, norm| {
        let naive = values.iter().map(|&x| widen(x).powi(2)).sum::<f64>().sqrt();
        assert!(
            (norm - naive).abs() <= 1e-12 * naive,
            "{name}: {norm}, {naive}"
        );
    });
}

#[test]
fn f32_twins() {
    check::<f32>(f64::from);
}

#[test]
fn i64_twins() {
    check::<i64>(|x| x as f64);
}

#[test]
fn by_hand() {
    let mode = common::driver();
    let check = |make: fn(&[f64]) -> Block| {
        let of =
            |values: &[f64]| ops::norm_all(&View::<f64>::flat(&make(values)).unwrap()).unwrap();
        assert_eq!(of(&[2.0, -3.0, 6.0]), 7.0);
        assert_eq!(of(&[-0.0]).to_bits(), 0);
        assert_eq!(of(&[3.0; 10_000]), 300.0);
        assert_eq!(of(&[1.0, f64::NEG_INFINITY]), f64::INFINITY);
        assert!(of(&[1.0, f64::NAN]).is_nan());
        assert_eq!(of(&[]), 0.0);
    };
    check(on_host);
    for_grids(&mode, || check(on_device));
}
