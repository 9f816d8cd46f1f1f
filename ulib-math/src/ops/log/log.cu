// log: out = the natural logarithm of a.
#include "../elementwise.cuh"

ULIB_MAP(Log, 1, 1, logarithm(a))

ULIB_ELEMENTWISE(log, f32, Log<float>)
ULIB_ELEMENTWISE(log, f64, Log<double>)
