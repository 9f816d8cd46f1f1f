use ulib_core::{ErrorKind, Layout};
use ulib_device::block::Block;
use ulib_math::ops;
use ulib_math::view::{Element, View, ViewMut};

use crate::common;
use crate::reductions::{bytes, parts, subsets};
use crate::support::{Sample, cases, contents, for_grids, on_device, on_host, on_pools, samples};

/// Every layout against a second operand in C order, in the reverse C order, and against itself.
fn check<T: Sample + Element>(same: impl Fn(&str, &[T], &[T], T::Sum)) {
    let mode = common::driver();
    for case in cases() {
        let shape = case.layout.shape();
        let count: usize = shape.iter().product();
        let first = samples::<T>(case.elements);
        let second: Vec<T> = samples::<T>(count + 5).split_off(5);
        let straight = Layout::contiguous(shape).unwrap();
        let turned =
            (0..shape.len()).fold(straight.clone(), |layout, axis| layout.flip(axis).unwrap());
        let on = |make: fn(&[T]) -> Block| (make(&first), make(&second));
        let host = on(on_host);
        let device = mode.has_device().then(|| on(on_device));
        for (kind, other) in [("straight", &straight), ("turned", &turned)] {
            for axes in subsets(shape.len()) {
                if axes.len().max(shape.len() - axes.len()) > 8 {
                    continue;
                }
                let name = format!("{}, {kind}, over {axes:?}", case.name);
                let run = |(a, b): &(Block, Block)| {
                    let a = View::<T>::new(a, case.layout.clone()).unwrap();
                    let b = View::<T>::new(b, other.clone()).unwrap();
                    ops::dot(&a, &b, &axes).expect(&name)
                };
                let [results, others] = on_pools(|| run(&host));
                assert_eq!(bytes(&results), bytes(&others), "{name}");
                for_grids(&mode, || {
                    assert_eq!(
                        bytes(&run(device.as_ref().unwrap())),
                        bytes(&results),
                        "device, {name}"
                    );
                });
                let of_first = parts(&first, &case.layout, &axes);
                let of_second = parts(&second, other, &axes);
                for ((a, b), &found) in of_first.iter().zip(&of_second).zip(results.iter()) {
                    same(&name, a, b, found);
                }
            }
        }
    }
}

#[test]
fn f32_twins() {
    check::<f32>(|name, a, b, found| {
        let products = || a.iter().zip(b).map(|(&a, &b)| f64::from(a) * f64::from(b));
        let (sum, magnitude): (f64, f64) = (products().sum(), products().map(f64::abs).sum());
        assert!(
            (found - sum).abs() <= 1e-13 * magnitude,
            "{name}: {found}, {sum}"
        );
    });
}

#[test]
fn i32_twins() {
    check::<i32>(|name, a, b, found| {
        let exact = a.iter().zip(b).fold(0_i64, |sum, (&a, &b)| {
            sum.wrapping_add(i64::from(a) * i64::from(b))
        });
        assert_eq!(found, exact, "{name}");
    });
}

#[test]
fn with_itself_and_as_the_sum() {
    let mode = common::driver();
    let values = samples::<f64>(10_000);
    let ones = [1.0_f64; 10_000];
    let check = |make: fn(&[f64]) -> Block| {
        let (a, b) = (make(&values), make(&ones));
        let (a, b) = (
            View::<f64>::flat(&a).unwrap(),
            View::<f64>::flat(&b).unwrap(),
        );
        let dot = ops::dot_all(&a, &b).unwrap();
        assert_eq!(dot.to_bits(), ops::sum_all(&a).unwrap().to_bits());
        let norm = ops::norm_all(&a).unwrap();
        assert_eq!(
            ops::dot_all(&a, &a).unwrap().sqrt().to_bits(),
            norm.to_bits()
        );
        let mut out = make(&[7.0, 8.0]);
        let second = Layout::new(vec![], vec![], 1).unwrap();
        ops::dot_into(&a, &b, &[0], ViewMut::new(&mut out, second).unwrap()).unwrap();
        assert_eq!(contents::<f64>(&out), [7.0, dot]);
    };
    check(on_host);
    for_grids(&mode, || check(on_device));
}

#[test]
fn shapes_and_places_must_agree() {
    let mode = common::driver();
    let (a, b) = (on_host(&[1.0_f32; 6]), on_host(&[1.0_f32; 7]));
    let (six, seven) = (
        View::<f32>::flat(&a).unwrap(),
        View::<f32>::flat(&b).unwrap(),
    );
    let error = ops::dot_all(&six, &seven).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Shape), "{error}");
    if mode.has_device() {
        let there = on_device(&[1.0_f32; 6]);
        let there = View::<f32>::flat(&there).unwrap();
        for (a, b) in [(&six, &there), (&there, &six)] {
            let error = ops::dot_all(a, b).unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Residency), "{error}");
        }
    }
}
