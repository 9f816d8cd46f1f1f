// exp: out = e to the power of a.
#include "../elementwise.cuh"

ULIB_MAP(Exp, 1, 1, exponential(a))

ULIB_ELEMENTWISE(exp, f32, Exp<float>)
ULIB_ELEMENTWISE(exp, f64, Exp<double>)
