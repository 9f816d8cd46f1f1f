use std::cmp::Ordering;

use ulib_core::{ErrorKind, Layout};
use ulib_device::block::Block;
use ulib_math::ops;
use ulib_math::view::{Element, View, ViewMut};

use crate::common;
use crate::reductions::{parts, twins};
use crate::support::{Sample, contents, for_grids, numbers, on_device, on_host, samples};

/// The first that no other comes before, found one by one.
fn first_of<T: Copy>(values: &[T], order: impl Fn(T, T) -> Ordering) -> Option<usize> {
    (0..values.len()).reduce(|best, i| {
        if order(values[i], values[best]) == Ordering::Less {
            i
        } else {
            best
        }
    })
}

/// All four operations on every layout.
fn check<T: Sample + Element>(
    make: impl Fn(usize) -> Vec<T> + Copy,
    order: fn(&T, &T) -> Ordering,
) {
    let full = |count: usize| make(count.max(1));
    let smallest = |values: &[T]| first_of(values, |a, b| order(&a, &b));
    let largest = |values: &[T]| first_of(values, |a, b| order(&b, &a));
    // Without elements there is no result: see `nothing_has_no_extremum`.
    twins::<T, T>(full, or_zero(ops::min), |name, values, found| {
        if let Some(i) = smallest(values) {
            assert_eq!(found, values[i], "min, {name}");
        }
    });
    twins::<T, T>(full, or_zero(ops::max), |name, values, found| {
        if let Some(i) = largest(values) {
            assert_eq!(found, values[i], "max, {name}");
        }
    });
    twins::<T, u64>(full, or_zero(ops::argmin), |name, values, found| {
        if let Some(i) = smallest(values) {
            assert_eq!(found, i as u64, "argmin, {name}");
        }
    });
    twins::<T, u64>(full, or_zero(ops::argmax), |name, values, found| {
        if let Some(i) = largest(values) {
            assert_eq!(found, i as u64, "argmax, {name}");
        }
    });
}

/// The operation, and zeros for views without elements.
fn or_zero<T: Element, R: Default + Clone>(
    run: impl Fn(&View<'_, T>, &[usize]) -> ulib_core::Result<ndarray::ArrayD<R>>,
) -> impl Fn(&View<'_, T>, &[usize]) -> ulib_core::Result<ndarray::ArrayD<R>> {
    move |view, axes| {
        let kept = (0..view.shape().len()).filter(|axis| !axes.contains(axis));
        let shape: Vec<usize> = kept.map(|axis| view.shape()[axis]).collect();
        if view.is_empty() {
            return Ok(ndarray::ArrayD::from_elem(shape, R::default()));
        }
        run(view, axes)
    }
}

#[test]
fn f32_twins() {
    check::<f32>(samples, f32::total_cmp);
}

#[test]
fn f64_twins_with_many_equal() {
    check::<f64>(
        |count| {
            numbers(count)
                .map(|bits| [0.0, -0.0, 1.5, -2.0][(bits >> 20) as usize % 4])
                .collect()
        },
        f64::total_cmp,
    );
}

#[test]
fn i32_twins_with_many_equal() {
    check::<i32>(
        |count| numbers(count).map(|bits| (bits >> 20) as i32 % 5).collect(),
        i32::cmp,
    );
}

#[test]
fn u64_twins() {
    check::<u64>(samples, u64::cmp);
}

#[test]
fn the_other_integers() {
    let mode = common::driver();
    fn check<T: Sample + Element + Ord>(make: fn(&[T]) -> Block) {
        let values = samples::<T>(9001);
        let block = make(&values);
        let view = View::<T>::flat(&block).unwrap();
        let min = *values.iter().min().unwrap();
        let max = *values.iter().max().unwrap();
        assert_eq!(ops::min_all(&view).unwrap(), min);
        assert_eq!(ops::max_all(&view).unwrap(), max);
        let at = |wanted: T| values.iter().position(|&x| x == wanted).unwrap() as u64;
        assert_eq!(ops::argmin_all(&view).unwrap(), at(min));
        assert_eq!(ops::argmax_all(&view).unwrap(), at(max));
    }
    check::<u32>(on_host);
    check::<i64>(on_host);
    for_grids(&mode, || {
        check::<u32>(on_device);
        check::<i64>(on_device);
    });
}

#[test]
fn special_values() {
    let mode = common::driver();
    let check = |make: fn(&[f32]) -> Block| {
        let ask = |values: &[f32]| {
            let block = make(values);
            let view = View::<f32>::flat(&block).unwrap();
            (
                ops::min_all(&view).unwrap(),
                ops::argmin_all(&view).unwrap(),
                ops::max_all(&view).unwrap(),
                ops::argmax_all(&view).unwrap(),
            )
        };
        let (min, first, max, last) = ask(&[0.0, -0.0, 0.0]);
        assert_eq!((min.to_bits(), first), ((-0.0_f32).to_bits(), 1));
        assert_eq!((max.to_bits(), last), (0, 0));
        for nan in [f32::NAN, -f32::NAN] {
            let mut values = vec![1.0; 5000];
            (values[3], values[17], values[4500]) = (f32::NEG_INFINITY, f32::INFINITY, nan);
            values[4700] = f32::NAN;
            let (min, first, max, last) = ask(&values);
            assert!(min.is_nan() && max.is_nan());
            assert_eq!((first, last), (4500, 4500));
        }
        assert_eq!(
            ask(&[f32::INFINITY; 300]),
            (f32::INFINITY, 0, f32::INFINITY, 0)
        );
        assert_eq!(
            ask(&[2.0, f32::NEG_INFINITY, f32::INFINITY]),
            (f32::NEG_INFINITY, 1, f32::INFINITY, 2)
        );
    };
    check(on_host);
    for_grids(&mode, || check(on_device));
}

#[test]
fn the_first_of_equals_in_any_memory_order() {
    let mode = common::driver();
    let values = vec![7_u32; 6 * 5 * 1000];
    let full = Layout::contiguous(&[6, 5, 1000]).unwrap();
    let layouts = [
        full.clone(),
        full.clone().permute(&[2, 0, 1]).unwrap(),
        full.clone().flip(2).unwrap(),
        full.clone()
            .flip(0)
            .unwrap()
            .flip(1)
            .unwrap()
            .flip(2)
            .unwrap(),
        full.permute(&[1, 2, 0]).unwrap().flip(0).unwrap(),
    ];
    let check = |make: fn(&[u32]) -> Block| {
        let block = make(&values);
        for layout in &layouts {
            let view = View::<u32>::new(&block, layout.clone()).unwrap();
            for axes in [&[0, 1, 2][..], &[2, 0], &[1], &[2]] {
                assert!(
                    ops::argmax(&view, axes).unwrap().iter().all(|&at| at == 0),
                    "{layout:?} over {axes:?}"
                );
            }
        }
    };
    check(on_host);
    for_grids(&mode, || check(on_device));
}

#[test]
fn the_order_of_the_axes_is_the_views() {
    let mode = common::driver();
    let values = samples::<f32>(4 * 6 * 8);
    let layout = Layout::contiguous(&[4, 6, 8])
        .unwrap()
        .permute(&[1, 2, 0])
        .unwrap();
    let check = |make: fn(&[f32]) -> Block| {
        let block = make(&values);
        let view = View::<f32>::new(&block, layout.clone()).unwrap();
        let expected: Vec<u64> = parts(&values, &layout, &[0, 2])
            .iter()
            .map(|part| first_of(part, |a, b| a.total_cmp(&b)).unwrap() as u64)
            .collect();
        for axes in [[0, 2], [2, 0]] {
            let found = ops::argmin(&view, &axes).unwrap();
            assert_eq!(found.into_raw_vec_and_offset().0, expected);
        }
    };
    check(on_host);
    for_grids(&mode, || check(on_device));
}

#[test]
fn into_an_output() {
    let mode = common::driver();
    let check = |make: fn(&[i32]) -> Block, places: fn(&[u64]) -> Block| {
        let block = make(&[3, 1, 2, 9, 7, 8]);
        let view = View::<i32>::new(&block, Layout::contiguous(&[2, 3]).unwrap()).unwrap();
        let (mut values, mut at) = (make(&[0; 4]), places(&[5; 4]));
        let every_second = Layout::new(vec![2], vec![2], 1).unwrap();
        ops::max_into(
            &view,
            &[1],
            ViewMut::new(&mut values, every_second.clone()).unwrap(),
        )
        .unwrap();
        ops::argmin_into(&view, &[1], ViewMut::new(&mut at, every_second).unwrap()).unwrap();
        assert_eq!(contents::<i32>(&values), [0, 3, 0, 9]);
        assert_eq!(contents::<u64>(&at), [5, 1, 5, 1]);
    };
    check(on_host, on_host);
    for_grids(&mode, || check(on_device, on_device));
}

#[test]
fn nothing_has_no_extremum() {
    let block = on_host(&[1.0_f32; 4]);
    let view = View::<f32>::new(&block, Layout::contiguous(&[3, 0]).unwrap()).unwrap();
    let refused = |error: ulib_core::Error, op: &str| {
        assert!(
            matches!(error.kind(), ErrorKind::InvalidArgument),
            "{error}"
        );
        assert!(error.to_string().contains(op), "{error}");
    };
    refused(ops::min(&view, &[1]).unwrap_err(), "min");
    refused(ops::max_all(&view).unwrap_err(), "max_all");
    refused(ops::argmin(&view, &[1]).unwrap_err(), "argmin");
    let mut out = on_host(&[4_u64; 3]);
    refused(
        ops::argmax_into(&view, &[1], ViewMut::flat(&mut out).unwrap()).unwrap_err(),
        "argmax_into",
    );
    assert_eq!(contents::<u64>(&out), [4; 3]);
    assert_eq!(ops::min(&view, &[0]).unwrap().len(), 0);
}
