use ndarray::ArrayD;
use ulib_core::{ErrorKind, Layout};
use ulib_device::block::Block;
use ulib_math::ops;
use ulib_math::view::{Element, View, ViewMut};

use crate::common;
use crate::support::{
    Sample, cases, contents, for_grids, numbers, on_device, on_host, on_pools, samples,
};

/// The formula of the documentation, on a sorted copy.
fn by_sorting(mut values: Vec<f64>, q: f64) -> f64 {
    if values.iter().any(|x| x.is_nan()) {
        return f64::NAN;
    }
    values.sort_by(f64::total_cmp);
    let h = (values.len() - 1) as f64 * q;
    let low = values[h.floor() as usize];
    let high = values[h.ceil() as usize];
    if low == high || h == h.floor() {
        low
    } else {
        low + (high - low) * (h - h.floor())
    }
}

/// The quantile for each index of the kept axes, in C order.
fn expected<T: Copy>(
    elements: &[T],
    layout: &Layout,
    axes: &[usize],
    q: f64,
    value: fn(T) -> f64,
) -> Vec<f64> {
    let kept: Vec<usize> = (0..layout.ndim())
        .filter(|axis| !axes.contains(axis))
        .collect();
    let order: Vec<usize> = kept.iter().chain(axes).copied().collect();
    let size: usize = axes.iter().map(|&axis| layout.shape()[axis]).product();
    let offsets: Vec<usize> = layout.permute(&order).unwrap().offsets().collect();
    offsets
        .chunks(size)
        .map(|of_one| by_sorting(of_one.iter().map(|&at| value(elements[at])).collect(), q))
        .collect()
}

fn bits<'a>(values: impl IntoIterator<Item = &'a f64>) -> Vec<u64> {
    let canonical = |x: &f64| if x.is_nan() { f64::NAN } else { *x };
    values.into_iter().map(|x| canonical(x).to_bits()).collect()
}

fn same(values: &ArrayD<f64>, expected: &[f64], name: &str) {
    assert_eq!(bits(values), bits(expected), "{name}");
}

fn twins<T: Sample + Element>(value: fn(T) -> f64, skip: usize) {
    let mode = common::driver();
    for (index, case) in cases().iter().enumerate() {
        let ndim = case.layout.ndim();
        if ndim > 8 || case.layout.is_empty() || index % skip != 0 {
            continue;
        }
        let elements = samples::<T>(case.elements);
        let host = on_host(&elements);
        let device = mode.has_device().then(|| on_device(&elements));
        let view = |block| View::<T>::new(block, case.layout.clone()).unwrap();
        let all: Vec<usize> = (0..ndim).collect();
        let mut sets = vec![all];
        sets.extend((0..ndim).map(|axis| vec![axis]));
        for (i, axes) in sets.iter().enumerate() {
            let size: usize = axes.iter().map(|&axis| case.layout.shape()[axis]).product();
            if case.layout.len() / size > 60 {
                continue; // a block of fibers for each
            }
            let q = [0.5, 0.0, 0.37, 1.0][(i + index) % 4];
            let name = format!("{} over {axes:?}, {q}", case.name);
            let expected = expected(&elements, &case.layout, axes, q, value);
            for values in on_pools(|| ops::quantile(&view(&host), axes, q).unwrap()) {
                same(&values, &expected, &format!("host, {name}"));
            }
            for_grids(&mode, || {
                let values = ops::quantile(&view(device.as_ref().unwrap()), axes, q).unwrap();
                same(&values, &expected, &format!("device, {name}"));
            });
        }
    }
}

#[test]
fn f32_twins() {
    twins::<f32>(f64::from, 1);
}

#[test]
fn f64_twins() {
    twins::<f64>(|x| x, 2);
}

#[test]
fn i32_twins() {
    twins::<i32>(f64::from, 4);
}

#[test]
fn u32_twins() {
    twins::<u32>(f64::from, 4);
}

#[test]
fn i64_twins() {
    twins::<i64>(|x| x as f64, 4);
}

#[test]
fn u64_twins() {
    twins::<u64>(|x| x as f64, 4);
}

/// Both sides have to give these.
fn check<T: Element>(values: &[T], qs: &[f64], expected: &[f64], name: &str) {
    let mode = common::driver();
    let host = on_host(values);
    for found in on_pools(|| ops::quantile_all(&View::<T>::flat(&host).unwrap(), qs).unwrap()) {
        assert_eq!(bits(&found), bits(expected), "host, {name}: {found:?}");
    }
    for_grids(&mode, || {
        let device = on_device(values);
        let found = ops::quantile_all(&View::<T>::flat(&device).unwrap(), qs).unwrap();
        assert_eq!(bits(&found), bits(expected), "device, {name}: {found:?}");
        // As two groups, a block for each.
        let repeated = Layout::new(vec![2, values.len()], vec![0, 1], 0).unwrap();
        let view = View::<T>::new(&device, repeated).unwrap();
        for (&q, &expected) in qs.iter().zip(expected) {
            let found = ops::quantile(&view, &[1], q).unwrap();
            same(&found, &[expected; 2], &format!("blocks, {name}, {q}"));
        }
    });
}

#[test]
fn values_by_hand() {
    // numpy.quantile([1, 2, 3, 4], q): 1, 1.75, 2.5, 3.25, 4.
    let quarters = [0.0, 0.25, 0.5, 0.75, 1.0];
    check(
        &[3_i32, 1, 4, 2],
        &quarters,
        &[1.0, 1.75, 2.5, 3.25, 4.0],
        "four",
    );
    check(&[-5.0_f32], &quarters, &[-5.0; 5], "one");
    check(&[7_u64; 600], &quarters, &[7.0; 5], "constant");
    check(&[-1_i64, 1], &[0.5, 0.25], &[0.0, -0.5], "two");
    check(
        &[i64::MIN, i64::MAX],
        &[0.0, 1.0],
        &[-2_f64.powi(63), 2_f64.powi(63)],
        "ends",
    );
    check(&[u32::MAX, 0], &[0.5], &[2_147_483_647.5], "unsigned");
    check(&[0.0_f32, -0.0], &[0.0, 1.0], &[-0.0, 0.0], "zeros");
    let inf = f64::INFINITY;
    check(
        &[inf, inf, 1.0],
        &[0.0, 0.5, 0.75],
        &[1.0, inf, inf],
        "infinities",
    );
    check(
        &[-inf, 0.0, 1.0],
        &[0.0, 0.75],
        &[-inf, 0.5],
        "minus infinity",
    );
    check(&[1.0, f64::NAN, 2.0], &[0.0, 1.0], &[f64::NAN; 2], "NaN");
    check(
        &[1.0_f32, -f32::NAN, 2.0],
        &[0.0, 1.0],
        &[f64::NAN; 2],
        "negative NaN",
    );
    check(
        &[1e-45_f32, -1e-45],
        &[0.0, 1.0],
        &[f64::from(-1e-45_f32), f64::from(1e-45_f32)],
        "small",
    );
}

/// Keys that part in their first digit, in their last, and in between.
#[test]
fn neighbours_that_part_anywhere() {
    for bit in [0, 5, 9, 10, 20, 21, 31, 42, 52, 62] {
        let near = [0_u64, 1 << bit, 1 << bit | 1, 1 << 63];
        let sorted = near.map(|x| x as f64);
        let qs = [0.0, 1.0 / 6.0, 0.5, 5.0 / 6.0, 1.0];
        let expected = qs.map(|q| by_sorting(sorted.to_vec(), q));
        check(&near, &qs, &expected, &format!("bit {bit}"));
    }
}

#[test]
fn several_parts_and_large_groups() {
    let mode = common::driver();
    let values: Vec<f32> = numbers(150_000)
        .map(|bits| (bits % 100_000) as f32 - 3.0)
        .collect();
    let layout = Layout::contiguous(&[150_000]).unwrap();
    let expect = |layout: &Layout, axes: &[usize], q| expected(&values, layout, axes, q, f64::from);
    let all = expect(&layout, &[0], 0.123);
    let host = on_host(&values);
    for found in
        on_pools(|| ops::quantile(&View::<f32>::flat(&host).unwrap(), &[0], 0.123).unwrap())
    {
        same(&found, &all, "host");
    }
    if !mode.has_device() {
        return;
    }
    let device = on_device(&values);
    let found = ops::quantile(&View::<f32>::flat(&device).unwrap(), &[0], 0.123).unwrap();
    same(&found, &all, "device");
    // Two groups that overlap, each by a whole grid.
    let two = Layout::new(vec![2, 1 << 17], vec![18_000, 1], 5).unwrap();
    let view = View::<f32>::new(&device, two.clone()).unwrap();
    same(
        &ops::quantile(&view, &[1], 0.9).unwrap(),
        &expect(&two, &[1], 0.9),
        "groups",
    );
}

#[test]
fn launches_are_counted() {
    let Some(session) = common::fake_only() else {
        return;
    };
    let passes = |work: &dyn Fn()| {
        work();
        session.reset_counts();
        work();
        session.count("cuLaunchKernel") + session.count("cuLaunchKernelEx")
    };
    let singles = on_device(&samples::<f32>(1000));
    let doubles = on_device(&samples::<f64>(1000));
    let single = || View::<f32>::flat(&singles).unwrap();
    let double = || View::<f64>::flat(&doubles).unwrap();
    // A pass and a choice for each digit of 11 bits.
    assert_eq!(
        passes(&|| drop(ops::quantile_all(&single(), &[0.3]).unwrap())),
        2 * 3
    );
    assert_eq!(
        passes(&|| drop(ops::quantile_all(&double(), &[0.3]).unwrap())),
        2 * 6
    );
    let rows = || double().reshape(&[10, 100]).unwrap();
    assert_eq!(
        passes(&|| drop(ops::quantile(&rows(), &[1], 0.3).unwrap())),
        1
    );
}

#[test]
fn into_an_output_anywhere() {
    let mode = common::driver();
    let values = samples::<f32>(600);
    let layout = Layout::contiguous(&[20, 30]).unwrap();
    let sides: &[bool] = if mode.has_device() {
        &[false, true]
    } else {
        &[false]
    };
    let out_layout = Layout::new(vec![20], vec![-2], 39).unwrap();
    let medians = expected(&values, &layout, &[1], 0.5, f64::from);
    for &from in sides {
        for &to in sides {
            let source = if from {
                on_device(&values)
            } else {
                on_host(&values)
            };
            let view = View::<f32>::new(&source, layout.clone()).unwrap();
            let mut out = if to {
                on_device(&[7.0; 41])
            } else {
                on_host(&[7.0; 41])
            };
            let refused = |result: ulib_core::Result<()>, kind: ErrorKind| {
                let error = result.unwrap_err();
                assert_eq!(*error.kind(), kind, "{error}");
            };
            let target = ViewMut::new(&mut out, out_layout.clone()).unwrap();
            refused(
                ops::quantile_into(&view, &[0], 0.5, target),
                ErrorKind::Shape,
            );
            let target = ViewMut::new(&mut out, out_layout.clone()).unwrap();
            refused(
                ops::quantile_into(&view, &[1], 2.0, target),
                ErrorKind::InvalidArgument,
            );
            assert_eq!(contents::<f64>(&out), [7.0; 41]);
            let target = ViewMut::new(&mut out, out_layout.clone()).unwrap();
            ops::quantile_into(&view, &[1], 0.5, target).unwrap();
            let mut all = vec![7.0; 41];
            for (offset, &median) in out_layout.offsets().zip(&medians) {
                all[offset] = median;
            }
            assert_eq!(contents::<f64>(&out), all, "{from} {to}");
        }
    }
}

#[test]
fn what_has_no_quantile_is_an_error() {
    let block = Block::from_slice(&[1.0_f32; 6]).unwrap();
    let view = View::<f32>::new(&block, Layout::contiguous(&[2, 3]).unwrap()).unwrap();
    let says = |result: ulib_core::Result<ArrayD<f64>>, what: &str| {
        let error = result.unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::InvalidArgument, "{error}");
        assert!(error.to_string().contains(what), "{error}");
    };
    says(ops::quantile(&view, &[0], -0.1), "q is -0.1");
    says(
        ops::quantile(&view, &[0], 1.0_f64.next_up()),
        "q is 1.0000000000000002",
    );
    says(ops::quantile(&view, &[0], f64::NAN), "q is NaN");
    says(ops::quantile(&view, &[2], 0.5), "[2]");
    let none = view.clone().slice_axis(0, 1, 1, 1).unwrap();
    says(ops::quantile(&none, &[0], 0.5), "empty");
    assert_eq!(ops::quantile(&none, &[1], 0.5).unwrap().shape(), [0]);
    assert!(ops::quantile_all(&none, &[0.5]).is_err());
}

/// Strides of no elements may be any numbers.
#[test]
fn strides_that_reach_nothing_do_not_matter() {
    let _driver = common::driver();
    let (block, mut out) = (on_host(&[1.0_f32]), on_host(&[1.0_f64]));
    let layout = Layout::new(vec![0, 1000], vec![1, isize::MAX], 0).unwrap();
    let view = View::<f32>::new(&block, layout).unwrap();
    assert_eq!(ops::quantile(&view, &[1], 0.5).unwrap().shape(), [0]);
    let nothing = Layout::contiguous(&[0]).unwrap();
    let none = ViewMut::new(&mut out, nothing).unwrap();
    ops::quantile_into(&view, &[1], 0.5, none).unwrap();
    let error = ops::quantile(&view, &[0], 0.5).unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::InvalidArgument, "{error}");
}
