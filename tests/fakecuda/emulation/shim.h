// Lets a kernel source compile as C++: the built-in variables, qualifiers and types it uses, and the macros that turn a
// kernel into an entry of the table read by src/emulation.rs. One kernel file is one translation unit.
//
// ULIB_KERNEL threads run as plain loops. ULIB_KERNEL_SYNC threads are fibers (fibers.cpp), one block at a time, so that
// __syncthreads and warp shuffles wait for each other as on a card.
#pragma once
#define ULIB_EMULATED 1

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <math.h>

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef int i32;
typedef unsigned long long u64;
typedef long long i64;

struct ulib_dim3 {
  u32 x, y, z;
};
extern thread_local ulib_dim3 threadIdx, blockIdx, blockDim, gridDim;

struct alignas(16) uint4 {
  u32 x, y, z, w;
};
static inline uint4 make_uint4(u32 x, u32 y, u32 z, u32 w) { return uint4{x, y, z, w}; }

#define __device__
#define __forceinline__ inline
#define __shared__ static thread_local

namespace ulib_emulation {

// A kernel with its parameters bound; called once for each thread.
struct Body {
  void (*call)(const void* params);
  const void* params;
};

struct Entry {
  const char* name;
  int (*run)(void** args, const uint32_t grid[3], const uint32_t block[3], uint32_t shared);
  size_t param_bytes;
};

// Status codes of the driver that a run can give.
enum { SUCCESS = 0, INVALID_VALUE = 1, LAUNCH_FAILED = 719 };

int run_plain(const Body& body, const uint32_t grid[3], const uint32_t block[3]);
int run_fibers(const Body& body, const uint32_t grid[3], const uint32_t block[3]);
void block_barrier();
// Leaves `bits` for the other lanes of the warp, waits for them and gives back what lane `own ^ mask` left.
u64 warp_exchange(u64 bits, u32 mask);
// As above, and gives back what lane `lane` left; or, as one bit a lane, which of the lanes that take part left not 0.
u64 warp_read(u64 bits, u32 lane);
u32 warp_ballot(u64 bits);
void add(const Entry& entry);

struct Registrar {
  explicit Registrar(const Entry& entry) { add(entry); }
};

}  // namespace ulib_emulation

static inline double __dsqrt_rn(double x) { return std::sqrt(x); }

static inline void __syncthreads() { ulib_emulation::block_barrier(); }

template <class T>
static inline T __shfl_xor_sync(u32, T value, int mask) {
  static_assert(sizeof(T) <= 8, "shuffles move up to 8 bytes");
  u64 bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  bits = ulib_emulation::warp_exchange(bits, static_cast<u32>(mask));
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

template <class T>
static inline T __shfl_sync(u32, T value, int lane) {
  static_assert(sizeof(T) <= 8, "shuffles move up to 8 bytes");
  u64 bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  bits = ulib_emulation::warp_read(bits, static_cast<u32>(lane));
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

static inline u32 __ballot_sync(u32, int predicate) { return ulib_emulation::warp_ballot(predicate != 0); }
static inline int __popc(u32 x) { return __builtin_popcount(x); }
static inline int __ffs(int x) { return __builtin_ffs(x); }
static inline u32 atomicAdd(u32* at, u32 x) { return __atomic_fetch_add(at, x, __ATOMIC_RELAXED); }
static inline u64 atomicAdd(u64* at, u64 x) { return __atomic_fetch_add(at, x, __ATOMIC_RELAXED); }

#define ULIB_EMULATED_KERNEL(name, Params, p, runner)                                                             \
  static void name(const Params p);                                                                               \
  static void name##_call(const void* params) { name(*static_cast<const Params*>(params)); }                      \
  static int name##_run(void** args, const uint32_t grid[3], const uint32_t block[3], uint32_t) {                 \
    Params params;                                                                                                \
    std::memcpy(&params, args[0], sizeof params);                                                                 \
    return ulib_emulation::runner(ulib_emulation::Body{name##_call, &params}, grid, block);                       \
  }                                                                                                               \
  static const ulib_emulation::Registrar name##_entry(ulib_emulation::Entry{#name, name##_run, sizeof(Params)}); \
  static void name(const Params p)

#define ULIB_KERNEL(name, Params, p) ULIB_EMULATED_KERNEL(name, Params, p, run_plain)
#define ULIB_KERNEL_SYNC(name, Params, p) ULIB_EMULATED_KERNEL(name, Params, p, run_fibers)
