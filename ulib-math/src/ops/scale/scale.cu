// scale: data[i] = data[i] * factor, in place, over a strided layout; integers wrap, and share one kernel with their
// unsigned twin, because the low bits of a product do not depend on the sign.
// Units: `one` is an element; `pack` is 16 bytes of adjacent elements. Bytes between the elements are neither read nor
// written: measured on voxels of 8 bytes, 4-byte accesses lose nothing against 16-byte ones, since the lines are the same.
// line: unit i at data + i * stride. axes: unit i where Axes says. Grid: any number of 256-thread blocks (grid-stride).
#include "../common.cuh"

struct ScaleParams {
  u64 data;    // address of unit 0
  u64 units;   // number of units
  i64 stride;  // line: bytes from unit to unit
  u64 factor;  // the factor's bits
  u64 head;    // pack_line: elements before unit 0
  u64 tail;    // pack_line: elements after the last unit
  Axes<1> axes;
};
static_assert(sizeof(ScaleParams) == 48 + sizeof(Axes<1>), "mirrored by scale/device.rs");

template <class T>
ULIB_FN T factor_of(const ScaleParams& p);
template <>
__device__ __forceinline__ float factor_of<float>(const ScaleParams& p) {
  return same_bits<float>((u32)p.factor);
}
template <>
__device__ __forceinline__ double factor_of<double>(const ScaleParams& p) {
  return same_bits<double>(p.factor);
}
template <>
__device__ __forceinline__ u32 factor_of<u32>(const ScaleParams& p) {
  return (u32)p.factor;
}
template <>
__device__ __forceinline__ u64 factor_of<u64>(const ScaleParams& p) {
  return p.factor;
}

template <class T>
struct One {
  T value;
  __device__ __forceinline__ void load(const char* at) { value = *(const T*)at; }
  __device__ __forceinline__ void scale(T factor) { value = value * factor; }
  __device__ __forceinline__ void store(char* at) const { *(T*)at = value; }
};

template <class T>
struct Pack {
  union {
    uint4 raw;
    T value[16 / sizeof(T)];
  };
  __device__ __forceinline__ void load(const char* at) { raw = load16(at); }
  __device__ __forceinline__ void scale(T factor) {
#pragma unroll
    for (int v = 0; v < (int)(16 / sizeof(T)); ++v) value[v] = value[v] * factor;
  }
  __device__ __forceinline__ void store(char* at) const { store16(at, raw); }
};

template <class T, class U>
ULIB_FN void scale_line(const ScaleParams& p) {
  const T factor = factor_of<T>(p);
  const u64 step = thread_count();
  const u64 first = thread_index();
  char* const data = address(p.data);
  u64 i = first;
  for (; i + 3 * step < p.units; i += 4 * step) {
    U unit[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) unit[k].load(data + (i64)(i + k * step) * p.stride);
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      unit[k].scale(factor);
      unit[k].store(data + (i64)(i + k * step) * p.stride);
    }
  }
  for (; i < p.units; i += step) {
    U unit;
    unit.load(data + (i64)i * p.stride);
    unit.scale(factor);
    unit.store(data + (i64)i * p.stride);
  }
  if (sizeof(U) == 16) {
    One<T> one;
    if (first < p.head) {
      char* const at = data - (first + 1) * sizeof(T);
      one.load(at);
      one.scale(factor);
      one.store(at);
    }
    if (first < p.tail) {
      char* const at = data + p.units * 16 + first * sizeof(T);
      one.load(at);
      one.scale(factor);
      one.store(at);
    }
  }
}

template <class T, class U>
ULIB_FN void scale_axes(const ScaleParams& p) {
  const T factor = factor_of<T>(p);
  const u64 step = thread_count();
  u64 i = thread_index();
  if (i >= p.units) return;
  Walk<1> walk;
  walk.start(p.axes, i);
  for (;;) {
    char* const at = address(p.data) + walk.offset[0];
    U unit;
    unit.load(at);
    unit.scale(factor);
    unit.store(at);
    i += step;
    if (i >= p.units) return;
    walk.advance(p.axes);
  }
}

ULIB_KERNEL(ulib_scale_f32_one_line, ScaleParams, p) { scale_line<float, One<float> >(p); }
ULIB_KERNEL(ulib_scale_f32_pack_line, ScaleParams, p) { scale_line<float, Pack<float> >(p); }
ULIB_KERNEL(ulib_scale_f32_one_axes, ScaleParams, p) { scale_axes<float, One<float> >(p); }
ULIB_KERNEL(ulib_scale_f32_pack_axes, ScaleParams, p) { scale_axes<float, Pack<float> >(p); }
ULIB_KERNEL(ulib_scale_f64_one_line, ScaleParams, p) { scale_line<double, One<double> >(p); }
ULIB_KERNEL(ulib_scale_f64_pack_line, ScaleParams, p) { scale_line<double, Pack<double> >(p); }
ULIB_KERNEL(ulib_scale_f64_one_axes, ScaleParams, p) { scale_axes<double, One<double> >(p); }
ULIB_KERNEL(ulib_scale_f64_pack_axes, ScaleParams, p) { scale_axes<double, Pack<double> >(p); }
ULIB_KERNEL(ulib_scale_u32_one_line, ScaleParams, p) { scale_line<u32, One<u32> >(p); }
ULIB_KERNEL(ulib_scale_u32_pack_line, ScaleParams, p) { scale_line<u32, Pack<u32> >(p); }
ULIB_KERNEL(ulib_scale_u32_one_axes, ScaleParams, p) { scale_axes<u32, One<u32> >(p); }
ULIB_KERNEL(ulib_scale_u32_pack_axes, ScaleParams, p) { scale_axes<u32, Pack<u32> >(p); }
ULIB_KERNEL(ulib_scale_u64_one_line, ScaleParams, p) { scale_line<u64, One<u64> >(p); }
ULIB_KERNEL(ulib_scale_u64_pack_line, ScaleParams, p) { scale_line<u64, Pack<u64> >(p); }
ULIB_KERNEL(ulib_scale_u64_one_axes, ScaleParams, p) { scale_axes<u64, One<u64> >(p); }
ULIB_KERNEL(ulib_scale_u64_pack_axes, ScaleParams, p) { scale_axes<u64, Pack<u64> >(p); }
