// maximum: out = the larger of a and b: NaN if one is, and -0.0 below 0.0.
#include "../elementwise.cuh"

ULIB_MAP2(Maximum, larger(a, b))

ULIB_ELEMENTWISE(maximum, f32, Maximum<float>)
ULIB_ELEMENTWISE(maximum, f64, Maximum<double>)
ULIB_ELEMENTWISE(maximum, i32, Maximum<i32>)
ULIB_ELEMENTWISE(maximum, u32, Maximum<u32>)
ULIB_ELEMENTWISE(maximum, i64, Maximum<i64>)
ULIB_ELEMENTWISE(maximum, u64, Maximum<u64>)
