// Complex numbers as pairs of floats or doubles, with the functions of C.
#pragma once
typedef float2 cuFloatComplex;
typedef double2 cuDoubleComplex;
typedef cuFloatComplex cuComplex;

#define ULIB_COMPLEX(T, Complex, f) \
    static __device__ __inline__ T cuCreal##f(Complex a) { return a.x; } \
    static __device__ __inline__ T cuCimag##f(Complex a) { return a.y; } \
    static __device__ __inline__ Complex make_##Complex(T re, T im) { \
        Complex a; \
        a.x = re; \
        a.y = im; \
        return a; \
    } \
    static __device__ __inline__ Complex cuConj##f(Complex a) { return make_##Complex(a.x, -a.y); } \
    static __device__ __inline__ Complex cuCadd##f(Complex a, Complex b) { return make_##Complex(a.x + b.x, a.y + b.y); } \
    static __device__ __inline__ Complex cuCsub##f(Complex a, Complex b) { return make_##Complex(a.x - b.x, a.y - b.y); } \
    static __device__ __inline__ Complex cuCmul##f(Complex a, Complex b) { \
        return make_##Complex(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); \
    } \
    /* All is divided by the larger part of b, so that no square of it overflows. */ \
    static __device__ __inline__ Complex cuCdiv##f(Complex a, Complex b) { \
        const T by = fmax##f(fabs##f(b.x), fabs##f(b.y)); \
        const T re = b.x / by, im = b.y / by, x = a.x / by, y = a.y / by, square = re * re + im * im; \
        return make_##Complex((x * re + y * im) / square, (y * re - x * im) / square); \
    } \
    static __device__ __inline__ T cuCabs##f(Complex a) { return hypot##f(a.x, a.y); } \
    static __device__ __inline__ Complex cuCfma##f(Complex a, Complex b, Complex c) { return cuCadd##f(cuCmul##f(a, b), c); }

ULIB_COMPLEX(float, cuFloatComplex, f)
ULIB_COMPLEX(double, cuDoubleComplex, )
#undef ULIB_COMPLEX

static __device__ __inline__ cuComplex make_cuComplex(float re, float im) { return make_cuFloatComplex(re, im); }
static __device__ __inline__ cuFloatComplex cuComplexDoubleToFloat(cuDoubleComplex a) {
    return make_cuFloatComplex((float)a.x, (float)a.y);
}
static __device__ __inline__ cuDoubleComplex cuComplexFloatToDouble(cuFloatComplex a) {
    return make_cuDoubleComplex(a.x, a.y);
}
