use criterion::Criterion;
use ulib_math::ops;

use crate::support::elementwise;

pub(crate) fn bench(criterion: &mut Criterion) {
    elementwise(criterion, "sqrt", 2, |out, _| ops::sqrt_in_place(out));
}
