"""What a kernel gets for the arguments of a call, and what is refused."""

import os
import struct
from pathlib import Path

import numpy as np
import pytest
import uLib.cuda.driver as cuda
from device_kernels import entry, kernel, sent


class OnDevice:
    """An array of another library."""

    def __init__(self, address, stream=None):
        self.__cuda_array_interface__ = {
            "data": (address, False),
            "shape": (4,),
            "strides": (16,),
            "typestr": "<f4",
            "version": 3,
            "stream": stream,
        }


class Holder(cuda.PointerHolderBase):
    def get_pointer(self):
        return 0x1234


class Index:
    def __index__(self):
        return 0x5678


@pytest.mark.parametrize(
    ("words", "value", "expected"),
    [
        (".u8", 200, b"\xc8"),
        (".s8", -1, b"\xff"),
        (".u16", 0xBEEF, struct.pack("<H", 0xBEEF)),
        (".s32", -5, struct.pack("<i", -5)),
        (".u32", 2**32 - 1, b"\xff" * 4),
        (".u64", 2**64 - 1, b"\xff" * 8),
        (".s64", -(2**63), struct.pack("<q", -(2**63))),
        (".f32", 1.1, struct.pack("<f", 1.1)),
        (".f64", 1.1, struct.pack("<d", 1.1)),
        (".f32", 3, struct.pack("<f", 3)),
        (".f64", -(2**63) - 1, struct.pack("<d", -(2.0**63))),
        (".f32", True, struct.pack("<f", 1)),
        (".f64", False, bytes(8)),
        (".f16", 1.5, np.float16(1.5).tobytes()),
        (".f16", 2, np.float16(2).tobytes()),
        (".b32", 1.5, struct.pack("<f", 1.5)),
        (".b32", 7, struct.pack("<i", 7)),
        (".b32", np.float32(1.5), struct.pack("<f", 1.5)),
        (".b32", np.uint32(7), struct.pack("<I", 7)),
        (".align 2 .b8 h[2]", np.float16(0.1), np.float16(0.1).tobytes()),
        (".align 4 .b8 s[4]", np.float32(0.1), struct.pack("<f", 0.1)),
        (".u8", True, b"\x01"),
        (".u32", False, bytes(4)),
        (".align 8 .b8 z[8]", 1.5 - 2j, struct.pack("<ff", 1.5, -2)),
        (".align 8 .b8 z[16]", 1.5 - 2j, struct.pack("<dd", 1.5, -2)),
        (".s8", np.int8(-3), struct.pack("<b", -3)),
        (".u8", np.uint8(253), b"\xfd"),
        (".s16", np.int16(-300), struct.pack("<h", -300)),
        (".u16", np.uint16(65000), struct.pack("<H", 65000)),
        (".s32", np.int32(-70000), struct.pack("<i", -70000)),
        (".u32", np.uint32(4000000000), struct.pack("<I", 4000000000)),
        (".s64", np.int64(-5), struct.pack("<q", -5)),
        (".u64", np.uint64(2**63), struct.pack("<Q", 2**63)),
        (".s64", np.longlong(-6), struct.pack("<q", -6)),
        (".u64", np.ulonglong(6), struct.pack("<Q", 6)),
        (".u8", np.bool_(True), b"\x01"),
        (".b16", np.float16(0.1), np.float16(0.1).tobytes()),
        (".f32", np.float32(0.1), struct.pack("<f", 0.1)),
        (".f64", np.float64(0.1), struct.pack("<d", 0.1)),
        (".align 8 .b8 z[8]", np.complex64(1 + 2j), struct.pack("<ff", 1, 2)),
        (".align 8 .b8 z[16]", np.complex128(1 + 2j), struct.pack("<dd", 1, 2)),
        (".f64", np.zeros(1, np.float64)[0], bytes(8)),
        (".align 4 .b8 a[12]", np.arange(3, dtype=np.int32), struct.pack("<iii", 0, 1, 2)),
        (".align 4 .b8 a[12]", np.arange(6, dtype=np.int32)[::2], struct.pack("<iii", 0, 2, 4)),
        (".f32", np.array(2.5, np.float32), struct.pack("<f", 2.5)),
    ],
)
def test_values_arrive_as_they_are(fake, words, value, expected):
    words = words if "[" in words else f"{words} x"
    got = sent(kernel(words), value, size=8 + len(expected))
    assert got == expected


def test_bfloat16_arrives(fake):
    types = pytest.importorskip("ml_dtypes")
    value = types.bfloat16(1.5)
    assert sent(kernel(".b16 x"), value, size=10) == value.tobytes()


def test_structs_are_aligned_as_the_kernel_has_them(fake):
    """A small number, then a struct that begins at a multiple of eight."""
    dtype = np.dtype([("a", np.int8), ("b", np.float64)], align=True)
    record = np.zeros(1, dtype)[0]
    record["a"], record["b"] = 7, 1.5
    got = sent(kernel(".u8 small", ".align 8 .b8 s[16]"), np.int8(5), record, size=32)
    assert got[0] == 5 and got[8] == 7
    assert struct.unpack("<d", got[16:24]) == (1.5,)
    packed = np.zeros(1, np.dtype([("a", np.int8), ("b", np.float64)]))[0]
    with pytest.raises(cuda.LogicError, match=r"parameter #2 \(0-based\) .* has 16 bytes, and the void given for it 9; .*align=True"):
        sent(kernel(".u8 small", ".align 8 .b8 s[16]"), np.int8(5), packed, size=32)


def test_addresses_of_all_kinds(fake):
    memory = cuda.mem_alloc(64)

    class Array:
        gpudata = memory

    class View:
        gpudata = int(memory) + 8

    class Empty:
        gpudata = None

    function = kernel(".u64 x")
    for value, expected in (
        (memory, int(memory)),
        (int(memory), int(memory)),
        (np.uint64(int(memory)), int(memory)),
        (Array(), int(memory)),
        (View(), int(memory) + 8),
        (Empty(), 0),
        (OnDevice(int(memory)), int(memory)),
        (OnDevice(int(memory), stream=1), int(memory)),
        (Holder(), 0x1234),
        (Index(), 0x5678),
    ):
        assert struct.unpack("<Q", sent(function, value, size=16)) == (expected,)
    import uLib

    image = uLib.VoxImage(2, 2, 2)
    image.SetPreferredDevice("Device")
    assert struct.unpack("<Q", sent(function, image, size=16)) == (image.__cuda_array_interface__["data"][0],)
    memory.free()
    with pytest.raises(cuda.LogicError, match="freed"):
        sent(function, memory, size=16)


def test_work_waits_for_the_stream_that_an_array_names(fake):
    memory, function = cuda.mem_alloc(64), kernel(".u64 x")
    beside, ordered, producer = cuda.Stream(cuda.stream_flags.NON_BLOCKING), cuda.Stream(), cuda.Stream()
    uses = {
        "kernel": lambda array, stream: function(int(memory), array, block=(1, 1, 1), stream=stream),
        "copy": lambda array, stream: cuda.memcpy_dtod_async(int(memory) + 32, array, 16, stream),
        "fill": lambda array, stream: cuda.memset_d8_async(array, 1, 16, stream),
    }
    # The default stream waits itself for all but those beside it.
    for named, waiting in ((None, ""), (1, "beside"), (producer.handle, "beside ordered None")):
        array = OnDevice(int(memory), stream=named)
        array.__cuda_array_interface__["strides"] = None
        for name, use in uses.items():
            for stream_name, stream in (("beside", beside), ("ordered", ordered), ("None", None)):
                before = fake.count("cuStreamWaitEvent")
                use(array, stream)
                waits = fake.count("cuStreamWaitEvent") - before
                assert waits == (stream_name in waiting.split()), (name, named, stream_name)


def test_managed_arrays_and_their_views_go_by_address(fake):
    array = cuda.managed_zeros((4, 6), np.float32, mem_flags=cuda.mem_attach_flags.GLOBAL)
    function = kernel(".u64 x")
    for view in (array, array[1:], array[2, 3:], array.T, array[::2, ::2], array.view(np.int32), array[1, 1:2]):
        (address,) = struct.unpack("<Q", sent(function, view, size=16))
        assert address == view.ctypes.data
    with pytest.raises(cuda.LogicError, match="has 4 bytes, and the ndarray given for it 8"):
        sent(kernel(".u32 x"), array, size=12)
    by_value = kernel(".align 4 .b8 x[16]")
    copied = array[0, :4].copy()
    copied[:] = [1, 2, 3, 4]
    assert struct.unpack("<ffff", sent(by_value, copied, size=24)) == (1, 2, 3, 4)


def test_arrays_of_dlpack_go_by_address(fake):
    import uLib

    block = uLib.FloatCollection([1, 2, 3])
    block.SetPreferredDevice("Device")

    class Lent:
        def __dlpack__(self, **how):
            return block.__dlpack__(**how)

        def __dlpack_device__(self):
            return block.__dlpack_device__()

    class OnTheHost:
        def __dlpack__(self, **how):
            raise AssertionError("not asked")

        def __dlpack_device__(self):
            return (1, 0)

    function = kernel(".u64 x")
    (address,) = struct.unpack("<Q", sent(function, Lent(), size=16))
    assert address == block.__cuda_array_interface__["data"][0]
    with pytest.raises(TypeError, match="not on a CUDA device"):
        sent(function, OnTheHost(), size=16)


@pytest.mark.parametrize("address", [-1, 2**64, 2**70])
def test_addresses_that_are_none_are_named(fake, address):
    array = type("Array", (), {"gpudata": address})()
    message = rf"parameter #1 \(0-based\) of kernel fakecuda_parameters, Array: gpudata is {address}, which is no address"
    with pytest.raises(cuda.LogicError, match=message):
        sent(kernel(".u64 x"), array, size=16)


def test_streams_that_are_none_are_named(fake):
    memory = cuda.mem_alloc(64)
    array = OnDevice(int(memory), stream=0xDEAD)
    array.__cuda_array_interface__["strides"] = None
    for call in (lambda: sent(kernel(".u64 x"), array, size=16), lambda: cuda.memset_d8(array, 0, 4)):
        with pytest.raises(cuda.LogicError, match="waiting for stream 0xdead, which the __cuda_array_interface__ of an argument names"):
            call()


@pytest.mark.parametrize(
    ("words", "value", "error", "message"),
    [
        (".u8 x", 300, cuda.LogicError, r"parameter #1 \(0-based\) of kernel fakecuda_parameters has 1 bytes, and 300 does not fit"),
        (".u8 x", -129, cuda.LogicError, "-129 does not fit"),
        (".u64 x", 2**64, cuda.LogicError, "does not fit"),
        (".u32 x", np.float64(1), cuda.LogicError, r"parameter #1 \(0-based\) .* has 4 bytes, and the float64 given for it 8"),
        (".u64 x", np.float32(1), cuda.LogicError, "has 8 bytes, and the float32 given for it 4"),
        (".u64 x", np.zeros(3), cuda.LogicError, r"has 8 bytes, and the array of the host given for it 24.*InOut"),
        (".b16 x", 1.5, TypeError, "bfloat16"),
        (".align 4 .b8 x[12]", 1, TypeError, "the parameter is a struct of 12 bytes"),
        (".align 4 .b8 x[12]", 1.0, TypeError, "the parameter is a struct of 12 bytes"),
        (".align 4 .b8 x[12]", 1j, TypeError, "the parameter is a struct of 12 bytes"),
        (".u64 x", None, TypeError, r"invalid type on parameter #1 \(0-based\) .*NoneType"),
        (".u64 x", "text", TypeError, "invalid type on parameter #1"),
        (".u64 x", [1], TypeError, "invalid type on parameter #1"),
        (".u64 x", object(), TypeError, "invalid type on parameter #1"),
        (".u32 x", 1.5, TypeError, r"parameter #1 \(0-based\) of kernel fakecuda_parameters: float, and the parameter is an integer of 4 bytes"),
        (".u64 x", 1.0, TypeError, "float, and the parameter is an integer of 8 bytes"),
        (".u32 x", np.float32(1), TypeError, "float32, and the parameter is an integer of 4 bytes"),
        (".s32 x", np.array(1, np.float32), TypeError, "ndarray, and the parameter is an integer of 4 bytes"),
        (".u64 x", np.float64(1), TypeError, "float64, and the parameter is an integer of 8 bytes"),
        (".u16 x", np.float16(1), TypeError, "float16, and the parameter is an integer of 2 bytes"),
        (".f32 x", np.int32(1), TypeError, "int32, and the parameter is a floating-point number of 4 bytes"),
        (".f64 x", np.int64(1), TypeError, "int64, and the parameter is a floating-point number of 8 bytes"),
        (".f64 x", 1j, TypeError, "complex, and the parameter is a floating-point number of 8 bytes"),
        (".u64 x", np.complex64(1), TypeError, "complex64, and the parameter is an integer of 8 bytes"),
        (".f32 x", 10**39, cuda.LogicError, "has 4 bytes, and 10+ does not fit"),
        (".f64 x", 10**400, cuda.LogicError, "has 8 bytes, and .* does not fit"),
        (".align 2 .b8 x[2]", 1, TypeError, "a struct of 2 bytes: say which half precision"),
        (".align 2 .b8 x[2]", 1.0, TypeError, "a struct of 2 bytes: say which half precision"),
        (".align 8 .b8 x[8]", True, TypeError, "bool, and the parameter is a struct of 8 bytes"),
        (".f64 x", OnDevice(4096), TypeError, "OnDevice, and the parameter is a floating-point number of 8 bytes"),
        (".u64 x", np.array([None]), TypeError, "object"),
        (".u64 x", np.str_("ab"), TypeError, "no kernel takes"),
    ],
)
def test_wrong_arguments_are_named_and_nothing_is_launched(fake, words, value, error, message):
    function = kernel(words)
    with pytest.raises(error, match=message):
        sent(function, value, size=64)
    assert fake.count("cuLaunchKernel") == 0


def test_wrong_numbers_of_arguments(fake):
    function = kernel(".u64 x")
    for values in ((), (1,), (1, 2, 3)):
        with pytest.raises(cuda.LogicError, match=f"takes 2 arguments, and got {len(values)}"):
            function(*values, block=(1, 1, 1))


def test_numbers_in_the_other_order_are_refused(fake):
    """Also in structs, and in managed memory; the message says how to turn them round."""
    record = np.zeros(1, np.dtype([("a", ">i4"), ("b", "<i4")]))[0]
    managed = cuda.managed_zeros(4, np.dtype(">f4"), mem_flags=cuda.mem_attach_flags.GLOBAL)
    for words, value in (
        (".f32 x", np.array(1.5, ">f4")),
        (".align 4 .b8 x[12]", np.arange(3, dtype=">i4")),
        (".align 4 .b8 x[8]", record),
        (".u64 x", managed),
    ):
        with pytest.raises(TypeError, match=r"parameter #1 .*in the other order than the device's: a.astype\("):
            sent(kernel(words), value, size=64)
    for handler in (cuda.In, cuda.Out, cuda.InOut):
        with pytest.raises(TypeError, match="dtype >f4, whose bytes are in the other order"):
            handler(np.zeros(3, ">f4")).get_device_alloc()
    assert fake.count("cuLaunchKernel") == 0
    a = np.array(1.5, ">f4")
    assert sent(kernel(".f32 x"), a.astype(a.dtype.newbyteorder("=")), size=12) == struct.pack("<f", 1.5)
    assert sent(kernel(".f32 x"), np.arange(3, dtype=">f4")[1], size=12) == struct.pack("<f", 1)


def test_drivers_that_do_not_tell_the_parameters(fake, python, tmp_path):
    """Before CUDA 12.4: what PTX says counts; where there is none, sizes are those of the values, and numbers of Python need a type."""
    older = tmp_path / "libcuda.so.1"
    name = b"\0cuFuncGetParamInfo\0"
    older.write_bytes(Path(os.environ["ULIB_CUDA_DRIVER"]).read_bytes().replace(name, name.replace(b"Info", b"Lore")))
    done = python(
        f"""
import numpy as np
import uLib.cuda.driver as cuda
def kernel(text):
    return cuda.module_from_buffer(text).get_function("fakecuda_parameters")
def got():
    cuda.Context.synchronize()
    got = np.zeros(3, np.int32)
    cuda.memcpy_dtoh(got, out)
    return got[2]
out = cuda.mem_alloc(12)
function = kernel({entry(".s32 x")!r})
print(function.parameters)
function(out, 7, block=(1, 1, 1))
print(got())
try:
    function(out, 7.5, block=(1, 1, 1))
except TypeError as error:
    print(error)
# Two names are no PTX that is understood.
function = kernel({entry(".s32 x y")!r})
print(function.parameters)
function(out, np.int32(-7), block=(1, 1, 1))
print(got())
try:
    function(out, 7, block=(1, 1, 1))
except TypeError as error:
    print(error)
function.prepare("Pi").prepared_call((1, 1), (1, 1, 1), int(out), -8)
print(got())
try:
    function._launch_kernel((1, 1), (1, 1, 1), bytes(12), 0, None)
except cuda.LogicError as error:
    print(error)
""",
        ULIB_CUDA_DRIVER=str(older),
    )
    known, seven, refused, unknown, less, need, eight, where = done.stdout.splitlines()
    assert (known, seven, unknown, less, eight) == ("[(0, 8), (8, 4)]", "7", "None", "-7", "-8")
    assert "float, and the parameter is an integer of 4 bytes" in refused
    assert "say it with one of NumPy" in need and "where its parameters lie is not known" in where
