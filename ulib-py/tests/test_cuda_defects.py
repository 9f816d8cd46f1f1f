"""What is known to go wrong in PyCUDA, and what happens here instead: one test for each defect of its driver layer."""

import gc
import struct
import tempfile
from pathlib import Path

import numpy as np
import pytest
import uLib.cuda.driver as cuda
from cuda_programs import HEAD
from uLib.cuda import compiler, gpuarray
from uLib.cuda.tools import DeviceMemoryPool


def arrived(parameter, *values):
    """What a kernel of the software driver with this parameter, in PTX's words, gets for the values: all behind an address."""
    words = ", ".join(f".param {one}" for one in [".u64 out", *parameter])
    source = f"{HEAD}.visible .entry fakecuda_parameters({words})\n{{\n    ret;\n}}\n"
    function = cuda.module_from_buffer(source.encode()).get_function("fakecuda_parameters")
    offset, size = function.parameters[-1]
    out = cuda.mem_alloc(offset + size)
    function(out, *values, block=(1, 1, 1))
    cuda.Context.synchronize()
    return cuda.from_device(out, offset + size, np.uint8).tobytes()[8:]


@pytest.mark.parametrize("later", [False, True])
@pytest.mark.parametrize("contexts", [False, True])
def test_memcpy_peer_ends_the_process_without_contexts_and_ignores_them(fake, contexts, later):
    """Emulated: one card cannot show it."""
    want, other = np.arange(50, dtype=np.int16), cuda.Device(1).retain_primary_context()
    source = cuda.to_device(want)
    with other:
        target = cuda.mem_alloc_like(want)
    arguments = [target, source, want.nbytes]
    if contexts:
        arguments += [other, cuda.Device(0).retain_primary_context()]
    fake("reset")
    (cuda.memcpy_peer_async if later else cuda.memcpy_peer)(*arguments)
    assert fake.count("cuMemcpyPeerAsync") == 1
    assert (cuda.from_device_like(target, want) == want).all()
    # And by address alone.
    cuda.memset_d8(target, 0, want.nbytes)
    cuda.memcpy_peer(int(target), int(source), want.nbytes)
    assert (cuda.from_device_like(target, want) == want).all()
    with pytest.raises(cuda.LogicError, match="dest is on device 1, its context on device 0"):
        cuda.memcpy_peer(target, source, want.nbytes, cuda.Device(0).retain_primary_context())


def test_register_host_memory_always_fails(gpu):
    given = cuda.aligned_empty(4096, np.uint8)
    given[:] = 7
    locked = cuda.register_host_memory(given)
    assert locked.ctypes.data == given.ctypes.data and isinstance(locked.base, cuda.RegisteredHostMemory)
    target = cuda.mem_alloc(4096)
    cuda.memcpy_htod_async(target, locked, cuda.Stream())
    cuda.Context.synchronize()
    assert (cuda.from_device(target, 4096, np.uint8) == 7).all()
    locked.base.unregister()


def test_a_primary_context_is_destroyed_with_its_object(fake):
    device = cuda.Device(0)
    memory = cuda.to_device(b"kept")
    for _ in range(3):
        context = device.retain_primary_context()
        del context
        gc.collect()
    context = device.retain_primary_context()
    context.detach()
    del context
    gc.collect()
    assert fake.count("cuCtxDestroy_v2") == fake.count("cuDevicePrimaryCtxRelease_v2") == 0
    assert cuda.from_device(memory, 4, "S1").tobytes() == b"kept"


def test_the_default_flags_of_managed_memory_are_invalid(gpu):
    for array in (cuda.managed_empty(3, np.int32), cuda.managed_zeros(3, "i4"), cuda.managed_empty_like(np.zeros(3, "i4"))):
        array[:] = [1, 2, 3]
        assert (cuda.from_device(array, 3, np.int32) == [1, 2, 3]).all()


def test_a_view_of_a_managed_array_is_passed_by_value(fake):
    array = cuda.managed_zeros((4, 6), np.float32)
    for view in (array, array[1:], array[2, 3:], array.T, array[:, ::2]):
        assert arrived([".u64 x"], view) == struct.pack("<Q", view.ctypes.data)


@pytest.mark.parametrize("value", [1.5, -0.1, 65504.0, float("inf")])
def test_float16_scalars_are_refused(fake, value):
    given = np.float16(value)
    assert arrived([".b16 x"], given) == given.tobytes()


def test_structs_are_not_aligned(fake):
    """A small number, then a struct that begins at a multiple of eight: 24 bytes, not 17."""
    record = np.zeros(1, np.dtype([("a", np.int32), ("b", np.float64)], align=True))[0]
    record["a"], record["b"] = 7, 1.5
    got = arrived([".s8 small", ".align 8 .b8 s[16]"], np.int8(-5), record)
    assert len(got) == 24 and got[0] == 251
    assert struct.unpack("<i4xd", got[8:]) == (7, 1.5)


def test_a_slice_from_3_to_1_has_rows(gpu):
    given = np.arange(20, dtype=np.float32).reshape(5, 4)
    array = gpuarray.to_gpu(given)
    assert array[3:1].shape == given[3:1].shape == (0, 4)
    assert array[3:1].get().shape == (0, 4)
    assert (array[3:1:-1].get() == given[3:1:-1]).all()


def test_set_scrambles_another_memory_order(gpu):
    given = np.arange(12, dtype=np.float32).reshape(3, 4)
    target = gpuarray.GPUArray((3, 4), np.float32, order="F")
    target.set(given)
    assert (target.get() == given).all() and target.flags.f_contiguous
    target = gpuarray.empty((3, 4), np.float32)
    target.set(np.asfortranarray(given))
    assert (target.get() == given).all()


def test_negative_strides_are_an_overflow(gpu):
    given = np.arange(12, dtype=np.int16).reshape(3, 4)
    assert (gpuarray.to_gpu(given[::-1, ::-2]).get() == given[::-1, ::-2]).all()
    assert (gpuarray.to_gpu(given)[::-2, ::-1].get() == given[::-2, ::-1]).all()


def test_compiling_prints_and_leaves_folders(nvrtc, tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    compiler.compile("__global__ void f() {}", arch="compute_75", cache_dir=False)
    with pytest.raises(cuda.CompileError):
        compiler.compile("__global__ void f() { wrong }", arch="compute_75", cache_dir=False)
    assert list(tmp_path.iterdir()) == []
    assert capfd.readouterr() == ("", "")


def test_the_header_of_helpers_does_not_compile(nvrtc):
    source = "#include <pycuda-helpers.hpp>\n__global__ void f(double *a) { *a = 1; }\n"
    assert b".entry f(" in compiler.compile(source, arch="compute_75", cache_dir=False)


def test_memory_freed_on_another_thread_is_lost(fake):
    import threading

    made = []

    def make():
        with cuda.Device(1).make_context():
            made.append(cuda.mem_alloc(1000))
            cuda.Context.pop()

    thread = threading.Thread(target=make)
    thread.start()
    thread.join()
    assert fake("live_memory") == 1
    made.clear()
    gc.collect()
    assert fake("live_memory") == 0


def test_a_pool_with_blocks_ends_the_process_at_exit(gpu, python):
    done = python(
        """
import uLib.cuda.autoinit
from uLib.cuda.tools import DeviceMemoryPool
pool = DeviceMemoryPool()
block, other = pool.allocate(1000), pool.allocate(2000)
del other
print("done")
"""
    )
    assert (done.stdout, done.stderr) == ("done\n", "")


def test_a_pool_hands_out_memory_that_a_kernel_still_uses(fake):
    fake("deferred 1")
    pool, stream, other = DeviceMemoryPool(), cuda.Stream(1), cuda.Stream(1)
    block = pool.allocate(1000)
    cuda.memset_d8_async(block, 5, 1000, stream)
    del block
    second = pool.allocate(1000, other)
    cuda.memset_d8_async(second, 6, 1000, other)
    other.synchronize()
    stream.synchronize()
    assert (cuda.from_device(second, 1000, np.uint8) == 6).all()


def test_the_words_of_a_linker_that_was_not_made_are_whatever_is_in_memory(fake):
    fake("fail cuLinkCreate_v2:1:999")
    with pytest.raises(cuda.Error) as caught:
        cuda.Linker()
    assert str(caught.value).startswith("cuLinkCreate") and str(caught.value).isascii()
    assert "CUDA_ERROR_UNKNOWN" in str(caught.value)


def test_an_array_pool_takes_no_shape_that_is_a_number(gpu):
    assert cuda.PageLockedMemoryPool().allocate(7, np.int16).shape == (7,)


def test_an_output_on_a_stream_that_does_not_block_comes_too_early(fake):
    fake("deferred 1")
    source = f"{HEAD}.visible .entry fakecuda_parameters(.param .u64 out, .param .u64 x)\n{{\n    ret;\n}}\n"
    function = cuda.module_from_buffer(source.encode()).get_function("fakecuda_parameters")
    array = np.zeros(2, np.uint64)
    function(cuda.Out(array), 5, block=(1, 1, 1), stream=cuda.Stream(cuda.stream_flags.NON_BLOCKING))
    assert array[1] == 5
