use std::hint::black_box;

use criterion::Criterion;
use ulib_core::Layout;
use ulib_math::{ops, view::View};

use crate::support::{device, everywhere, layouts, sizes};

pub(crate) fn bench(criterion: &mut Criterion) {
    for count in sizes() {
        for (name, bytes, layout) in layouts(count) {
            everywhere(
                criterion,
                &format!("sum f32/{name}/{count}"),
                bytes,
                bytes as u64,
                |block| {
                    let view = View::<f32>::new(block, layout.clone()).expect("a view");
                    black_box(ops::sum_all(&view).expect("sum"));
                },
            );
        }
    }
}

/// Sums of a volume of voxels over each pair of axes.
pub(crate) fn profiles(criterion: &mut Criterion) {
    let edge: usize = if device().is_some() { 512 } else { 128 };
    let pitch = edge.cast_signed();
    let layout =
        Layout::new(vec![edge; 3], vec![2 * pitch * pitch, 2 * pitch, 2], 0).expect("a volume");
    let bytes = 8 * edge.pow(3);
    for (kept, axes) in [("slowest", [1, 2]), ("middle", [0, 2]), ("fastest", [0, 1])] {
        everywhere(
            criterion,
            &format!("profile {edge}^3/keep the {kept}"),
            bytes,
            bytes as u64,
            |block| {
                let view = View::<f32>::new(block, layout.clone()).expect("a view");
                black_box(ops::sum(&view, &axes).expect("sum"));
            },
        );
    }
}
