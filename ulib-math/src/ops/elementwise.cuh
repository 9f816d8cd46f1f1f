// Elementwise operations: out[i] = f(a[i], b[i], c[i]) over a strided layout, in place where an input is the output.
// An operation's file declares f (ULIB_MAP1, ULIB_MAP2, ULIB_MAP3, or a struct like theirs) and its kernels
// (ULIB_ELEMENTWISE): one for each number and form.
//   pack: 16 bytes of the output and as many elements of each input, all adjacent; a few elements before and after.
//   line: one element; unit i of operand k at p.at[k] + i * p.stride[k].
//   axes: one element; unit i where Axes says.
// Bytes between the elements are neither read nor written: on voxels of 8 bytes, 4-byte accesses were measured to lose
// nothing against 16-byte ones, since the cache lines are the same. Grid: any number of 256-thread blocks (grid-stride).
#ifndef ULIB_ELEMENTWISE_CUH
#define ULIB_ELEMENTWISE_CUH

#include "numbers.cuh"

template <int K>
struct MapParams {
  u64 at[K];      // addresses of unit 0; operand 0 is the output
  i64 stride[K];  // line: bytes from unit to unit
  u64 scalar[K];  // the bits of an input that is a scalar
  u64 scalars;    // bit k: operand k is a scalar
  u64 units;
  u64 head;       // pack: elements before unit 0
  u64 tail;       // pack: elements after the last unit
  u64 extra[6];   // numbers of the operation's own
  Axes<K> axes;
};
static_assert(sizeof(MapParams<3>) == 8 * (3 * 3 + 10) + sizeof(Axes<3>), "mirrored by elementwise/device.rs");

// N adjacent elements, read and written at once.
template <class T, int N>
struct Unit {
  enum { BYTES = N * sizeof(T) };
  union {
    T value[N];
    u8 raw1;
    u16 raw2;
    u32 raw4;
    u64 raw8;
    uint4 raw16;
  };
  __device__ __forceinline__ void load(const char* at) {
    if (BYTES == 16) raw16 = load16(at);
    else if (BYTES == 8) raw8 = *(const u64*)at;
    else if (BYTES == 4) raw4 = *(const u32*)at;
    else if (BYTES == 2) raw2 = *(const u16*)at;
    else raw1 = *(const u8*)at;
  }
  __device__ __forceinline__ void store(char* at) const {
    if (BYTES == 16) store16(at, raw16);
    else if (BYTES == 8) *(u64*)at = raw8;
    else if (BYTES == 4) *(u32*)at = raw4;
    else if (BYTES == 2) *(u16*)at = raw2;
    else *(u8*)at = raw1;
  }
  __device__ __forceinline__ void fill(T x) {
#pragma unroll
    for (int v = 0; v < N; ++v) value[v] = x;
  }
};

template <class T>
ULIB_FN T from_bits(u64 bits) {
  union {
    u64 bits;
    T value;
  } both;
  both.bits = bits;
  return both.value;
}

// The inputs of one unit: those that are scalars are filled once, the others read for each unit.
template <class Op, int N>
struct Inputs {
  Unit<typename Op::T, N> a;
  Unit<typename Op::B, N> b;
  Unit<typename Op::T, N> c;

  __device__ __forceinline__ void fill(const MapParams<Op::INPUTS + 1>& p) {
    if (p.scalars & 2) a.fill(from_bits<typename Op::T>(p.scalar[1]));
    if (Op::INPUTS > 1 && (p.scalars & 4)) b.fill(from_bits<typename Op::B>(p.scalar[Op::INPUTS > 1 ? 2 : 0]));
    if (Op::INPUTS > 2 && (p.scalars & 8)) c.fill(from_bits<typename Op::T>(p.scalar[Op::INPUTS > 2 ? 3 : 0]));
  }
  // What an operation has not is zero.
  __device__ __forceinline__ void clear() {
    if (Op::INPUTS < 2) b.fill(0);
    if (Op::INPUTS < 3) c.fill(0);
  }
  __device__ __forceinline__ void load(const MapParams<Op::INPUTS + 1>& p, const i64* offset) {
    if (!(p.scalars & 2)) a.load(address(p.at[1]) + offset[1]);
    if (Op::INPUTS > 1 && !(p.scalars & 4)) {
      const int k = Op::INPUTS > 1 ? 2 : 0;
      b.load(address(p.at[k]) + offset[k]);
    }
    if (Op::INPUTS > 2 && !(p.scalars & 8)) {
      const int k = Op::INPUTS > 2 ? 3 : 0;
      c.load(address(p.at[k]) + offset[k]);
    }
  }
  __device__ __forceinline__ void apply(const Op& op) {
#pragma unroll
    for (int v = 0; v < N; ++v) a.value[v] = op(a.value[v], b.value[v], c.value[v]);
  }
};

template <class Op, int N>
ULIB_FN void map_one(const MapParams<Op::INPUTS + 1>& p, const Op& op, const i64* offset) {
  Inputs<Op, N> unit;
  unit.clear();
  unit.fill(p);
  unit.load(p, offset);
  unit.apply(op);
  unit.a.store(address(p.at[0]) + offset[0]);
}

template <class Op, int N>
ULIB_FN void map_line(const MapParams<Op::INPUTS + 1>& p) {
  const int K = Op::INPUTS + 1;
  // Units in flight: measured, single elements gain by four, and 16 bytes at once by being the only ones of their thread.
  const int FLIGHT = Op::HEAVY || N > 1 ? 1 : 4;
  const Op op(p.extra);
  const u64 step = thread_count();
  const u64 first = thread_index();
  u64 i = first;
  if (FLIGHT > 1) {
    for (; i + (FLIGHT - 1) * step < p.units; i += FLIGHT * step) {
      Inputs<Op, N> unit[FLIGHT];
#pragma unroll
      for (int f = 0; f < FLIGHT; ++f) {
        i64 offset[K];
#pragma unroll
        for (int k = 0; k < K; ++k) offset[k] = (i64)(i + f * step) * p.stride[k];
        unit[f].clear();
        unit[f].fill(p);
        unit[f].load(p, offset);
      }
#pragma unroll
      for (int f = 0; f < FLIGHT; ++f) {
        unit[f].apply(op);
        unit[f].a.store(address(p.at[0]) + (i64)(i + f * step) * p.stride[0]);
      }
    }
  }
  for (; i < p.units; i += step) {
    i64 offset[K];
#pragma unroll
    for (int k = 0; k < K; ++k) offset[k] = (i64)i * p.stride[k];
    map_one<Op, N>(p, op, offset);
  }
  if (N > 1 && (first < p.head || first < p.tail)) {
    // Before unit 0 element -1 - first, after the last unit element first. An operand's unit is N of its elements.
    i64 offset[K];
    if (first < p.head) {
#pragma unroll
      for (int k = 0; k < K; ++k) offset[k] = -(i64)(first + 1) * (p.stride[k] / N);
      map_one<Op, 1>(p, op, offset);
    }
    if (first < p.tail) {
#pragma unroll
      for (int k = 0; k < K; ++k) offset[k] = (i64)(p.units * N + first) * (p.stride[k] / N);
      map_one<Op, 1>(p, op, offset);
    }
  }
}

template <class Op>
ULIB_FN void map_axes(const MapParams<Op::INPUTS + 1>& p) {
  const Op op(p.extra);
  const u64 step = thread_count();
  u64 i = thread_index();
  if (i >= p.units) return;
  Walk<Op::INPUTS + 1> walk;
  walk.start(p.axes, i);
  for (;;) {
    map_one<Op, 1>(p, op, walk.offset);
    i += step;
    if (i >= p.units) return;
    walk.advance(p.axes);
  }
}

// f by an expression of a, b and c, each of the type N; HEAVY for one of many instructions, of which one unit is done at a time.
#define ULIB_MAP(Name, INPUTS_, HEAVY_, expression)                                   \
  template <class N>                                                                  \
  struct Name {                                                                       \
    typedef N T;                                                                      \
    typedef N B;                                                                      \
    enum { INPUTS = INPUTS_, HEAVY = HEAVY_ };                                        \
    __device__ __forceinline__ explicit Name(const u64*) {}                           \
    __device__ __forceinline__ N operator()(N a, N b, N c) const { return expression; } \
  };
#define ULIB_MAP1(Name, expression) ULIB_MAP(Name, 1, 0, expression)
#define ULIB_MAP2(Name, expression) ULIB_MAP(Name, 2, 0, expression)
#define ULIB_MAP3(Name, expression) ULIB_MAP(Name, 3, 0, expression)

// The kernels of an operation for one number.
#define ULIB_ELEMENTWISE(operation, number, Op)                                                   \
  ULIB_KERNEL(ulib_##operation##_##number##_pack, MapParams<Op::INPUTS + 1>, p) {                 \
    map_line<Op, 16 / sizeof(Op::T)>(p);                                                          \
  }                                                                                               \
  ULIB_KERNEL(ulib_##operation##_##number##_line, MapParams<Op::INPUTS + 1>, p) { map_line<Op, 1>(p); } \
  ULIB_KERNEL(ulib_##operation##_##number##_axes, MapParams<Op::INPUTS + 1>, p) { map_axes<Op>(p); }

#endif
