// negate: out = -a. Integers wrap, and share their kernels with their unsigned twins.
#include "../elementwise.cuh"

ULIB_MAP1(Negate, negated(a))

ULIB_ELEMENTWISE(negate, f32, Negate<float>)
ULIB_ELEMENTWISE(negate, f64, Negate<double>)
ULIB_ELEMENTWISE(negate, u32, Negate<u32>)
ULIB_ELEMENTWISE(negate, u64, Negate<u64>)
