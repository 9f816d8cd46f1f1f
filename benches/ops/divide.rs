use criterion::Criterion;
use ulib_math::ops;

use crate::support::elementwise;

pub(crate) fn bench(criterion: &mut Criterion) {
    elementwise(criterion, "divide", 3, |out, other| {
        ops::divide_in_place(out, other)
    });
}
