// quantile: of n elements x in ascending order, x[k] + (x[k + 1] - x[k]) * fraction in double; x[k] where both are equal or
//   the fraction is 0; NaN where any element is.
// Elements become unsigned keys in the same order (-0.0 before 0.0). Keys are found from the top, 11 bits a pass: of the keys
//   that begin with what is known of the one searched, count each next digit; the digit is the one whose running count
//   passes the rank. x[k] and x[k + 1] are searched together (A and B), with counters of their own where they part.
// pass, pick: one output by a whole grid. `pass` adds a part of the elements' digits, for work items of `part` elements, to
//   counters in global memory; `pick`, one block, chooses the digits and clears the counters.
// block: one block for each output, all passes, counters in shared memory. n is below 2^32.
// Grid: any number of blocks, which take every gridDim.x-th work item; it never changes the result. 256 threads.
#include "../tally.cuh"

#define ULIB_DIGIT_BITS 11
#define ULIB_DIGITS 2048

// What is known of both keys: their leading bits, and their ranks among the keys that have these.
struct Search {
  u64 prefix[2];
  u64 rank[2];
  u64 nan;  // whether there is one
};

struct QuantileParams {
  u64 src;       // address of the first element
  u64 dst;       // address of the first result, double
  u64 counters;  // pass, pick: address of u64[2][ULIB_DIGITS], zero before
  u64 search;    // pass, pick: address of a Search, its `nan` zero before
  u64 n;         // elements of an output
  u64 work;      // pass: parts; block: outputs
  u64 part;      // pass: elements of a part, below 2^32
  i64 stride;    // line: bytes from element to element
  u64 shift;     // pass, pick: bits below the digit
  u64 width;     // pass, pick: bits of the digit
  u64 first;     // pass, pick: whether nothing is known yet
  u64 rank[2];   // of A and B, from 0
  double fraction;
  Axes<1> reduced;
  Axes<1> kept;
};
static_assert(sizeof(QuantileParams) == 8 * 14 + 2 * sizeof(Axes<1>), "mirrored by quantile/device.rs");

ULIB_FN u64 key_of(float x) {
  const u32 bits = same_bits<u32>(x);
  return (bits >> 31) != 0 ? ~bits : bits | 0x80000000u;
}
ULIB_FN u64 key_of(double x) {
  const u64 bits = same_bits<u64>(x);
  return (bits >> 63) != 0 ? ~bits : bits | 0x8000000000000000ull;
}
ULIB_FN u64 key_of(i32 x) { return (u32)x ^ 0x80000000u; }
ULIB_FN u64 key_of(u32 x) { return x; }
ULIB_FN u64 key_of(i64 x) { return (u64)x ^ 0x8000000000000000ull; }
ULIB_FN u64 key_of(u64 x) { return x; }

// The number a key was made of.
template <class T>
ULIB_FN T number_of(u64 key);
template <>
__device__ __forceinline__ float number_of<float>(u64 key) {
  const u32 bits = (u32)key;
  return same_bits<float>((bits >> 31) != 0 ? bits & 0x7fffffffu : ~bits);
}
template <>
__device__ __forceinline__ double number_of<double>(u64 key) {
  return same_bits<double>((key >> 63) != 0 ? key & 0x7fffffffffffffffull : ~key);
}
template <>
__device__ __forceinline__ i32 number_of<i32>(u64 key) {
  return (i32)((u32)key ^ 0x80000000u);
}
template <>
__device__ __forceinline__ u32 number_of<u32>(u64 key) {
  return (u32)key;
}
template <>
__device__ __forceinline__ i64 number_of<i64>(u64 key) {
  return (i64)(key ^ 0x8000000000000000ull);
}
template <>
__device__ __forceinline__ u64 number_of<u64>(u64 key) {
  return key;
}

template <class T>
ULIB_FN double result_of(const Search& found, double fraction) {
  if (found.nan != 0) return same_bits<double>(0x7ff8000000000000ull);
  const double low = (double)number_of<T>(found.prefix[0]);
  const double high = (double)number_of<T>(found.prefix[1]);
  if (low == high || fraction == 0.0) return low;
  return low + (high - low) * fraction;
}

// Adds the next digits of `count` elements from element `begin` on to counters[A] and, where B has another prefix, to
// counters[B]. Answers whether an element of this thread's is NaN.
template <class T, bool AXES>
ULIB_FN bool add_digits(const QuantileParams& p, const char* src, u64 begin, u64 count, u32* counters, const Search& known,
                        u32 shift, u32 width) {
  const int FLIGHT = 4;
  const u32 t = threadIdx.x;
  const bool apart = known.prefix[0] != known.prefix[1];
  bool nan = false;
  Walk<1> walk;
  if (AXES) walk.start(p.reduced, begin + t);
  for (u64 round = 0; round < count; round += 256 * FLIGHT) {
    T unit[FLIGHT];
#pragma unroll
    for (int k = 0; k < FLIGHT; ++k) {
      const u64 at = round + k * 256 + t;
      unit[k] = at < count ? *(const T*)(AXES ? src + walk.offset[0] : src + (i64)(begin + at) * p.stride) : (T)0;
      if (AXES) walk.advance(p.reduced);
    }
    // Not unrolled, for it is long: the next element moves to the front instead.
#pragma unroll 1
    for (int k = 0; k < FLIGHT; ++k) {
      if (round + k * 256 + (t & ~31u) >= count) break;  // nothing left for this warp
      const bool inside = round + k * 256 + t < count;
      nan = nan || unit[0] != unit[0];
      const u64 key = key_of(unit[0]);
      const u64 prefix = (key >> shift) >> width;
      const u32 digit = (u32)(key >> shift) & ((1u << width) - 1);
      tally(counters, inside && prefix == known.prefix[0] ? digit : ULIB_NO_BIN, 1);
      if (apart) tally(counters + ULIB_DIGITS, inside && prefix == known.prefix[1] ? digit : ULIB_NO_BIN, 1);
#pragma unroll
      for (int next = 1; next < FLIGHT; ++next) unit[next - 1] = unit[next];
    }
  }
  return nan;
}

// Chooses both next digits: all threads of the block call it, after the counters are complete; two of them change `search`,
// which is up to date after the next barrier. `sums` is shared.
template <class Counter>
ULIB_FN void choose(const Counter* counters, u64 (*sums)[256], Search* search, u32 width) {
  const u32 t = threadIdx.x;
  const bool apart = search->prefix[0] != search->prefix[1];
#pragma unroll
  for (int s = 0; s < 2; ++s) {
    const Counter* const own = counters + (apart ? s * ULIB_DIGITS : 0) + t * 8;
    u64 sum = 0;
    for (int i = 0; i < 8; ++i) sum += own[i];
    sums[s][t] = sum;
  }
  __syncthreads();
  if ((t & ~32u) == 0) {
    const u32 s = t >> 5;
    const Counter* const own = counters + (apart ? s * ULIB_DIGITS : 0);
    u64 rank = search->rank[s];
    u32 eight = 0;
    while (eight < 255 && rank >= sums[s][eight]) rank -= sums[s][eight++];
    u32 digit = eight * 8;
    while (digit < ULIB_DIGITS - 1 && rank >= own[digit]) rank -= own[digit++];
    search->prefix[s] = search->prefix[s] << width | digit;
    search->rank[s] = rank;
  }
}

template <class T, bool AXES>
ULIB_FN void quantile_pass(const QuantileParams& p) {
  __shared__ u32 counters[2 * ULIB_DIGITS];
  const u32 t = threadIdx.x;
  Search* const search = (Search*)address(p.search);
  u64* const sums = (u64*)address(p.counters);
  Search known;
  known.prefix[0] = p.first != 0 ? 0 : search->prefix[0];
  known.prefix[1] = p.first != 0 ? 0 : search->prefix[1];
  for (u64 w = blockIdx.x; w < p.work; w += gridDim.x) {
    const u64 begin = w * p.part;
    const u64 count = p.n - begin < p.part ? p.n - begin : p.part;
    for (u32 i = t; i < 2 * ULIB_DIGITS; i += 256) counters[i] = 0;
    __syncthreads();
    if (add_digits<T, AXES>(p, address(p.src), begin, count, counters, known, (u32)p.shift, (u32)p.width)) search->nan = 1;
    __syncthreads();
    for (u32 i = t; i < 2 * ULIB_DIGITS; i += 256) {
      if (counters[i] != 0) atomicAdd(sums + i, (u64)counters[i]);
    }
    __syncthreads();
  }
}

template <class T>
ULIB_FN void quantile_pick(const QuantileParams& p) {
  __shared__ u64 sums[2][256];
  const u32 t = threadIdx.x;
  Search* const search = (Search*)address(p.search);
  u64* const counters = (u64*)address(p.counters);
  if (p.first != 0 && t < 2) {
    search->prefix[t] = 0;
    search->rank[t] = p.rank[t];
  }
  __syncthreads();
  choose(counters, sums, search, (u32)p.width);
  __syncthreads();
  for (u32 i = t; i < 2 * ULIB_DIGITS; i += 256) counters[i] = 0;
  if (p.shift == 0 && t == 0) *(double*)address(p.dst) = result_of<T>(*search, p.fraction);
}

template <class T, bool AXES>
ULIB_FN void quantile_block(const QuantileParams& p) {
  __shared__ u32 counters[2 * ULIB_DIGITS];
  __shared__ Search search;
  __shared__ u64 sums[2][256];
  const u32 t = threadIdx.x;
  for (u64 w = blockIdx.x; w < p.work; w += gridDim.x) {
    Walk<1> kept;
    kept.start(p.kept, w);
    const char* const src = address(p.src) + kept.offset[0];
    if (t < 2) {
      search.prefix[t] = 0;
      search.rank[t] = p.rank[t];
      search.nan = 0;
    }
    u32 shift = 8 * sizeof(T);
    while (shift > 0) {
      const u32 width = shift < ULIB_DIGIT_BITS ? shift : ULIB_DIGIT_BITS;
      shift -= width;
      for (u32 i = t; i < 2 * ULIB_DIGITS; i += 256) counters[i] = 0;
      __syncthreads();
      if (add_digits<T, AXES>(p, src, 0, p.n, counters, search, shift, width)) search.nan = 1;
      __syncthreads();
      choose(counters, sums, &search, width);
      __syncthreads();
    }
    if (t == 0) ((double*)address(p.dst))[w] = result_of<T>(search, p.fraction);
    __syncthreads();
  }
}

#define ULIB_QUANTILE(name, T)                                                                            \
  ULIB_KERNEL_SYNC(ulib_quantile_pass_##name##_line, QuantileParams, p) { quantile_pass<T, false>(p); }   \
  ULIB_KERNEL_SYNC(ulib_quantile_pass_##name##_axes, QuantileParams, p) { quantile_pass<T, true>(p); }    \
  ULIB_KERNEL_SYNC(ulib_quantile_block_##name##_line, QuantileParams, p) { quantile_block<T, false>(p); } \
  ULIB_KERNEL_SYNC(ulib_quantile_block_##name##_axes, QuantileParams, p) { quantile_block<T, true>(p); }  \
  ULIB_KERNEL_SYNC(ulib_quantile_pick_##name, QuantileParams, p) { quantile_pick<T>(p); }

ULIB_QUANTILE(f32, float)
ULIB_QUANTILE(f64, double)
ULIB_QUANTILE(i32, i32)
ULIB_QUANTILE(u32, u32)
ULIB_QUANTILE(i64, i64)
ULIB_QUANTILE(u64, u64)
