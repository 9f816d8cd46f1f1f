// A condition on one number, as ops/predicate.rs gives it: to be in a closed range, or (inside = 0) not to be. NaN is in none.
#ifndef ULIB_PREDICATE_CUH
#define ULIB_PREDICATE_CUH
#include "common.cuh"

struct RangeBits {
  u64 low;     // bits of the bounds, in the low bytes
  u64 high;
  u64 inside;  // 0 or 1
};
static_assert(sizeof(RangeBits) == 24, "mirrored by ops/predicate.rs");

template <class T>
ULIB_FN T bound(u64 bits) {
  static_assert(sizeof(T) <= sizeof(u64), "too wide");
  union {
    u64 bits;
    T value;
  } both;
  both.bits = bits;
  return both.value;
}

template <class T>
struct Range {
  T low;
  T high;
  bool inside;

  __device__ __forceinline__ explicit Range(const RangeBits& bits)
      : low(bound<T>(bits.low)), high(bound<T>(bits.high)), inside(bits.inside != 0) {}

  __device__ __forceinline__ bool holds(T x) const { return (x >= low && x <= high) == inside; }
};

#endif
