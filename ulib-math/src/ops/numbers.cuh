// The rules of arithmetic, the same as ops/element: floats follow IEEE 754 (the compiler contracts nothing), integers wrap.
#ifndef ULIB_NUMBERS_CUH
#define ULIB_NUMBERS_CUH

#include "common.cuh"

// What a signed integer is computed as, so that it wraps.
template <class T>
struct Wrapping {
  typedef T Type;
};
template <>
struct Wrapping<i32> {
  typedef u32 Type;
};
template <>
struct Wrapping<i64> {
  typedef u64 Type;
};

template <class T>
ULIB_FN T plus(T a, T b) {
  typedef typename Wrapping<T>::Type W;
  return (T)((W)a + (W)b);
}
template <class T>
ULIB_FN T minus(T a, T b) {
  typedef typename Wrapping<T>::Type W;
  return (T)((W)a - (W)b);
}
template <class T>
ULIB_FN T times(T a, T b) {
  typedef typename Wrapping<T>::Type W;
  return (T)((W)a * (W)b);
}
template <class T>
ULIB_FN T negated(T a) {
  typedef typename Wrapping<T>::Type W;
  return (T)((W)0 - (W)a);
}
template <>
ULIB_SPECIAL float negated<float>(float a) {
  return -a;
}
template <>
ULIB_SPECIAL double negated<double>(double a) {
  return -a;
}

// Truncates towards zero; x / 0 = 0, MIN / -1 = MIN.
template <class T>
ULIB_FN T over(T a, T b) {
  if (b == 0) return 0;
  if (b == (T)-1 && (T)-1 < 0) return negated(a);
  return a / b;
}
template <>
ULIB_SPECIAL float over<float>(float a, float b) {
  return a / b;
}
template <>
ULIB_SPECIAL double over<double>(double a, double b) {
  return a / b;
}

// a * b + c, of floats with one rounding.
template <class T>
ULIB_FN T times_plus(T a, T b, T c) {
  return plus(times(a, b), c);
}
template <>
ULIB_SPECIAL float times_plus<float>(float a, float b, float c) {
  return fmaf(a, b, c);
}
template <>
ULIB_SPECIAL double times_plus<double>(double a, double b, double c) {
  return fma(a, b, c);
}

template <class T>
ULIB_FN T magnitude(T a) {
  return a < 0 ? negated(a) : a;
}
template <>
ULIB_SPECIAL u32 magnitude<u32>(u32 a) {
  return a;
}
template <>
ULIB_SPECIAL u64 magnitude<u64>(u64 a) {
  return a;
}
template <>
ULIB_SPECIAL float magnitude<float>(float a) {
  return same_bits<float>(same_bits<u32>(a) & 0x7fffffffu);
}
template <>
ULIB_SPECIAL double magnitude<double>(double a) {
  return same_bits<double>(same_bits<u64>(a) & 0x7fffffffffffffffull);
}

// IEEE 754-2019 minimum and maximum: NaN if one is, and -0.0 below 0.0.
template <class T>
ULIB_FN T smaller(T a, T b) {
  return b < a ? b : a;
}
template <class T>
ULIB_FN T larger(T a, T b) {
  return b > a ? b : a;
}
#define ULIB_EXTREMES(F, U)                                                        \
  template <>                                                                      \
  ULIB_SPECIAL F smaller<F>(F a, F b) {                                            \
    if (a < b) return a;                                                           \
    if (b < a) return b;                                                           \
    return a == b ? same_bits<F>((U)(same_bits<U>(a) | same_bits<U>(b))) : a + b; \
  }                                                                                \
  template <>                                                                      \
  ULIB_SPECIAL F larger<F>(F a, F b) {                                             \
    if (a > b) return a;                                                           \
    if (b > a) return b;                                                           \
    return a == b ? same_bits<F>((U)(same_bits<U>(a) & same_bits<U>(b))) : a + b; \
  }
ULIB_EXTREMES(float, u32)
ULIB_EXTREMES(double, u64)

ULIB_FN float square_root(float a) { return sqrtf(a); }
ULIB_FN double square_root(double a) { return sqrt(a); }
ULIB_FN float exponential(float a) { return expf(a); }
ULIB_FN double exponential(double a) { return exp(a); }
ULIB_FN float logarithm(float a) { return logf(a); }
ULIB_FN double logarithm(double a) { return log(a); }
ULIB_FN float to_the(float a, float b) { return powf(a, b); }
ULIB_FN double to_the(double a, double b) { return pow(a, b); }

#endif
