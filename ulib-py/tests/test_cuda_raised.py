"""What the conversions of a caller's own objects raise: interrupts go through as they are, errors become the cause of one that says more."""

import itertools

import numpy as np
import pytest
import uLib.cuda.driver as cuda
from device_kernels import kernel
from uLib.cuda import gpuarray

pytestmark = pytest.mark.usefixtures("fake")


class Raises:
    """Raises this wherever it is asked for a number, a path or its elements."""

    def __init__(self, error):
        self._error = error

    def _raise(self, *_):
        raise self._error

    __index__ = __float__ = __int__ = __fspath__ = __iter__ = __bool__ = _raise


class Entry:
    """An array of another library, one of whose entries raises."""

    def __init__(self, key, value):
        self.__cuda_array_interface__ = {"data": (4096, False), "shape": (4,), "typestr": "<f4", "version": 3, key: value}


class Things:
    def __init__(self):
        self.memory = cuda.mem_alloc(64)
        self.ints, self.floats = kernel(".u32 a").prepare("PI"), kernel(".f32 a").prepare("Pf")
        self.stream, self.array = cuda.Stream(), cuda.np_to_array(np.zeros((4, 4), np.float32), "C")
        self.managed = cuda.ManagedAllocation(64)


ONE = (1, 1, 1)
CALLS = {
    "block": lambda t, bad: t.ints(t.memory, 5, block=(bad, 1, 1)),
    "blocks": lambda t, bad: t.ints(t.memory, 5, block=bad),
    "grid": lambda t, bad: t.ints(t.memory, 5, block=ONE, grid=[1, bad]),
    "cluster": lambda t, bad: t.ints(t.memory, 5, block=ONE, cluster=bad),
    "shared": lambda t, bad: t.ints(t.memory, 5, block=ONE, shared=bad),
    "_set_block_shape": lambda t, bad: t.ints._set_block_shape(bad),
    "prepared int": lambda t, bad: t.ints.prepared_call(ONE, ONE, t.memory, bad),
    "prepared float": lambda t, bad: t.floats.prepared_call(ONE, ONE, t.memory, bad),
    "prepared address": lambda t, bad: t.ints.prepared_call(ONE, ONE, bad, 5),
    "prepared block": lambda t, bad: t.ints.prepared_call(ONE, (bad, 1, 1), t.memory, 5),
    "shared_size": lambda t, bad: t.ints.prepared_call(ONE, ONE, t.memory, 5, shared_size=bad),
    "get_attribute": lambda t, bad: t.ints.get_attribute(bad),
    "set_attribute": lambda t, bad: t.ints.set_attribute(8, bad),
    "set_cache_config": lambda t, bad: t.ints.set_cache_config(bad),
    "options": lambda t, bad: cuda.module_from_buffer(b"", [(bad, 1)]),
    "add_data": lambda t, bad: cuda.Linker().add_data(b"x", bad),
    "add_file": lambda t, bad: cuda.Linker().add_file(bad, 1),
    "module_from_file": lambda t, bad: cuda.module_from_file(bad),
    "Device": lambda t, bad: cuda.Device(bad),
    "mem_alloc": lambda t, bad: cuda.mem_alloc(bad),
    "memset": lambda t, bad: cuda.memset_d8(t.memory, bad, 4),
    "memcpy": lambda t, bad: cuda.memcpy_dtod(bad, t.memory, 4),
    "prefetch": lambda t, bad: t.managed.prefetch(bad),
    "copy_from": lambda t, bad: t.array.copy_from(bad),
    "copy_to": lambda t, bad: t.array.copy_to(bad),
    "address_mode": lambda t, bad: cuda.TextureObject(t.array, address_mode=bad),
    "address_modes": lambda t, bad: cuda.TextureObject(t.array, address_mode=(bad, 0)),
    "strides of a GPUArray": lambda t, bad: gpuarray.GPUArray((2,), np.int8, gpudata=t.memory, strides=(bad,)),
    "gpudata": lambda t, bad: gpuarray.GPUArray((2,), np.int8, gpudata=bad),
    "reshape": lambda t, bad: gpuarray.zeros(4, np.int8).reshape(2, bad),
    "fill": lambda t, bad: gpuarray.zeros(4, np.int8).fill(bad),
    "rows of a texture": lambda t, bad: cuda.TextureReference().set_address_2d(t.memory, cuda.ArrayDescriptor(), bad),
    "shape": lambda t, bad: t.ints(Entry("shape", (bad,)), 5, block=ONE),
    "strides": lambda t, bad: cuda.memset_d8(Entry("strides", (bad,)), 0, 4),
    "address": lambda t, bad: cuda.memset_d8(Entry("data", (bad, False)), 0, 4),
    "stream": lambda t, bad: cuda.memset_d8(Entry("stream", bad), 0, 4),
}


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit, MemoryError])
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_interrupts_and_want_of_memory_go_through(call, error):
    raised = error("of its own")
    with pytest.raises(error) as caught:
        call(Things(), Raises(raised))
    assert caught.value is raised


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_errors_are_the_cause_of_one_that_says_more(call):
    raised = ZeroDivisionError("of its own")
    with pytest.raises((TypeError, ValueError)) as caught:
        call(Things(), Raises(raised))
    assert caught.value.__cause__ is raised


@pytest.mark.parametrize("flag", ["time_kernel", "cooperative"])
def test_flags_raise_what_is_neither_true_nor_false(flag):
    raised = ZeroDivisionError("of its own")
    things = Things()
    with pytest.raises(ZeroDivisionError) as caught:
        things.ints(things.memory, 5, block=ONE, **{flag: Raises(raised)})
    assert caught.value is raised


@pytest.mark.parametrize(
    "call",
    [
        lambda given: gpuarray.zeros(given, np.int8),
        lambda given: cuda.pagelocked_empty(given, np.int8),
        lambda given: gpuarray.GPUArray(4, np.int8, strides=given),
    ],
)
def test_numbers_without_an_end_are_refused(call):
    with pytest.raises((ValueError, TypeError), match="(shape|strides) is repeat.*: more than 4096 numbers"):
        call(itertools.repeat(1))
