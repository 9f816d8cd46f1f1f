// multiply: out = a * b. Integers wrap, and share their kernels with their unsigned twins, because the low bits of a product do not
// depend on the sign.
#include "../elementwise.cuh"

ULIB_MAP2(Multiply, times(a, b))

ULIB_ELEMENTWISE(multiply, f32, Multiply<float>)
ULIB_ELEMENTWISE(multiply, f64, Multiply<double>)
ULIB_ELEMENTWISE(multiply, u32, Multiply<u32>)
ULIB_ELEMENTWISE(multiply, u64, Multiply<u64>)
