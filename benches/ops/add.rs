use criterion::Criterion;
use ulib_math::ops;

use crate::support::elementwise;

pub(crate) fn bench(criterion: &mut Criterion) {
    elementwise(criterion, "add", 3, |out, other| {
        ops::add_in_place(out, other)
    });
}
