// Counting into bins: the lanes of a warp that name the same bin are added at once, so that an image of few values does
// not make its lanes wait for each other. All 32 lanes of a warp call it together.
#ifndef ULIB_TALLY_CUH
#define ULIB_TALLY_CUH
#include "common.cuh"

#define ULIB_NO_BIN 0xffffffffu
#define ULIB_FULL_WARP 0xffffffffu

// Adds to counters[bin] the number of lanes that named it. Lanes with ULIB_NO_BIN name none.
template <class Counter>
ULIB_FN void tally(Counter* counters, u32 bin) {
  const u32 lane = threadIdx.x & 31;
  u32 todo = __ballot_sync(ULIB_FULL_WARP, bin != ULIB_NO_BIN);
  u32 together = 32;
  // The group of the first lane that is left; again while that pays.
  while (todo != 0 && together >= 8) {
    const u32 leader = (u32)__ffs((int)todo) - 1;
    const u32 same = __ballot_sync(ULIB_FULL_WARP, bin == __shfl_sync(ULIB_FULL_WARP, bin, (int)leader));
    together = (u32)__popc(same);
    if (lane == leader) atomicAdd(counters + bin, (Counter)together);
    todo &= ~same;
  }
  if ((todo >> lane & 1) != 0) atomicAdd(counters + bin, (Counter)1);
}

#endif
