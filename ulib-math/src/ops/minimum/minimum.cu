// minimum: out = the smaller of a and b: NaN if one is, and -0.0 below 0.0.
#include "../elementwise.cuh"

ULIB_MAP2(Minimum, smaller(a, b))

ULIB_ELEMENTWISE(minimum, f32, Minimum<float>)
ULIB_ELEMENTWISE(minimum, f64, Minimum<double>)
ULIB_ELEMENTWISE(minimum, i32, Minimum<i32>)
ULIB_ELEMENTWISE(minimum, u32, Minimum<u32>)
ULIB_ELEMENTWISE(minimum, i64, Minimum<i64>)
ULIB_ELEMENTWISE(minimum, u64, Minimum<u64>)
