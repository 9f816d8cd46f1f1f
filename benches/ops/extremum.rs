use std::hint::black_box;

use criterion::Criterion;
use ulib_math::{ops, view::View};

use crate::support::{everywhere, layouts, sizes};

pub(crate) fn bench(criterion: &mut Criterion) {
    for count in sizes() {
        for (name, bytes, layout) in layouts(count) {
            everywhere(
                criterion,
                &format!("max f32/{name}/{count}"),
                bytes,
                bytes as u64,
                |block| {
                    let view = View::<f32>::new(block, layout.clone()).expect("a view");
                    black_box(ops::max_all(&view).expect("max"));
                },
            );
            everywhere(
                criterion,
                &format!("argmax f32/{name}/{count}"),
                bytes,
                bytes as u64,
                |block| {
                    let view = View::<f32>::new(block, layout.clone()).expect("a view");
                    black_box(ops::argmax_all(&view).expect("argmax"));
                },
            );
        }
    }
}
