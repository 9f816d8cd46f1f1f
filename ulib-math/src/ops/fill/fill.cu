// fill: dst[i] = value for every i of a strided layout; bytes between the elements are not touched.
// The host picks the unit: 1, 2, 4, 8 or 16 bytes. A packed run of smaller elements is written in 16-byte units, with up
// to 16 / size - 1 elements before and after it written alone.
// line: unit i at dst + i * stride. axes: unit i where Axes says. Grid: any number of 256-thread blocks (grid-stride).
#include "../common.cuh"

struct FillParams {
  u64 dst;     // address of unit 0
  u64 units;   // number of units
  i64 stride;  // line: bytes from unit to unit
  u64 value[2];  // the value, repeated to 16 bytes
  u64 size;    // bytes of an element
  u64 head;    // elements before unit 0 (line_16 on a packed run)
  u64 tail;    // elements after the last unit
  Axes<1> axes;
};
static_assert(sizeof(FillParams) == 64 + sizeof(Axes<1>), "mirrored by fill/device.rs");

template <class U>
ULIB_FN void put(char* at, const FillParams& p) {
  *(U*)at = (U)p.value[0];
}
template <>
__device__ __forceinline__ void put<uint4>(char* at, const FillParams& p) {
  store16(at, make_uint4((u32)p.value[0], (u32)(p.value[0] >> 32), (u32)p.value[1], (u32)(p.value[1] >> 32)));
}

// One element of `size` bytes, byte by byte: at most 30 of them in a launch.
ULIB_FN void put_bytes(char* at, const FillParams& p) {
  for (u64 b = 0; b < p.size; ++b) at[b] = (char)(p.value[b >> 3] >> (8 * (b & 7)));
}

template <class U>
ULIB_FN void fill_line(const FillParams& p) {
  const u64 step = thread_count();
  char* const dst = address(p.dst);
  const u64 first = thread_index();
  for (u64 i = first; i < p.units; i += step) put<U>(dst + (i64)i * p.stride, p);
  if (sizeof(U) == 16) {
    if (first < p.head) put_bytes(dst - (first + 1) * p.size, p);
    if (first < p.tail) put_bytes(dst + p.units * 16 + first * p.size, p);
  }
}

template <class U>
ULIB_FN void fill_axes(const FillParams& p) {
  const u64 step = thread_count();
  u64 i = thread_index();
  if (i >= p.units) return;
  Walk<1> walk;
  walk.start(p.axes, i);
  for (;;) {
    put<U>(address(p.dst) + walk.offset[0], p);
    i += step;
    if (i >= p.units) return;
    walk.advance(p.axes);
  }
}

ULIB_KERNEL(ulib_fill_1_line, FillParams, p) { fill_line<u8>(p); }
ULIB_KERNEL(ulib_fill_2_line, FillParams, p) { fill_line<u16>(p); }
ULIB_KERNEL(ulib_fill_4_line, FillParams, p) { fill_line<u32>(p); }
ULIB_KERNEL(ulib_fill_8_line, FillParams, p) { fill_line<u64>(p); }
ULIB_KERNEL(ulib_fill_16_line, FillParams, p) { fill_line<uint4>(p); }
ULIB_KERNEL(ulib_fill_1_axes, FillParams, p) { fill_axes<u8>(p); }
ULIB_KERNEL(ulib_fill_2_axes, FillParams, p) { fill_axes<u16>(p); }
ULIB_KERNEL(ulib_fill_4_axes, FillParams, p) { fill_axes<u32>(p); }
ULIB_KERNEL(ulib_fill_8_axes, FillParams, p) { fill_axes<u64>(p); }
ULIB_KERNEL(ulib_fill_16_axes, FillParams, p) { fill_axes<uint4>(p); }
