// Counting into bins: lanes of a warp that name the same bin are added at once where they are many, so that an image of few
// values does not make them wait for each other. All 32 lanes of a warp call it together.
#ifndef ULIB_TALLY_CUH
#define ULIB_TALLY_CUH
#include "common.cuh"

#define ULIB_NO_BIN 0xffffffffu
#define ULIB_FULL_WARP 0xffffffffu

// Adds to counters[bin * step] the number of lanes that named it. Lanes with ULIB_NO_BIN name none.
template <class Counter>
ULIB_FN void tally(Counter* counters, u32 bin, u32 step) {
  const bool leads = (threadIdx.x & 31) == 0;
  const bool same = bin == __shfl_sync(ULIB_FULL_WARP, bin, 0);
  const u32 together = (u32)__popc(__ballot_sync(ULIB_FULL_WARP, same));
  // Lanes that name one counter wait for each other: where many name that of the first, it adds for all of them.
  const bool many = together >= 8;
  if (bin != ULIB_NO_BIN && (leads || !(many && same))) atomicAdd(counters + (u64)bin * step, (Counter)(many && leads ? together : 1));
}

#endif
