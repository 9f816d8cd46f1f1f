use criterion::Criterion;
use ulib_math::ops;

use crate::support::elementwise;

pub(crate) fn bench(criterion: &mut Criterion) {
    elementwise(criterion, "abs", 2, |out, _| ops::abs_in_place(out));
}
