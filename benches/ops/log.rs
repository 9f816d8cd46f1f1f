use criterion::Criterion;
use ulib_math::ops;

use crate::support::elementwise;

pub(crate) fn bench(criterion: &mut Criterion) {
    elementwise(criterion, "log", 2, |out, other| ops::log_into(other, out));
}
