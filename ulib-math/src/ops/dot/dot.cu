// dot: out[o] = the sum of a * b over the elements of output o, by the tree of reduce.cuh. Factors are converted to the
// accumulator first: double for float and double, u64 (wrapping, sign-extended) for integers.
#include "../reduce.cuh"

template <class T, class A>
struct Dot {
  typedef A Lane;
  typedef A Acc;
  typedef A Out;
  __device__ __forceinline__ explicit Dot(const u64*) {}
  __device__ __forceinline__ A empty() const { return zero((A)0); }
  __device__ __forceinline__ A open(const Both<T>&) const { return zero((A)0); }
  __device__ __forceinline__ void step(A& lane, const Both<T>& item, u32) const { lane += (A)item.first * (A)item.second; }
  __device__ __forceinline__ A close(A lane, u32, u64) const { return lane; }
  __device__ __forceinline__ A join(A left, A right) const { return left + right; }
  __device__ __forceinline__ A finish(A all) const { return all; }
  // The identity of the addition.
  static __device__ __forceinline__ double zero(double) { return -0.0; }
  static __device__ __forceinline__ u64 zero(u64) { return 0; }
};

typedef Dot<float, double> DotF32;
typedef Dot<double, double> DotF64;
typedef Dot<i32, u64> DotI32;
typedef Dot<u32, u64> DotU32;
typedef Dot<u64, u64> DotU64;

ULIB_REDUCE_ONE(dot, f32, Two<One<float> >, DotF32)
ULIB_REDUCE_ONE(dot, f64, Two<One<double> >, DotF64)
ULIB_REDUCE_ONE(dot, i32, Two<One<i32> >, DotI32)
ULIB_REDUCE_ONE(dot, u32, Two<One<u32> >, DotU32)
ULIB_REDUCE_ONE(dot, u64, Two<One<u64> >, DotU64)
ULIB_REDUCE(dot, rows, f32_pack, line, Two<Pack<float> >, DotF32, false)
ULIB_REDUCE(dot, rows, f64_pack, line, Two<Pack<double> >, DotF64, false)
ULIB_REDUCE_JOIN(dot, f64, DotF64)
ULIB_REDUCE_JOIN(dot, u64, DotU64)
