use criterion::Criterion;
use ulib_math::ops::{self, Predicate};

use crate::support::elementwise;

pub(crate) fn bench(criterion: &mut Criterion) {
    let condition = Predicate::Between(0.5, 2.0);
    elementwise(criterion, "threshold", 2, |out, _| {
        ops::threshold_in_place(out, condition, 1.0, 0.0)
    });
}
