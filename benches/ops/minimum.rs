use criterion::Criterion;
use ulib_math::ops;

use crate::support::elementwise;

pub(crate) fn bench(criterion: &mut Criterion) {
    elementwise(criterion, "minimum", 3, |out, other| {
        ops::minimum_in_place(out, other)
    });
}
