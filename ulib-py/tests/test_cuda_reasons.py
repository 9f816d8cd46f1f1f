"""Ten reasons to move here from PyCUDA, each shown by something that PyCUDA does not do."""

import ctypes
import gc
import os
import threading
import time
import types
from pathlib import Path

import numpy as np
import pytest
import uLib
import uLib.cuda
import uLib.cuda.driver as cuda
from cuda_programs import HEAD, SOURCE, kernel
from uLib.cuda import gpuarray
from uLib.cuda.autotune import Autotuner
from uLib.cuda.tools import DeviceData, DeviceMemoryPool, OccupancyRecord


def test_1_importing_needs_neither_a_driver_nor_a_toolkit_nor_a_compiler(python):
    done = python(
        """
import sys
def refuse(event, arguments):
    assert event not in ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn"), (event, arguments)
sys.addaudithook(refuse)
import uLib.cuda.autotune, uLib.cuda.characterize, uLib.cuda.compiler, uLib.cuda.driver as cuda, uLib.cuda.gl
import uLib.cuda.gpuarray, uLib.cuda.tools
try:
    cuda.Device.count()
except cuda.RuntimeError as error:
    print(error)
loaded = open("/proc/self/maps").read()
assert not any(name in loaded for name in ("libcuda", "libcudart", "libcurand", "boost", "nvrtc", "fakecuda"))
""",
        PATH="",
        CUDA_PATH=None,
        CUDA_HOME=None,
        CUDA_ROOT=None,
        LD_LIBRARY_PATH=None,
        ULIB_CUDA_DRIVER="none",
    )
    assert "ULIB_CUDA_DRIVER" in done.stdout


def test_2_nothing_fails_for_want_of_a_context(gpu, python):
    """No autoinit; memory that another thread frees after its own has ended; contexts of other libraries; the process's exit."""
    done = python(
        """
import ctypes, os, threading
import uLib.cuda.driver as cuda
from uLib.cuda.tools import DeviceMemoryPool
made = {}
def make():
    made["memory"], made["stream"] = cuda.mem_alloc(100), cuda.Stream()
    made["event"] = cuda.Event().record(made["stream"])
    cuda.Device(0).make_context()
thread = threading.Thread(target=make)
thread.start()
thread.join()
cuda.memset_d8_async(made["memory"], 7, 100, made["stream"])
made["event"].record(made["stream"]).synchronize()
assert cuda.Context.get_current() is None
made.clear()
# What another library makes current is what is used.
context = cuda.Device(0).retain_primary_context()
path = os.environ.get("ULIB_CUDA_DRIVER") or "libcuda.so.1"
assert ctypes.CDLL(path).cuCtxPushCurrent_v2(ctypes.c_void_p(context.handle)) == 0
assert cuda.Context.get_current() == context
kept = [cuda.mem_alloc(10), cuda.Event(), DeviceMemoryPool().allocate(100), cuda.Device(0).make_context()]
kept.append(kept)
print("done")
"""
    )
    assert (done.stdout, done.stderr) == ("done\n", "")


def test_3_compiling_starts_no_process_and_is_done_once_for_all_processes(nvrtc, python, tmp_path):
    code = f"""
import hashlib, sys
def refuse(event, arguments):
    assert event not in ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork"), (event, arguments)
sys.addaudithook(refuse)
from uLib.cuda import compiler
source = "#include <stdint.h>\\n__global__ void f(uint32_t *a) {{ *a = 1; }}"
image = compiler.compile(source, arch="compute_75", cache_dir={str(tmp_path)!r})
print(hashlib.sha256(image).hexdigest(), "nvrtc" in open("/proc/self/maps").read())
"""
    first, compiled = python(code, PATH="").stdout.split()
    again, recompiled = python(code, PATH="").stdout.split()
    assert first == again and (compiled, recompiled) == ("True", "False")


def test_4_arrays_are_numpys(gpu):
    """The part of it that is here: views of every kind, and copies that never scramble."""
    given = np.arange(120, dtype=np.float32).reshape(4, 5, 6)
    array = gpuarray.to_gpu(given)
    for key in (np.s_[::-1], np.s_[:, ::-2, 1:], np.s_[3:1], np.s_[..., None, -1], np.s_[2, ::-1, ::3]):
        assert array[key].shape == given[key].shape
        assert (array[key].get() == given[key]).all()
    want = given.copy()
    want[1:3, ::2, ::-1] = given[1:3, ::2] * 2
    array[1:3, ::2, ::-1].set(given[1:3, ::2] * 2)
    assert (array.get() == want).all()
    array.set(np.asfortranarray(given))
    assert (array.get() == given).all()
    assert gpuarray.to_gpu(given.astype(np.float16)).get().dtype == np.float16


def test_5_arguments_of_todays_types_are_checked_against_the_kernel(fake):
    types_of = pytest.importorskip("ml_dtypes")
    parameters = ".param .u64 out, .param .b16 half, .param .b16 bf, .param .s8 flag, .param .s32 n, .param .f64 x"
    source = f"{HEAD}.visible .entry fakecuda_parameters({parameters})\n{{\n    ret;\n}}\n"
    function = cuda.module_from_buffer(source.encode()).get_function("fakecuda_parameters")
    out, block = cuda.mem_alloc(32), (1, 1, 1)
    function(out, np.float16(1.5), types_of.bfloat16(2.5), True, -7, 0.25, block=block)
    cuda.Context.synchronize()
    got = cuda.from_device(out, 32, np.uint8)
    assert got[8:10].view(np.float16) == 1.5 and got[10:12].tobytes() == types_of.bfloat16(2.5).tobytes()
    assert got[12] == 1 and got[16:20].view(np.int32) == -7 and got[24:].view(np.float64) == 0.25
    with pytest.raises(cuda.LogicError, match="takes 6 arguments, and got 2"):
        function(out, np.float16(1), block=block)
    with pytest.raises(cuda.LogicError, match=r"parameter #4 \(0-based\) of kernel fakecuda_parameters has 4 bytes"):
        function(out, np.float16(1), types_of.bfloat16(1), True, np.float64(1), 0.0, block=block)


def test_6_textures_graphs_cooperative_launches_priorities_and_foreign_streams(fake):
    array = cuda.np_to_array(np.zeros((4, 4), np.float32), "C", True)
    write, out = kernel(), cuda.mem_alloc(16)
    for made in (cuda.TextureObject(array, filter_mode=cuda.filter_mode.LINEAR), cuda.SurfaceObject(array)):
        write(out, made, block=1)
        assert cuda.from_device(out, 2, np.uint64)[1] == made.handle
    least, greatest = cuda.Stream.priority_range()
    stream = cuda.Stream(cuda.stream_flags.NON_BLOCKING, priority=greatest)
    assert stream.priority == greatest <= least
    foreign = cuda.Stream.from_handle(stream.handle)
    with foreign.capture() as graph:
        write(out, 1, block=1, stream=stream)
    with graph.instantiate() as ready:
        ready.set_kernel(0, write, out, 2, block=1)
        ready.launch(foreign)
        ready.synchronize()
    assert cuda.from_device(out, 2, np.uint64)[1] == 2
    # Cooperative, and with more shared memory than a kernel has unless it asks for it.
    write(out, 3, block=1, shared=99 << 10, cooperative=True, stream=stream)
    stream.synchronize()
    assert fake.count("cuLaunchCooperativeKernel") == 1
    assert cuda.from_device(out, 2, np.uint64)[1] == 3
    # And the driver's own pool, ordered by streams.
    fake("reset")
    with cuda.StreamMemoryPool().allocate(100, stream) as block:
        cuda.memset_d8_async(block, 4, 100, stream)
    assert fake.count("cuMemAllocFromPoolAsync") == 1


def test_6_texture_references_are_back(gpu):
    module = cuda.module_from_buffer(SOURCE)
    tex = module.get_texref("tex")
    cuda.matrix_to_texref(np.zeros((4, 4), np.float32), tex, "C")
    module.get_function("fakecuda_parameters")(cuda.mem_alloc(16), 0, block=(1, 1, 1), texrefs=[tex])
    assert cuda.from_device(module.get_global("tex")[0], 1, np.uint64)[0] != 0


def test_7_pools_mind_streams_have_limits_and_tell_what_is_left(fake):
    fake("deferred 1")
    gc.collect()
    before = cuda.live_objects()
    pool, stream = DeviceMemoryPool(limit=5000), cuda.Stream(1)
    with pool.allocate(1000, stream) as block:
        cuda.memset_d8_async(block, 1, 1000, stream)
    with pool.allocate(1000) as block:
        cuda.memset_d8(block, 2, 1000)
        stream.synchronize()
        assert (cuda.from_device(block, 1000, np.uint8) == 2).all(), "the first user's work came last"
    with pytest.raises(cuda.MemoryError, match="limit"):
        pool.allocate(6000)
    assert pool.statistics() and pool.limit == 5000
    now = cuda.live_objects()
    assert now["streams"] == before["streams"] + 1 and now["allocations"] >= before["allocations"]
    stream.close()
    pool.stop_holding()
    del pool
    cuda.Context.synchronize()
    gc.collect()
    assert cuda.live_objects()["streams"] == before["streams"]


def test_8_arrays_come_and_go_by_the_protocols(gpu):
    given = np.arange(6, dtype=np.float32).reshape(2, 3)
    # By the array interface, out and in.
    array = gpuarray.to_gpu(given)
    seen = array.__cuda_array_interface__
    assert seen["shape"] == (2, 3) and seen["data"][0] == int(array.gpudata)
    block = uLib.FloatCollection(array.reshape(6))
    assert list(block) == list(range(6))
    assert block.SetPreferredDevice("Device")
    back = np.zeros(6, np.float32)
    cuda.memcpy_dtoh(back, block)
    assert list(back) == list(range(6))
    # By DLPack, in and out: the memory is shared.
    adopted = gpuarray.from_dlpack(block)
    assert list(adopted.get()) == list(range(6))
    again = gpuarray.from_dlpack(array)
    again.fill(7)
    assert (array.get() == 7).all() and array.__dlpack_device__() == (2, 0)
    # Page-locked memory by the buffer protocol.
    locked = cuda.pagelocked_zeros(8, np.uint8)
    memoryview(locked.base)[2:4] = b"ab"
    assert locked.tobytes() == b"\0\0ab\0\0\0\0" and memoryview(locked.base).nbytes == 8


def test_9_no_call_of_the_driver_holds_the_interpreter(fake):
    """While one call keeps the driver busy, launches, allocations, frees and loads of other threads wait for it, and a
    further thread goes on."""
    function, out, stream = kernel().prepare("PQ"), cuda.mem_alloc(16), cuda.Stream()
    spare, ready = cuda.mem_alloc(16), cuda.Event()
    source = np.zeros(1 << 20, np.uint8)
    target = cuda.mem_alloc(source.nbytes)
    calls = [
        lambda: function(out, 1, block=(1, 1, 1)),
        lambda: function.prepared_call((1, 1), (1, 1, 1), out, 2),
        lambda: cuda.mem_alloc(1000),
        spare.free,
        lambda: cuda.module_from_buffer(SOURCE),
        cuda.Stream,
        lambda: ready.record(stream),
    ]
    fake(f"bandwidth {2 * source.nbytes}")  # The copy takes half a second.
    done = []
    copier = threading.Thread(target=cuda.memcpy_htod, args=(target, source))
    others = [threading.Thread(target=lambda call=call: (call(), done.append(call))) for call in calls]
    copier.start()
    time.sleep(0.1)
    for thread in others:
        thread.start()
    turns = 0
    while copier.is_alive():
        time.sleep(0.005)
        turns += 1
    for thread in [copier, *others]:
        thread.join()
    fake("bandwidth 0")
    assert len(done) == len(calls)
    assert turns >= 10


def test_10_a_tuner_todays_occupancy_types_and_errors_that_say_something(fake):
    assert Autotuner.__doc__ and callable(Autotuner.tune)
    # A device of compute capability 9.0, as NVIDIA's tables give it: a block may have 227 KiB of shared memory, and 32 fit.
    today = types.SimpleNamespace(
        compute_capability=lambda: (9, 0),
        max_threads_per_block=1024,
        warp_size=32,
        max_threads_per_multiprocessor=2048,
        max_blocks_per_multiprocessor=32,
        max_registers_per_block=65536,
        max_registers_per_multiprocessor=65536,
        max_shared_memory_per_block=49152,
        max_shared_memory_per_block_optin=232448,
        max_shared_memory_per_multiprocessor=233472,
        reserved_shared_memory_per_block=1024,
    )
    assert OccupancyRecord(DeviceData(today), 32).tb_per_mp == 32
    assert OccupancyRecord(DeviceData(today), 1024, shared_mem=227 << 10).limited_by == "smem"
    assert cuda.have_gl_ext()
    folder = Path(uLib.cuda.__file__).parent
    assert (folder / "_native.pyi").is_file() and (folder.parent / "py.typed").is_file()
    fake("fail cuMemcpyDtoHAsync_v2:1:716")
    with pytest.raises(cuda.LogicError) as caught:
        cuda.memcpy_dtoh(bytearray(4), cuda.to_device(b"1234"))
    assert (caught.value.code, caught.value.call) == (716, "cuMemcpyDtoHAsync_v2")
    assert "cuMemcpyDtoHAsync_v2: CUDA_ERROR_MISALIGNED_ADDRESS (716): " in str(caught.value)
    assert isinstance(caught.value, ValueError)
