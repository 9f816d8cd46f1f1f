// histogram: for every output o and bin b, how many of the n elements x of o have e_b <= x < e_(b+1) (the last bin: <=), where
//   e_b = low + b * width in double and e_bins = high, or the edges come from a table. Elements outside and NaN are in none.
// Elements are compared as C: float where that holds them exactly, else double after conversion (rounded to nearest).
// A first guess in float is sure of its bin unless it is within `slack` of an edge; then the edges decide.
// Work item w is part w % parts of output w / parts, of `part` elements; one block of 256 threads takes an item, then the
//   next after gridDim.x. A block counts in shared memory and adds that to the result with 64-bit atomics; with no copies it
//   counts in the result itself. The result is zero before.
// Of each counter there are copies side by side. Where they are many, a lane has one to itself or shares it with few, in a
//   memory bank of their own: no values make the lanes of a warp wait for each other. Else a warp has one.
// Grid: any number of blocks; it never changes the result.
#include "../tally.cuh"

#define ULIB_COUNTERS 4096
#define ULIB_UNSURE 0xfffffffeu

struct HistogramParams {
  u64 src;        // address of the first element
  u64 dst;        // address of the counts, u64, bins of an output side by side
  u64 n;          // elements of one output
  u64 outputs;
  Divisor parts;  // n / part, rounded up
  u64 part;       // elements of a part: whole units, below 2^32
  i64 stride;     // line: bytes from element to element
  u64 bins;
  u64 copies;     // 0, or a power of two to 32, copies * bins <= ULIB_COUNTERS
  u64 edges;      // address of bins + 1 edges of type C, each the smallest C not below the edge; 0: uniform
  double low;     // uniform: as in the formula
  double width;
  double inverse; // bins for each unit
  double first;   // the smallest and the largest C that are counted
  double last;
  double origin;  // low as a C, scale a float: a guess is (x - origin) * scale
  double scale;
  double slack;   // bins by which a guess may be wrong
  Axes<1> reduced;
  Axes<1> kept;
};
static_assert(sizeof(HistogramParams) == 8 * (17 + 3) + 2 * sizeof(Axes<1>), "mirrored by histogram/device.rs");

template <class T>
struct One {
  enum { LANES = 1 };
  typedef T Value;
  T value[1];
  __device__ __forceinline__ void load(const char* at) { value[0] = *(const T*)at; }
};

template <class T>
struct Pack {
  enum { LANES = 16 / sizeof(T) };
  typedef T Value;
  union {
    uint4 raw;
    T value[LANES];
  };
  __device__ __forceinline__ void load(const char* at) { raw = load16(at); }
};

// The bin of an element between the first and the last edge, by the edges' formula.
ULIB_FN u32 settle(const HistogramParams& p, double x) {
  const u32 end = (u32)p.bins - 1;
  const double guess = (x - p.low) * p.inverse;
  u32 bin = guess >= (double)end ? end : guess > 0.0 ? (u32)guess : 0;
  while (bin > 0 && x < p.low + (double)bin * p.width) --bin;
  while (bin < end && x >= p.low + (double)(bin + 1) * p.width) ++bin;
  return bin;
}

// The last bin whose lower edge is not above x, which is between the first and the last edge.
template <class C>
ULIB_FN u32 search(const C* edges, u32 bins, C x) {
  u32 low = 0;  // edges[low] <= x
  u32 count = bins;
  while (count > 1) {
    const u32 half = count >> 1;
    if (edges[low + half] <= x) {
      low += half;
      count -= half;
    } else {
      count = half;
    }
  }
  return low;
}

// The bin of any element, by the edges.
template <class C>
ULIB_FN u32 sure_bin(const HistogramParams& p, C x) {
  if (!(x >= (C)p.first && x <= (C)p.last)) return ULIB_NO_BIN;
  if (p.edges != 0) return search((const C*)address(p.edges), (u32)p.bins, x);
  return settle(p, (double)x);
}

// How bins are guessed: as the parameters say, in what a thread compares with.
template <class C>
struct Guess {
  C origin;
  float scale;
  float low;   // a guess is sure of values that are at least this far into their bin,
  float high;  // and at most that far
  float bins;

  __device__ __forceinline__ explicit Guess(const HistogramParams& p)
      : origin((C)p.origin), scale((float)p.scale), low((float)p.slack), high(1.0f - (float)p.slack), bins((float)(u32)p.bins) {}

  // The bin, or ULIB_UNSURE: near an edge, outside, NaN.
  __device__ __forceinline__ u32 bin(C x) const {
    const float guess = (float)(x - origin) * scale;
    const u32 bin = (u32)(int)guess;
    const float within = guess - (float)(int)bin;
    return within >= low && within <= high && guess < bins ? bin : ULIB_UNSURE;
  }
};

template <class U, class C, bool AXES>
ULIB_FN void histogram(const HistogramParams& p) {
  typedef typename U::Value T;
  const int L = U::LANES;
  const int FLIGHT = L == 1 ? 4 : L == 2 ? 2 : 1;  // loads in flight, of four elements in all
  const Guess<C> guess(p);
  __shared__ u32 counters[ULIB_COUNTERS];
  const u32 t = threadIdx.x;
  const u32 bins = (u32)p.bins;
  const u32 copies = (u32)p.copies;
  const bool spread = copies >= 8;
  u32* const own = counters + (copies != 0 ? (spread ? t : t >> 5) & (copies - 1) : 0);
  const u64 work = p.outputs * p.parts.by;
  for (u64 w = blockIdx.x; w < work; w += gridDim.x) {
    const u64 output = divide(w, p.parts);
    const u64 begin = (w - output * p.parts.by) * p.part;
    const u64 count = p.n - begin < p.part ? p.n - begin : p.part;
    u64* const result = (u64*)address(p.dst) + output * p.bins;
    Walk<1> kept;
    kept.start(p.kept, output);
    const char* const src = address(p.src) + kept.offset[0];
    for (u32 b = t; b < copies * bins; b += 256) counters[b] = 0;
    __syncthreads();
    Walk<1> walk;
    if (AXES) walk.start(p.reduced, begin + t);
    // As many rounds for every thread: warps count together.
    for (u64 round = 0; round < count; round += 256 * FLIGHT * L) {
      U unit[FLIGHT];
      u32 bin[FLIGHT * L];
#pragma unroll
      for (int k = 0; k < FLIGHT; ++k) {
        const u64 at = round + (k * 256 + t) * L;
        const char* const from = AXES ? src + walk.offset[0] : src + (i64)(begin + at) * p.stride;
        if (at + L <= count) {
          unit[k].load(from);
        } else {
#pragma unroll
          for (int v = 0; v < L; ++v) unit[k].value[v] = at + v < count ? *(const T*)(from + v * sizeof(T)) : (T)0;
        }
        if (AXES) walk.advance(p.reduced);
      }
      bool unsure = round + 256 * FLIGHT * L > count;
#pragma unroll
      for (int i = 0; i < FLIGHT * L; ++i) {
        bin[i] = guess.bin((C)unit[i / L].value[i % L]);
        unsure = unsure || bin[i] == ULIB_UNSURE;
      }
      if (unsure) {
#pragma unroll
        for (int i = 0; i < FLIGHT * L; ++i) {
          if (round + (i / L * 256 + t) * L + i % L >= count) bin[i] = ULIB_NO_BIN;
          else if (bin[i] == ULIB_UNSURE) bin[i] = sure_bin(p, (C)unit[i / L].value[i % L]);
        }
      }
#pragma unroll
      for (int i = 0; i < FLIGHT * L; ++i) {
        if (spread) {
          if (bin[i] != ULIB_NO_BIN) atomicAdd(own + bin[i] * copies, 1u);
        } else if (copies != 0) {
          tally(own, bin[i], copies);
        } else {
          tally(result, bin[i], 1);
        }
      }
    }
    __syncthreads();
    if (copies != 0) {
      for (u32 b = t; b < bins; b += 256) {
        u64 sum = 0;
        // Begun at another copy by each thread: neighbours read from different banks.
        for (u32 c = 0; c < copies; ++c) sum += counters[b * copies + ((c + b) & (copies - 1))];
        if (sum != 0) atomicAdd(result + b, sum);
      }
    }
    __syncthreads();
  }
}

#define ULIB_HISTOGRAM(name, T, C)                                                                         \
  ULIB_KERNEL_SYNC(ulib_histogram_##name##_one_line, HistogramParams, p) { histogram<One<T>, C, false>(p); } \
  ULIB_KERNEL_SYNC(ulib_histogram_##name##_one_axes, HistogramParams, p) { histogram<One<T>, C, true>(p); }
#define ULIB_HISTOGRAM_PACK(name, T, C) \
  ULIB_KERNEL_SYNC(ulib_histogram_##name##_pack_line, HistogramParams, p) { histogram<Pack<T>, C, false>(p); }

ULIB_HISTOGRAM(f32, float, float)
ULIB_HISTOGRAM(f64, double, double)
ULIB_HISTOGRAM(i8, signed char, float)
ULIB_HISTOGRAM(u8, u8, float)
ULIB_HISTOGRAM(i16, short, float)
ULIB_HISTOGRAM(u16, u16, float)
ULIB_HISTOGRAM(i32, i32, double)
ULIB_HISTOGRAM(u32, u32, double)
ULIB_HISTOGRAM(i64, i64, double)
ULIB_HISTOGRAM(u64, u64, double)
ULIB_HISTOGRAM_PACK(f32, float, float)
ULIB_HISTOGRAM_PACK(f64, double, double)
ULIB_HISTOGRAM_PACK(i32, i32, double)
ULIB_HISTOGRAM_PACK(u32, u32, double)
