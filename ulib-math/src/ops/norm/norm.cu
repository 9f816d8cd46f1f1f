// norm: out[o] = the square root of the sum of the squares of the elements of output o, as double, by the tree of reduce.cuh.
#include "../reduce.cuh"

template <class T>
struct Norm {
  typedef double Lane;
  typedef double Acc;
  typedef double Out;
  __device__ __forceinline__ explicit Norm(const u64*) {}
  __device__ __forceinline__ double empty() const { return 0.0; }
  __device__ __forceinline__ double open(T) const { return 0.0; }
  __device__ __forceinline__ void step(double& lane, T value, u32) const {
    const double x = (double)value;
    lane += x * x;
  }
  __device__ __forceinline__ double close(double lane, u32, u64) const { return lane; }
  __device__ __forceinline__ double join(double left, double right) const { return left + right; }
  __device__ __forceinline__ double finish(double squares) const { return __dsqrt_rn(squares); }
};

typedef Norm<double> NormF64;

ULIB_REDUCE_ONE(norm, f32, One<float>, Norm<float>)
ULIB_REDUCE_ONE(norm, f64, One<double>, Norm<double>)
ULIB_REDUCE_ONE(norm, i32, One<i32>, Norm<i32>)
ULIB_REDUCE_ONE(norm, u32, One<u32>, Norm<u32>)
ULIB_REDUCE_ONE(norm, i64, One<i64>, Norm<i64>)
ULIB_REDUCE_ONE(norm, u64, One<u64>, Norm<u64>)
ULIB_REDUCE(norm, rows, f32_pack, line, Pack<float>, Norm<float>, false)
ULIB_REDUCE(norm, rows, f64_pack, line, Pack<double>, Norm<double>, false)
ULIB_REDUCE_JOIN(norm, f64, NormF64)
