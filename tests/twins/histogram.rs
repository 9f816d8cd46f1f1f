use ndarray::ArrayD;
use ulib_core::{ErrorKind, Layout};
use ulib_device::block::Block;
use ulib_math::ops::{self, Bins, Countable};
use ulib_math::view::{View, ViewMut};

use crate::common;
use crate::support::{
    Case, Sample, cases, contents, for_grids, numbers, on_device, on_host, on_pools, samples,
};

/// The bin by the definition: the first whose edges hold the number.
fn bin_of(x: f64, edges: &[f64]) -> Option<usize> {
    let last = edges.len() - 2;
    (0..=last).find(|&i| edges[i] <= x && (x < edges[i + 1] || (i == last && x == edges[i + 1])))
}

/// The formula of the documentation.
fn uniform_edges(lo: f64, hi: f64, n: usize) -> Vec<f64> {
    let width = (hi - lo) / n as f64;
    (0..=n)
        .map(|i| if i == n { hi } else { lo + i as f64 * width })
        .collect()
}

/// Counts for each index of the kept axes, by going over all of them in C order.
fn expected<T: Copy>(
    elements: &[T],
    layout: &Layout,
    axes: &[usize],
    edges: &[f64],
    value: fn(T) -> f64,
) -> Vec<u64> {
    let kept: Vec<usize> = (0..layout.ndim())
        .filter(|axis| !axes.contains(axis))
        .collect();
    let order: Vec<usize> = kept.iter().chain(axes).copied().collect();
    let groups: usize = kept.iter().map(|&axis| layout.shape()[axis]).product();
    let bins = edges.len() - 1;
    let mut counts = vec![0; groups * bins];
    let offsets: Vec<usize> = layout.permute(&order).unwrap().offsets().collect();
    if offsets.is_empty() {
        return counts;
    }
    let size = offsets.len() / groups;
    for (i, &offset) in offsets.iter().enumerate() {
        if let Some(bin) = bin_of(value(elements[offset]), edges) {
            counts[i / size * bins + bin] += 1;
        }
    }
    counts
}

/// All axes, none, the first and the last.
fn some_axes(ndim: usize) -> Vec<Vec<usize>> {
    let mut sets = vec![(0..ndim).collect(), vec![], vec![0], vec![ndim.max(1) - 1]];
    sets.retain(|axes: &Vec<usize>| axes.iter().all(|&axis| axis < ndim));
    sets.dedup();
    sets
}

fn size_over(layout: &Layout, axes: &[usize]) -> usize {
    axes.iter().map(|&axis| layout.shape()[axis]).product()
}

fn flat(counts: &ArrayD<u64>) -> Vec<u64> {
    counts.iter().copied().collect()
}

/// Host and device on every case, against the definition. The bins hold most samples of the type, and some lie outside.
fn twins<T: Sample + Countable>(value: fn(T) -> f64, all: [Bins; 2], skip: usize) {
    let mode = common::driver();
    let cases: Vec<Case> = cases();
    for (index, case) in cases.iter().enumerate() {
        // Groups of a nine-dimensional view would need more axes than a kernel takes.
        if case.layout.ndim() > 8 || index % skip != 0 {
            continue;
        }
        let elements = samples::<T>(case.elements);
        let host = on_host(&elements);
        let device = mode.has_device().then(|| on_device(&elements));
        let view = |block| View::<T>::new(block, case.layout.clone()).unwrap();
        for axes in some_axes(case.layout.ndim()) {
            let groups = case.layout.len().max(1) / size_over(&case.layout, &axes).max(1);
            if groups > 150 {
                continue; // a block of fibers for each
            }
            for bins in &all {
                let name = format!("{} over {axes:?}", case.name);
                let expected = expected(&elements, &case.layout, &axes, bins.as_slice(), value);
                for counts in on_pools(|| ops::histogram_axes(&view(&host), &axes, bins).unwrap()) {
                    assert_eq!(flat(&counts), expected, "host, {name}");
                }
                for_grids(&mode, || {
                    let view = view(device.as_ref().unwrap());
                    let counts = ops::histogram_axes(&view, &axes, bins).unwrap();
                    assert_eq!(flat(&counts), expected, "device, {name}");
                });
            }
        }
    }
}

fn bins_for(reach: f64) -> [Bins; 2] {
    [
        Bins::uniform(-0.9 * reach, 0.8 * reach, 7).unwrap(),
        Bins::edges(vec![-reach, -0.1 * reach, 0.0, 0.3 * reach, 0.9 * reach]).unwrap(),
    ]
}

#[test]
fn f32_twins() {
    twins::<f32>(f64::from, bins_for(5.0), 1);
}

#[test]
fn f64_twins() {
    twins::<f64>(|x| x, bins_for(5.0), 2);
}

#[test]
fn i32_twins() {
    twins::<i32>(f64::from, bins_for(2_147_483_647.0), 3);
}

#[test]
fn u32_twins() {
    twins::<u32>(f64::from, bins_for(4_294_967_295.0), 4);
}

#[test]
fn i64_twins() {
    twins::<i64>(|x| x as f64, bins_for(2_f64.powi(63)), 3);
}

#[test]
fn u64_twins() {
    twins::<u64>(|x| x as f64, bins_for(2_f64.powi(64)), 4);
}

#[test]
fn u8_twins() {
    twins::<u8>(f64::from, bins_for(255.0), 4);
}

#[test]
fn u16_twins() {
    twins::<u16>(f64::from, bins_for(65535.0), 4);
}

/// The counts on both sides, which have to be these.
fn check<T: Countable>(values: &[T], bins: &Bins, expected: &[u64], name: &str) {
    let mode = common::driver();
    let host = on_host(values);
    for counts in on_pools(|| ops::histogram(&View::<T>::flat(&host).unwrap(), bins).unwrap()) {
        assert_eq!(counts, expected, "host, {name}");
    }
    for_grids(&mode, || {
        let device = on_device(values);
        let counts = ops::histogram(&View::<T>::flat(&device).unwrap(), bins).unwrap();
        assert_eq!(counts, expected, "device, {name}");
    });
}

fn check_by_definition<T: Countable>(values: &[T], bins: &Bins, value: fn(T) -> f64, name: &str) {
    let mut expected = vec![0; bins.len()];
    for &x in values {
        if let Some(bin) = bin_of(value(x), bins.as_slice()) {
            expected[bin] += 1;
        }
    }
    check(values, bins, &expected, name);
}

#[test]
fn the_last_bin_is_closed_and_the_others_are_not() {
    // numpy.histogram([1, 2, 1, 4, 3], [0, 1, 2, 3]) and ([1, 2, 1], bins=[0, 1, 2, 3]) by hand.
    let bins = Bins::edges(vec![0.0, 1.0, 2.0, 3.0]).unwrap();
    check(&[1.0_f32, 2.0, 1.0], &bins, &[0, 2, 1], "three");
    check(&[1_i32, 2, 1, 4, 3], &bins, &[0, 2, 2], "beyond");
    check(&[0_u8, 3, 3, 255], &bins, &[1, 0, 2], "bytes");
    check(&[-1_i8, 0, -128, 127, 2], &bins, &[1, 0, 1], "signed bytes");
    check(&[-1_i16, 1, 3, 300], &bins, &[0, 1, 1], "16 bits");
    let special = [
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        -0.0,
        3.0_f64.next_up(),
        3.0,
        1.0_f64.next_down(),
    ];
    check(&special, &bins, &[2, 0, 1], "special");
    let uniform = Bins::uniform(0.0, 3.0, 3).unwrap();
    check(&special, &uniform, &[2, 0, 1], "special, uniform");
    check(
        &special.map(|x| x as f32),
        &uniform,
        &[1, 1, 2],
        "special, f32",
    );
}

#[test]
fn integers_beyond_the_precision_of_f64_are_compared_rounded() {
    let edge = 2_f64.powi(53);
    let bins = Bins::edges(vec![0.0, edge, edge + 2.0]).unwrap();
    let at = 1_i64 << 53;
    // 2^53 + 1 rounds to 2^53, 2^53 + 3 to 2^53 + 4.
    check(&[at - 1, at, at + 1, at + 2, at + 3], &bins, &[1, 3], "i64");
    let top = 2_f64.powi(64);
    let bins = Bins::edges(vec![0.0, top / 2.0, top]).unwrap();
    check(&[u64::MAX, 1 << 63, 0], &bins, &[1, 2], "u64");
}

/// Numbers on the edges of uniform bins, and their neighbours.
fn around_edges(edges: &[f64]) -> Vec<f64> {
    edges
        .iter()
        .flat_map(|&edge| [edge.next_down(), edge, edge.next_up()])
        .collect()
}

#[test]
fn numbers_on_edges_belong_where_the_formula_says() {
    let ranges = [
        (0.0, 1.0, 10),
        (-0.3, 0.7, 256),
        (0.1, 0.9, 77),
        (1e6, 1e6 + 1.0, 100),
        (1e15, 1e15 + 100.0, 300),
        (-1e-30, 1e-30, 31),
        (1e-300, 3e-300, 50),
        (-1e300, 1e300, 12),
        (0.0, 5e-323, 3),
        (0.0, 4096.0, 4096),
        (-7.0, 9.0, 5000),
    ];
    for (lo, hi, n) in ranges {
        let bins = Bins::uniform(lo, hi, n).unwrap();
        assert_eq!(bins.as_slice(), uniform_edges(lo, hi, n), "{lo} {hi} {n}");
        let mut values = around_edges(bins.as_slice());
        values.extend(numbers(500).map(|bits| lo + (hi - lo) * (bits as f64 / 1.8e19)));
        let name = format!("{n} bins from {lo} to {hi}");
        if n < 1000 {
            check_by_definition(&values, &bins, |x| x, &name);
        }
        let singles: Vec<f32> = values.iter().map(|&x| x as f32).collect();
        let some = singles.len().min(1500);
        check_by_definition(&singles[..some], &bins, f64::from, &name);
    }
}

#[test]
fn many_bins_and_few_values() {
    for n in [1, 511, 4097, 10_000] {
        let bins = Bins::uniform(0.0, n as f64, n).unwrap();
        let edges = Bins::edges(bins.as_slice().to_vec()).unwrap();
        let constant = vec![0.5_f32; 1100];
        let mut expected = vec![0; n];
        expected[0] = 1100;
        check(&constant, &bins, &expected, "constant");
        let values: Vec<u32> = (0..1100).map(|i| i * 7 % 5).collect();
        let mut expected = vec![0; n];
        // Bins are a unit wide; where there is one, it holds its upper edge.
        for &x in &values {
            if n == 1 && x <= 1 {
                expected[0] += 1;
            } else if n > 1 {
                expected[x as usize] += 1;
            }
        }
        check(&values, &bins, &expected, "five values");
        check(&values, &edges, &expected, "five values, edges");
    }
}

#[test]
fn several_parts_of_a_packed_line_and_of_axes() {
    let mode = common::driver();
    let values: Vec<f32> = numbers(70_003).map(|bits| (bits % 1000) as f32).collect();
    let bins = Bins::uniform(0.0, 1000.0, 250).unwrap();
    let layouts = [
        Layout::contiguous(&[70_003]).unwrap(),
        Layout::new(vec![70_000], vec![1], 3).unwrap(),
        Layout::new(vec![200, 340], vec![350, 1], 1).unwrap(),
    ];
    for layout in layouts {
        let mut expected = vec![0; 250];
        for offset in layout.offsets() {
            expected[values[offset] as usize / 4] += 1;
        }
        let host = on_host(&values);
        for counts in on_pools(|| {
            ops::histogram(&View::<f32>::new(&host, layout.clone()).unwrap(), &bins).unwrap()
        }) {
            assert_eq!(counts, expected, "host, {layout:?}");
        }
        for_grids(&mode, || {
            let device = on_device(&values);
            let view = View::<f32>::new(&device, layout.clone()).unwrap();
            assert_eq!(
                ops::histogram(&view, &bins).unwrap(),
                expected,
                "{layout:?}"
            );
        });
    }
}

#[test]
fn into_an_output_anywhere() {
    let mode = common::driver();
    let values = samples::<f32>(600);
    let layout = Layout::contiguous(&[20, 30]).unwrap();
    let bins = Bins::uniform(-1.0, 1.0, 4).unwrap();
    let counts = expected(&values, &layout, &[0], bins.as_slice(), f64::from);
    let sides: &[bool] = if mode.has_device() {
        &[false, true]
    } else {
        &[false]
    };
    let place = |on: bool, fill: &[u64]| if on { on_device(fill) } else { on_host(fill) };
    for &from in sides {
        for &to in sides {
            let source = if from {
                on_device(&values)
            } else {
                on_host(&values)
            };
            let view = View::<f32>::new(&source, layout.clone()).unwrap();
            // Bins backwards, every second word.
            let out_layout = Layout::new(vec![30, 4], vec![10, -2], 7).unwrap();
            let mut out = place(to, &[7; 301]);
            let target = ViewMut::new(&mut out, out_layout.clone()).unwrap();
            ops::histogram_into(&view, &[0], &bins, target).unwrap();
            let mut all = vec![7; 301];
            for (offset, &count) in out_layout.offsets().zip(&counts) {
                all[offset] = count;
            }
            assert_eq!(contents::<u64>(&out), all, "{from} {to}");

            let wrong = ViewMut::new(&mut out, Layout::contiguous(&[4, 30]).unwrap()).unwrap();
            let error = ops::histogram_into(&view, &[0], &bins, wrong).unwrap_err();
            assert_eq!(*error.kind(), ErrorKind::Shape, "{error}");
            assert_eq!(contents::<u64>(&out), all, "{from} {to}");

            // Nothing to count: zeros.
            let none = view.clone().slice_axis(0, 3, 3, 1).unwrap();
            let target = ViewMut::new(&mut out, out_layout.clone()).unwrap();
            ops::histogram_into(&none, &[0], &bins, target).unwrap();
            out_layout.offsets().for_each(|offset| all[offset] = 0);
            assert_eq!(contents::<u64>(&out), all, "{from} {to}");
        }
    }
}

#[test]
fn bad_bins_and_axes_are_errors_that_name_them() {
    let says = |result: ulib_core::Result<Bins>, what: &str| {
        let error = result.unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::InvalidArgument, "{error}");
        assert!(error.to_string().contains(what), "{error}");
    };
    says(Bins::uniform(0.0, 1.0, 0), "n is 0");
    says(Bins::uniform(1.0, 1.0, 3), "1.0 to 1.0");
    says(Bins::uniform(f64::NAN, 1.0, 3), "NaN to 1.0");
    says(Bins::uniform(0.0, f64::INFINITY, 3), "0.0 to inf");
    says(Bins::uniform(-1e308, 1e308, 3), "-1e308 to 1e308");
    says(Bins::uniform(1.0, 1.0_f64.next_up(), 2), "n is 2");
    says(Bins::edges(vec![1.0]), "[1.0]");
    says(Bins::edges(vec![]), "[]");
    says(Bins::edges(vec![0.0, f64::NAN]), "edges[1] is NaN");
    says(
        Bins::edges(vec![0.0, 2.0, 1.0]),
        "edges[2] is 1.0 after 2.0",
    );
    says(Bins::edges(vec![0.0, 0.0]), "edges[1] is 0.0 after 0.0");
    let block = Block::from_slice(&[1.0_f32, 2.0]).unwrap();
    let view = View::<f32>::flat(&block).unwrap();
    let bins = Bins::uniform(0.0, 1.0, 2).unwrap();
    for axes in [&[1][..], &[0, 0]] {
        let error = ops::histogram_axes(&view, axes, &bins).unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::InvalidArgument, "{error}");
        assert!(error.to_string().contains(&format!("{axes:?}")), "{error}");
    }
}
