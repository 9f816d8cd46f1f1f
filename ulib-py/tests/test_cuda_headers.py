"""Headers of the toolkit and of the C library in kernels: where they come from, who has them when they are missing, what they do."""

import re

import numpy as np
import pytest
import uLib.cuda.driver as cuda
from conftest import skip_or_fail
from uLib.cuda import compiler
from uLib.cuda.compiler import DynamicSourceModule, SourceModule

PTX = {"arch": "compute_80", "cache_dir": False}

TOOLKIT = {
    "curand_kernel.h": "curandState s; curand_init(1, 0, 0, &s); *out = curand_uniform(&s);",
    "cooperative_groups.h": "cooperative_groups::this_thread_block().sync(); *out = 1;",
    "cuda_fp16.h": "*out = __half2float(__float2half(1.5f));",
    "cuda_bf16.h": "*out = __bfloat162float(__float2bfloat16(1.5f));",
}

# Which package has a header, by how its name begins; the first counts.
PACKAGES = {
    "curand": "nvidia-curand",
    "(cub|cuda|nv|thrust)/": "nvidia-cuda-cccl",
    "crt/": "nvidia-cuda-(crt|nvcc)",
    "": "nvidia-cuda-runtime",
}

PARENT = """
__global__ void child(int *out, int row) { out[row * 8 + threadIdx.x] = 100 * row + threadIdx.x; }
__global__ void parent(int *out) { child<<<1, 8>>>(out, threadIdx.x); }
"""

def program(header):
    return f"#include <{header}>\n__global__ void f(float *out) {{ {TOOLKIT[header]} }}\n"


@pytest.fixture
def has():
    """Skips, or fails, where a header of the toolkit is not installed."""

    def check(*headers):
        for header in headers:
            try:
                compiler.compile(f"#include <{header}>\n", **PTX)
            except cuda.CompileError as error:
                skip_or_fail(error.stderr.splitlines()[-1])

    return check


@pytest.mark.parametrize("header", ["type_traits", "limits", "utility", "vector", "string", "cuda/std/limits", "cub/cub.cuh", "thrust/sort.h"])
def test_headers_of_cpp_compile_or_are_named_with_their_package(nvrtc, header):
    try:
        compiler.compile(f"#include <{header}>\n", **PTX)
    except cuda.CompileError as error:
        missing, last = re.search(r'open source file "([^"]+)"', error.stderr)[1], error.stderr.splitlines()[-1]
        if missing != header:
            return  # One that it includes.
        assert re.search(r"the Python package nvidia-cuda-cccl(-cu1[12])? \(`pip install nvidia-cuda-cccl(-cu1[12])?`\)", last), last
        assert ("NVRTC has no standard library" in last) == ("/" not in header)


@pytest.mark.parametrize("header", TOOLKIT)
def test_headers_of_the_toolkit_compile_or_are_named_with_their_package(nvrtc, header):
    try:
        assert b".entry f(" in compiler.compile(program(header), **PTX)
    except cuda.CompileError as error:
        # The header itself may be there, and what is missing one that it includes.
        missing = re.search(r'open source file "([^"]+)"', error.stderr)[1]
        package = next(package for pattern, package in PACKAGES.items() if re.match(pattern, missing))
        last = error.stderr.splitlines()[-1]
        assert re.match(rf"{re.escape(missing)} is part of the Python package {package}(-cu1[12])? \(`pip install", last), last
        assert "CUDA_HOME" in last


@pytest.mark.parametrize("header", ["math.h", "stdio.h", "stdint.h", "cmath", "cstdio", "cstdint", "stdlib.h", "string.h", "assert.h"])
def test_headers_of_the_c_library_are_always_there(nvrtc, header):
    source = f"""
#include <{header}>
__global__ void f(float *out) {{ *out = sinf(*out); printf("%g", *out); }}
"""
    assert b".entry f(" in compiler.compile(source, **PTX)


def test_a_kernel_that_launches_kernels_is_linked_with_the_runtime(fake, nvrtc, has):
    """The software driver takes the library and ignores it; that it is found, and the source compiled for linking, is the point."""
    has("cuda_device_runtime_api.h")
    try:
        module = DynamicSourceModule(PARENT, arch="compute_80", cache_dir=False)
    except cuda.RuntimeError as error:
        skip_or_fail(str(error))
    assert module.get_function("parent").parameters == [(0, 8)]
    with pytest.raises(TypeError, match=r"parameter #1 \(0-based\) of kernel child: float"):
        module.get_function("child")(0, 1.0, block=(8, 1, 1))


def test_a_header_of_ones_own_gets_no_hint(nvrtc):
    with pytest.raises(cuda.CompileError) as caught:
        compiler.compile('#include "mine.h"\n', **PTX)
    assert "mine.h" in caught.value.stderr and "package" not in caught.value.stderr


# What follows runs on a card.


def test_a_card_computes_with_the_headers_of_habit(real, nvrtc):
    source = """
#include <cuda.h>
#include <cuda_runtime.h>
#include <device_launch_parameters.h>
#include <math_constants.h>
#include <cuComplex.h>
__global__ void all(CUdeviceptr in, cuDoubleComplex *out, int n) {
    int i = threadIdx.x;
    const cuDoubleComplex *a = (const cuDoubleComplex *)in, *b = a + n;
    out[i] = cuCmul(a[i], b[i]);
    out[n + i] = cuCdiv(a[i], b[i]);
    out[2 * n + i] = cuCfma(a[i], b[i], cuConj(a[i]));
    out[3 * n + i] = make_cuDoubleComplex(cuCabs(a[i]) * CUDART_PI, CUDA_VERSION);
}
"""
    n = 64
    rng = np.random.default_rng(3)
    a = rng.normal(size=(2, n)) + 1j * rng.normal(size=(2, n))
    out = np.zeros((4, n), complex)
    SourceModule(source).get_function("all")(cuda.In(a), cuda.Out(out), n, block=(n, 1, 1))
    x, y = a
    np.testing.assert_allclose(out[:3], [x * y, x / y, x * y + x.conj()], rtol=1e-13)
    np.testing.assert_allclose(out[3].real, abs(x) * np.pi, rtol=1e-14)
    assert out[3, 0].imag >= 11000 and (out[3].imag == out[3, 0].imag).all()


def test_a_card_draws_uniform_numbers(real, nvrtc, has):
    has("curand_kernel.h")
    source = """
#include <curand_kernel.h>
__global__ void draw(float *out, unsigned long long seed, int each) {
    int id = blockIdx.x * blockDim.x + threadIdx.x;
    curandState state;
    curand_init(seed, id, 0, &state);
    for (int i = 0; i < each; ++i) out[id * each + i] = curand_uniform(&state);
}
"""
    draw = SourceModule(source).get_function("draw")
    out = np.zeros((1024, 100), np.float32)
    draw(cuda.Out(out), 7, 100, block=(256, 1, 1), grid=(4, 1))
    assert out.min() > 0 and out.max() <= 1
    # The mean of 102400 uniform numbers has a standard deviation of 0.0009, their variance one of 0.00023.
    assert abs(out.mean(dtype=float) - 0.5) < 0.005 and abs(out.var(dtype=float) - 1 / 12) < 0.0015
    assert len(np.unique(out)) > 100_000
    again, other = np.zeros_like(out), np.zeros_like(out)
    draw(cuda.Out(again), 7, 100, block=(256, 1, 1), grid=(4, 1))
    draw(cuda.Out(other), 8, 100, block=(256, 1, 1), grid=(4, 1))
    assert np.array_equal(out, again) and not np.array_equal(out, other)


def test_a_cards_groups_cooperate(real, nvrtc, has):
    """Blocks add up parts, wait for the whole grid, and each then sees the sum of all."""
    has("cooperative_groups.h")
    source = """
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void total(const int *a, int *parts, int *out, int n) {
    cg::thread_block_tile<32> warp = cg::tiled_partition<32>(cg::this_thread_block());
    int sum = 0;
    for (int i = blockIdx.x * 32 + warp.thread_rank(); i < n; i += gridDim.x * 32) sum += a[i];
    for (int step = 16; step > 0; step /= 2) sum += warp.shfl_down(sum, step);
    if (warp.thread_rank() == 0) parts[blockIdx.x] = sum;
    cg::this_grid().sync();
    if (warp.thread_rank() == 0) {
        out[blockIdx.x] = 0;
        for (unsigned i = 0; i < gridDim.x; ++i) out[blockIdx.x] += parts[i];
    }
}
"""
    a = np.arange(10_000, dtype=np.int32)
    out = np.zeros(16, np.int32)
    parts = cuda.mem_alloc(out.nbytes)
    total = SourceModule(source).get_function("total")
    total(cuda.In(a), parts, cuda.Out(out), len(a), block=(32, 1, 1), grid=(16, 1), cooperative=True)
    assert list(out) == [10_000 * 9_999 // 2] * 16


def test_a_card_computes_in_half_precision(real, nvrtc, has):
    has("cuda_fp16.h", "cuda_bf16.h")
    source = """
#include <cuda_fp16.h>
#include <cuda_bf16.h>
__global__ void both(float *out, __half a, __nv_bfloat16 b, const __half *c) {
    out[0] = __half2float(__hadd(a, c[threadIdx.x]));
    out[1] = __bfloat162float(b);
}
"""
    both = SourceModule(source).get_function("both")
    out = np.zeros(2, np.float32)
    a, c = np.float16(1.0), np.array([2.0**-10], np.float16)
    # The upper half of 3.0f.
    b = np.frombuffer(np.float32(3).tobytes()[2:], np.uint16)[0]
    both(cuda.Out(out), a, b, cuda.In(c), block=(1, 1, 1))
    assert list(out) == [1 + 2.0**-10, 3]
    for wrong in (1, 1.0, True):
        with pytest.raises(TypeError, match="parameter #1 .* a struct of 2 bytes: say which half precision"):
            both(cuda.Out(out), wrong, b, cuda.In(c), block=(1, 1, 1))


def test_a_card_knows_the_kinds_of_machine_code(real, nvrtc, tmp_path):
    """Also when it comes from the cache, and of kernels that are found by a name expression."""
    source = """
template <typename T> __global__ void fill(T *out, T value, int n) { for (int i = 0; i < n; ++i) out[i] = value; }
"""
    for _ in range(2):
        module = SourceModule(source, no_extern_c=True, name_expressions=["fill<float>"], cache_dir=tmp_path)
        fill = module.get_function("fill<float>")
        out = np.zeros(3, np.float32)
        fill(cuda.Out(out), 2, 3, block=(1, 1, 1))
        assert list(out) == [2, 2, 2]
        with pytest.raises(TypeError, match=r"parameter #2 \(0-based\) .* float, and the parameter is an integer of 4 bytes"):
            fill(cuda.Out(out), 2, 3.0, block=(1, 1, 1))
        with pytest.raises(TypeError, match="int32, and the parameter is a floating-point number of 4 bytes"):
            fill(cuda.Out(out), np.int32(2), 3, block=(1, 1, 1))
        with pytest.raises(cuda.LogicError, match=r"#1 \(0-based\) .* is a floating-point number of 4 bytes, and its type an integer"):
            fill.prepare("PiI")
        assert list(out) == [2, 2, 2]


def test_a_cards_kernels_launch_kernels(real, nvrtc, has):
    """A parent of four threads launches a child for each row; the numbers are the child's."""
    has("cuda_device_runtime_api.h")
    module = DynamicSourceModule(PARENT)
    out = np.zeros((4, 8), np.int32)
    module.get_function("parent")(cuda.InOut(out), block=(4, 1, 1))
    np.testing.assert_array_equal(out, 100 * np.arange(4)[:, None] + np.arange(8))
    with pytest.raises(TypeError, match="float, and the parameter is an integer"):
        module.get_function("child")(cuda.InOut(out), 1.0, block=(8, 1, 1))
