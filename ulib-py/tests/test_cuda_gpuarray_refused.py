"""What arrays of `uLib.cuda.gpuarray` refuse: what they cannot do yet, and elements that only the host can have."""

import operator

import numpy as np
import pytest
from device_arrays import numbers, same
from uLib.cuda import gpuarray

OPERATORS = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "divmod": divmod,
    "**": operator.pow,
    "@": operator.matmul,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
}


@pytest.mark.parametrize("name", OPERATORS)
def test_what_is_not_there_yet_says_so(gpu, name):
    apply, array = OPERATORS[name], gpuarray.to_gpu(numbers(4))
    for other in (array, array[:], 1, 1.5, None, np.float32(2), numbers(4), numbers(1)[0]):
        for both in ((array, other), (other, array)):
            with pytest.raises(TypeError, match="is not there yet; arithmetic and comparisons can be had of get"):
                apply(*both)
    assert same(array, numbers(4))


def test_other_operations_are_not_there_yet_either(gpu):
    array = gpuarray.to_gpu(numbers(4))
    for apply in (operator.neg, operator.pos, abs, operator.invert, lambda a: 1 in a):
        with pytest.raises(TypeError, match="is not there yet"):
            apply(array)
    for name in ("iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow", "imatmul", "iand", "ior", "ixor", "ilshift", "irshift"):
        with pytest.raises(TypeError, match="is not there yet"):
            getattr(operator, name)(array, 2)
    with pytest.raises(TypeError, match="ufunc"):
        np.add(array, numbers(4))
    # Nothing is compared here.
    assert [array].index(array) == 0 and array is not array[:]


@pytest.mark.parametrize("dtype", [">f4", ">i8", ">c8", ">u2", np.dtype([("a", "i1"), ("b", ">f8")])], ids=str)
def test_the_other_byte_order_stays_on_the_host(gpu, dtype):
    for op, call in (
        ("to_gpu", lambda: gpuarray.to_gpu(np.ones(3, dtype))),
        ("to_gpu_async", lambda: gpuarray.to_gpu_async(np.ones(3, dtype))),
        ("GPUArray", lambda: gpuarray.empty(3, dtype)),
        ("empty_like", lambda: gpuarray.empty_like(np.ones(3, dtype))),
        ("zeros_like", lambda: gpuarray.zeros_like(np.ones(3, dtype))),
        ("ones_like", lambda: gpuarray.ones_like(np.ones(3, dtype))),
        ("view", lambda: gpuarray.zeros(16, "u1").view(dtype)),
    ):
        with pytest.raises(TypeError, match=f"^{op}: elements of .* are in the other byte order"):
            call()
    assert same(gpuarray.to_gpu(np.ones(3, ">u1")), np.ones(3, "u1"))
    assert gpuarray.to_gpu(np.arange(3, dtype=">i4").astype("i4")).get().tolist() == [0, 1, 2]


def test_python_objects_stay_on_the_host(gpu):
    for op, call in (
        ("to_gpu", lambda: gpuarray.to_gpu(np.array([1, None]))),
        ("to_gpu_async", lambda: gpuarray.to_gpu_async(np.array([1, None]))),
        ("arange", lambda: gpuarray.arange(3, dtype=object)),
        ("GPUArray", lambda: gpuarray.empty(3, object)),
        ("GPUArray", lambda: gpuarray.zeros(3, np.dtype([("a", "O")]))),
        ("zeros_like", lambda: gpuarray.zeros_like(gpuarray.zeros(3, "i8"), object)),
        ("view", lambda: gpuarray.zeros(3, "i8").view(object)),
    ):
        with pytest.raises(TypeError, match=f"^{op}: elements of .* are Python objects"):
            call()
