use ulib_core::{ErrorKind, Layout};
use ulib_device::block::Block;
use ulib_math::ops;
use ulib_math::view::{Element, View, ViewMut};

use crate::common;
use crate::reductions::twins;
use crate::support::{Sample, contents, for_grids, on_device, on_host, samples};

/// The mean as everybody would write it, up to `tolerance` of the mean magnitude.
fn check<T: Sample + Element>(widen: fn(T) -> f64) {
    twins::<T, f64>(samples, ops::mean, |name, values, mean| {
        if values.is_empty() {
            return assert!(mean.is_nan(), "{name}");
        }
        let n = values.len() as f64;
        let naive: f64 = values.iter().map(|&x| widen(x) / n).sum();
        let magnitude: f64 = values.iter().map(|&x| widen(x).abs() / n).sum();
        assert!(
            (mean - naive).abs() <= 1e-12 * magnitude,
            "{name}: {mean}, {naive}"
        );
    });
}

#[test]
fn f32_twins() {
    check::<f32>(f64::from);
}

#[test]
fn i32_twins() {
    check::<i32>(f64::from);
}

#[test]
fn a_mean_is_the_sum_over_the_count() {
    let mode = common::driver();
    let values = samples::<f64>(9000);
    let ask = |block: &Block| ops::mean_all(&View::<f64>::flat(block).unwrap()).unwrap();
    let host = on_host(&values);
    let sum = ops::sum_all(&View::<f64>::flat(&host).unwrap()).unwrap();
    assert_eq!(ask(&host).to_bits(), (sum / 9000.0).to_bits());
    for_grids(&mode, || {
        assert_eq!(ask(&on_device(&values)).to_bits(), (sum / 9000.0).to_bits());
    });
}

#[test]
fn integers_have_their_sign() {
    let mode = common::driver();
    let signed = [i64::MIN, 0, 0, 0];
    let unsigned = [u64::MAX, 1, 0, 0];
    let large = [1_u64 << 63, 0, 0, 0];
    let check = |block: fn(&[i64]) -> Block, other: fn(&[u64]) -> Block| {
        let of_signed = ops::mean_all(&View::<i64>::flat(&block(&signed)).unwrap()).unwrap();
        assert_eq!(of_signed, -(2_f64.powi(61)));
        let of =
            |values: &[u64]| ops::mean_all(&View::<u64>::flat(&other(values)).unwrap()).unwrap();
        assert_eq!(of(&large), 2_f64.powi(61));
        assert_eq!(of(&unsigned), 0.0, "the sum wraps");
    };
    check(on_host, on_host);
    for_grids(&mode, || check(on_device, on_device));
}

#[test]
fn into_an_output() {
    let mode = common::driver();
    let values: Vec<u32> = (0..6 * 5000).collect();
    let layout = Layout::contiguous(&[6, 5000]).unwrap();
    let run = |src: &Block, dst: &mut Block| {
        let view = View::<u32>::new(src, layout.clone()).unwrap();
        ops::mean_into(&view, &[1], ViewMut::<f64>::flat(dst).unwrap()).unwrap();
        let expected: Vec<f64> = (0..6).map(|i| f64::from(i) * 5000.0 + 2499.5).collect();
        assert_eq!(contents::<f64>(dst), expected);
    };
    run(&on_host(&values), &mut on_host(&[0.0; 6]));
    for_grids(&mode, || {
        run(&on_device(&values), &mut on_device(&[0.0; 6]))
    });
    let block = on_host(&values);
    let view = View::<u32>::flat(&block).unwrap();
    let mut dst = on_host(&[0.0; 6]);
    let error = ops::mean_into(&view, &[0], ViewMut::<f64>::flat(&mut dst).unwrap()).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Shape), "{error}");
}
