"""Launches with what is asked more than once, nested, too large, or not what it seems."""

import os
from pathlib import Path

import numpy as np
import pytest
import uLib.cuda.driver as cuda
from device_kernels import kernel
from uLib.cuda import gpuarray

FOLDERS = os.pathsep.join([str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])])


class Changing:
    """An integer that is another one each time it is asked."""

    def __init__(self, *answers):
        self.answers = list(answers)

    def __index__(self):
        return self.answers.pop(0)


@pytest.mark.parametrize(("letter", "words"), [("i", ".s32"), ("Q", ".u64")])
def test_a_prepared_integer_is_asked_once_what_it_is(fake, letter, words):
    function, out, value = kernel(f"{words} a").prepare("P" + letter), cuda.mem_alloc(16), Changing(5, 2**70)
    function.prepared_call((1, 1), (1, 1, 1), out, value)
    cuda.Context.synchronize()
    assert value.answers == [2**70]
    assert cuda.from_device(out, 16, np.uint8)[8:].view(letter)[0] == 5
    with pytest.raises(cuda.LogicError, match="expected an integer from"):
        function.prepared_call((1, 1), (1, 1, 1), out, value)


def test_structs_of_any_size_are_prepared_by_letters(fake):
    function = kernel(".align 4 .b8 a[8192]").prepare("P8192s")
    out, value = cuda.mem_alloc(8 + 8192), bytes(range(256)) * 32
    function.prepared_call((1, 1), (1, 1, 1), out, value)
    cuda.Context.synchronize()
    assert cuda.from_device(out, 8 + 8192, np.uint8)[8:].tobytes() == value
    for wrong in ("P65537s", "P0s"):
        with pytest.raises(ValueError, match="prepare: .* is no number of arguments"):
            function.prepare(wrong)


def test_streams_are_those_of_who_has_some(fake):
    function, out, stream = kernel(), cuda.mem_alloc(8), cuda.Stream()
    for number in (np.int64(0), np.uint64(stream.handle), stream.handle):
        function(out, block=(1, 1, 1), stream=number)
    for other in (cuda.Event(), function, cuda.mem_alloc(64), True, 1.0):
        with pytest.raises(TypeError, match="^launch: .* is neither a handle nor an object with"):
            function(out, block=(1, 1, 1), stream=other)


def test_a_wrong_array_is_named_without_copying_it(fake):
    function, out, array = kernel(".u64 a").prepare("PQ"), cuda.mem_alloc(16), gpuarray.zeros(1 << 20, np.float32)
    fake("reset")
    with pytest.raises(cuda.LogicError, match="is a GPUArray, expected an integer$"):
        function.prepared_call((1, 1), (1, 1, 1), out, array)
    assert fake.count("cuMemcpyDtoH_v2") == fake.count("cuMemcpyDtoHAsync_v2") == 0


@pytest.mark.parametrize(
    "call",
    [
        "function(out, Nested(), block=(1, 1, 1))",
        "function(out, 1, block=(Nested(), 1, 1))",
        "function.prepare('PQ').prepared_call((1, 1), (1, 1, 1), out, Nested())",
        "cuda.memset_d8(out, Nested(), 1)",
    ],
)
def test_calls_without_an_end_within_each_other_are_a_recursion_error(fake, python, call):
    program = """
import sys
import uLib.cuda.autoinit
import uLib.cuda.driver as cuda
from device_kernels import kernel
from uLib.cuda import gpuarray
function, out = kernel(".u64 a"), cuda.mem_alloc(64)
class Nested:
    def __index__(self):
        CALL
        return 0
sys.setrecursionlimit(100)
try:
    CALL
except RecursionError as error:
    sys.setrecursionlimit(1000)
    print("ended", error)
"""
    done = python(program.replace("CALL", call), PYTHONPATH=FOLDERS)
    assert done.stdout.startswith("ended maximum recursion depth exceeded"), done.stdout


def test_what_stands_for_no_memory_is_named_with_its_parameter(fake):
    class Holder(cuda.PointerHolderBase):
        def __init__(self, answer):
            self.answer = answer

        def get_pointer(self):
            return self.answer

    class Handler(cuda.ArgumentHandler):
        def get_device_alloc(self):
            return self.array

    function, out = kernel(".u64 a"), cuda.mem_alloc(16)
    for wrong in (Holder("x"), Holder(-1), Holder(2**64), Holder(None), Handler("x"), Handler(None), Handler(-1)):
        with pytest.raises(cuda.LogicError, match=r"^launch: parameter #1 \(0-based\) of kernel fakecuda_parameters is .*no (device memory|address)"):
            function(out, wrong, block=(1, 1, 1))
