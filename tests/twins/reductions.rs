//! What the tests of reductions share.

use ndarray::ArrayD;
use ulib_core::{DeviceStorable, Layout, bytemuck};
use ulib_math::view::{Element, View};

use crate::common;
use crate::support::{Sample, cases, for_grids, on_device, on_host, on_pools};

/// Some subsets of the axes of a layout, all of few axes.
pub(crate) fn subsets(ndim: usize) -> Vec<Vec<usize>> {
    (0..1_usize << ndim)
        .map(|set| (0..ndim).filter(|axis| set >> axis & 1 == 1).collect())
        .step_by((1 << ndim) / 8 + 1)
        .collect()
}

/// For each result, in C order, its elements in the C order of the reduced axes.
pub(crate) fn parts<T: Copy>(elements: &[T], layout: &Layout, axes: &[usize]) -> Vec<Vec<T>> {
    let kept: Vec<usize> = (0..layout.ndim())
        .filter(|axis| !axes.contains(axis))
        .collect();
    let order: Vec<usize> = kept.iter().chain(axes).copied().collect();
    let sorted = layout.permute(&order).unwrap();
    let outputs: usize = kept.iter().map(|&axis| layout.shape()[axis]).product();
    if layout.is_empty() {
        return vec![Vec::new(); outputs];
    }
    let values: Vec<T> = sorted.offsets().map(|offset| elements[offset]).collect();
    values
        .chunks(values.len() / outputs)
        .map(<[T]>::to_vec)
        .collect()
}

pub(crate) fn bytes<R: DeviceStorable>(results: &ArrayD<R>) -> Vec<u8> {
    bytemuck::cast_slice(results.as_slice().expect("results are in C order")).to_vec()
}

/// Runs a reduction of elements made by `make` on every layout over some sets of axes: with pools of threads, and on a device
/// with grids of several sizes, where every answer must have the same bits. Every result goes to `check` with its elements.
pub(crate) fn twins<T: Sample + Element, R: DeviceStorable + Copy>(
    make: impl Fn(usize) -> Vec<T>,
    run: impl Fn(&View<'_, T>, &[usize]) -> ulib_core::Result<ArrayD<R>> + Sync,
    check: impl Fn(&str, &[T], R),
) {
    let mode = common::driver();
    for case in cases() {
        let elements = make(case.elements);
        let host = on_host(&elements);
        let device = mode.has_device().then(|| on_device(&elements));
        let view = |block| View::<T>::new(block, case.layout.clone()).unwrap();
        for axes in subsets(case.layout.ndim()) {
            if axes.len().max(case.layout.ndim() - axes.len()) > 8 {
                continue; // a device refuses these
            }
            let name = format!("{} over {axes:?}", case.name);
            let [results, others] = on_pools(|| run(&view(&host), &axes).expect(&name));
            assert_eq!(
                bytes(&results),
                bytes(&others),
                "one thread and two, {name}"
            );
            for_grids(&mode, || {
                let found = run(&view(device.as_ref().unwrap()), &axes).expect(&name);
                assert_eq!(bytes(&found), bytes(&results), "device, {name}");
            });
            let parts = parts(&elements, &case.layout, &axes);
            assert_eq!(parts.len(), results.len(), "{name}");
            for (part, &result) in parts.iter().zip(results.iter()) {
                check(&name, part, result);
            }
        }
    }
}
