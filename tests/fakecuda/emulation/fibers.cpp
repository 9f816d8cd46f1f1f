// Runs emulated kernels: plain loops over blocks and threads, or one block at a time with its threads as fibers.
#include <memory>
#include <vector>

#include "context.h"
#include "shim.h"

thread_local ulib_dim3 threadIdx, blockIdx, blockDim, gridDim;

namespace {

using ulib_emulation::Body;

const size_t STACK_BYTES = 64 * 1024;
const u32 MAX_THREADS = 1024;
const u32 WARP = 32;

enum Waiting { RUNNABLE, AT_BLOCK, AT_WARP, DONE };

struct Fiber {
  Context context;
  std::unique_ptr<char[]> stack;
  ulib_dim3 thread;
  Waiting waiting;
  u32 round;  // number of warp exchanges so far: its parity picks the side of the slots
};

// One block being run. The slots of a warp are double: a lane may already write for the next exchange while a
// neighbour has not yet read this one.
struct Block {
  std::vector<Fiber> fibers;
  std::vector<u64> slots[2];
  Context scheduler;
  const Body* body;
  u32 threads;
  u32 current;
};

thread_local std::unique_ptr<Block> block_state;

void fiber_main() {
  Block& block = *block_state;
  block.body->call(block.body->params);
  block.fibers[block.current].waiting = DONE;
  block.fibers[block.current].context.switch_to(block.scheduler);
}

void wait_for(Waiting what) {
  Block& block = *block_state;
  Fiber& fiber = block.fibers[block.current];
  fiber.waiting = what;
  fiber.context.switch_to(block.scheduler);
}

// Lets the fibers [begin, end) go on if every one of them that still runs waits for `what`. A lane that has left the
// kernel is not waited for.
bool release(Block& block, u32 begin, u32 end, Waiting what) {
  bool any = false;
  for (u32 i = begin; i < end; ++i) {
    if (block.fibers[i].waiting == DONE) continue;
    if (block.fibers[i].waiting != what) return false;
    any = true;
  }
  if (!any) return false;
  for (u32 i = begin; i < end; ++i) {
    if (block.fibers[i].waiting == what) block.fibers[i].waiting = RUNNABLE;
  }
  return true;
}

// False when threads wait for each other in vain: a barrier in a branch that not all of them take.
bool run_block(Block& block) {
  for (u32 i = 0; i < block.threads; ++i) {
    Fiber& fiber = block.fibers[i];
    fiber.waiting = RUNNABLE;
    fiber.round = 0;
    fiber.context.start(fiber.stack.get(), STACK_BYTES, fiber_main);
  }
  for (;;) {
    bool progress = false;
    for (u32 warp = 0; warp < block.threads; warp += WARP) {
      const u32 end = warp + WARP < block.threads ? warp + WARP : block.threads;
      do {
        for (u32 i = warp; i < end; ++i) {
          if (block.fibers[i].waiting != RUNNABLE) continue;
          progress = true;
          block.current = i;
          threadIdx = block.fibers[i].thread;
          block.scheduler.switch_to(block.fibers[i].context);
        }
      } while (release(block, warp, end, AT_WARP));
    }
    if (release(block, 0, block.threads, AT_BLOCK)) continue;
    bool done = true;
    for (u32 i = 0; i < block.threads; ++i) done = done && block.fibers[i].waiting == DONE;
    if (done) return true;
    if (!progress) return false;
  }
}

bool valid(const uint32_t grid[3], const uint32_t block[3]) {
  for (int d = 0; d < 3; ++d) {
    if (grid[d] == 0 || block[d] == 0 || block[d] > MAX_THREADS) return false;
  }
  return u64(block[0]) * block[1] * block[2] <= MAX_THREADS;
}

template <class Run>
int each_block(const uint32_t grid[3], const uint32_t block[3], Run run) {
  if (!valid(grid, block)) return ulib_emulation::INVALID_VALUE;
  gridDim = ulib_dim3{grid[0], grid[1], grid[2]};
  blockDim = ulib_dim3{block[0], block[1], block[2]};
  for (u32 z = 0; z < grid[2]; ++z) {
    for (u32 y = 0; y < grid[1]; ++y) {
      for (u32 x = 0; x < grid[0]; ++x) {
        blockIdx = ulib_dim3{x, y, z};
        if (!run()) return ulib_emulation::LAUNCH_FAILED;
      }
    }
  }
  return ulib_emulation::SUCCESS;
}

template <class Run>
void each_thread(const uint32_t block[3], Run run) {
  for (u32 z = 0; z < block[2]; ++z) {
    for (u32 y = 0; y < block[1]; ++y) {
      for (u32 x = 0; x < block[0]; ++x) run(ulib_dim3{x, y, z});
    }
  }
}

}  // namespace

int ulib_emulation::run_plain(const Body& body, const uint32_t grid[3], const uint32_t block[3]) {
  return each_block(grid, block, [&] {
    each_thread(block, [&](ulib_dim3 thread) {
      threadIdx = thread;
      body.call(body.params);
    });
    return true;
  });
}

int ulib_emulation::run_fibers(const Body& body, const uint32_t grid[3], const uint32_t block[3]) {
  if (!valid(grid, block)) return INVALID_VALUE;
  if (!block_state) block_state.reset(new Block());
  Block& state = *block_state;
  state.body = &body;
  state.threads = block[0] * block[1] * block[2];
  if (state.fibers.size() < state.threads) state.fibers.resize(state.threads);
  for (std::vector<u64>& side : state.slots) side.resize(MAX_THREADS);
  u32 next = 0;
  each_thread(block, [&](ulib_dim3 thread) {
    Fiber& fiber = state.fibers[next++];
    fiber.thread = thread;
    if (!fiber.stack) fiber.stack.reset(new char[STACK_BYTES]);
  });
  return each_block(grid, block, [&] { return run_block(state); });
}

void ulib_emulation::block_barrier() { wait_for(AT_BLOCK); }

namespace {

// Leaves `bits` for the warp, waits, and says which side of the slots holds what was left.
u32 leave(Block& block, u64 bits) {
  const u32 own = block.current;
  const u32 side = block.fibers[own].round++ & 1;
  block.slots[side][own] = bits;
  wait_for(AT_WARP);
  return side;
}

}  // namespace

u64 ulib_emulation::warp_exchange(u64 bits, u32 mask) {
  Block& block = *block_state;
  const u32 own = block.current;
  const u32 side = leave(block, bits);
  const u32 other = own ^ (mask & (WARP - 1));
  return block.slots[side][other < block.threads ? other : own];
}

u64 ulib_emulation::warp_read(u64 bits, u32 lane) {
  Block& block = *block_state;
  const u32 own = block.current;
  const u32 side = leave(block, bits);
  const u32 other = own / WARP * WARP + (lane & (WARP - 1));
  return block.slots[side][other < block.threads ? other : own];
}

u32 ulib_emulation::warp_ballot(u64 bits) {
  Block& block = *block_state;
  const u32 own = block.current;
  const u32 side = leave(block, bits);
  const u32 first = own / WARP * WARP;
  u32 ballot = 0;
  for (u32 lane = 0; lane < WARP && first + lane < block.threads; ++lane) {
    // A lane that has left the kernel before has taken part in fewer exchanges.
    const bool there = block.fibers[first + lane].round >= block.fibers[own].round;
    if (there && block.slots[side][first + lane] != 0) ballot |= 1u << lane;
  }
  return ballot;
}
