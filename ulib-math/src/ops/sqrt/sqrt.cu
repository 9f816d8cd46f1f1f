// sqrt: out = the square root of a, correctly rounded.
#include "../elementwise.cuh"

ULIB_MAP1(Sqrt, square_root(a))

ULIB_ELEMENTWISE(sqrt, f32, Sqrt<float>)
ULIB_ELEMENTWISE(sqrt, f64, Sqrt<double>)
