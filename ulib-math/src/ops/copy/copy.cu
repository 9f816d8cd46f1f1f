// copy: dst[i] = src[i], both strided, the same element type. The host turns elements into units of 1, 2, 4, 8 or 16
// bytes, the largest that both layouts allow, so a record of any size is an axis of units.
// Axes operand 0 is src, operand 1 is dst; the fastest axis is dst's, so that writes are coalesced.
// Grid: any number of 256-thread blocks (grid-stride).
#include "../common.cuh"

struct CopyParams {
  u64 src;    // address of unit 0
  u64 dst;    // address of unit 0
  u64 units;  // number of units
  Axes<2> axes;
};
static_assert(sizeof(CopyParams) == 24 + sizeof(Axes<2>), "mirrored by copy/device.rs");

template <class U>
ULIB_FN void copy_axes(const CopyParams& p) {
  const u64 step = thread_count();
  const char* const src = address(p.src);
  char* const dst = address(p.dst);
  u64 i = thread_index();
  if (i >= p.units) return;
  if (p.axes.count == 1) {
    const i64 from = p.axes.stride[0][0];
    const i64 to = p.axes.stride[1][0];
    for (; i + 3 * step < p.units; i += 4 * step) {
      U unit[4];
#pragma unroll
      for (int k = 0; k < 4; ++k) unit[k] = *(const U*)(src + (i64)(i + k * step) * from);
#pragma unroll
      for (int k = 0; k < 4; ++k) *(U*)(dst + (i64)(i + k * step) * to) = unit[k];
    }
    for (; i < p.units; i += step) *(U*)(dst + (i64)i * to) = *(const U*)(src + (i64)i * from);
    return;
  }
  Walk<2> walk;
  walk.start(p.axes, i);
  for (;;) {
    *(U*)(dst + walk.offset[1]) = *(const U*)(src + walk.offset[0]);
    i += step;
    if (i >= p.units) return;
    walk.advance(p.axes);
  }
}

ULIB_KERNEL(ulib_copy_1, CopyParams, p) { copy_axes<u8>(p); }
ULIB_KERNEL(ulib_copy_2, CopyParams, p) { copy_axes<u16>(p); }
ULIB_KERNEL(ulib_copy_4, CopyParams, p) { copy_axes<u32>(p); }
ULIB_KERNEL(ulib_copy_8, CopyParams, p) { copy_axes<u64>(p); }
ULIB_KERNEL(ulib_copy_16, CopyParams, p) { copy_axes<uint4>(p); }
