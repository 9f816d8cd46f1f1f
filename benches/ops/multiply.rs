use criterion::Criterion;
use ulib_math::ops;

use crate::support::elementwise;

pub(crate) fn bench(criterion: &mut Criterion) {
    elementwise(criterion, "scale", 2, |out, _| ops::scale(out, 1.000_000_1));
    elementwise(criterion, "multiply", 3, |out, other| {
        ops::multiply_in_place(out, other)
    });
}
