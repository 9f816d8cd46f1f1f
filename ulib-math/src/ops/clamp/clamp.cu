// clamp: out = a, but at least b and at most c: NaN if one of the three is.
#include "../elementwise.cuh"

ULIB_MAP3(Clamp, smaller(larger(a, b), c))

ULIB_ELEMENTWISE(clamp, f32, Clamp<float>)
ULIB_ELEMENTWISE(clamp, f64, Clamp<double>)
ULIB_ELEMENTWISE(clamp, i32, Clamp<i32>)
ULIB_ELEMENTWISE(clamp, u32, Clamp<u32>)
ULIB_ELEMENTWISE(clamp, i64, Clamp<i64>)
ULIB_ELEMENTWISE(clamp, u64, Clamp<u64>)
