"""Modules, the linker, functions, and what a kernel gets for the arguments of a call.

The kernel `fakecuda_parameters` of the software driver writes its parameters, as they lie in the kernel's memory, to the address
in the first one: that shows how arguments are packed without a card.
"""

import gc
import os
import struct
import threading
from pathlib import Path

import numpy as np
import pytest
import uLib.cuda.driver as cuda
from uLib.cuda.driver import In, InOut, Out

HEAD = ".version 7.0\n.target sm_60\n.address_size 64\n"
NOTHING = HEAD + ".visible .global .align 4 .b8 table[48];\n.visible .entry nothing()\n{\n    ret;\n}\n"


def entry(*parameters, name="fakecuda_parameters"):
    """A program whose kernel takes an address and these parameters, in PTX's words."""
    lines = [".param .u64 out", *(f".param {words}" for words in parameters)]
    return HEAD + f".visible .entry {name}(\n" + ",\n".join(lines) + "\n)\n{\n    ret;\n}\n"


def kernel(*parameters):
    return cuda.module_from_buffer(entry(*parameters).encode()).get_function("fakecuda_parameters")


def sent(function, *values, size, **how):
    """What the kernel got for these values, behind the address."""
    out = cuda.mem_alloc(size)
    function(out, *values, block=(1, 1, 1), **how)
    cuda.Context.synchronize()
    got = np.zeros(size, np.uint8)
    cuda.memcpy_dtoh(got, out)
    assert got[:8].view(np.uint64)[0] == int(out)
    return got[8:].tobytes()


def test_modules_come_from_bytes_text_and_files(gpu, tmp_path):
    path = tmp_path / "nothing.ptx"
    path.write_text(NOTHING)
    for module in (
        cuda.module_from_buffer(NOTHING.encode()),
        cuda.module_from_buffer(NOTHING),
        cuda.module_from_buffer(bytearray(NOTHING.encode())),
        cuda.module_from_file(str(path)),
        cuda.module_from_file(path),
    ):
        function = module.get_function("nothing")
        assert function.name == "nothing"
        assert isinstance(function, cuda.Function)
        address, size = module.get_global("table")
        assert size == 48 and address > 0
    with pytest.raises(cuda.LogicError, match="the program has no kernel \"missing\""):
        module.get_function("missing")
    with pytest.raises(cuda.LogicError, match="the program has no variable \"missing\""):
        module.get_global("missing")
    with pytest.raises(OSError, match="missing.cubin"):
        cuda.module_from_file(tmp_path / "missing.cubin")


def test_a_function_keeps_its_module(gpu):
    function = cuda.module_from_buffer(NOTHING).get_function("nothing")
    gc.collect()
    assert function.max_threads_per_block >= 1


def test_damaged_images_never_reach_the_driver(gpu):
    for image in (b"", b"\x7fELF", b"\x7fELF\x02\x01" + bytes(200), b"\x50\xed\x55\xba" + b"\xff" * 12, b"\xff" * 64):
        with pytest.raises((cuda.LogicError, cuda.RuntimeError)):
            cuda.module_from_buffer(image)


def test_the_translators_words_reach_the_handler(gpu):
    heard = []
    cuda.module_from_buffer(NOTHING, [(cuda.jit_option.OPTIMIZATION_LEVEL, 2)], lambda *said: heard.append(said))
    assert heard[0][0] is True
    with pytest.raises(cuda.Error):
        cuda.module_from_buffer("no program", message_handler=lambda *said: heard.append(said))
    good, info, error = heard[1]
    assert good is False and isinstance(info, str) and error
    with pytest.raises(cuda.LogicError, match="messages are collected by themselves"):
        cuda.module_from_buffer(NOTHING, [(cuda.jit_option.ERROR_LOG_BUFFER, 1)])


def test_references_are_variables_of_a_module(gpu):
    source = NOTHING.replace(".b8 table[48]", ".b8 tex[8]")
    module = cuda.module_from_buffer(source)
    texture, surface = module.get_texref("tex"), module.get_surfref("tex")
    assert isinstance(texture, cuda.TextureReference) and isinstance(surface, cuda.SurfaceReference)
    assert module.get_texref("tex") is texture and module.get_surfref("tex") is surface
    with pytest.raises(cuda.LogicError, match="no variable \"missing\""):
        module.get_texref("missing")


def test_references_are_used_by_the_calls_that_name_them(gpu):
    used = []

    class Reference:
        def _use(self, stream=None):
            used.append(stream)
            raise KeyError("used")

    function = cuda.module_from_buffer(NOTHING).get_function("nothing")
    stream = cuda.Stream()
    with pytest.raises(KeyError):
        function(block=(1, 1, 1), texrefs=[Reference()], stream=stream)
    function.param_set_texref(Reference())
    with pytest.raises(KeyError):
        function(block=(1, 1, 1))
    function.prepare("", texrefs=[Reference()])
    with pytest.raises(KeyError):
        function.prepared_async_call((1, 1), (1, 1, 1), stream)
    assert used == [stream, None, stream]


def test_the_linker_makes_one_module_of_several_programs(gpu, tmp_path):
    path = tmp_path / "second.ptx"
    path.write_text(NOTHING.replace("nothing", "second").replace("table", "other"))
    heard = []
    linker = cuda.Linker(lambda *said: heard.append(said), [(cuda.jit_option.OPTIMIZATION_LEVEL, 1)], True)
    linker.add_data(NOTHING.encode(), cuda.jit_input_type.PTX, "nothing.ptx")
    linker.add_file(str(path), cuda.jit_input_type.PTX)
    module = linker.link_module()
    assert heard[0][0] is True
    assert module.get_function("nothing").name == "nothing"
    assert module.get_function("second").name == "second"
    with pytest.raises(cuda.LogicError, match="link_module has been called already"):
        linker.link_module()
    broken = cuda.Linker()
    with pytest.raises(cuda.Error, match="linking broken.ptx"):
        broken.add_data(b"no program", cuda.jit_input_type.PTX, "broken.ptx")


def test_attributes_by_enumeration_by_name_and_changed(gpu):
    function = cuda.module_from_buffer(NOTHING).get_function("nothing")
    which = cuda.function_attribute
    for name in (
        "MAX_THREADS_PER_BLOCK",
        "SHARED_SIZE_BYTES",
        "CONST_SIZE_BYTES",
        "LOCAL_SIZE_BYTES",
        "NUM_REGS",
        "PTX_VERSION",
        "BINARY_VERSION",
        "CACHE_MODE_CA",
        "MAX_DYNAMIC_SHARED_SIZE_BYTES",
        "PREFERRED_SHARED_MEMORY_CARVEOUT",
    ):
        assert getattr(function, name.lower()) == function.get_attribute(getattr(which, name))
    function.set_attribute(which.MAX_DYNAMIC_SHARED_SIZE_BYTES, 60000)
    assert function.max_dynamic_shared_size_bytes == 60000
    function.set_cache_config(cuda.func_cache.PREFER_L1)
    function.set_shared_config(cuda.shared_config.DEFAULT_BANK_SIZE)
    with pytest.raises(AttributeError, match="no attribute 'colour'"):
        _ = function.colour
    assert function.max_active_blocks_per_multiprocessor(256) >= 1
    grid, block = function.max_potential_block_size(0, 128)
    assert grid >= 1 and 1 <= block <= 128


def test_parameters_are_those_of_the_kernel(gpu):
    function = kernel(".u8 a", ".align 16 .b8 b[32]", ".f32 c", ".u64 d")
    assert function.parameters in (None, [(0, 8), (8, 1), (16, 32), (48, 4), (56, 8)])


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
        (".u64", np.zeros(1, np.float64)[0], bytes(8)),
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
        (".align 4 .b8 x[12]", 1, TypeError, "the parameter has 12 bytes"),
        (".align 4 .b8 x[12]", 1.0, TypeError, "the parameter has 12 bytes"),
        (".align 4 .b8 x[12]", 1j, TypeError, "the parameter has 12 bytes"),
        (".u64 x", None, TypeError, r"invalid type on parameter #1 \(0-based\) .*NoneType"),
        (".u64 x", "text", TypeError, "invalid type on parameter #1"),
        (".u64 x", [1], TypeError, "invalid type on parameter #1"),
        (".u64 x", object(), TypeError, "invalid type on parameter #1"),
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


def test_sizes_of_blocks_and_grids_in_every_form(fake):
    function = cuda.module_from_buffer(entry()).get_function("fakecuda_parameters")
    for how in (
        {"block": (2, 3, 4), "grid": (5, 6)},
        {"block": [2, 3], "grid": [5]},
        {"block": 8, "grid": np.int64(3)},
        {"block": (np.int32(8), 1, 1), "grid": (1, 1, 1)},
    ):
        out = cuda.mem_alloc(8)
        function(out, **how)
    for how, error, message in (
        ({}, ValueError, "must specify block size"),
        ({"block": None}, ValueError, "must specify block size"),
        ({"block": (1, 1, 1), "blok": 1}, ValueError, "unknown keyword arguments: .*blok"),
        ({"block": ()}, TypeError, "block has 0 numbers"),
        ({"block": (1, 1, 1, 1)}, TypeError, "block has 4 numbers"),
        ({"block": (1.5, 1, 1)}, TypeError, "block"),
        ({"block": (-1, 1, 1)}, cuda.LogicError, "block has -1"),
        ({"block": (0, 1, 1)}, cuda.LogicError, "block.x is 0"),
        ({"block": (2048, 1, 1)}, cuda.LogicError, "block.x is 2048"),
        ({"block": (1, 1, 1), "grid": (1, 70000)}, cuda.LogicError, "grid.y is 70000"),
        ({"block": (1, 1, 1), "shared": -1}, cuda.LogicError, "shared is -1"),
        ({"block": (1, 1, 1), "shared": 1 << 20}, cuda.LogicError, "shared_bytes is 1048576"),
        ({"block": (1, 1, 1), "cluster": (2, 1, 1)}, cuda.RuntimeError, "no clusters"),
    ):
        with pytest.raises(error, match=message):
            function(out, **how)
    function(out, block=(1, 1, 1), shared=99 << 10)
    function(out, block=(1, 1, 1), cooperative=True)
    assert fake.count("cuLaunchCooperativeKernel") == 1
    cuda.Context.synchronize()


def test_launches_go_where_they_are_told(fake):
    import uLib

    function = cuda.module_from_buffer(entry()).get_function("fakecuda_parameters")
    stream = uLib.device.Stream()
    out = cuda.mem_alloc(8)
    assert function(out, block=(1, 1, 1), stream=stream) is None
    stream.Synchronize()
    seconds = function(out, block=(1, 1, 1), time_kernel=True)
    assert isinstance(seconds, float) and seconds >= 0
    with pytest.raises(TypeError, match="stream"):
        function(out, block=(1, 1, 1), stream="fast")


def test_in_out_and_inout_copy(fake):
    """The kernel writes its own parameter, the address, to the array."""
    function = cuda.module_from_buffer(entry()).get_function("fakecuda_parameters")
    import uLib

    for stream in (None, uLib.device.Stream()):
        a = np.zeros(2, np.uint64)
        handler = Out(a)
        function(handler, block=(1, 1, 1), stream=stream)
        assert a[0] == int(handler.get_device_alloc())
        b = np.array([3, 4], np.uint64)
        function(InOut(b), block=(1, 1, 1), stream=stream)
        assert b[0] != 3 and b[1] == 4
        c = np.array([3, 4], np.uint64)
        handler = In(c)
        function(handler, block=(1, 1, 1), stream=stream)
        assert list(c) == [3, 4]
        back = np.zeros_like(c)
        cuda.memcpy_dtoh(back, handler.get_device_alloc())
        assert back[0] == int(handler.get_device_alloc()) and back[1] == 4


def test_a_handler_of_ones_own(fake):
    function = cuda.module_from_buffer(entry()).get_function("fakecuda_parameters")
    calls = []

    class Handler(cuda.ArgumentHandler):
        def pre_call(self, stream):
            calls.append(("before", stream))

        def post_call(self, stream):
            calls.append(("after", stream))

    a = np.zeros(4, np.uint64)
    handler = Handler(a)
    assert handler.array is a and handler.dev_alloc is None
    function(handler, block=(1, 1, 1))
    assert calls == [("before", None), ("after", None)]
    assert handler.dev_alloc is handler.get_device_alloc()


def test_prepared_calls(fake):
    function = kernel(".f32 a", ".s32 b", ".u64 c", ".f64 d")
    expected = struct.pack("<fiQd", 1.5, -2, 3, 4)
    for types in (
        "PfiPd",
        ["P", np.float32, np.int32, np.intp, np.float64],
        [np.uint64, np.dtype("f4"), np.dtype("i4"), object, float],
    ):
        assert function.prepare(types) is function
        for values in ((1.5, -2, 3, 4.0), (np.float32(1.5), np.int32(-2), np.uint64(3), 4)):
            for call in (
                lambda *v: function.prepared_call((1, 1), (1, 1, 1), *v),
                lambda *v: function.prepared_async_call((1, 1), (1, 1, 1), None, *v, shared_size=16),
                lambda *v: function.prepared_timed_call((1, 1), (1, 1, 1), *v)(),
            ):
                out = cuda.mem_alloc(40)
                seconds = call(out, *values)
                assert seconds is None or seconds >= 0
                cuda.Context.synchronize()
                got = np.zeros(40, np.uint8)
                cuda.memcpy_dtoh(got, out)
                assert got[8:12].tobytes() == expected[:4] and got[12:16].tobytes() == expected[4:8]
                assert got[16:32].tobytes() == expected[8:]
    with pytest.raises(cuda.LogicError, match="takes 5 arguments, and got 2"):
        function.prepared_call((1, 1), (1, 1, 1), out, 1)
    for wrong in (1.9, np.float32(3.7), "12", None):
        with pytest.raises(cuda.LogicError, match=r"parameter #2 \(0-based\) .*, expected an integer"):
            function.prepared_call((1, 1), (1, 1, 1), out, 1.5, wrong, 3, 4.0)
    function.prepare("PfIQd")
    with pytest.raises(cuda.LogicError, match="is -1, expected an integer of 0 or more"):
        function.prepared_call((1, 1), (1, 1, 1), out, 1.5, -1, 3, 4.0)
    with pytest.raises(cuda.LogicError, match="takes 5 arguments, and 2 types are given"):
        function.prepare("Pf")
    with pytest.raises(cuda.LogicError, match=r"parameter #1 \(0-based\) .* has 4 bytes, and its type 8"):
        function.prepare("PdiPd")
    with pytest.raises(ValueError, match="'x' is no type"):
        function.prepare("Pxxxx")
    fresh = kernel(".f32 a")
    with pytest.raises(cuda.LogicError, match="prepare was not called"):
        fresh.prepared_call((1, 1), (1, 1, 1), out, 1)
    with pytest.raises(cuda.LogicError, match="takes no In, Out"):
        fresh.prepare("Pf").prepared_call((1, 1), (1, 1, 1), In(np.zeros(3)), 1.0)


def test_drivers_that_do_not_tell_the_parameters(fake, python, tmp_path):
    """Before CUDA 12.4: sizes are those of the values, and numbers of Python need a type."""
    older = tmp_path / "libcuda.so.1"
    name = b"\0cuFuncGetParamInfo\0"
    older.write_bytes(Path(os.environ["ULIB_CUDA_DRIVER"]).read_bytes().replace(name, name.replace(b"Info", b"Lore")))
    done = python(
        f"""
import numpy as np
import uLib.cuda.driver as cuda
function = cuda.module_from_buffer({entry(".s32 x")!r}).get_function("fakecuda_parameters")
assert function.parameters is None
out = cuda.mem_alloc(12)
function(out, np.int32(-7), block=(1, 1, 1))
try:
    function(out, 7, block=(1, 1, 1))
except TypeError as error:
    print(error)
function.prepare("Pi").prepared_call((1, 1), (1, 1, 1), int(out), -7)
cuda.Context.synchronize()
got = np.zeros(3, np.int32)
cuda.memcpy_dtoh(got, out)
print(got[2])
""",
        ULIB_CUDA_DRIVER=str(older),
    )
    first, second = done.stdout.splitlines()
    assert "say it with one of NumPy" in first and second == "-7"


def test_memory_of_a_launch_is_kept_until_it_has_run(fake):
    """Freed right behind the launch, while the stream has not begun."""
    import uLib

    fake("deferred 1")
    stream = uLib.device.Stream()
    function = cuda.module_from_buffer(entry()).get_function("fakecuda_parameters")
    out = cuda.mem_alloc(8)
    function(out, block=(1, 1, 1), stream=stream)
    del out
    gc.collect()
    stream.Synchronize()


def test_functions_are_called_from_many_threads(fake):
    function = kernel(".u64 x")
    failures = []

    def work(number):
        try:
            for n in range(20):
                assert struct.unpack("<Q", sent(function, number * 1000 + n, size=16)) == (number * 1000 + n,)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_importing_compiles_nothing_and_loads_no_compiler(python):
    done = python(
        """
import uLib.cuda.driver, uLib.cuda.compiler
assert "nvrtc" not in open("/proc/self/maps").read()
print(uLib.cuda.driver.SourceModule is uLib.cuda.compiler.SourceModule)
"""
    )
    assert done.stdout == "True\n"
