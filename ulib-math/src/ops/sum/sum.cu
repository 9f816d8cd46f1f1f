// sum: out[o] = the sum over the elements of output o, by the tree of reduce.cuh: lanes start from the identity (-0.0, or 0).
// The accumulator is double for float and double, u64 (wrapping, sign-extended) for integers.
// mean: the same sum; its result is divided by the number of elements (fold[1]) where fold[0] says so: 0 for the sum itself,
//   1 for the mean of a double or an unsigned sum, 2 for that of a signed one.
#include "../reduce.cuh"

template <class A>
ULIB_FN A identity() {
  return (A)0;
}
template <>
__device__ __forceinline__ double identity<double>() {
  return -0.0;
}

ULIB_FN u64 mean(double sum, u64, double n) { return same_bits<u64>(sum / n); }
ULIB_FN u64 mean(u64 sum, u64 how, double n) {
  return same_bits<u64>((how == 2 ? (double)(i64)sum : (double)sum) / n);
}

template <class T, class A>
struct Sum {
  typedef A Lane;
  typedef A Acc;
  typedef u64 Out;
  u64 how;
  u64 n;
  __device__ __forceinline__ explicit Sum(const u64* fold) : how(fold[0]), n(fold[1]) {}
  __device__ __forceinline__ A empty() const { return identity<A>(); }
  __device__ __forceinline__ A open(T) const { return identity<A>(); }
  __device__ __forceinline__ void step(A& lane, T x, u32) const { lane += (A)x; }
  __device__ __forceinline__ A close(A lane, u32, u64) const { return lane; }
  __device__ __forceinline__ A join(A left, A right) const { return left + right; }
  __device__ __forceinline__ u64 finish(A sum) const { return how == 0 ? same_bits<u64>(sum) : mean(sum, how, (double)n); }
};

typedef Sum<float, double> SumF32;
typedef Sum<double, double> SumF64;
typedef Sum<i32, u64> SumI32;
typedef Sum<u32, u64> SumU32;
typedef Sum<u64, u64> SumU64;

ULIB_REDUCE_ONE(sum, f32, One<float>, SumF32)
ULIB_REDUCE_ONE(sum, f64, One<double>, SumF64)
ULIB_REDUCE_ONE(sum, i32, One<i32>, SumI32)
ULIB_REDUCE_ONE(sum, u32, One<u32>, SumU32)
ULIB_REDUCE_ONE(sum, u64, One<u64>, SumU64)
ULIB_REDUCE(sum, rows, f32_pack, line, Pack<float>, SumF32, false)
ULIB_REDUCE(sum, rows, f32_pack, axes, Pack<float>, SumF32, true)
ULIB_REDUCE(sum, rows, f64_pack, line, Pack<double>, SumF64, false)
ULIB_REDUCE(sum, rows, u64_pack, line, Pack<u64>, SumU64, false)
ULIB_REDUCE(sum, columns, f32_pack, line, Pack<float>, SumF32, false)
ULIB_REDUCE(sum, columns, f64_pack, line, Pack<double>, SumF64, false)
ULIB_REDUCE_JOIN(sum, f64, SumF64)
ULIB_REDUCE_JOIN(sum, u64, SumU64)
