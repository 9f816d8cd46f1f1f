use ulib_core::{ErrorKind, Layout};
use ulib_device::block::Block;
use ulib_math::ops;
use ulib_math::view::{Element, View, ViewMut};

use crate::common;
use crate::reductions::twins;
use crate::support::{Sample, contents, for_grids, on_device, on_host, samples};

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
fn f64_twins() {
    check::<f64>(|x| x);
}

#[test]
fn i32_twins() {
    check::<i32>(f64::from);
}

#[test]
fn u32_twins() {
    check::<u32>(f64::from);
}

#[test]
fn i64_twins() {
    check::<i64>(|x| x as f64);
}

#[test]
fn u64_twins() {
    check::<u64>(|x| x as f64);
}

/// Columns of 3, 4 and 12, times 1 to 5: norms of 13, 26, ..., into every second element of an output.
#[test]
fn into_an_output() {
    let mode = common::driver();
    let values: Vec<i32> = [3, -4, 12]
        .iter()
        .flat_map(|side| (1..=5).map(move |factor| side * factor))
        .collect();
    let layout = Layout::contiguous(&[3, 5]).unwrap();
    let apart = Layout::new(vec![5], vec![-2], 8).unwrap();
    let run = |src: &Block, dst: &mut Block| {
        let view = View::<i32>::new(src, layout.clone()).unwrap();
        let out = ViewMut::<f64>::new(dst, apart.clone()).unwrap();
        ops::norm_into(&view, &[0], out).unwrap();
        let expected = [65.0, -1.0, 52.0, -1.0, 39.0, -1.0, 26.0, -1.0, 13.0];
        assert_eq!(contents::<f64>(dst), expected);
    };
    run(&on_host(&values), &mut on_host(&[-1.0; 9]));
    for_grids(&mode, || {
        run(&on_device(&values), &mut on_device(&[-1.0; 9]))
    });
    let block = on_host(&values);
    let view = View::<i32>::new(&block, layout).unwrap();
    let mut dst = on_host(&[-1.0; 3]);
    let out = ViewMut::<f64>::flat(&mut dst).unwrap();
    let error = ops::norm_into(&view, &[0], out).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Shape), "{error}");
    assert_eq!(contents::<f64>(&dst), [-1.0; 3]);
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
