use criterion::Criterion;
use ulib_math::{ops, view::ViewMut};

use crate::support::{everywhere, layouts, sizes};

pub(crate) fn bench(criterion: &mut Criterion) {
    for count in sizes() {
        for (name, bytes, layout) in layouts(count) {
            everywhere(
                criterion,
                &format!("scale f32/{name}/{count}"),
                bytes,
                2 * bytes as u64,
                |block| {
                    let view = ViewMut::<f32>::new(block, layout.clone()).expect("a view");
                    ops::scale(view, 1.000_000_1).expect("scale");
                },
            );
        }
    }
}
