"""Words for kernels that are written for CUDA and OpenCL alike: ``CLUDA_PREAMBLE`` says what they are in CUDA."""

from __future__ import annotations

__all__ = ["CLUDA_PREAMBLE"]

CLUDA_PREAMBLE = """
#define CUDA
// Beside a function, a kernel, memory and a parameter.
#define WITHIN_KERNEL __device__
#define KERNEL extern "C" __global__
#define GLOBAL_MEM /* a pointer needs no word */
#define LOCAL_MEM __shared__
#define LOCAL_MEM_DYNAMIC extern __shared__
#define LOCAL_MEM_ARG /* a pointer needs no word */
#define CONSTANT __constant__
#define INLINE __forceinline__
#define SIZE_T unsigned int
#define VSIZE_T unsigned int
#define REQD_WG_SIZE(X, Y, Z) __launch_bounds__((X) * (Y) * (Z))
// Where a thread is in its block, where that is in the grid, and how large both are.
#define LID_0 threadIdx.x
#define LID_1 threadIdx.y
#define LID_2 threadIdx.z
#define GID_0 blockIdx.x
#define GID_1 blockIdx.y
#define GID_2 blockIdx.z
#define LDIM_0 blockDim.x
#define LDIM_1 blockDim.y
#define LDIM_2 blockDim.z
#define GDIM_0 gridDim.x
#define GDIM_1 gridDim.y
#define GDIM_2 gridDim.z
// All threads of a block wait for each other.
#define local_barrier() __syncthreads()
"""
"""Text to put before a kernel's source."""
