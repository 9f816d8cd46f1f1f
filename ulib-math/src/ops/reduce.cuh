// What the kernels of every reduction share: for every output o, a fold over n elements in memory order, by a tree whose
// shape depends on n alone:
//   chunk c holds elements 4096 c .. 4096 c + 4095; in a chunk, lane l (0 .. 255) takes elements l, l + 256, l + 512, ... in
//   that order; the 256 lanes are joined by the adjacent pairwise tree ((0+1) + (2+3)) + ...; the chunks' results are the
//   elements of the next level, until one remains. One launch does one level.
// A unit U says what a load takes: LANES adjacent items of OPERANDS sources. A fold F says what becomes of the items:
//   F(p.fold); empty(); Lane open(item); step(lane, item, j), where j counts the elements of the lane;
//   Acc close(lane, count, first), where first is the lane's first element; Acc join(left, right); Out finish(acc).
// rows: the reduced axis is the fastest. One block of 256 / LANES threads for each (output, chunk), lanes across threads.
// columns: a kept axis is the fastest. A block of 256 threads is 2^tile_log2 kept units wide; the other threads share out
//   the lanes, 2^tile_log2 of them each, so that every load of a warp is contiguous along the kept axis.
// Grid: any number of blocks (each takes the next piece of work after gridDim.x); it never changes the result.
#ifndef ULIB_REDUCE_CUH
#define ULIB_REDUCE_CUH
#include "common.cuh"

#define ULIB_CHUNK 4096
#define ULIB_LANES 256

struct ReduceParams {
  u64 src[2];      // addresses of the first elements (of their units when loads take 16 bytes), or the first place
  u64 dst;         // address of the first output
  u64 n;           // elements of one output
  Divisor chunks;  // n / 4096, rounded up
  u64 outputs;     // rows: outputs; columns: kept units (LANES outputs each)
  i64 stride[2];   // line: bytes from element to element along the reduced axis
  i64 dst_chunk;   // bytes from a chunk's result to the next chunk's
  i64 dst_lane;    // columns: bytes between the outputs of one unit
  Divisor tiles;   // columns: outputs / 2^tile_log2, rounded up
  u64 tile_log2;   // columns: 2 to 5
  u64 last;        // 1 at the last level: results are written, not what is joined
  u64 fold[4];     // what the fold wants to know
  Axes<2> reduced; // axes: in units for rows, in elements for columns; operands are the sources
  Axes<3> kept;    // operands 0 and 1 are the sources, operand 2 is dst
};
static_assert(sizeof(ReduceParams) == 8 * (15 + 6) + sizeof(Axes<2>) + sizeof(Axes<3>), "mirrored by reduce/level.rs");

// Where a unit is read: one address for each operand; of places, the place itself.
template <int K>
struct At {
  const char* at[K];

  __device__ __forceinline__ void start(const ReduceParams& p, const i64* offset) {
#pragma unroll
    for (int k = 0; k < K; ++k) at[k] = address(p.src[k]) + offset[k];
  }
  __device__ __forceinline__ At moved(const i64* offset) const {
    At other;
#pragma unroll
    for (int k = 0; k < K; ++k) other.at[k] = at[k] + offset[k];
    return other;
  }
  __device__ __forceinline__ At moved(i64 by, const i64* stride) const {
    At other;
#pragma unroll
    for (int k = 0; k < K; ++k) other.at[k] = at[k] + by * stride[k];
    return other;
  }
};

// An element of T.
template <class T>
struct One {
  enum { LANES = 1, OPERANDS = 1 };
  typedef T Item;
  T value;
  __device__ __forceinline__ void load(const At<1>& a) { value = *(const T*)a.at[0]; }
  __device__ __forceinline__ T get(int) const { return value; }
  static __device__ __forceinline__ T single(const At<1>& a, int) { return *(const T*)a.at[0]; }
};

// 16 bytes of adjacent elements of T.
template <class T>
struct Pack {
  enum { LANES = 16 / sizeof(T), OPERANDS = 1 };
  typedef T Item;
  union {
    uint4 raw;
    T value[LANES];
  };
  __device__ __forceinline__ void load(const At<1>& a) { raw = load16(a.at[0]); }
  __device__ __forceinline__ T get(int v) const { return value[v]; }
  static __device__ __forceinline__ T single(const At<1>& a, int v) { return ((const T*)a.at[0])[v]; }
};

// The same of two sources.
template <class T>
struct Both {
  T first;
  T second;
};

template <class U>
struct Two {
  enum { LANES = U::LANES, OPERANDS = 2 };
  typedef Both<typename U::Item> Item;
  U first;
  U second;
  static __device__ __forceinline__ At<1> one(const At<2>& a, int k) {
    At<1> other;
    other.at[0] = a.at[k];
    return other;
  }
  __device__ __forceinline__ void load(const At<2>& a) {
    first.load(one(a, 0));
    second.load(one(a, 1));
  }
  __device__ __forceinline__ Item get(int v) const {
    Item item;
    item.first = first.get(v);
    item.second = second.get(v);
    return item;
  }
  static __device__ __forceinline__ Item single(const At<2>& a, int v) {
    Item item;
    item.first = U::single(one(a, 0), v);
    item.second = U::single(one(a, 1), v);
    return item;
  }
};

// What the lane `mask` away has.
template <class A>
ULIB_FN A exchange(A own, u32 mask) {
  static_assert(sizeof(A) % sizeof(u64) == 0, "moved in words of 8 bytes");
  const int WORDS = sizeof(A) / sizeof(u64);
  union Words {
    A acc;
    u64 word[WORDS];
    __device__ __forceinline__ Words() {}
  } both;
  both.acc = own;
#pragma unroll
  for (int i = 0; i < WORDS; ++i) both.word[i] = __shfl_xor_sync(0xffffffffu, both.word[i], mask);
  return both.acc;
}

// Adjacent pairwise tree over the lanes of one unit.
template <int LANES, class F, class A>
ULIB_FN A join_unit(const F& fold, const A* lane) {
  if (LANES == 1) return lane[0];
  if (LANES == 2) return fold.join(lane[0], lane[LANES > 1 ? 1 : 0]);
  return fold.join(fold.join(lane[0], lane[LANES > 1 ? 1 : 0]), fold.join(lane[LANES > 2 ? 2 : 0], lane[LANES > 3 ? 3 : 0]));
}

// Elements of a chunk of `count` that are in lane l.
ULIB_FN u32 lane_count(u32 count, u32 l) { return l < count ? (count - l + ULIB_LANES - 1) / ULIB_LANES : 0; }

template <class F, class A>
ULIB_FN void put(const F& fold, const ReduceParams& p, char* dst, const A& acc) {
  if (p.last) *(typename F::Out*)dst = fold.finish(acc);
  else *(A*)dst = acc;
}

template <class U, class F, bool AXES>
ULIB_FN void reduce_rows(const ReduceParams& p) {
  typedef typename F::Lane Lane;
  typedef typename F::Acc Acc;
  const int L = U::LANES;
  const int K = U::OPERANDS;
  const int WARPS = ULIB_LANES / L / 32;
  const int ROWS = ULIB_CHUNK / ULIB_LANES;
  // Loads in flight: measured, a fold with much to carry wants all of its lane's at once.
  const int FLIGHT = AXES || K > 1 ? 4 : L == 1 && sizeof(Acc) > 16 ? ROWS : 8;
  __shared__ Acc parts[2][8];
  const F fold(p.fold);
  const u32 t = threadIdx.x;
  const u64 work = p.outputs * p.chunks.by;
  u32 side = 0;
  Walk<2> walk;
  for (u64 w = blockIdx.x; w < work; w += gridDim.x) {
    const u64 output = divide(w, p.chunks);
    const u64 chunk = w - output * p.chunks.by;
    Walk<3> kept;
    kept.start(p.kept, output);
    At<K> src;
    src.start(p, kept.offset);
    const u64 rest = p.n - chunk * ULIB_CHUNK;
    const u64 first = chunk * ULIB_CHUNK + t * L;
    Lane lane[L];
    Acc acc[L];
    if (AXES) walk.start(p.reduced, chunk * (ULIB_CHUNK / L) + t);
    else src = src.moved((i64)first, p.stride);
    if (rest >= ULIB_CHUNK) {
#pragma unroll 1
      for (int j = 0; j < ROWS; j += FLIGHT) {
        U unit[FLIGHT];
#pragma unroll
        for (int k = 0; k < FLIGHT; ++k) {
          if (AXES) {
            unit[k].load(src.moved(walk.offset));
            walk.advance(p.reduced);
          } else {
            unit[k].load(src);
            src = src.moved(ULIB_LANES, p.stride);
          }
        }
        if (j == 0) {
#pragma unroll
          for (int v = 0; v < L; ++v) lane[v] = fold.open(unit[0].get(v));
        }
#pragma unroll
        for (int k = 0; k < FLIGHT; ++k) {
#pragma unroll
          for (int v = 0; v < L; ++v) fold.step(lane[v], unit[k].get(v), j + k);
        }
      }
#pragma unroll
      for (int v = 0; v < L; ++v) acc[v] = fold.close(lane[v], ROWS, first + v);
    } else {
#pragma unroll 1
      for (int j = 0; j < ROWS; ++j) {
        const At<K> at = AXES ? src.moved(walk.offset) : src.moved((i64)j * ULIB_LANES, p.stride);
#pragma unroll
        for (int v = 0; v < L; ++v) {
          if ((u64)j * ULIB_LANES + t * L + v < rest) {
            const typename U::Item item = U::single(at, v);
            if (j == 0) lane[v] = fold.open(item);
            fold.step(lane[v], item, j);
          }
        }
        if (AXES) walk.advance(p.reduced);
      }
#pragma unroll
      for (int v = 0; v < L; ++v) {
        const u32 count = lane_count((u32)rest, t * L + v);
        acc[v] = fold.empty();
        if (count != 0) acc[v] = fold.close(lane[v], count, first + v);
      }
    }
    Acc all = join_unit<L>(fold, acc);
    // Of every 2 m threads the first has what they give, and the others what nobody asks for.
#pragma unroll
    for (int m = 1; m < 32; m <<= 1) all = fold.join(all, exchange(all, m));
    if ((t & 31) == 0) parts[side][t >> 5] = all;
    __syncthreads();
    if (t == 0) {
      Acc part[WARPS];
#pragma unroll
      for (int i = 0; i < WARPS; ++i) part[i] = parts[side][i];
#pragma unroll
      for (int m = 1; m < WARPS; m <<= 1) {
#pragma unroll
        for (int i = 0; i < WARPS; i += 2 * m) part[i] = fold.join(part[i], part[i + m]);
      }
      put(fold, p, address(p.dst) + kept.offset[2] + (i64)chunk * p.dst_chunk, part[0]);
    }
    side ^= 1;  // the next round writes the other side, so one barrier a round is enough
  }
}

template <class U, class F, bool AXES>
ULIB_FN void reduce_columns(const ReduceParams& p) {
  typedef typename F::Lane Lane;
  typedef typename F::Acc Acc;
  const int L = U::LANES;
  const int K = U::OPERANDS;
  const int ROWS = ULIB_CHUNK / ULIB_LANES;
  const int FLIGHT = L * K == 1 ? 4 : 2;  // rows of four loads in flight
  __shared__ Acc parts[L][ULIB_LANES];
  const F fold(p.fold);
  const u32 t = threadIdx.x;
  const u32 width = 1u << p.tile_log2;  // kept units of this block, and also lanes of one thread
  const u32 column = t & (width - 1);
  const u32 group = t >> p.tile_log2;
  const u32 groups = ULIB_LANES >> p.tile_log2;
  Walk<2> walk;
  for (u64 w = blockIdx.x; w < p.tiles.by * p.chunks.by; w += gridDim.x) {
    const u64 chunk = divide(w, p.tiles);
    const u64 output = (w - chunk * p.tiles.by) * width + column;
    const bool inside = output < p.outputs;
    const u64 begin = chunk * ULIB_CHUNK;
    const u64 rest = p.n - begin;
    const u32 count = rest < ULIB_CHUNK ? (u32)rest : ULIB_CHUNK;
    Acc all[L];       // of the lanes done so far, when their number is a power of two
    Acc stack[3][L];  // what 4, 8 and 16 lanes gave, while it waits for its right neighbour
#pragma unroll
    for (int v = 0; v < L; ++v) all[v] = stack[0][v] = stack[1][v] = stack[2][v] = fold.empty();
    Walk<3> kept;
    kept.start(p.kept, inside ? output : 0);
    At<K> src;
    src.start(p, kept.offset);
#pragma unroll 1
    for (u32 quad = 0; quad < width / 4; ++quad) {
      const u32 l = group * width + quad * 4;
      Lane lane[4][L];
      Acc acc[4][L];
#pragma unroll
      for (int q = 0; q < 4; ++q) {
#pragma unroll
        for (int v = 0; v < L; ++v) acc[q][v] = fold.empty();
      }
      if (!AXES && inside && count == ULIB_CHUNK) {
        At<K> at = src.moved((i64)(begin + l), p.stride);
#pragma unroll 1
        for (int j = 0; j < ROWS; j += FLIGHT) {
          U unit[FLIGHT][4];
#pragma unroll
          for (int k = 0; k < FLIGHT; ++k) {
#pragma unroll
            for (int q = 0; q < 4; ++q) unit[k][q].load(at.moved(q, p.stride));
            at = at.moved(ULIB_LANES, p.stride);
          }
          if (j == 0) {
#pragma unroll
            for (int q = 0; q < 4; ++q) {
#pragma unroll
              for (int v = 0; v < L; ++v) lane[q][v] = fold.open(unit[0][q].get(v));
            }
          }
#pragma unroll
          for (int k = 0; k < FLIGHT; ++k) {
#pragma unroll
            for (int q = 0; q < 4; ++q) {
#pragma unroll
              for (int v = 0; v < L; ++v) fold.step(lane[q][v], unit[k][q].get(v), j + k);
            }
          }
        }
#pragma unroll
        for (int q = 0; q < 4; ++q) {
#pragma unroll
          for (int v = 0; v < L; ++v) acc[q][v] = fold.close(lane[q][v], ROWS, begin + l + q);
        }
      } else if (inside) {
#pragma unroll 1
        for (u32 j = 0; l + j * ULIB_LANES < count; ++j) {
          const u32 at = l + j * ULIB_LANES;
          U unit[4];
          if (AXES) walk.start(p.reduced, begin + at);
#pragma unroll
          for (int q = 0; q < 4; ++q) {
            if (at + q < count) unit[q].load(AXES ? src.moved(walk.offset) : src.moved((i64)(begin + at + q), p.stride));
            if (AXES) walk.advance(p.reduced);
          }
#pragma unroll
          for (int q = 0; q < 4; ++q) {
            if (at + q < count) {
#pragma unroll
              for (int v = 0; v < L; ++v) {
                if (j == 0) lane[q][v] = fold.open(unit[q].get(v));
                fold.step(lane[q][v], unit[q].get(v), j);
              }
            }
          }
        }
#pragma unroll
        for (int q = 0; q < 4; ++q) {
          const u32 taken = lane_count(count, l + q);
          if (taken != 0) {
#pragma unroll
            for (int v = 0; v < L; ++v) acc[q][v] = fold.close(lane[q][v], taken, begin + l + q);
          }
        }
      }
#pragma unroll
      for (int v = 0; v < L; ++v) {
        all[v] = fold.join(fold.join(acc[0][v], acc[1][v]), fold.join(acc[2][v], acc[3][v]));
        if ((quad & 1) == 0) {
          stack[0][v] = all[v];
        } else {
          all[v] = fold.join(stack[0][v], all[v]);
          if ((quad & 2) == 0) {
            stack[1][v] = all[v];
          } else {
            all[v] = fold.join(stack[1][v], all[v]);
            if ((quad & 4) == 0) stack[2][v] = all[v];
            else all[v] = fold.join(stack[2][v], all[v]);
          }
        }
      }
    }
#pragma unroll
    for (int v = 0; v < L; ++v) parts[v][t] = all[v];
    for (u32 m = 1; m < groups; m <<= 1) {
      __syncthreads();
      if ((group & (2 * m - 1)) == 0) {
#pragma unroll
        for (int v = 0; v < L; ++v) parts[v][t] = fold.join(parts[v][t], parts[v][t + m * width]);
      }
    }
    if (group == 0 && inside) {
      char* const dst = address(p.dst) + kept.offset[2] + (i64)chunk * p.dst_chunk;
#pragma unroll
      for (int v = 0; v < L; ++v) put(fold, p, dst + v * p.dst_lane, parts[v][t]);
    }
    __syncthreads();
  }
}

// The fold of the levels after the first, over what chunks gave.
template <class F>
struct Join {
  typedef typename F::Acc Lane;
  typedef typename F::Acc Acc;
  typedef typename F::Out Out;
  F fold;
  __device__ __forceinline__ explicit Join(const u64* params) : fold(params) {}
  __device__ __forceinline__ Acc empty() const { return fold.empty(); }
  __device__ __forceinline__ Lane open(const Acc&) const { return fold.empty(); }
  __device__ __forceinline__ void step(Lane& lane, const Acc& acc, u32) const { lane = fold.join(lane, acc); }
  __device__ __forceinline__ Acc close(const Lane& lane, u32, u64) const { return lane; }
  __device__ __forceinline__ Acc join(const Acc& left, const Acc& right) const { return fold.join(left, right); }
  __device__ __forceinline__ Out finish(const Acc& acc) const { return fold.finish(acc); }
};

// name: ulib_<op>_<shape>_<number>_<one or pack>_<line or axes>; AXES is whether the reduced axes are more than one.
#define ULIB_REDUCE(op, shape, form, index, Unit, Fold, AXES) \
  ULIB_KERNEL_SYNC(ulib_##op##_##shape##_##form##_##index, ReduceParams, p) { reduce_##shape<Unit, Fold, AXES>(p); }

// The kernels for one number that take an element at a time.
#define ULIB_REDUCE_ONE(op, number, Unit, Fold)                             \
  ULIB_REDUCE(op, rows, number##_one, line, Unit, Fold, false)             \
  ULIB_REDUCE(op, rows, number##_one, axes, Unit, Fold, true)              \
  ULIB_REDUCE(op, columns, number##_one, line, Unit, Fold, false)          \
  ULIB_REDUCE(op, columns, number##_one, axes, Unit, Fold, true)

// The kernels of the later levels.
#define ULIB_REDUCE_JOIN(op, name, Fold)                                                                   \
  ULIB_KERNEL_SYNC(ulib_##op##_rows_join_##name, ReduceParams, p) { reduce_rows<One<Fold::Acc>, Join<Fold>, false>(p); }       \
  ULIB_KERNEL_SYNC(ulib_##op##_columns_join_##name, ReduceParams, p) { reduce_columns<One<Fold::Acc>, Join<Fold>, false>(p); }

#endif
