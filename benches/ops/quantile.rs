use std::hint::black_box;

use criterion::Criterion;
use ulib_math::{ops, view::View};

use crate::histogram::spread;
use crate::support::{everywhere, layouts, sizes};

/// The median of values that look random.
pub(crate) fn bench(criterion: &mut Criterion) {
    for count in sizes() {
        for (name, bytes, layout) in layouts(count) {
            let mut fresh = true;
            everywhere(
                criterion,
                &format!("median f32/{name}/{count}"),
                bytes,
                bytes as u64,
                |block| {
                    if std::mem::take(&mut fresh) {
                        spread(block);
                    }
                    let view = View::<f32>::new(block, layout.clone()).expect("a view");
                    black_box(ops::quantile_all(&view, &[0.5]).expect("a median"));
                },
            );
        }
    }
}
