use ndarray::ArrayD;
use ulib_core::{DeviceStorable, ErrorKind, Layout, bytemuck};
use ulib_device::block::Block;
use ulib_math::ops;
use ulib_math::view::{Element, View, ViewMut};

use crate::common;
use crate::support::{Sample, cases, contents, for_grids, on_device, on_host, on_pools, samples};

/// The documented tree, straight from its description: chunks of 4096, lanes of 256, pairs of neighbours.
fn tree<A: Copy>(values: &[A], identity: A, plus: fn(A, A) -> A) -> A {
    fn join<A: Copy>(lanes: &[A], plus: fn(A, A) -> A) -> A {
        match lanes {
            [one] => *one,
            _ => {
                let (left, right) = lanes.split_at(lanes.len() / 2);
                plus(join(left, plus), join(right, plus))
            }
        }
    }
    let chunks: Vec<A> = values
        .chunks(4096)
        .map(|chunk| {
            let lanes: Vec<A> = (0..256)
                .map(|lane| {
                    chunk
                        .iter()
                        .skip(lane)
                        .step_by(256)
                        .fold(identity, |sum, &x| plus(sum, x))
                })
                .collect();
            join(&lanes, plus)
        })
        .collect();
    if chunks.len() == 1 {
        chunks[0]
    } else {
        tree(&chunks, identity, plus)
    }
}

/// Every subset of the axes of a layout, at most 16 of them.
fn subsets(ndim: usize) -> Vec<Vec<usize>> {
    (0..1_usize << ndim)
        .map(|set| (0..ndim).filter(|axis| set >> axis & 1 == 1).collect())
        .step_by((1 << ndim) / 16 + 1)
        .collect()
}

/// The sums by the definition: of each output the elements sorted by address.
fn expected<T: Sample + Element>(
    elements: &[T],
    layout: &Layout,
    axes: &[usize],
    identity: T::Sum,
    zero: T::Sum,
    add: fn(T::Sum, T::Sum) -> T::Sum,
    widen: fn(T) -> T::Sum,
) -> Vec<T::Sum> {
    let kept: Vec<usize> = (0..layout.ndim())
        .filter(|axis| !axes.contains(axis))
        .collect();
    let order: Vec<usize> = kept.iter().chain(axes).copied().collect();
    let sorted = layout.permute(&order).unwrap();
    let outputs: usize = kept.iter().map(|&axis| layout.shape()[axis]).product();
    if layout.is_empty() {
        return vec![zero; outputs];
    }
    let offsets: Vec<usize> = sorted.offsets().collect();
    offsets
        .chunks(offsets.len() / outputs)
        .map(|of_one| {
            let mut of_one = of_one.to_vec();
            of_one.sort_unstable();
            let values: Vec<T::Sum> = of_one
                .iter()
                .map(|&offset| widen(elements[offset]))
                .collect();
            tree(&values, identity, add)
        })
        .collect()
}

fn bits<T: DeviceStorable>(sums: &ArrayD<T>) -> Vec<u64> {
    bytemuck::cast_slice(sums.as_slice().expect("sums are in C order")).to_vec()
}

fn twins<T: Sample + Element>(
    identity: T::Sum,
    zero: T::Sum,
    add: fn(T::Sum, T::Sum) -> T::Sum,
    widen: fn(T) -> T::Sum,
) {
    let mode = common::driver();
    for case in cases() {
        let elements = samples::<T>(case.elements);
        let host = on_host(&elements);
        let device = mode.has_device().then(|| on_device(&elements));
        let view = |block| View::<T>::new(block, case.layout.clone()).unwrap();
        for axes in subsets(case.layout.ndim()) {
            if axes.len().max(case.layout.ndim() - axes.len()) > 8 {
                continue; // refused, see below
            }
            let name = format!("{} over {axes:?}", case.name);
            let expected = expected(&elements, &case.layout, &axes, identity, zero, add, widen);
            let expected: Vec<u64> = bytemuck::cast_slice(&expected).to_vec();
            for sums in on_pools(|| ops::sum(&view(&host), &axes).unwrap()) {
                assert_eq!(bits(&sums), expected, "host, {name}");
            }
            for_grids(&mode, || {
                let sums = ops::sum(&view(device.as_ref().unwrap()), &axes).unwrap();
                assert_eq!(bits(&sums), expected, "device, {name}");
            });
        }
    }
}

#[test]
fn f32_twins() {
    twins::<f32>(-0.0, 0.0, |a, b| a + b, f64::from);
}

#[test]
fn f64_twins() {
    twins::<f64>(-0.0, 0.0, |a, b| a + b, |x| x);
}

#[test]
fn i32_twins() {
    twins::<i32>(0, 0, |a, b| a + b, i64::from);
}

#[test]
fn u32_twins() {
    twins::<u32>(0, 0, |a, b| a + b, u64::from);
}

#[test]
fn i64_twins() {
    twins::<i64>(0, 0, i64::wrapping_add, |x| x);
}

#[test]
fn u64_twins() {
    twins::<u64>(0, 0, u64::wrapping_add, |x| x);
}

#[test]
fn integers_are_exact() {
    let mode = common::driver();
    let values: Vec<f32> = (0..50_000).map(|i| (i % 4093) as f32 - 2000.0).collect();
    let exact: i64 = (0..50_000_i64).map(|i| i % 4093 - 2000).sum();
    for sum in on_pools(|| ops::sum_all(&View::<f32>::flat(&on_host(&values)).unwrap()).unwrap()) {
        assert_eq!(sum, exact as f64);
    }
    for_grids(&mode, || {
        assert_eq!(
            ops::sum_all(&View::<f32>::flat(&on_device(&values)).unwrap()).unwrap(),
            exact as f64
        )
    });
}

/// Compensated summation, as an independent idea of the sum.
fn compensated(values: &[f64]) -> f64 {
    let (mut sum, mut lost) = (0.0_f64, 0.0_f64);
    for &value in values {
        let next = sum + value;
        lost += if sum.abs() >= value.abs() {
            (sum - next) + value
        } else {
            (value - next) + sum
        };
        sum = next;
    }
    sum + lost
}

#[test]
fn three_levels_and_the_stated_error() {
    let mode = common::driver();
    let count = 4096 * 4096 + 1234;
    let values = samples::<f64>(count);
    let magnitude: f64 = values.iter().map(|value| value.abs()).sum();
    let block = on_host(&values);
    let [one, two] = on_pools(|| ops::sum_all(&View::<f64>::flat(&block).unwrap()).unwrap());
    assert_eq!(one.to_bits(), two.to_bits());
    assert_eq!(one.to_bits(), tree(&values, -0.0, |a, b| a + b).to_bits());
    assert!((one - compensated(&values)).abs() <= 1e-14 * magnitude);
    // Emulated this is minutes of fibers' time; two levels are covered there by every twin.
    if mode.is_real() {
        let device = on_device(&values);
        assert_eq!(
            ops::sum_all(&View::<f64>::flat(&device).unwrap())
                .unwrap()
                .to_bits(),
            one.to_bits()
        );
    }
}

#[test]
fn special_values() {
    let mode = common::driver();
    let check = |values: &[f64], expected: f64| {
        let same = |sum: f64, side: &str| {
            let same = sum.to_bits() == expected.to_bits() || (sum.is_nan() && expected.is_nan());
            assert!(
                same,
                "{side}: the sum of {values:?} is {sum}, expected {expected}"
            );
        };
        same(
            ops::sum_all(&View::<f64>::flat(&on_host(values)).unwrap()).unwrap(),
            "host",
        );
        for_grids(&mode, || {
            same(
                ops::sum_all(&View::<f64>::flat(&on_device(values)).unwrap()).unwrap(),
                "device",
            )
        });
    };
    check(&[-0.0], -0.0);
    check(&[-0.0; 5000], -0.0);
    check(&[-0.0, 0.0], 0.0);
    check(&[1.0, f64::INFINITY], f64::INFINITY);
    check(&[f64::INFINITY, 1.0, f64::NEG_INFINITY], f64::NAN);
    check(&[1.0, f64::NAN, 2.0], f64::NAN);
    check(&[f64::MAX, f64::MAX], f64::INFINITY);
    // By hand: lanes 0 and 1 cancel before lane 2 joins, and lane 2 joins lane 3 first.
    check(&[1e300, -1e300, 1.0, 2.0], 3.0);
    check(&[1e300, 1.0, -1e300, 2.0], 0.0);
    let empty = Block::zeroed(0).unwrap();
    assert_eq!(
        ops::sum_all(&View::<f64>::flat(&empty).unwrap())
            .unwrap()
            .to_bits(),
        0.0_f64.to_bits()
    );
}

#[test]
fn integer_sums_are_wide_and_signed() {
    let mode = common::driver();
    let values = [i32::MIN, i32::MIN, -1, i32::MIN];
    let expected = 3 * i64::from(i32::MIN) - 1;
    assert_eq!(
        ops::sum_all(&View::<i32>::flat(&on_host(&values)).unwrap()).unwrap(),
        expected
    );
    for_grids(&mode, || {
        assert_eq!(
            ops::sum_all(&View::<i32>::flat(&on_device(&values)).unwrap()).unwrap(),
            expected
        )
    });
}

#[test]
fn broadcast_axes_count_as_often_as_they_are_long() {
    let mode = common::driver();
    let values = [1.0_f32, 2.0, 4.0];
    let check = |block: &Block| {
        let view = View::<f32>::flat(block)
            .unwrap()
            .broadcast_to(&[5, 3])
            .unwrap();
        assert_eq!(
            ops::sum(&view, &[0]).unwrap(),
            ndarray::arr1(&[5.0, 10.0, 20.0]).into_dyn()
        );
        assert_eq!(
            ops::sum(&view, &[1]).unwrap(),
            ndarray::arr1(&[7.0; 5]).into_dyn()
        );
        assert_eq!(ops::sum_all(&view).unwrap(), 35.0);
    };
    check(&on_host(&values));
    for_grids(&mode, || check(&on_device(&values)));
}

#[test]
fn many_short_sums() {
    let mode = common::driver();
    let values: Vec<u32> = (0..5000 * 3).collect();
    let layout = Layout::contiguous(&[5000, 3]).unwrap();
    let check = |block: &Block| {
        let sums = ops::sum(&View::<u32>::new(block, layout.clone()).unwrap(), &[1]).unwrap();
        assert!(
            sums.iter()
                .enumerate()
                .all(|(i, &sum)| sum == 9 * i as u64 + 3)
        );
    };
    check(&on_host(&values));
    for_grids(&mode, || check(&on_device(&values)));
}

#[test]
fn into_any_output() {
    let mode = common::driver();
    let values = samples::<f32>(6 * 700);
    let layout = Layout::contiguous(&[6, 700]).unwrap();
    // Every second element of the output, backwards.
    let out = |len: usize| Layout::new(vec![len], vec![-2], 2 * (len - 1) + 1).unwrap();
    let run = |src: &Block, dst: &mut Block, axis: usize| {
        let view = View::<f32>::new(src, layout.clone()).unwrap();
        let len = layout.shape()[1 - axis];
        ops::sum_into(&view, &[axis], ViewMut::new(dst, out(len)).unwrap()).unwrap();
        let found = View::<f64>::new(dst, out(len)).unwrap().to_array().unwrap();
        assert_eq!(found, ops::sum(&view, &[axis]).unwrap());
        assert!(
            contents::<f64>(dst)
                .iter()
                .step_by(2)
                .all(|&between| between == 7.0),
            "between the outputs"
        );
    };
    let blank = [7.0_f64; 1400];
    for axis in [0, 1] {
        run(&on_host(&values), &mut on_host(&blank), axis);
        for_grids(&mode, || {
            run(&on_device(&values), &mut on_device(&blank), axis);
            run(&on_device(&values), &mut on_host(&blank), axis);
            run(&on_host(&values), &mut on_device(&blank), axis);
        });
    }
}

#[test]
fn a_device_refuses_more_than_eight_axes_of_a_kind() {
    let mode = common::driver();
    let nine = cases()
        .into_iter()
        .find(|case| case.layout.ndim() == 9)
        .unwrap();
    let values = samples::<f32>(nine.elements);
    let all = |block: &Block| ops::sum_all(&View::<f32>::new(block, nine.layout.clone()).unwrap());
    assert!(all(&on_host(&values)).is_ok());
    if mode.has_device() {
        let error = all(&on_device(&values)).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Layout), "{error}");
    }
}

#[test]
fn wrong_axes_and_outputs_are_errors() {
    let block = on_host(&[0.0_f32; 6]);
    let view = View::<f32>::new(&block, Layout::contiguous(&[2, 3]).unwrap()).unwrap();
    for axes in [&[2][..], &[0, 0], &[0, 1, 2]] {
        let error = ops::sum(&view, axes).unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::InvalidArgument),
            "{error}"
        );
    }
    let mut out = Block::zeroed(16).unwrap();
    let error = ops::sum_into(&view, &[0], ViewMut::<f64>::flat(&mut out).unwrap()).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Shape), "{error}");
}
