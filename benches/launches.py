"""Times of launching and compiling kernels, of memory and of graphs, on this machine's GPU: ``python benches/launches.py``.

A launch is timed over many in a row, as the host sees it; the fastest of several rounds counts. A compilation is timed cold (nothing
kept) and kept. Beside them, in the same run: the same launch from C++ (where there is nvcc), by CuPy (where it is installed), and from
Rust (``--rust PROGRAM``, where the program is ``benches/launches.rs`` compiled).
"""

import argparse
import ctypes
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import uLib.cuda.driver as cuda
from uLib.cuda import compiler

SOURCE = "__global__ void scale(float *a, float by, int n) { if (threadIdx.x < n) a[threadIdx.x] *= by; }\n"
INCLUDES = "#include <stdint.h>\n#include <math.h>\n#include <pycuda-complex.hpp>\n"

CPP = r"""
#include <algorithm>
#include <chrono>
#include <cstdio>
__global__ void scale(float *a, float by, int n) { if (threadIdx.x < n) a[threadIdx.x] *= by; }
int main()
{
    float *a, best = 1e9f;
    cudaMalloc(&a, 4096);
    for (int round = 0; round < 7; round++) {
        cudaDeviceSynchronize();
        auto begin = std::chrono::steady_clock::now();
        for (int time = 0; time < 2000; time++) scale<<<1, 32>>>(a, 1.0f, 32);
        std::chrono::duration<float, std::micro> all = std::chrono::steady_clock::now() - begin;
        best = std::min(best, all.count() / 2000);
        cudaDeviceSynchronize();
    }
    printf("%-32s %8.2f us\n", "launch from C++ (<<<>>>)", best);
}
"""


def cpp():
    """The launch from C++, by its own program."""
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    if not pathlib.Path(nvcc).exists():
        print("launch from C++: there is no nvcc")
        return
    with tempfile.TemporaryDirectory() as folder:
        source, program = f"{folder}/launch.cu", f"{folder}/launch"
        pathlib.Path(source).write_text(CPP)
        subprocess.run([nvcc, "-O2", "-arch=native", "-o", program, source], check=True)
        sys.stdout.flush()
        subprocess.run([program], check=True)


def cupy_launch():
    try:
        import cupy
    except ImportError:
        print("launch by CuPy: it is not installed")
        return
    kernel = cupy.RawKernel('extern "C" ' + SOURCE, "scale")
    x, by, n = cupy.zeros(32, "f4"), cupy.float32(1), cupy.int32(32)
    launches("launch by CuPy's RawKernel", lambda: kernel((1,), (32,), (x, by, n)))
    launches("CuPy's pool, 1 MiB", lambda: cupy.cuda.alloc(1 << 20))


def graphs(function, a):
    """20 launches, one by one and as a graph."""
    stream = cuda.Stream()
    prepared = function.prepare("Pfi").prepared_async_call

    def work():
        for _ in range(20):
            prepared((1, 1), (32, 1, 1), stream, a, 1.0, 32)

    launches("20 launches, one by one", work, times=100)
    with stream.capture() as graph:
        work()
    replay = graph.instantiate()
    launches("20 launches, a graph", lambda: replay.launch(stream), times=100)


def launches(name, call, rounds=7, times=2000):
    best = float("inf")
    for _ in range(rounds):
        cuda.Context.synchronize()
        begin = time.perf_counter()
        for _ in range(times):
            call()
        best = min(best, (time.perf_counter() - begin) / times)
        cuda.Context.synchronize()
    print(f"{name:32} {best * 1e6:8.2f} us")


def compilations(name, call, rounds):
    seconds = []
    for number in range(rounds):
        begin = time.perf_counter()
        call(number)
        seconds.append(time.perf_counter() - begin)
    print(f"{name:32} {statistics.median(seconds) * 1e3:8.3f} ms")


def main():
    options = argparse.ArgumentParser(description="Times launches, compilations, memory and graphs on this machine's GPU.")
    options.add_argument("--rust", metavar="PROGRAM", help="benches/launches.rs, compiled")
    options = options.parse_args()
    function = compiler.SourceModule(SOURCE).get_function("scale")
    context = cuda.Device(0).make_context()
    a = cuda.to_device(np.zeros(32, np.float32))
    by, n = np.float32(1), np.int32(32)
    block, grid = (32, 1, 1), (1, 1)
    launches("plain, numbers of NumPy", lambda: function(a, by, n, block=block, grid=grid))
    launches("plain, numbers of Python", lambda: function(a, 1.0, 32, block=block, grid=grid))
    prepared = function.prepare("Pfi").prepared_call
    launches("prepared, numbers of Python", lambda: prepared(grid, block, a, 1.0, 32))
    cpp()
    if options.rust:
        sys.stdout.flush()
        subprocess.run([options.rust, "--bench"], check=True)
    cupy_launch()
    graphs(function, a)
    pool = cuda.DeviceMemoryPool()
    launches("pool, 1 MiB", lambda: pool.allocate(1 << 20))
    # The driver maps memory in blocks of 2 MiB; where none is left of such a block, mapping is what is timed.
    beside = cuda.mem_alloc(1 << 20)
    launches("mem_alloc, 1 MiB", lambda: cuda.mem_alloc(1 << 20), times=200)
    driver, address = ctypes.CDLL("libcuda.so.1"), ctypes.c_uint64()

    def raw():
        driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(1 << 20))
        driver.cuMemFree_v2(address)

    launches("cuMemAlloc by ctypes, 1 MiB", raw, times=200)
    beside.free()
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("one line", SOURCE), ("with includes", INCLUDES + SOURCE)):
            compilations(f"{name}, cold", lambda k, s=text: compiler.compile(s + f"// {k}", cache_dir=folder), 9)
            compilations(f"{name}, kept", lambda _k, s=text: compiler.compile(s + "// 0", cache_dir=folder), 99)
    context.pop()


if __name__ == "__main__":
    main()
