// divide: out = a / b. Integers truncate towards zero; x / 0 = 0, MIN / -1 = MIN.
#include "../elementwise.cuh"

ULIB_MAP2(Divide, over(a, b))

ULIB_ELEMENTWISE(divide, f32, Divide<float>)
ULIB_ELEMENTWISE(divide, f64, Divide<double>)
ULIB_ELEMENTWISE(divide, i32, Divide<i32>)
ULIB_ELEMENTWISE(divide, u32, Divide<u32>)
ULIB_ELEMENTWISE(divide, i64, Divide<i64>)
ULIB_ELEMENTWISE(divide, u64, Divide<u64>)
