// abs: out = |a|. The smallest integer stays what it is.
#include "../elementwise.cuh"

ULIB_MAP1(Abs, magnitude(a))

ULIB_ELEMENTWISE(abs, f32, Abs<float>)
ULIB_ELEMENTWISE(abs, f64, Abs<double>)
ULIB_ELEMENTWISE(abs, i32, Abs<i32>)
ULIB_ELEMENTWISE(abs, u32, Abs<u32>)
ULIB_ELEMENTWISE(abs, i64, Abs<i64>)
ULIB_ELEMENTWISE(abs, u64, Abs<u64>)
