// threshold: out = the number inside where a is in a range (inverted: where it is not), else the number outside.
#include "../elementwise.cuh"
#include "../predicate.cuh"

template <class N>
struct Threshold {
  typedef N T;
  typedef N B;
  enum { INPUTS = 1, HEAVY = 0 };
  Range<N> range;
  N inside;
  N outside;
  // extra: low, high, whether inside, the two numbers.
  __device__ __forceinline__ explicit Threshold(const u64* extra)
      : range(RangeBits{extra[0], extra[1], extra[2]}), inside(from_bits<N>(extra[3])), outside(from_bits<N>(extra[4])) {}
  __device__ __forceinline__ N operator()(N a, N, N) const { return range.holds(a) ? inside : outside; }
};

ULIB_ELEMENTWISE(threshold, f32, Threshold<float>)
ULIB_ELEMENTWISE(threshold, f64, Threshold<double>)
ULIB_ELEMENTWISE(threshold, i32, Threshold<i32>)
ULIB_ELEMENTWISE(threshold, u32, Threshold<u32>)
ULIB_ELEMENTWISE(threshold, i64, Threshold<i64>)
ULIB_ELEMENTWISE(threshold, u64, Threshold<u64>)
