use criterion::Criterion;
use ulib_math::ops;

use crate::support::elementwise;

pub(crate) fn bench(criterion: &mut Criterion) {
    elementwise(criterion, "fma", 2, |out, _| {
        ops::fma_in_place(out, 1.000_000_1, 0.5)
    });
    elementwise(criterion, "axpy", 3, |out, other| {
        ops::axpy(0.5, other, out)
    });
}
