use criterion::Criterion;
use ulib_math::ops;

use crate::support::elementwise;

pub(crate) fn bench(criterion: &mut Criterion) {
    elementwise(criterion, "mask", 3, |out, mask| {
        ops::mask_in_place(out, mask, 0.0)
    });
}
