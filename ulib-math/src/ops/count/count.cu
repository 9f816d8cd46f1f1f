// count: out[o] = how many elements of output o are in a closed range, or (inside = 0) are not, by the tree of reduce.cuh.
// fold[0 .. 2] are RangeBits.
#include "../predicate.cuh"
#include "../reduce.cuh"

template <class T>
struct Count {
  typedef u32 Lane;
  typedef u64 Acc;
  typedef u64 Out;
  Range<T> range;
  __device__ __forceinline__ explicit Count(const u64* fold) : range(bits(fold)) {}
  __device__ __forceinline__ u64 empty() const { return 0; }
  __device__ __forceinline__ u32 open(T) const { return 0; }
  __device__ __forceinline__ void step(u32& lane, T x, u32) const { lane += range.holds(x) ? 1 : 0; }
  __device__ __forceinline__ u64 close(u32 lane, u32, u64) const { return lane; }
  __device__ __forceinline__ u64 join(u64 left, u64 right) const { return left + right; }
  __device__ __forceinline__ u64 finish(u64 all) const { return all; }
  static __device__ __forceinline__ RangeBits bits(const u64* fold) {
    RangeBits bits;
    bits.low = fold[0];
    bits.high = fold[1];
    bits.inside = fold[2];
    return bits;
  }
};

typedef Count<u64> CountU64;

ULIB_REDUCE_ONE(count, f32, One<float>, Count<float>)
ULIB_REDUCE_ONE(count, f64, One<double>, Count<double>)
ULIB_REDUCE_ONE(count, i32, One<i32>, Count<i32>)
ULIB_REDUCE_ONE(count, u32, One<u32>, Count<u32>)
ULIB_REDUCE_ONE(count, i64, One<i64>, Count<i64>)
ULIB_REDUCE_ONE(count, u64, One<u64>, Count<u64>)
ULIB_REDUCE(count, rows, f32_pack, line, Pack<float>, Count<float>, false)
ULIB_REDUCE(count, rows, f64_pack, line, Pack<double>, Count<double>, false)
ULIB_REDUCE_JOIN(count, u64, CountU64)
