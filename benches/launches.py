"""Times of launching and compiling kernels, of memory and of graphs, on this machine's GPU: ``python benches/launches.py``.

A launch is timed over many in a row, as the host sees it, without waiting for the kernels. Beside it, in turns with it in the same process,
the same launch from C++ (where there is nvcc) and by CuPy (where it is installed): the fastest round of each counts, and the median of
the ratios of all rounds. From Rust it is timed by a program of its own (``--rust PROGRAM``: ``benches/launches.rs`` compiled), in the same
way. A compilation is timed cold (nothing kept) and kept.
"""

import argparse
import ctypes
import pathlib
import shutil
import statistics
import subprocess
import tempfile
import time
import timeit

import numpy as np
import uLib
import uLib.cuda.driver as cuda
from uLib.cuda import compiler

SOURCE = "__global__ void scale(float *a, float by, int n) { if (threadIdx.x < n) a[threadIdx.x] *= by; }\n"
INCLUDES = "#include <stdint.h>\n#include <math.h>\n#include <pycuda-complex.hpp>\n"

CPP = (
    SOURCE
    + r"""
#include <chrono>
extern "C" double launches(float *a, int times)
{
    auto begin = std::chrono::steady_clock::now();
    for (int time = 0; time < times; time++) scale<<<1, 32>>>(a, 1.0f, 32);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}
"""
)

# Rounds in which all take turns, and launches of each in a round: fewer than the device's queue has room for.
ROUNDS = 60
LAUNCHES = 500


def cpp(folder):
    """The launch from C++ as a library; None where there is no nvcc."""
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    if not pathlib.Path(nvcc).exists():
        print("launch from C++: there is no nvcc")
        return None
    source, library = f"{folder}/launch.cu", f"{folder}/launch.so"
    pathlib.Path(source).write_text(CPP)
    subprocess.run([nvcc, "-O2", "-arch=native", "-shared", "-Xcompiler", "-fPIC", "-o", library, source], check=True)
    return library


def from_cpp(library, a):
    """The seconds of so many launches from C++ onto an address, as a function."""
    function = ctypes.CDLL(library).launches
    function.argtypes, function.restype = (ctypes.c_void_p, ctypes.c_int), ctypes.c_double
    return lambda times: function(int(a), times)


def statement(text, **names):
    """The seconds of running a statement so many times, as a function."""
    return timeit.Timer(text, globals=names).timeit


def by_cupy():
    try:
        import cupy
    except ImportError:
        print("launch by CuPy: it is not installed")
        return {}
    names = {"kernel": cupy.RawKernel('extern "C" ' + SOURCE, "scale"), "x": cupy.zeros(32, "f4"), "by": cupy.float32(1), "n": cupy.int32(32)}
    return {"CuPy's RawKernel": statement("kernel((1,), (32,), (x, by, n))", **names)}


def launch(function, a, rust):
    """One launch, everywhere."""
    names = {"function": function, "a": a, "by": np.float32(1), "n": np.int32(32), "block": (32, 1, 1), "grid": (1, 1)}
    names["prepared"] = function.prepare("Pfi").prepared_call
    calls = {
        "function(...), numbers of NumPy": statement("function(a, by, n, block=block, grid=grid)", **names),
        "function(...), numbers of Python": statement("function(a, 1.0, 32, block=block, grid=grid)", **names),
        "prepared_call(...)": statement("prepared(grid, block, a, 1.0, 32)", **names),
        **by_cupy(),
    }
    with tempfile.TemporaryDirectory() as folder:
        if library := cpp(folder):
            calls = {"C++ (<<<>>>)": from_cpp(library, a), **calls}
        if rust:
            beside = ["--cpp", library] if library else []
            subprocess.run([rust, "--bench", *beside], check=True)
    seconds = {name: [] for name in calls}
    for _ in range(ROUNDS):
        for name, call in calls.items():
            cuda.Context.synchronize()
            seconds[name].append(call(LAUNCHES) / LAUNCHES)
    first = next(iter(seconds))
    for name, times in seconds.items():
        ratios = sorted(mine / its for mine, its in zip(times, seconds[first], strict=True))
        middle, low, high = (ratios[int(part * (ROUNDS - 1))] for part in (0.5, 0.1, 0.9))
        beside = f"   {middle:.2f} of {first} ({low:.2f} to {high:.2f} in eight of ten rounds)" if name != first else ""
        print(f"launch, {name:40} {min(times) * 1e6:8.2f} us{beside}", flush=True)


def graphs(function, a):
    """20 launches, one by one and as a graph."""
    stream = cuda.Stream()
    prepared = function.prepare("Pfi").prepared_async_call

    def work():
        for _ in range(20):
            prepared((1, 1), (32, 1, 1), stream, a, 1.0, 32)

    fastest("20 launches, one by one", statement("work()", work=work), times=25)
    with stream.capture() as graph:
        work()
    replay = graph.instantiate()
    fastest("20 launches, a graph", statement("launch(stream)", launch=replay.launch, stream=stream), times=100)


def pools():
    """A block of a pool, taken and freed."""
    fastest("pool, 1 MiB", statement("allocate(1 << 20)", allocate=cuda.DeviceMemoryPool().allocate))
    try:
        import cupy
    except ImportError:
        return
    fastest("CuPy's pool, 1 MiB", statement("allocate(1 << 20)", allocate=cupy.cuda.alloc))


def fastest(name, call, times=2000):
    best = float("inf")
    for _ in range(7):
        cuda.Context.synchronize()
        best = min(best, call(times) / times)
    cuda.Context.synchronize()
    print(f"{name:48} {best * 1e6:8.2f} us")


def compilations(name, call, rounds):
    seconds = []
    for number in range(rounds):
        begin = time.perf_counter()
        call(number)
        seconds.append(time.perf_counter() - begin)
    print(f"{name:48} {statistics.median(seconds) * 1e3:8.3f} ms")


def main():
    options = argparse.ArgumentParser(description="Times launches, compilations, memory and graphs on this machine's GPU.")
    options.add_argument("--rust", metavar="PROGRAM", help="benches/launches.rs, compiled")
    options = options.parse_args()
    if not uLib.device.available():
        raise SystemExit(f"nothing to time: {uLib.device.describe()}")
    function = compiler.SourceModule(SOURCE).get_function("scale")
    context = cuda.Device(0).make_context()
    a = cuda.to_device(np.zeros(32, np.float32))
    launch(function, a, options.rust)
    graphs(function, a)
    pools()
    # The driver maps memory in blocks of 2 MiB; where none is left of such a block, mapping is what is timed.
    beside = cuda.mem_alloc(1 << 20)
    fastest("mem_alloc, 1 MiB", statement("allocate(1 << 20)", allocate=cuda.mem_alloc), times=200)
    driver, address = ctypes.CDLL("libcuda.so.1"), ctypes.c_uint64()

    def raw():
        driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(1 << 20))
        driver.cuMemFree_v2(address)

    fastest("cuMemAlloc by ctypes, 1 MiB", statement("raw()", raw=raw), times=200)
    beside.free()
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("one line", SOURCE), ("with includes", INCLUDES + SOURCE)):
            compilations(f"{name}, cold", lambda k, s=text: compiler.compile(s + f"// {k}", cache_dir=folder), 9)
            compilations(f"{name}, kept", lambda _k, s=text: compiler.compile(s + "// 0", cache_dir=folder), 99)
    context.pop()


if __name__ == "__main__":
    main()
