// power: out = a to the power of b.
#include "../elementwise.cuh"

ULIB_MAP(Power, 2, 1, to_the(a, b))

ULIB_ELEMENTWISE(power, f32, Power<float>)
ULIB_ELEMENTWISE(power, f64, Power<double>)
