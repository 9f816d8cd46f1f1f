// subtract: out = a - b. Integers wrap, and share their kernels with their unsigned twins.
#include "../elementwise.cuh"

ULIB_MAP2(Subtract, minus(a, b))

ULIB_ELEMENTWISE(subtract, f32, Subtract<float>)
ULIB_ELEMENTWISE(subtract, f64, Subtract<double>)
ULIB_ELEMENTWISE(subtract, u32, Subtract<u32>)
ULIB_ELEMENTWISE(subtract, u64, Subtract<u64>)
