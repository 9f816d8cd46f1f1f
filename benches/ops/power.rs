use criterion::Criterion;
use ulib_math::ops;

use crate::support::elementwise;

pub(crate) fn bench(criterion: &mut Criterion) {
    elementwise(criterion, "power", 2, |out, other| {
        ops::power_into(other, 1.5, out)
    });
}
