"""`uLib.cuda.gpuarray` and DLPack, both ways."""

import ctypes
import gc
import weakref

import numpy as np
import pytest
import uLib
import uLib.cuda.driver as cuda
from device_kernels import kernel
from uLib.cuda import gpuarray
from uLib.cuda.tools import DeviceMemoryPool

CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}


class Tensor(ctypes.Structure):
    """What a capsule has in it, as the protocol's header lays it out."""

    _fields_ = [
        ("data", ctypes.c_uint64),
        ("device", ctypes.c_int32 * 2),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class Versioned(ctypes.Structure):
    _fields_ = [
        ("version", ctypes.c_uint32 * 2),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", Tensor),
    ]


def inside(capsule):
    """The array of a capsule, and its flags; None in one without a version."""
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    if "versioned" in repr(capsule):
        found = Versioned.from_address(get(capsule, b"dltensor_versioned"))
        return found.tensor, found.flags
    return Tensor.from_address(get(capsule, b"dltensor")), None


NUMBERS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16", "?"]


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("key", [np.s_[:], np.s_[1:, ::2], np.s_[::-1, ::-1], np.s_[2], np.s_[1, 2]], ids=str)
def test_capsules_say_what_the_array_is(gpu, dtype, key):
    given = (np.arange(12).reshape(3, 4) % 2).astype(dtype)
    array = gpuarray.to_gpu(given)[key]
    expected = given[key]
    assert array.__dlpack_device__() == (2, 0)
    for version in (None, (1, 0)):
        capsule = array.__dlpack__(max_version=version)
        tensor, flags = inside(capsule)
        assert flags == (None if version is None else 0)
        assert tensor.data + tensor.byte_offset == array.ptr
        assert tuple(tensor.device) == (2, 0)
        assert (tensor.code, tensor.bits, tensor.lanes) == (CODES[np.dtype(dtype).kind], 8 * np.dtype(dtype).itemsize, 1)
        assert tuple(tensor.shape[: tensor.ndim]) == expected.shape
        size = np.dtype(dtype).itemsize
        assert tuple(n * size for n in tensor.strides[: tensor.ndim]) == array.strides
        again = gpuarray.from_dlpack(Lends(capsule))
        assert (again.ptr, again.shape, again.strides, again.dtype) == (array.ptr, array.shape, array.strides, array.dtype)
        assert (again.get() == expected).all()


class Lends:
    """An array of somebody else."""

    def __init__(self, capsule, device=(2, 0)):
        self.capsule, self.device = capsule, device

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **_):
        return self.capsule


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("ndim", -1, "ndim is -1"),
        ("ndim", 1000, "ndim is 1000"),
        ("shape", None, "shape is NULL"),
        ("bits", 0, "dtype is 0 bits and 1 lanes"),
        ("lanes", 0, "dtype is 32 bits and 0 lanes"),
        ("data", 0, "data is NULL"),
        ("byte_offset", 2**64 - 1, "byte_offset"),
    ],
)
def test_launches_take_only_arrays_that_can_be(fake, field, value, message):
    array = gpuarray.zeros(4, np.float32)
    capsule = array.__dlpack__()
    tensor, _ = inside(capsule)
    setattr(tensor, field, value)
    where = r"parameter #1 \(0-based\) of kernel fakecuda_parameters, Lends: .*"
    with pytest.raises(cuda.LogicError, match=where + message):
        kernel(".u64 x")(array, Lends(capsule), block=1)


def test_what_lending_raises_names_the_parameter(fake):
    class Broken(Lends):
        def __dlpack__(self, **_):
            raise self.capsule

    array, raised = gpuarray.zeros(4, np.float32), BufferError("not today")
    where = r"parameter #1 \(0-based\) of kernel fakecuda_parameters"
    with pytest.raises(cuda.LogicError, match=where + ".*not today") as caught:
        kernel(".u64 x")(array, Broken(raised), block=1)
    assert caught.value.__cause__ is raised
    with pytest.raises(KeyboardInterrupt):
        kernel(".u64 x")(array, Broken(KeyboardInterrupt()), block=1)
    for device in ((2, 1 << 70), (1 << 70, 0), "x", (2,), None):
        with pytest.raises(cuda.LogicError, match=where + ".*__dlpack_device__: answer"):
            kernel(".u64 x")(array, Lends(None, device), block=1)


def test_devices_that_are_none_are_named(gpu):
    for take in (gpuarray.from_dlpack, uLib.FloatCollection):
        with pytest.raises(ValueError, match=r"__dlpack_device__: answer \(2, 1180591620717411303424\)"):
            take(Lends(None, (2, 1 << 70)))


def test_the_memory_is_kept_until_the_last_array_is_gone(gpu):
    array = gpuarray.to_gpu(np.arange(1000, dtype=np.float32))
    alive = weakref.ref(array.gpudata)
    capsule = array.__dlpack__()
    del array
    gc.collect()
    assert alive() is not None
    taken = gpuarray.from_dlpack(Lends(capsule))
    del capsule
    part = taken[10:20]
    del taken
    gc.collect()
    assert (part.get() == np.arange(10, 20)).all()
    part.fill(7)
    assert alive() is not None
    del part
    gc.collect()
    assert alive() is None
    # A capsule that nobody takes.
    array = gpuarray.zeros(5, np.int32)
    alive = weakref.ref(array.gpudata)
    capsule = array.__dlpack__(max_version=(1, 0))
    del array, capsule
    gc.collect()
    assert alive() is None


def test_a_capsule_is_used_once(gpu):
    lends = Lends(gpuarray.zeros(3, np.int32).__dlpack__())
    gpuarray.from_dlpack(lends)
    with pytest.raises(TypeError, match="gave <capsule .*, expected a DLPack capsule that nobody has used"):
        gpuarray.from_dlpack(lends)


def test_copies_are_made_where_they_are_asked_for(gpu):
    array = gpuarray.to_gpu(np.arange(6, dtype=np.int32))
    capsule = array.__dlpack__(copy=True, max_version=(1, 1))
    tensor, flags = inside(capsule)
    assert flags == 2 and tensor.data != array.ptr
    same, copied = gpuarray.from_dlpack(array), gpuarray.from_dlpack(array, copy=True)
    same.fill(9)
    assert (array.get() == 9).all() and (copied.get() == np.arange(6)).all()
    assert gpuarray.from_dlpack(array, copy=False).ptr == array.ptr


def test_what_is_read_only_is_copied_or_refused(gpu):
    array = gpuarray.to_gpu(np.arange(6, dtype=np.int32))

    def read_only():
        capsule = array.__dlpack__(max_version=(1, 0))
        get = ctypes.pythonapi.PyCapsule_GetPointer
        get.restype, get.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
        Versioned.from_address(get(capsule, b"dltensor_versioned")).flags = 1
        return Lends(capsule)

    copied = gpuarray.from_dlpack(read_only())
    assert copied.ptr != array.ptr and (copied.get() == np.arange(6)).all()
    with pytest.raises(BufferError, match="read-only"):
        gpuarray.from_dlpack(read_only(), copy=False)


def test_the_host_gets_a_copy(gpu):
    given = np.arange(6, dtype=np.int32).reshape(2, 3)
    array = gpuarray.to_gpu(given)
    home = np.from_dlpack(array.get())
    assert (home == given).all()
    capsule = array.__dlpack__(dl_device=(1, 0))
    assert tuple(inside(capsule)[0].device) == (1, 0)
    with pytest.raises(BufferError, match="without a copy"):
        array.__dlpack__(dl_device=(1, 0), copy=False)
    with pytest.raises(ValueError, match="memory of the host has none"):
        array.__dlpack__(dl_device=(1, 0), stream=1)
    with pytest.raises(BufferError, match=r"cannot be given for \(2, 99\)"):
        array.__dlpack__(dl_device=(2, 99))
    with pytest.raises(BufferError, match="to_gpu copies"):
        gpuarray.from_dlpack(given)
    with pytest.raises(TypeError, match="has no __dlpack__"):
        gpuarray.from_dlpack(object())


def test_streams_are_the_protocols(gpu):
    array = gpuarray.zeros(4, np.float32)
    own = cuda.Stream()
    for stream in (None, -1, 1, 2, own.handle):
        array.__dlpack__(stream=stream)
    with pytest.raises(ValueError, match="stream 0 is ambiguous"):
        array.__dlpack__(stream=0)
    for none in (-2, 2**70, -(2**70)):
        with pytest.raises(ValueError, match=f"stream {none} is no stream"):
            array.__dlpack__(stream=none)
    for wrong in ((2.5, 0), ("2", 0)):
        with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
            array.__dlpack__(dl_device=wrong)


@pytest.mark.parametrize("shape", [(0,), (3, 0, 2)])
def test_arrays_of_nothing(gpu, shape):
    array = gpuarray.zeros(shape, np.float64)
    assert array.__dlpack_device__()[0] == 2
    again = gpuarray.from_dlpack(array)
    assert (again.shape, again.dtype, again.ptr, again.gpudata) == (shape, np.float64, 0, None)
    assert again.get().shape == shape


class Managed(ctypes.Structure):
    _fields_ = [("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class Forged:
    """An array of somebody who says anything: ``shape`` and ``strides`` at ``data``."""

    def __init__(self, data, shape, strides=None, *, kind=(2, 32, 1), offset=0, device=(2, 0), ndim=None, said=(2, 0)):
        make = ctypes.pythonapi.PyCapsule_New
        make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        self.deleted, self.said = 0, said
        self.deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self.delete)
        self.numbers = [(ctypes.c_int64 * max(1, len(n)))(*n) if n is not None else None for n in (shape, strides)]
        tensor = Tensor(data=data, ndim=len(shape or ()) if ndim is None else ndim, byte_offset=offset)
        tensor.device[:], (tensor.code, tensor.bits, tensor.lanes) = device, kind
        tensor.shape, tensor.strides = (ctypes.cast(n, ctypes.POINTER(ctypes.c_int64)) for n in self.numbers)
        self.managed = Managed(tensor, None, ctypes.cast(self.deleter, ctypes.c_void_p))
        self.capsule = make(ctypes.addressof(self.managed), b"dltensor", None)

    def delete(self, _):
        self.deleted += 1

    def __dlpack_device__(self):
        return self.said

    def __dlpack__(self, **_):
        return self.capsule


MOST = 2**63 - 1


@pytest.mark.parametrize(
    ("at", "arguments", "keywords", "said"),
    [
        (0, ((2, 4), (MOST, 1)), {}, "too large"),
        (0, ((8,), (-1,)), {}, "the driver knows none there|is not inside its memory"),
        (0, ((-4,),), {}, "shape is -4"),
        (0, ((MOST, MOST),), {}, "too large"),
        (0, ((4,),), {"offset": 2**64 - 1}, "beyond every address"),
        (0, ((1000,),), {}, "is not inside its memory"),
        (2, ((4,),), {}, "is not aligned"),
        (0, ((4,),), {"kind": (2, 32, 4)}, "4 lanes"),
        (0, ((4,),), {"kind": (77, 32, 1)}, "code 77"),
        (0, ((4,),), {"kind": (2, 0, 1)}, "0 bits"),
        (0, ((4,),), {"ndim": -1}, "ndim is -1"),
        (0, ((4,),), {"ndim": 65}, "ndim is 65, expected a number from 0 to 64"),
        (0, ((4,),), {"ndim": 2**31 - 1}, "ndim is 2147483647"),
        (0, ((4,),), {"device": (1, 0)}, r"the capsule is for device \(1, 0\), and __dlpack_device__ said \(2, 0\)"),
        (0, ((4,),), {"device": (2, 7)}, r"the capsule is for device \(2, 7\), and __dlpack_device__ said \(2, 0\)"),
        (0, ((4,),), {"said": (2, 7)}, r"the capsule is for device \(2, 0\), and __dlpack_device__ said \(2, 7\)"),
        (0, ((4,),), {"said": (13, 0)}, r"the capsule is for device \(2, 0\), and __dlpack_device__ said \(13, 0\)"),
        (0, ((4,),), {"device": (2, 7), "said": (2, 7)}, "memory of device 7, as its owner says, expected memory of device 0, as the driver says"),
        (0, ((4,),), {"device": (2, -1), "said": (2, -1)}, "memory of device -1, as its owner says, expected memory of device 0"),
        (0, ((4,),), {"device": (13, 0), "said": (13, 0)}, "managed memory, as its owner says, expected memory of device 0"),
        (0, ((0,),), {"device": (2, 7), "said": (2, 7)}, "7"),
        (0, ((0,),), {"device": (2, -1), "said": (2, -1)}, "device is -1, expected no negative number"),
        (0, (None,), {"ndim": 1}, "shape is NULL, expected 1 lengths"),
        (0, (None, (1,)), {"ndim": 1}, "shape is NULL, expected 1 lengths"),
    ],
)
def test_what_capsules_claim_is_checked(gpu, at, arguments, keywords, said):
    memory = cuda.to_device(np.arange(64, dtype=np.float32))
    forged = Forged(int(memory) + at, *arguments, **keywords)
    errors = (ValueError, TypeError, OverflowError, BufferError, cuda.RuntimeError)
    with pytest.raises(errors, match=said):
        gpuarray.from_dlpack(forged)
    # Whatever it was, its owner is told, once.
    assert forged.deleted == 1
    with pytest.raises(TypeError, match="expected a DLPack capsule that nobody has used"):
        gpuarray.from_dlpack(forged)
    assert forged.deleted == 1
    numbers, forged = uLib.FloatCollection(4), Forged(int(memory) + at, *arguments, **keywords)
    with pytest.raises((*errors, uLib.DeviceUnavailableError)):
        numbers.SetValues(forged)
    assert forged.deleted == 1


@pytest.mark.parametrize(("address", "words"), [(0, "data is NULL, expected an address"), (4096, "the driver knows none there")])
def test_memory_that_is_not_there_is_refused(gpu, address, words):
    cuda.mem_alloc(4)
    nowhere = Forged(address, (4,))
    with pytest.raises(cuda.LogicError, match=words):
        gpuarray.from_dlpack(nowhere)
    assert nowhere.deleted == 1


def test_memory_of_the_host_is_none_of_the_device(gpu):
    page_locked = cuda.pagelocked_zeros(4, np.float32)
    managed = cuda.managed_zeros(4, np.float32, mem_flags=cuda.mem_attach_flags.GLOBAL)
    for kind, said in ((2, "memory of device 0"), (13, "managed memory")):
        forged = Forged(page_locked.ctypes.data, (4,), device=(kind, 0), said=(kind, 0))
        with pytest.raises(cuda.LogicError, match=f"{said}, as its owner says, expected memory of the host, as the driver says"):
            gpuarray.from_dlpack(forged)
        assert forged.deleted == 1
        # What the driver manages is on every device.
        forged = Forged(managed.ctypes.data, (4,), device=(kind, 0), said=(kind, 0))
        found = gpuarray.from_dlpack(forged)
        found.fill(kind)
        assert (found.get() == kind).all()
        assert forged.deleted == 0
        del found
        gc.collect()
        assert forged.deleted == 1


def test_launches_check_capsules(gpu):
    function, memory = kernel(".u64 x"), cuda.mem_alloc(64)
    for keywords, words in (
        ({"device": (2, 7)}, r"the capsule is for device \(2, 7\), and __dlpack_device__ said \(2, 0\)"),
        ({"said": (1, 0)}, "whose data is not on a CUDA device"),
        ({"ndim": -1, "data": 0}, "ndim is -1"),
        ({"data": 0}, "data is NULL, expected an address"),
        ({"offset": 2**64 - 1}, "beyond every address"),
    ):
        forged = Forged(**{"data": int(memory), "shape": (4,), **keywords})
        with pytest.raises((BufferError, TypeError, cuda.LogicError), match=words):
            function(memory, forged, block=1)
        # A capsule that nobody took is its owner's.
        assert forged.deleted == (0 if "said" in keywords else 1)
    forged = Forged(int(memory), (4,))
    function(memory, forged, block=1)
    cuda.Context.synchronize()
    assert forged.deleted == 1


def test_what_is_no_capsule_is_named(gpu):
    for wrong in (None, 5, "dltensor", object()):
        with pytest.raises(TypeError, match="__dlpack__ gave .*, expected a DLPack capsule that nobody has used"):
            gpuarray.from_dlpack(Lends(wrong))
    for answer in (None, (2,), ("x", 0), (2, 2**70), (2, 0, 0)):
        with pytest.raises((TypeError, ValueError, OverflowError), match="__dlpack_device__: answer"):
            gpuarray.from_dlpack(Lends(None, answer))


@pytest.mark.parametrize(
    ("shape", "strides", "want"),
    [((1, 4), (MOST, 1), (4, 4)), ((1, 4), (-MOST - 1, 1), (4, 4)), ((0, 5), (-3, MOST), (-12, 4)), ((4,), None, (4,)), ((), None, ())],
)
def test_strides_that_mean_nothing_may_be_anything(gpu, shape, strides, want):
    memory = cuda.to_device(np.arange(64, dtype=np.float32))
    forged = Forged(int(memory), shape, strides)
    found = gpuarray.from_dlpack(forged)
    assert (found.shape, found.strides) == (shape, want)
    assert (found.get() == np.arange(64, dtype=np.float32)[: found.size].reshape(shape)).all()
    del found
    gc.collect()
    assert forged.deleted == 1


def test_what_has_no_counterpart_is_refused(gpu):
    with pytest.raises(TypeError, match="has no DLPack type"):
        gpuarray.zeros(3, np.dtype([("a", "i4"), ("b", "f4")])).__dlpack__()
    with pytest.raises(Exception, match="not aligned"):
        gpuarray.zeros(16, np.uint8)[1:9].view(np.float32).__dlpack__()


def test_brain_floats(gpu):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    array = gpuarray.to_gpu(np.arange(5).astype(ml_dtypes.bfloat16))
    tensor, _ = inside(array.__dlpack__())
    assert (tensor.code, tensor.bits) == (4, 16)
    again = gpuarray.from_dlpack(array)
    assert again.dtype == ml_dtypes.bfloat16 and (again.get() == np.arange(5)).all()


def test_objects_of_ulib_share_their_memory(gpu):
    numbers = uLib.FloatCollection(np.arange(10, dtype=np.float32))
    numbers.PreferredDevice = "Device"
    shared = gpuarray.from_dlpack(numbers)
    assert (shared.get() == np.arange(10)).all()
    shared[2:4].fill(-1)
    del shared
    assert np.asarray(numbers).tolist() == [0, 1, -1, -1, 4, 5, 6, 7, 8, 9]
    copied = uLib.FloatCollection(gpuarray.to_gpu(np.arange(3, dtype=np.float32)))
    assert np.asarray(copied).tolist() == [0, 1, 2]


def test_a_consumers_stream_comes_after_the_work(fake):
    array = gpuarray.zeros(64, np.uint8)
    first, second = cuda.Stream(1), cuda.Stream(1)
    array.fill(3, stream=first)
    waits = fake.count("cuStreamWaitEvent")
    array.__dlpack__(stream=second.handle)
    assert fake.count("cuStreamWaitEvent") == waits + 1
    array.fill(4, stream=first)
    waits = fake.count("cuStreamWaitEvent")
    array.__dlpack__(stream=-1)
    assert fake.count("cuStreamWaitEvent") == waits


def test_a_consumers_stream_may_end_before_the_memory(gpu):
    pool = DeviceMemoryPool()
    for flags in (0, 1):
        array = gpuarray.to_gpu(np.arange(4, dtype=np.float32), pool.allocate)
        stream = cuda.Stream(flags)
        capsule = array.__dlpack__(stream=stream.handle)
        del stream
        assert (array.get() == np.arange(4)).all()
        array.fill(1)
        del array, capsule
        gc.collect()
        assert pool.active_blocks == 0


def test_no_call_that_fails_leaves_anything_behind(fake):
    def program():
        array = gpuarray.to_gpu(np.arange(20, dtype=np.int16))
        taken = gpuarray.from_dlpack(array[::2])
        assert (taken.get() == np.arange(0, 20, 2)).all()
        array.__dlpack__(copy=True, stream=2)

    program()
    fake("reset")
    program()
    calls = fake.count()
    failed = 0
    for nth in range(1, calls + 1):
        fake("reset")
        fake(f"fail *:{nth}:999")
        try:
            program()
        except cuda.Error:
            failed += 1
    fake("reset")
    assert failed > 3
    program()


@pytest.mark.real
def test_torch_shares_the_memory_both_ways(consumer):
    torch = consumer("torch")
    array = gpuarray.to_gpu(np.arange(12, dtype=np.float32).reshape(3, 4))
    tensor = torch.from_dlpack(array[:, 1:])
    tensor += 1
    torch.cuda.synchronize()
    expected = np.arange(12, dtype=np.float32).reshape(3, 4)
    expected[:, 1:] += 1
    assert (array.get() == expected).all()
    made = torch.arange(6, dtype=torch.int64, device="cuda").reshape(2, 3).T
    shared = gpuarray.from_dlpack(made)
    assert shared.ptr == made.data_ptr() and (shared.get() == np.arange(6).reshape(2, 3).T).all()
    shared.fill(5)
    cuda.Context.synchronize()
    assert (made == 5).all().item()
    half = torch.ones(3, dtype=torch.bfloat16, device="cuda")
    if importable("ml_dtypes"):
        assert gpuarray.from_dlpack(half).get().astype(float).tolist() == [1, 1, 1]


@pytest.mark.real
def test_cupy_shares_the_memory_both_ways(consumer):
    cupy = consumer("cupy")
    array = gpuarray.to_gpu(np.arange(6, dtype=np.float64))
    theirs = cupy.from_dlpack(array)
    theirs *= 2
    assert (array.get() == 2 * np.arange(6)).all()
    assert (gpuarray.from_dlpack(cupy.arange(4, dtype=np.int8)).get() == np.arange(4)).all()


@pytest.mark.real
def test_jax_arrays_come_as_copies(consumer):
    jax = consumer("jax")
    given = jax.numpy.arange(5, dtype=jax.numpy.float32)
    assert (gpuarray.from_dlpack(given).get() == np.arange(5)).all()


def importable(name):
    import importlib.util

    return importlib.util.find_spec(name) is not None
