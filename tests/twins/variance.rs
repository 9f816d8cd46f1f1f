use ulib_core::{ErrorKind, Layout};
use ulib_device::block::Block;
use ulib_math::ops;
use ulib_math::view::{Element, View, ViewMut};

use crate::common;
use crate::reductions::twins;
use crate::support::{Sample, contents, for_grids, numbers, on_device, on_host, on_pools, samples};

/// Twice through the elements, with the mean of the differences taken off once more.
fn two_pass(values: &[f64], ddof: usize) -> f64 {
    let n = values.len() as f64;
    let mean: f64 = values.iter().map(|x| x / n).sum();
    let rest: f64 = values.iter().map(|x| (x - mean) / n).sum();
    let squares: f64 = values.iter().map(|x| (x - mean - rest).powi(2)).sum();
    squares / (n - ddof as f64)
}

fn close(name: &str, found: f64, values: &[f64], ddof: usize) {
    if values.len() <= ddof {
        return assert!(found.is_nan(), "{name}");
    }
    let expected = two_pass(values, ddof);
    let mean: f64 = values.iter().map(|x| x / values.len() as f64).sum();
    let condition = if expected > 0.0 {
        (1.0 + mean * mean / expected).sqrt()
    } else {
        1.0
    };
    let bound = (2e-13 + 2e-14 * condition) * expected;
    assert!(
        (found - expected).abs() <= bound,
        "{name}: {found}, expected {expected}"
    );
}

fn check<T: Sample + Element>(ddof: usize, widen: fn(T) -> f64) {
    twins::<T, f64>(
        samples,
        |view, axes| ops::variance(view, ddof, axes),
        |name, values, found| {
            let values: Vec<f64> = values.iter().map(|&x| widen(x)).collect();
            close(name, found, &values, ddof);
        },
    );
}

#[test]
fn f32_twins() {
    check::<f32>(0, f64::from);
}

#[test]
fn f64_twins() {
    check::<f64>(1, |x| x);
}

#[test]
fn u32_twins() {
    check::<u32>(2, f64::from);
}

#[test]
fn a_large_mean_costs_little() {
    let mode = common::driver();
    let values: Vec<f64> = numbers(20_000)
        .map(|bits| 1e9 + (bits >> 40) as f64 / 16_777_216.0)
        .collect();
    let ask = |block: &Block| ops::variance_all(&View::<f64>::flat(block).unwrap(), 0).unwrap();
    let host = on_host(&values);
    let [one, two] = on_pools(|| ask(&host));
    assert_eq!(one.to_bits(), two.to_bits());
    // Exact to 1e-3 of it would already be lost by a sum of squares less the square of a sum.
    assert!((one - two_pass(&values, 0)).abs() <= 1e-6 * one, "{one}");
    for_grids(&mode, || {
        assert_eq!(ask(&on_device(&values)).to_bits(), one.to_bits())
    });
}

#[test]
fn by_hand() {
    let mode = common::driver();
    let check = |make: fn(&[i32]) -> Block| {
        let block = make(&[2, 4, 4, 4, 5, 5, 7, 9]);
        let view = View::<i32>::flat(&block).unwrap();
        assert_eq!(ops::variance_all(&view, 0).unwrap(), 4.0);
        assert_eq!(ops::standard_deviation_all(&view, 0).unwrap(), 2.0);
        assert!((ops::variance_all(&view, 1).unwrap() - 32.0 / 7.0).abs() < 1e-15);
        let each = ops::variance(&view, 0, &[]).unwrap();
        assert!(each.iter().all(|&x| x == 0.0));
        assert!(ops::variance_all(&view, 8).unwrap().is_nan());
    };
    check(on_host);
    for_grids(&mode, || check(on_device));
    let empty = Block::zeroed(0).unwrap();
    let view = View::<f32>::flat(&empty).unwrap();
    assert!(ops::variance_all(&view, 0).unwrap().is_nan());
}

#[test]
fn constants_do_not_vary_and_infinities_have_no_variance() {
    let mode = common::driver();
    let check = |make: fn(&[f64]) -> Block| {
        let of = |values: &[f64]| {
            ops::variance_all(&View::<f64>::flat(&make(values)).unwrap(), 0).unwrap()
        };
        assert_eq!(of(&[0.1; 9000]), 0.0);
        assert!(of(&[1.0, f64::INFINITY, 2.0]).is_nan());
        assert!(of(&[f64::INFINITY]).is_nan());
        assert!(of(&[1.0, f64::NAN]).is_nan());
    };
    check(on_host);
    for_grids(&mode, || check(on_device));
}

/// Row `i` is `i` times -2, -1, 0, 1 and 2 about its own mean: the squares add up to `10 i^2`, which 4 divide.
#[test]
fn variances_into_an_output() {
    let mode = common::driver();
    let values: Vec<i64> = (0..4_i64)
        .flat_map(|i| (-2..=2).map(move |x| 1000 * i + i * x))
        .collect();
    let layout = Layout::contiguous(&[4, 5]).unwrap();
    let apart = Layout::new(vec![4], vec![-2], 6).unwrap();
    let run = |src: &Block, dst: &mut Block| {
        let view = View::<i64>::new(src, layout.clone()).unwrap();
        let out = ViewMut::<f64>::new(dst, apart.clone()).unwrap();
        ops::variance_into(&view, 1, &[1], out).unwrap();
        assert_eq!(
            contents::<f64>(dst),
            [22.5, -1.0, 10.0, -1.0, 2.5, -1.0, 0.0]
        );
    };
    run(&on_host(&values), &mut on_host(&[-1.0; 7]));
    for_grids(&mode, || {
        run(&on_device(&values), &mut on_device(&[-1.0; 7]))
    });
    let block = on_host(&values);
    let view = View::<i64>::new(&block, layout).unwrap();
    let mut dst = on_host(&[-1.0; 5]);
    let out = ViewMut::<f64>::flat(&mut dst).unwrap();
    let error = ops::variance_into(&view, 1, &[1], out).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Shape), "{error}");
    assert_eq!(contents::<f64>(&dst), [-1.0; 5]);
}

#[test]
fn deviations_into_an_output() {
    let mode = common::driver();
    let values = samples::<f32>(7 * 300);
    let layout = Layout::contiguous(&[7, 300]).unwrap();
    let run = |src: &Block, dst: &mut Block| {
        let view = View::<f32>::new(src, layout.clone()).unwrap();
        ops::standard_deviation_into(&view, 1, &[0], ViewMut::<f64>::flat(dst).unwrap()).unwrap();
        contents::<f64>(dst)
    };
    let host = on_host(&values);
    let found = run(&host, &mut on_host(&[0.0; 300]));
    let view = View::<f32>::new(&host, layout.clone()).unwrap();
    let variance = ops::variance(&view, 1, &[0]).unwrap();
    assert!(
        found
            .iter()
            .zip(&variance)
            .all(|(&sigma, &variance)| sigma == variance.sqrt())
    );
    for_grids(&mode, || {
        assert_eq!(run(&on_device(&values), &mut on_device(&[0.0; 300])), found)
    });
}
