"""What arrays of `uLib.cuda.gpuarray` refuse: what they cannot do yet, and elements that only the host can have."""

import collections.abc
import copy
import operator
import pickle

import numpy as np
import pytest
import uLib.cuda.driver as cuda
from device_arrays import numbers, same
from device_kernels import kernel, sent
from uLib.cuda import gpuarray, tools

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


def test_methods_that_are_not_there_yet_say_so(gpu):
    array = gpuarray.to_gpu(numbers(4))
    for name in ("astype", "real", "imag", "conj", "conjugate", "reverse", "any", "all", "sum", "mul_add"):
        with pytest.raises(AttributeError, match=f"^GPUArray.{name}: gpuarray arithmetic is not there yet") as caught:
            getattr(array, name)
        assert (caught.value.name, caught.value.obj is array) == (name, True)
        assert not hasattr(array, name) and name not in dir(array)
    with pytest.raises(AttributeError, match="^'GPUArray' object has no attribute 'nonsense'"):
        array.nonsense
    assert same(copy.copy(array), numbers(4)) and same(pickle.loads(pickle.dumps(array)), numbers(4))


def test_the_class_says_so_as_its_arrays_do(gpu):
    array = gpuarray.to_gpu(numbers(4))

    class Mine(gpuarray.GPUArray, collections.abc.Sized):
        def real(self):
            return self

    assert Mine.real is not None and issubclass(Mine, gpuarray.GPUArray) and isinstance(array, gpuarray.GPUArray)
    for cls in (gpuarray.GPUArray, Mine):
        own = array if cls is gpuarray.GPUArray else Mine((4,), np.float32)
        for name in ("astype", "imag", "conj", "conjugate", "reverse", "any", "all", "mean", "min", "max", "mul_add"):
            with pytest.raises(AttributeError) as of_array:
                getattr(own, name)
            with pytest.raises(AttributeError, match=f"^{cls.__name__}.{name}: gpuarray arithmetic is not there yet") as caught:
                getattr(cls, name)
            assert (caught.value.name, caught.value.obj) == (name, cls) and str(caught.value) == str(of_array.value)
            assert not hasattr(cls, name) and name not in dir(cls)
        with pytest.raises(AttributeError, match=f"^type object '{cls.__name__}' has no attribute 'nonsense'"):
            cls.nonsense


def test_what_a_class_of_ones_own_cannot_tell_is_not_taken_for_arithmetic(gpu):
    class Mine(gpuarray.GPUArray):
        __slots__ = ("max",)

        @property
        def real(self):
            raise AttributeError("of the program")

    class Its(Mine):
        pass

    for own in (Mine((4,), np.float32), Its((4,), np.float32)):
        with pytest.raises(AttributeError, match="^of the program$"):
            own.real
        with pytest.raises(AttributeError, match="^'?(max|Mine|Its)"):
            own.max
        own.max = 3
        assert own.max == 3
        with pytest.raises(AttributeError, match="imag: gpuarray arithmetic is not there yet"):
            own.imag


def test_functions_that_are_not_there_yet_say_so():
    names = "sum max min dot subset_sum subset_dot take where if_positive minimum maximum concatenate stack multi_put multi_take_put any"
    for name in names.split():
        with pytest.raises(AttributeError, match=f"^gpuarray.{name}: gpuarray arithmetic is not there yet") as caught:
            getattr(gpuarray, name)
        assert (caught.value.name, caught.value.obj) == (name, gpuarray)
        assert not hasattr(gpuarray, name)
    with pytest.raises(AttributeError, match="^module 'uLib.cuda.gpuarray' has no attribute 'nonsense'"):
        gpuarray.nonsense


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


class Named:
    def __init__(self, **attributes):
        vars(self).update(attributes)


class Holder(cuda.PointerHolderBase):
    def __init__(self, address):
        self.address = address

    def get_pointer(self):
        return self.address


class Index:
    def __init__(self, address):
        self.address = address

    def __index__(self):
        return self.address


def described(address, **more):
    return Named(__cuda_array_interface__={"shape": (4,), "typestr": "<f4", "data": (address, False), "version": 3, **more})


def test_memory_is_given_by_whatever_has_an_address(gpu):
    want = numbers(4)
    memory = cuda.to_device(want)
    pooled, address = tools.DeviceMemoryPool().allocate(16), int(memory)
    cuda.memcpy_htod(pooled, want)
    managed = cuda.managed_empty(4, np.float32)
    managed[:] = want
    ours = gpuarray.to_gpu(np.concatenate([want[:2], want]))
    stream = cuda.Stream()
    for given in (
        memory,
        pooled,
        address,
        np.uint64(address),
        Holder(address),
        Index(address),
        described(address),
        described(address, stream=stream.handle),
        Named(gpudata=memory),
        Named(gpudata=address),
        Named(gpudata=Named(gpudata=memory)),
        ours[2:],
        Named(gpudata=ours[2:]),
        managed,
    ):
        found = gpuarray.GPUArray((4,), np.float32, gpudata=given)
        assert same(found, want) and same(found[1:], want[1:]) and same(found.copy(), want), given
        assert found[1:].ptr == found.ptr + 4 and found.__cuda_array_interface__["data"] == (found.ptr, False)
        assert same(found.fill(7), np.full(4, 7, np.float32))
        found.set(want)


@pytest.mark.parametrize(
    "given",
    [1.5, 4096.0, "4096", b"4096", True, -1, 2**64, np.zeros(4, np.float32), object(), Index(-1), Index(2**70), Index("x"), Holder("x"),
     Named(gpudata=1.5), Named(gpudata=-1), Named(gpudata=object()), described(-1), described("x"), cuda.PointerHolderBase],
    ids=repr,
)  # fmt: skip
def test_memory_that_has_no_address_is_refused(gpu, given):
    with pytest.raises((TypeError, cuda.LogicError), match="GPUArray: gpudata"):
        gpuarray.GPUArray((4,), np.float32, gpudata=given)


def test_given_memory_holds_the_array(gpu):
    array = gpuarray.zeros(4, np.float32)
    for given in (array, Named(gpudata=array.gpudata), array[2:]):
        with pytest.raises(ValueError, match="memory of 16 bytes"):
            gpuarray.GPUArray((5,), np.float32, gpudata=given)
    for address, strides in ((2**64 - 8, None), (4, (-4,))):
        with pytest.raises(ValueError, match="reach beyond every address"):
            gpuarray.GPUArray((4,), np.float32, gpudata=address, strides=strides)
    with pytest.raises(ValueError, match="null address"):
        gpuarray.GPUArray((4,), np.float32, gpudata=0)
    assert gpuarray.GPUArray((0,), np.float32, gpudata=0).get().size == 0


def test_launches_know_the_memory_of_an_array_of_an_array(fake):
    """It is not given back before the kernel is done with it."""
    array = gpuarray.GPUArray((4,), np.float32, gpudata=gpuarray.zeros(4, np.float32))
    assert isinstance(array.gpudata, cuda.DeviceAllocation)
    assert sent(kernel(".u64 a"), array, size=16) == array.ptr.to_bytes(8, "little")


def test_memory_that_its_owner_forbids_to_write_is_refused(gpu):
    memory = cuda.to_device(np.arange(4, dtype=np.float32))
    read_only = Named(__cuda_array_interface__={"shape": (4,), "typestr": "<f4", "data": (int(memory), True), "version": 3})
    with pytest.raises(cuda.LogicError, match="^GPUArray: gpudata is read-only"):
        gpuarray.GPUArray((4,), np.float32, gpudata=read_only)
    assert cuda.from_device(memory, 4, np.float32).tolist() == [0, 1, 2, 3]


def test_masked_elements_are_no_numbers(gpu):
    array, good = gpuarray.to_gpu(numbers(4)), numbers(4)
    masked = np.ma.array(good, mask=[0, 1, 0, 0])
    for op, call in (
        ("to_gpu", lambda: gpuarray.to_gpu(masked)),
        ("to_gpu_async", lambda: gpuarray.to_gpu_async(masked)),
        ("set", lambda: array.set(masked)),
        ("get", lambda: array.get(masked)),
        ("__setitem__", lambda: array.__setitem__(slice(None), masked)),
        ("to_device", lambda: cuda.to_device(masked)),
        ("memcpy_htod", lambda: cuda.memcpy_htod(array.gpudata, masked)),
        ("np_to_array", lambda: cuda.np_to_array(masked.reshape(2, 2), "C")),
    ):
        with pytest.raises(ValueError, match=f"^{op}: the array has masked elements; filled"):
            call()
    assert same(array, good) and same(gpuarray.to_gpu(np.ma.array(good)), good)


@pytest.mark.parametrize("given", [0, "x", 1.5, None, np.zeros(4), Named(gpudata=0)], ids=repr)
def test_an_allocator_that_gives_no_memory_is_named(gpu, given):
    for make in (gpuarray.empty, gpuarray.zeros):
        with pytest.raises(ValueError, match="^GPUArray: allocator gave .* for 16 bytes"):
            make(4, np.float32, allocator=lambda _: given)


def test_types_that_dlpack_has_none_for_name_the_operation(gpu):
    with pytest.raises(TypeError, match=r"^__dlpack__: .*\|S3"):
        gpuarray.zeros(3, "S3").__dlpack__()
