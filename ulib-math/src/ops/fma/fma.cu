// fma: out = a * b + c, of floats with one rounding. Integers wrap, and share their kernels with their unsigned twins.
#include "../elementwise.cuh"

ULIB_MAP3(Fma, times_plus(a, b, c))

ULIB_ELEMENTWISE(fma, f32, Fma<float>)
ULIB_ELEMENTWISE(fma, f64, Fma<double>)
ULIB_ELEMENTWISE(fma, u32, Fma<u32>)
ULIB_ELEMENTWISE(fma, u64, Fma<u64>)
