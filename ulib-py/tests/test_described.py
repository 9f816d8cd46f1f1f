"""What is read of ``__cuda_array_interface__``: one reader, which believes nothing that cannot be, in every place that reads it."""

import random

import numpy as np
import pytest
import uLib
import uLib.cuda.driver as cuda
from device_kernels import kernel, sent

GOOD = {"shape": (4,), "typestr": "<f4", "data": (1 << 20, False), "version": 3, "strides": None, "stream": None}


class Foreign:
    """An array on a device by its description alone."""

    def __init__(self, **changes):
        self.__cuda_array_interface__ = {key: value for key, value in {**GOOD, **changes}.items() if value is not KeyError}


def launch(array):
    kernel(".u64 x")(cuda.mem_alloc(16), array, block=(1, 1, 1))


# What reads a description, and how its messages begin.
READERS = {
    "launch": (launch, r"parameter #1 \(0-based\) of kernel fakecuda_parameters, Foreign"),
    "memcpy_dtoh": (lambda array: cuda.memcpy_dtoh(np.zeros(4, np.float32), array), "memcpy_dtoh: src"),
    "gpuarray_to_array": (lambda array: cuda.gpuarray_to_array(array, "C"), "gpuarray_to_array: gpuarray"),
    "TextureObject": (lambda array: cuda.TextureObject(array), "TextureObject"),
    "TextureReference": (lambda array: cuda.TextureReference().set_address(array, 16), "TextureReference.set_address: devptr"),
    "SetValues": (lambda array: uLib.FloatCollection(4).SetValues(array), "SetValues"),
    "array_info": (lambda array: uLib.device.array_info(array), "array_info"),
}
reader = pytest.mark.parametrize("name", READERS)

WRONG = [
    ({"version": KeyError}, ValueError, "'version' is missing"),
    ({"shape": KeyError}, ValueError, "'shape' is missing"),
    ({"typestr": KeyError}, ValueError, "'typestr' is missing"),
    ({"data": KeyError}, ValueError, "'data' is missing"),
    ({"version": "3"}, TypeError, "version is '3', expected an integer"),
    ({"version": -1}, ValueError, "version is -1, expected an integer of 0 or more"),
    ({"shape": None}, TypeError, "shape is None, expected a tuple of lengths"),
    ({"shape": "x"}, TypeError, "shape is 'x', expected a tuple"),
    ({"shape": [4]}, TypeError, r"shape is \[4\], expected a tuple"),
    ({"shape": 4}, TypeError, "shape is 4, expected a tuple"),
    ({"shape": (4.0,)}, TypeError, r"shape is \(4.0,\), expected a tuple"),
    ({"shape": (-1,)}, ValueError, r"shape is \(-1,\), expected a tuple of lengths"),
    ({"shape": (2**70,)}, ValueError, r"shape is \(1180591620717411303424,\), expected a tuple of lengths"),
    ({"shape": (2**63,)}, ValueError, r"shape is \(9223372036854775808,\)"),
    ({"shape": (2**62, 2)}, ValueError, "shape is .*, which is more elements of 4 bytes than any memory has"),
    ({"shape": (2**32, 2**32), "strides": (0, 0)}, ValueError, "more elements of 4 bytes"),
    ({"shape": (1,) * 65}, ValueError, "shape has 65 axes, expected at most 64"),
    ({"typestr": None}, TypeError, "typestr is None, expected a text"),
    ({"typestr": 4}, TypeError, "typestr is 4, expected a text"),
    ({"typestr": "zz"}, TypeError, "typestr is 'zz', expected a byte order, a kind and a size"),
    ({"typestr": "f4"}, TypeError, "typestr is 'f4', expected a byte order"),
    ({"typestr": ""}, TypeError, "typestr is '', expected a byte order"),
    ({"typestr": "<f"}, TypeError, "typestr is '<f', expected a byte order"),
    ({"typestr": "<f+4"}, TypeError, "expected a byte order, a kind and a size"),
    ({"typestr": "<f4[s]"}, TypeError, "expected a byte order, a kind and a size"),
    ({"typestr": "<é4"}, TypeError, "typestr is '<é4', expected"),
    ({"typestr": "\ud800"}, TypeError, r"typestr is .*, expected a text"),
    ({"typestr": "<f3"}, TypeError, "typestr is '<f3', expected a kind of NumPy's"),
    ({"typestr": "|O8"}, TypeError, "typestr is '|O8', expected a kind of NumPy's"),
    ({"typestr": "|V99999999999999999999"}, TypeError, "expected a byte order, a kind and a size"),
    ({"typestr": f"|V{2**63}"}, TypeError, "an element that some memory has room for"),
    ({"typestr": ">f4"}, TypeError, "typestr is '>f4', expected the byte order of this machine"),
    ({"typestr": "|f4"}, TypeError, "typestr is '|f4', expected a byte order"),
    ({"data": None}, TypeError, "data is None, expected a tuple of an address"),
    ({"data": 4096}, TypeError, "data is 4096, expected a tuple of an address"),
    ({"data": (4096,)}, TypeError, r"data is \(4096,\), expected"),
    ({"data": (None, False)}, TypeError, r"data is \(None, False\), expected"),
    ({"data": (4096, None)}, TypeError, r"data is \(4096, None\), expected"),
    ({"data": (-1, False)}, ValueError, r"data is \(-1, False\), expected an address of 64 bits"),
    ({"data": (2**64, False)}, ValueError, r"data is \(18446744073709551616, False\), expected an address of 64 bits"),
    ({"data": (0, False)}, ValueError, r"data is \(0, False\), expected an address, of an array that is not empty"),
    ({"data": (2**64 - 8, False)}, ValueError, "0xfffffffffffffff8 on reach beyond every address"),
    ({"strides": 4}, TypeError, "strides is 4, expected None or a tuple"),
    ({"strides": "x"}, TypeError, "strides is 'x', expected None or a tuple"),
    ({"strides": [4]}, TypeError, r"strides is \[4\], expected None or a tuple"),
    ({"strides": ("x",)}, TypeError, r"strides is \('x',\), expected None or a tuple"),
    ({"strides": (1, 2, 3)}, ValueError, r"strides is \(1, 2, 3\), expected 1 number, as shape has"),
    ({"strides": ()}, ValueError, r"strides is \(\), expected 1 number"),
    ({"strides": (2**70,)}, ValueError, r"strides is \(1180591620717411303424,\), expected None or a tuple"),
    ({"strides": (2**63 - 1,)}, ValueError, "reach beyond every address"),
    ({"strides": (-(2**20),)}, ValueError, "reach beyond every address"),
    ({"mask": 1}, ValueError, "mask is 1, expected None: masked arrays are not supported"),
    ({"stream": 0}, ValueError, "stream 0 is ambiguous; 1 is the legacy default stream"),
    ({"stream": -3}, ValueError, "stream is -3, expected None, 1, 2 or the handle"),
    ({"stream": 2**70}, ValueError, "stream is 1180591620717411303424, expected"),
    ({"stream": "x"}, TypeError, "stream is 'x', expected None, 1, 2 or the handle"),
]


@reader
def test_every_reader_refuses_what_cannot_be(gpu, name):
    read, begin = READERS[name]
    for changes, error, words in WRONG:
        with pytest.raises(error, match=f"^{begin}: __cuda_array_interface__: .*{words}") as caught:
            read(Foreign(**changes))
        inside_cuda = name not in ("SetValues", "array_info")
        assert (type(caught.value) is cuda.LogicError) == (inside_cuda and error is ValueError), changes


@reader
def test_the_attribute_itself_is_checked(gpu, name):
    read, begin = READERS[name]

    class Raising:
        error = None

        @property
        def __cuda_array_interface__(self):
            raise self.error

    for error in (RuntimeError("mine"), OSError(5, "mine"), KeyError("mine"), TypeError("mine")):
        Raising.error = error
        with pytest.raises(ValueError, match="__cuda_array_interface__ of .*Raising.* raised .*mine") as caught:
            read(Raising())
        assert caught.value.__cause__ is error
    # What ends the program, what there is no memory for, and errors of uLib stay what they are.
    for error in (KeyboardInterrupt("mine"), MemoryError("mine"), uLib.DriverError("mine"), cuda.LaunchError("mine")):
        Raising.error = error
        with pytest.raises(type(error), match="^mine$") as caught:
            read(Raising())
        assert caught.value is error
    wrong = Foreign()
    for attribute in ([1], "text", 5):
        wrong.__cuda_array_interface__ = attribute
        with pytest.raises(TypeError, match=f"^{begin}: __cuda_array_interface__: the attribute is .*, expected a dict"):
            read(wrong)


def test_arrays_without_the_attribute_have_none(gpu):
    class Without:
        @property
        def __cuda_array_interface__(self):
            raise AttributeError("not here")

    nothing = Foreign()
    nothing.__cuda_array_interface__ = None
    for array in (Without(), nothing, object()):
        assert uLib.device.array_info(array) is None
        with pytest.raises(TypeError, match="invalid type on parameter #1"):
            launch(array)
        with pytest.raises(cuda.LogicError, match="which is no device memory"):
            cuda.memcpy_dtoh(np.zeros(4, np.float32), array)


class Number:
    def __init__(self, number):
        self.number = number

    def __index__(self):
        return self.number


class Named(dict):
    pass


class Lengths(tuple):
    pass


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"version": 0},
        {"version": 2, "stream": KeyError, "strides": KeyError},
        {"version": 99, "descr": [("", "<f4")], "of tomorrow": object()},
        {"version": Number(3), "shape": (np.int64(4),), "strides": (np.int32(4),), "data": (np.uint64(2**40), np.bool_(True))},
        {"shape": Lengths((4,)), "strides": Lengths((4,))},
        {"shape": (), "strides": ()},
        {"data": (2**64 - 16, False)},
        {"shape": (0, 3), "data": (0, False)},
        {"shape": (0, 2**62, 2**62), "strides": (2**62, -(2**62), 1), "data": (0, True)},
        {"shape": (1, 4), "strides": (2**63 - 1, 4)},
        {"shape": (1, 4), "strides": (-(2**63), 4)},
        {"shape": (2, 4), "strides": (0, 4)},
        {"strides": (-4,), "data": (12, False)},
        {"stream": 1},
        {"stream": 2},
        {"stream": 2**47},
        {"mask": None},
        *({"typestr": np.dtype(kind).str} for kind in "? b B h H i I q Q e f d F D G g S3 U2 V5 M8[ns] m8[3D]".split()),
        {"typestr": ">i1"},
        {"typestr": "<V2"},
    ],
    ids=str,
)
def test_what_can_be_is_believed(fake, changes):
    array = Foreign(**changes)
    array.__cuda_array_interface__ = Named(array.__cuda_array_interface__)
    seen = array.__cuda_array_interface__
    found = uLib.device.array_info(array)
    shape, item = tuple(int(n) for n in seen["shape"]), np.dtype(seen["typestr"]).itemsize
    packed = tuple(item * int(np.prod(shape[axis + 1 :], dtype=object)) for axis in range(len(shape)))
    assert found == {
        "pointer": int(seen["data"][0]),
        "count": int(np.prod(shape, dtype=object)),
        "itemsize": item,
        "stride": (tuple(seen.get("strides") or packed) or (item,))[-1],
        "typestr": seen["typestr"],
        "shape": shape,
        "strides": tuple(seen.get("strides") or packed),
    }
    if seen.get("stream") in (None, 1, 2):
        got = sent(kernel(".u64 x"), array, size=16)
        assert int.from_bytes(got, "little") == int(seen["data"][0])


ODD = [None, True, -1, 0, 1, 3, 2**31, 2**63, 2**64, 10**30, 1.5, float("nan"), "", "<f4", b"<f4", (), (4,), (4, 4), (0,), (-4,), (2**62, 8)]
ODD += [(2**63,), ("4",), (4096, False), (4096, 0), (0, True), ((4,), 4), [4], {}, {"data": 3}, object(), np.float32(4), np.array([4]), KeyError]


def test_descriptions_at_random_are_read_or_refused(fake):
    draw = random.Random(11)
    function, out = kernel(".u64 x"), cuda.mem_alloc(16)
    read = 0
    for _ in range(3000):
        changes = {key: draw.choice(ODD) for key in draw.sample([*GOOD, "mask"], draw.randint(1, 3))}
        if changes.get("stream") in (3, 2**31, 2**63):
            # No stream of this process.
            continue
        array = Foreign(**changes)
        answers = []
        for attempt in (lambda: uLib.device.array_info(array), lambda: function(out, array, block=(1, 1, 1))):
            try:
                attempt()
                answers.append(None)
            except (TypeError, ValueError) as error:
                assert "__cuda_array_interface__: " in str(error)
                answers.append(str(error).split("__cuda_array_interface__: ")[1])
        assert answers[0] == answers[1], changes
        read += answers[0] is None
    assert 100 < read < 2500


def test_arrays_that_are_read_only_are_not_written(gpu):
    memory = cuda.to_device(np.arange(4, dtype=np.float32))
    array = Foreign(data=(int(memory), True))
    host = np.zeros(4, np.float32)
    cuda.memcpy_dtoh(host, array)
    assert host.tolist() == [0, 1, 2, 3]
    launch(array)
    row = cuda.Array(_descriptor())
    copies = [cuda.Memcpy2D(), cuda.Memcpy3D(), cuda.Memcpy3DPeer()]
    for write in (
        lambda: cuda.memcpy_htod(array, host),
        lambda: cuda.memcpy_htod_async(array, host),
        lambda: cuda.memcpy_dtod(array, memory, 16),
        lambda: cuda.memcpy_dtod_async(array, memory, 16),
        lambda: cuda.memcpy_peer(array, memory, 16),
        lambda: cuda.memset_d8(array, 7, 4),
        lambda: cuda.memset_d32_async(array, 7, 4),
        lambda: cuda.memset_d2d16(array, 8, 7, 4, 1),
        lambda: cuda.memcpy_atod(array, row, 0, 16),
        lambda: row.copy_to(array),
        *(lambda copy=copy: copy.set_dst_device(array) for copy in copies),
    ):
        with pytest.raises(cuda.LogicError, match="^[a-zA-Z_0-9.]+: (dest|device memory) is read-only: .*Foreign"):
            write()
    for copy in copies:
        copy.set_src_device(array)
    cuda.Context.synchronize()
    cuda.memcpy_dtoh(host, memory)
    assert host.tolist() == [0, 1, 2, 3]


def _descriptor():
    found = cuda.ArrayDescriptor()
    found.width, found.height, found.format, found.num_channels = 4, 0, cuda.array_format.FLOAT, 1
    return found


def test_handlers_write_no_array_that_is_read_only(fake):
    array = np.zeros(4, np.float32)
    array.flags.writeable = False
    function = kernel(".u64 x")
    out = cuda.mem_alloc(16)
    for handler in (cuda.Out, cuda.InOut):
        with pytest.raises(cuda.LogicError, match=f"^{handler.__name__}: the array is read-only"):
            function(out, handler(array), block=(1, 1, 1))
    assert fake.count("cuLaunchKernel") == 0
    function(out, cuda.In(array), block=(1, 1, 1))
    assert fake.count("cuLaunchKernel") == 1
    managed = cuda.managed_zeros(4, np.float32, mem_flags=cuda.mem_attach_flags.GLOBAL)
    managed.flags.writeable = False
    with pytest.raises(cuda.LogicError, match="memset_d8: dest is read-only"):
        cuda.memset_d8(managed, 1, 4)
    cuda.memcpy_dtoh(np.zeros(4, np.float32), managed)


@pytest.mark.parametrize("shape", [(0, 2**62, 2**62), (2**62, 2**62, 0)])
def test_empty_arrays_of_other_lengths_than_any_are_refused_by_collections(gpu, shape):
    with pytest.raises(ValueError, match="too large"):
        uLib.FloatCollection(Foreign(shape=shape))
