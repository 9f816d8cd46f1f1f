"""Times of launching a kernel from Python and of compiling one, on this machine's GPU: ``python benches/launches.py``.

A launch is timed over many in a row; the fastest of several rounds counts. A compilation is timed cold (nothing kept) and kept.
"""

import statistics
import tempfile
import time

import numpy as np
import uLib.cuda.driver as cuda
from uLib.cuda import compiler

SOURCE = "__global__ void scale(float *a, float by, int n) { if (threadIdx.x < n) a[threadIdx.x] *= by; }\n"
INCLUDES = "#include <stdint.h>\n#include <math.h>\n#include <pycuda-complex.hpp>\n"


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
    function = compiler.SourceModule(SOURCE).get_function("scale")
    a = cuda.to_device(np.zeros(32, np.float32))
    by, n = np.float32(1), np.int32(32)
    block, grid = (32, 1, 1), (1, 1)
    launches("plain, numbers of NumPy", lambda: function(a, by, n, block=block, grid=grid))
    launches("plain, numbers of Python", lambda: function(a, 1.0, 32, block=block, grid=grid))
    prepared = function.prepare("Pfi").prepared_call
    launches("prepared, numbers of Python", lambda: prepared(grid, block, a, 1.0, 32))
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("one line", SOURCE), ("with includes", INCLUDES + SOURCE)):
            compilations(f"{name}, cold", lambda k, s=text: compiler.compile(s + f"// {k}", cache_dir=folder), 9)
            compilations(f"{name}, kept", lambda _k, s=text: compiler.compile(s + "// 0", cache_dir=folder), 99)


if __name__ == "__main__":
    main()
