// What every kernel of this folder shares: integer names, the declaring macros, 16-byte access and the walk over strided
// axes. The same text is compiled by NVRTC (for the card) and, through the shim of tests/fakecuda/emulation, by a C++
// compiler (for machines without one). No other header is included: NVRTC carries none.
#ifndef ULIB_COMMON_CUH
#define ULIB_COMMON_CUH

#ifndef ULIB_EMULATED
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef int i32;
typedef unsigned long long u64;
typedef long long i64;
// A kernel takes one struct by value. ULIB_KERNEL_SYNC marks the ones whose threads wait for each other: the emulation
// runs those as fibers and all others as plain loops.
#define ULIB_KERNEL(name, Params, p) extern "C" __global__ void __launch_bounds__(256) name(const Params p)
#define ULIB_KERNEL_SYNC(name, Params, p) ULIB_KERNEL(name, Params, p)
#endif

#define ULIB_FN static __device__ __forceinline__
// A specialisation of a template declared with ULIB_FN.
#define ULIB_SPECIAL __device__ __forceinline__
#define ULIB_MAX_AXES 8

// Index of this thread in the grid, and the number of threads in the grid. Blocks and grids are one-dimensional.
ULIB_FN u64 thread_index() { return (u64)blockIdx.x * blockDim.x + threadIdx.x; }
ULIB_FN u64 thread_count() { return (u64)gridDim.x * blockDim.x; }

ULIB_FN char* address(u64 a) { return (char*)a; }

// 16 bytes at once. Spelled out, because the compiler narrows an access whose upper half is not used.
ULIB_FN uint4 load16(const char* p) {
#ifdef ULIB_EMULATED
  return *(const uint4*)p;
#else
  uint4 v;
  asm("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p));
  return v;
#endif
}

ULIB_FN void store16(char* p, uint4 v) {
#ifdef ULIB_EMULATED
  *(uint4*)p = v;
#else
  asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(p), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");
#endif
}

// The same bits under another type of the same size.
template <class To, class From>
ULIB_FN To same_bits(From from) {
  static_assert(sizeof(To) == sizeof(From), "sizes differ");
  union {
    From from;
    To to;
  } both;
  both.from = from;
  return both.to;
}

// Division by a number the host knows: for n below 2^63, n / by is the upper half of n * magic, shifted right.
struct Divisor {
  u64 by;
  u64 magic;
  u64 shift;
};

ULIB_FN u64 high_product(u64 a, u64 b) {
#ifdef ULIB_EMULATED
  return (u64)(((unsigned __int128)a * b) >> 64);
#else
  return __umul64hi(a, b);
#endif
}

ULIB_FN u64 divide(u64 n, const Divisor& d) { return d.by == 1 ? n : high_product(n, d.magic) >> d.shift; }

// Axes of K operands over one index space, the fastest axis first, at most 8, each longer than 1. Strides are in bytes.
// wrap[k][d] is what operand k moves by when axis d runs over: stride[k][d + 1] - len[d].by * stride[k][d].
// digit[d] are the coordinates of index `step`, move[k] its offset, for a walk by that step.
template <int K>
struct Axes {
  u64 count;
  Divisor len[ULIB_MAX_AXES];
  u64 digit[ULIB_MAX_AXES];
  i64 stride[K][ULIB_MAX_AXES];
  i64 wrap[K][ULIB_MAX_AXES];
  i64 move[K];
};
static_assert(sizeof(Axes<1>) == 8 * (1 + 24 + 8 + 17), "mirrored by ops/axes.rs");
static_assert(sizeof(Axes<2>) == 8 * (1 + 24 + 8 + 34), "mirrored by ops/axes.rs");

// Byte offsets of index i, i + step, i + 2 step, ...: divisions at the start, then additions with carry.
template <int K>
struct Walk {
  u64 at[ULIB_MAX_AXES];  // coordinates
  i64 offset[K];

  __device__ __forceinline__ void start(const Axes<K>& axes, u64 i) {
#pragma unroll
    for (int k = 0; k < K; ++k) offset[k] = 0;
#pragma unroll
    for (u32 d = 0; d < ULIB_MAX_AXES; ++d) {
      at[d] = 0;
      if (d < axes.count) {
        const u64 rest = d + 1 < axes.count ? divide(i, axes.len[d]) : 0;
        at[d] = i - rest * axes.len[d].by;
#pragma unroll
        for (int k = 0; k < K; ++k) offset[k] += (i64)at[d] * axes.stride[k][d];
        i = rest;
      }
    }
  }

  __device__ __forceinline__ void advance(const Axes<K>& axes) {
#pragma unroll
    for (int k = 0; k < K; ++k) offset[k] += axes.move[k];
    u64 carry = 0;
#pragma unroll
    for (u32 d = 0; d + 1 < ULIB_MAX_AXES; ++d) {
      if (d + 1 < axes.count) {
        at[d] += axes.digit[d] + carry;
        carry = at[d] >= axes.len[d].by ? 1 : 0;
        if (carry) {
          at[d] -= axes.len[d].by;
#pragma unroll
          for (int k = 0; k < K; ++k) offset[k] += axes.wrap[k][d];
        }
      }
    }
  }
};

#endif
