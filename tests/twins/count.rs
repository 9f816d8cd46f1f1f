use ulib_core::ErrorKind;
use ulib_device::block::Block;
use ulib_math::ops::{self, Predicate};
use ulib_math::view::{Element, View, ViewMut};

use crate::common;
use crate::reductions::twins;
use crate::support::{Sample, contents, for_grids, on_device, on_host, samples};

fn check<T: Sample + Element>(predicate: Predicate<T>, holds: fn(T) -> bool) {
    twins::<T, u64>(
        samples,
        |view, axes| ops::count(view, predicate, axes),
        |name, values, found| {
            let expected = values.iter().filter(|&&x| holds(x)).count();
            assert_eq!(found, expected as u64, "{name}");
        },
    );
}

#[test]
fn f32_twins() {
    check::<f32>(Predicate::Less(0.01), |x| x < 0.01);
}

#[test]
fn i64_twins() {
    check::<i64>(Predicate::NotEqual(0), |x| x != 0);
}

#[test]
fn u32_twins() {
    check::<u32>(Predicate::Between(1 << 20, 3 << 30), |x| {
        (1 << 20..=3 << 30).contains(&x)
    });
}

#[test]
fn every_condition() {
    let mode = common::driver();
    let values = [
        1.0_f64,
        -1.0,
        0.0,
        -0.0,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        2.0,
    ];
    let expected = [
        (Predicate::Less(0.0), 2),
        (Predicate::LessEqual(0.0), 4),
        (Predicate::Greater(1.0), 2),
        (Predicate::GreaterEqual(1.0), 3),
        (Predicate::Equal(0.0), 2),
        (Predicate::NotEqual(0.0), 6),
        (Predicate::Between(-1.0, 1.0), 4),
        (Predicate::Between(1.0, -1.0), 0),
        (Predicate::IsNan, 1),
        (Predicate::IsFinite, 5),
        (Predicate::Less(f64::NAN), 0),
        (Predicate::NotEqual(f64::NAN), 8),
        (Predicate::Greater(f64::INFINITY), 0),
    ];
    let check = |make: fn(&[f64]) -> Block| {
        // Long enough for the kernels' inner loops.
        let block = make(&values.repeat(1000));
        let view = View::<f64>::flat(&block).unwrap();
        for (predicate, times) in expected {
            let found = ops::count_all(&view, predicate).unwrap();
            assert_eq!(found, 1000 * times, "{predicate:?}");
        }
    };
    check(on_host);
    for_grids(&mode, || check(on_device));
}

#[test]
fn into_an_output() {
    let mode = common::driver();
    let check = |make: fn(&[i32]) -> Block, out: fn(&[u64]) -> Block| {
        let (block, mut out) = (make(&[1, 2, 3]), out(&[9; 3]));
        let view = View::<i32>::flat(&block).unwrap();
        ops::count_into(
            &view,
            Predicate::Equal(2),
            &[],
            ViewMut::flat(&mut out).unwrap(),
        )
        .unwrap();
        assert_eq!(contents::<u64>(&out), [0, 1, 0]);
        let error = ops::count_into(
            &view,
            Predicate::IsNan,
            &[0],
            ViewMut::flat(&mut out).unwrap(),
        )
        .unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Shape), "{error}");
    };
    check(on_host, on_host);
    for_grids(&mode, || check(on_device, on_device));
}
