use criterion::Criterion;
use ulib_math::ops;

use crate::support::elementwise;

pub(crate) fn bench(criterion: &mut Criterion) {
    elementwise(criterion, "clamp", 2, |out, _| {
        ops::clamp_in_place(out, 0.0, 2.0)
    });
}
