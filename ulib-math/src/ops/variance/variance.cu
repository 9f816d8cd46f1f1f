// variance: out[o] = m2 / (n - ddof) over the n elements of output o, by the tree of reduce.cuh, or its square root.
//   A lane has a pivot K, its first element, and in double s = sum(x - K) and q = sum((x - K)^2); it gives its count n, its mean
//   K + s / n and m2 = q - s * (s / n). Two such are joined, with r = nb / (na + nb) and d = mean_b - mean_a, to
//   mean_a + d * r and (m2_a + m2_b) + d * d * na * r.
// fold[0] is ddof, fold[1] whether the square root is wanted.
#include "../reduce.cuh"

struct Moments {
  double count;
  double mean;
  double m2;
};

struct Pivot {
  double pivot;
  double sum;
  double squares;
};

template <class T>
struct Variance {
  typedef Pivot Lane;
  typedef Moments Acc;
  typedef double Out;
  double ddof;
  bool root;
  __device__ __forceinline__ explicit Variance(const u64* fold) : ddof((double)fold[0]), root(fold[1] != 0) {}
  __device__ __forceinline__ Moments empty() const { return moments(0.0, 0.0, 0.0); }
  __device__ __forceinline__ Pivot open(T first) const {
    Pivot lane;
    lane.pivot = (double)first;
    lane.sum = 0.0;
    lane.squares = 0.0;
    return lane;
  }
  __device__ __forceinline__ void step(Pivot& lane, T value, u32) const {
    const double d = (double)value - lane.pivot;
    lane.sum += d;
    lane.squares += d * d;
  }
  __device__ __forceinline__ Moments close(const Pivot& lane, u32 count, u64) const {
    const double n = (double)count;
    const double shift = lane.sum / n;
    return moments(n, lane.pivot + shift, lane.squares - lane.sum * shift);
  }
  __device__ __forceinline__ Moments join(const Moments& a, const Moments& b) const {
    if (b.count == 0.0) return a;
    if (a.count == 0.0) return b;
    const double n = a.count + b.count;
    // What the quotient is between halves, without a division.
    const double r = a.count == b.count ? 0.5 : b.count / n;
    const double d = b.mean - a.mean;
    return moments(n, a.mean + d * r, (a.m2 + b.m2) + d * d * a.count * r);
  }
  __device__ __forceinline__ double finish(const Moments& all) const {
    if (all.count <= ddof) return same_bits<double>((u64)0x7ff8000000000000ull);
    const double variance = all.m2 / (all.count - ddof);
    return root ? __dsqrt_rn(variance) : variance;
  }
  static __device__ __forceinline__ Moments moments(double count, double mean, double m2) {
    Moments all;
    all.count = count;
    all.mean = mean;
    all.m2 = m2;
    return all;
  }
};

typedef Variance<double> VarianceF64;

ULIB_REDUCE_ONE(variance, f32, One<float>, Variance<float>)
ULIB_REDUCE_ONE(variance, f64, One<double>, Variance<double>)
ULIB_REDUCE_ONE(variance, i32, One<i32>, Variance<i32>)
ULIB_REDUCE_ONE(variance, u32, One<u32>, Variance<u32>)
ULIB_REDUCE_ONE(variance, i64, One<i64>, Variance<i64>)
ULIB_REDUCE_ONE(variance, u64, One<u64>, Variance<u64>)
ULIB_REDUCE(variance, rows, f32_pack, line, Pack<float>, Variance<float>, false)
ULIB_REDUCE(variance, rows, f64_pack, line, Pack<double>, Variance<double>, false)
ULIB_REDUCE_JOIN(variance, moments, VarianceF64)
