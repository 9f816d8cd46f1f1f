// add: out = a + b. Integers wrap, and share their kernels with their unsigned twins.
#include "../elementwise.cuh"

ULIB_MAP2(Add, plus(a, b))

ULIB_ELEMENTWISE(add, f32, Add<float>)
ULIB_ELEMENTWISE(add, f64, Add<double>)
ULIB_ELEMENTWISE(add, u32, Add<u32>)
ULIB_ELEMENTWISE(add, u64, Add<u64>)
