// sum: for every output o, the sum over n elements in memory order, by a tree whose shape depends on n alone:
//   chunk c holds elements 4096 c .. 4096 c + 4095; in a chunk, lane l (0 .. 255) adds elements l, l + 256, l + 512, ...
//   in that order, starting from the identity (-0.0, or 0); the 256 lanes are joined by the adjacent pairwise tree
//   ((0+1) + (2+3)) + ...; the chunks' results are the elements of the next level, until one remains.
// One launch does one level. The accumulator is double for float and double, u64 (wrapping, sign-extended) for integers.
// A load takes LANES adjacent values: one, or 16 packed bytes.
// rows: the reduced axis is the fastest. One block of 256 / LANES threads for each (output, chunk), lanes across threads.
// columns: a kept axis is the fastest. A block of 256 threads is 2^tile_log2 kept units wide; the other threads share out
//   the lanes, 2^tile_log2 of them each, so that every load of a warp is contiguous along the kept axis.
// Grid: any number of blocks (each takes the next piece of work after gridDim.x); it never changes the result.
#include "../common.cuh"

#define ULIB_CHUNK 4096
#define ULIB_LANES 256

struct SumParams {
  u64 src;         // address of the first element (of its unit when loads take 16 bytes)
  u64 dst;         // address of the first output
  u64 n;           // elements of one output
  Divisor chunks;  // n / 4096, rounded up
  u64 outputs;     // rows: outputs; columns: kept units (LANES outputs each)
  i64 stride;      // line: bytes from element to element along the reduced axis
  i64 dst_chunk;   // bytes from a chunk's result to the next chunk's
  i64 dst_lane;    // columns: bytes between the outputs of one unit
  Divisor tiles;   // columns: outputs / 2^tile_log2, rounded up
  u64 tile_log2;   // columns: 2 to 5
  Axes<1> reduced; // axes: in units for rows, in elements for columns
  Axes<2> kept;    // operand 0 is src, operand 1 is dst
};
static_assert(sizeof(SumParams) == 8 * (8 + 6) + sizeof(Axes<1>) + sizeof(Axes<2>), "mirrored by sum/device.rs");

template <class A>
ULIB_FN A identity() {
  return (A)0;
}
template <>
__device__ __forceinline__ double identity<double>() {
  return -0.0;
}

// How a unit is read: LANES values of T, adjacent; `load` takes them all at once.
template <class T>
struct One {
  enum { LANES = 1 };
  typedef T Value;
  T value;
  __device__ __forceinline__ void load(const char* at) { value = *(const T*)at; }
  __device__ __forceinline__ T get(int) const { return value; }
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
  __device__ __forceinline__ T get(int v) const { return value[v]; }
};

// Adjacent pairwise tree over the lanes of one unit.
template <int LANES, class A>
ULIB_FN A join(const A* lane) {
  if (LANES == 1) return lane[0];
  if (LANES == 2) return lane[0] + lane[1];
  return (lane[0] + lane[1]) + (lane[2] + lane[3]);
}

template <class U, class A, bool AXES>
ULIB_FN void sum_rows(const SumParams& p) {
  const int L = U::LANES;
  const int WARPS = ULIB_LANES / L / 32;
  const int ROWS = ULIB_CHUNK / ULIB_LANES;
  const int FLIGHT = AXES ? 4 : 8;  // loads in flight
  __shared__ A parts[2][8];
  const u32 t = threadIdx.x;
  const u64 work = p.outputs * p.chunks.by;
  u32 side = 0;
  Walk<1> walk;
  for (u64 w = blockIdx.x; w < work; w += gridDim.x) {
    const u64 output = divide(w, p.chunks);
    const u64 chunk = w - output * p.chunks.by;
    Walk<2> kept;
    kept.start(p.kept, output);
    const char* src = address(p.src) + kept.offset[0];
    const u64 rest = p.n - chunk * ULIB_CHUNK;
    A lane[L];
#pragma unroll
    for (int v = 0; v < L; ++v) lane[v] = identity<A>();
    if (AXES) walk.start(p.reduced, chunk * (ULIB_CHUNK / L) + t);
    else src += (i64)(chunk * ULIB_CHUNK + t * L) * p.stride;
    const i64 row = (i64)ULIB_LANES * p.stride;
    if (rest >= ULIB_CHUNK) {
#pragma unroll 1
      for (int j = 0; j < ROWS; j += FLIGHT) {
        U unit[FLIGHT];
#pragma unroll
        for (int k = 0; k < FLIGHT; ++k) {
          if (AXES) {
            unit[k].load(src + walk.offset[0]);
            walk.advance(p.reduced);
          } else {
            unit[k].load(src);
            src += row;
          }
        }
#pragma unroll
        for (int k = 0; k < FLIGHT; ++k) {
#pragma unroll
          for (int v = 0; v < L; ++v) lane[v] += (A)unit[k].get(v);
        }
      }
    } else {
#pragma unroll 4
      for (int j = 0; j < ROWS; ++j) {
        const char* at = AXES ? src + walk.offset[0] : src + j * row;
#pragma unroll
        for (int v = 0; v < L; ++v) {
          if ((u64)j * ULIB_LANES + t * L + v < rest) {
            lane[v] += (A) * (const typename U::Value*)(at + v * sizeof(typename U::Value));
          }
        }
        if (AXES) walk.advance(p.reduced);
      }
    }
    A sum = join<L>(lane);
#pragma unroll
    for (int m = 1; m < 32; m <<= 1) sum += __shfl_xor_sync(0xffffffffu, sum, m);
    if ((t & 31) == 0) parts[side][t >> 5] = sum;
    __syncthreads();
    if (t == 0) {
      A part[WARPS];
#pragma unroll
      for (int i = 0; i < WARPS; ++i) part[i] = parts[side][i];
#pragma unroll
      for (int m = 1; m < WARPS; m <<= 1) {
#pragma unroll
        for (int i = 0; i < WARPS; i += 2 * m) part[i] += part[i + m];
      }
      *(A*)(address(p.dst) + kept.offset[1] + (i64)chunk * p.dst_chunk) = part[0];
    }
    side ^= 1;  // the next round writes the other side, so one barrier a round is enough
  }
}

template <class U, class A, bool AXES>
ULIB_FN void sum_columns(const SumParams& p) {
  const int L = U::LANES;
  const int ROWS = ULIB_CHUNK / ULIB_LANES;
  const int FLIGHT = L == 1 ? 4 : 2;  // rows of four loads in flight
  __shared__ A parts[L][ULIB_LANES];
  const u32 t = threadIdx.x;
  const u32 width = 1u << p.tile_log2;  // kept units of this block, and also lanes of one thread
  const u32 column = t & (width - 1);
  const u32 group = t >> p.tile_log2;
  const u32 groups = ULIB_LANES >> p.tile_log2;
  Walk<1> walk;
  for (u64 w = blockIdx.x; w < p.tiles.by * p.chunks.by; w += gridDim.x) {
    const u64 chunk = divide(w, p.tiles);
    const u64 output = (w - chunk * p.tiles.by) * width + column;
    const bool inside = output < p.outputs;
    const u64 begin = chunk * ULIB_CHUNK;
    const u64 rest = p.n - begin;
    const u32 count = rest < ULIB_CHUNK ? (u32)rest : ULIB_CHUNK;
    A sum[L];      // of the lanes done so far, when their number is a power of two
    A stack[3][L];  // sums of 4, 8 and 16 lanes that wait for their right neighbour
#pragma unroll
    for (int v = 0; v < L; ++v) sum[v] = stack[0][v] = stack[1][v] = stack[2][v] = identity<A>();
    Walk<2> kept;
    kept.start(p.kept, inside ? output : 0);
    const char* const src = address(p.src) + kept.offset[0];
#pragma unroll 1
    for (u32 quad = 0; quad < width / 4; ++quad) {
      const u32 l = group * width + quad * 4;
      A lane[4][L];
#pragma unroll
      for (int q = 0; q < 4; ++q) {
#pragma unroll
        for (int v = 0; v < L; ++v) lane[q][v] = identity<A>();
      }
      if (!AXES && inside && count == ULIB_CHUNK) {
        const char* at = src + (i64)(begin + l) * p.stride;
#pragma unroll 1
        for (int j = 0; j < ROWS; j += FLIGHT) {
          U unit[FLIGHT][4];
#pragma unroll
          for (int k = 0; k < FLIGHT; ++k) {
#pragma unroll
            for (int q = 0; q < 4; ++q) unit[k][q].load(at + q * p.stride);
            at += ULIB_LANES * p.stride;
          }
#pragma unroll
          for (int k = 0; k < FLIGHT; ++k) {
#pragma unroll
            for (int q = 0; q < 4; ++q) {
#pragma unroll
              for (int v = 0; v < L; ++v) lane[q][v] += (A)unit[k][q].get(v);
            }
          }
        }
      } else if (inside) {
#pragma unroll 1
        for (u32 at = l; at < count; at += ULIB_LANES) {
          U unit[4];
          if (AXES) walk.start(p.reduced, begin + at);
#pragma unroll
          for (int q = 0; q < 4; ++q) {
            if (at + q < count) unit[q].load(src + (AXES ? walk.offset[0] : (i64)(begin + at + q) * p.stride));
            if (AXES) walk.advance(p.reduced);
          }
#pragma unroll
          for (int q = 0; q < 4; ++q) {
            if (at + q < count) {
#pragma unroll
              for (int v = 0; v < L; ++v) lane[q][v] += (A)unit[q].get(v);
            }
          }
        }
      }
#pragma unroll
      for (int v = 0; v < L; ++v) {
        sum[v] = (lane[0][v] + lane[1][v]) + (lane[2][v] + lane[3][v]);
        if ((quad & 1) == 0) {
          stack[0][v] = sum[v];
        } else {
          sum[v] = stack[0][v] + sum[v];
          if ((quad & 2) == 0) {
            stack[1][v] = sum[v];
          } else {
            sum[v] = stack[1][v] + sum[v];
            if ((quad & 4) == 0) stack[2][v] = sum[v];
            else sum[v] = stack[2][v] + sum[v];
          }
        }
      }
    }
#pragma unroll
    for (int v = 0; v < L; ++v) parts[v][t] = sum[v];
    for (u32 m = 1; m < groups; m <<= 1) {
      __syncthreads();
      if ((group & (2 * m - 1)) == 0) {
#pragma unroll
        for (int v = 0; v < L; ++v) parts[v][t] += parts[v][t + m * width];
      }
    }
    if (group == 0 && inside) {
      char* const dst = address(p.dst) + kept.offset[1] + (i64)chunk * p.dst_chunk;
#pragma unroll
      for (int v = 0; v < L; ++v) *(A*)(dst + v * p.dst_lane) = parts[v][t];
    }
    __syncthreads();
  }
}

#define ULIB_SUM(shape, form, index, Unit, A, AXES) \
  ULIB_KERNEL_SYNC(ulib_sum_##shape##_##form##_##index, SumParams, p) { sum_##shape<Unit, A, AXES>(p); }

ULIB_SUM(rows, f32_one, line, One<float>, double, false)
ULIB_SUM(rows, f32_one, axes, One<float>, double, true)
ULIB_SUM(rows, f32_pack, line, Pack<float>, double, false)
ULIB_SUM(rows, f32_pack, axes, Pack<float>, double, true)
ULIB_SUM(rows, f64_one, line, One<double>, double, false)
ULIB_SUM(rows, f64_one, axes, One<double>, double, true)
ULIB_SUM(rows, f64_pack, line, Pack<double>, double, false)
ULIB_SUM(rows, i32_one, line, One<i32>, u64, false)
ULIB_SUM(rows, i32_one, axes, One<i32>, u64, true)
ULIB_SUM(rows, u32_one, line, One<u32>, u64, false)
ULIB_SUM(rows, u32_one, axes, One<u32>, u64, true)
ULIB_SUM(rows, u64_one, line, One<u64>, u64, false)
ULIB_SUM(rows, u64_one, axes, One<u64>, u64, true)
ULIB_SUM(rows, u64_pack, line, Pack<u64>, u64, false)
ULIB_SUM(columns, f32_one, line, One<float>, double, false)
ULIB_SUM(columns, f32_one, axes, One<float>, double, true)
ULIB_SUM(columns, f32_pack, line, Pack<float>, double, false)
ULIB_SUM(columns, f64_one, line, One<double>, double, false)
ULIB_SUM(columns, f64_one, axes, One<double>, double, true)
ULIB_SUM(columns, f64_pack, line, Pack<double>, double, false)
ULIB_SUM(columns, i32_one, line, One<i32>, u64, false)
ULIB_SUM(columns, i32_one, axes, One<i32>, u64, true)
ULIB_SUM(columns, u32_one, line, One<u32>, u64, false)
ULIB_SUM(columns, u32_one, axes, One<u32>, u64, true)
ULIB_SUM(columns, u64_one, line, One<u64>, u64, false)
ULIB_SUM(columns, u64_one, axes, One<u64>, u64, true)
