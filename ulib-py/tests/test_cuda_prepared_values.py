"""Values of prepared calls, against what the struct module makes of them, whatever the kernel's parameter is taken for."""

import decimal
import enum
import fractions
import gc
import itertools
import os
import struct
from pathlib import Path

import numpy as np
import pytest
import uLib.cuda.driver as cuda
from device_kernels import entry, kernel
from uLib.cuda import gpuarray

WORDS = {
    **{"?": ".u8", "b": ".s8", "B": ".u8", "h": ".s16", "H": ".u16", "i": ".s32", "I": ".u32", "q": ".s64", "Q": ".u64"},
    **{"e": ".f16", "f": ".f32", "d": ".f64"},
}


class Number(enum.IntEnum):
    SEVEN = 7


class Real:
    def __float__(self):
        return 2.5


class Whole:
    def __index__(self):
        return 3


VALUES = [
    *(True, np.True_, 0, 1, -1, 5, Number.SEVEN, Whole(), Real(), decimal.Decimal("0.1"), fractions.Fraction(1, 3)),
    *(sign * 2**bits + more for bits in (7, 8, 11, 15, 16, 24, 31, 32, 53, 63, 64, 127, 128) for sign in (1, -1) for more in (-1, 0, 1)),
    *(10**40, 10**400, -0.0, 1.5, 0.1, 1e-7, 5e-324, 65504.0, 65519.99999, 65520.0, 3.4028235e38, 3.4028235677973366e38, 1e300),
    *(float("inf"), float("-inf"), 1 + 2**-11, 1 + 2**-11 + 2**-40, 2**-25, 2**-25 * (1 + 2**-40), 1 + 2**-24 + 2**-50),
    *(np.float32(0.1), np.float64(1e300), np.float16(3), np.int8(-3), np.uint64(2**64 - 1), np.int64(-(2**63)), np.array(3), np.array(2.5)),
    *("1.5", b"1.5", bytearray(b"1.5"), memoryview(b"1"), None, [1.0], (1,), range(3), 1j, np.complex64(1), np.datetime64(1, "s"), object()),
]


def truth(value):
    """Whether a number is one that is not 0; that module takes anything."""
    return struct.unpack("d", struct.pack("d", value)) != (0.0,)


def shown(value):
    return f"{type(value).__name__} {value!r}"[:40]


@pytest.mark.parametrize("letter", WORDS)
@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
def test_values_are_those_of_the_struct_module(fake, letter):
    size = struct.calcsize(letter)
    functions = [kernel(words).prepare("P" + letter) for words in (f"{WORDS[letter]} a", f".align {size} .b8 a[{size}]")]
    out, compared = cuda.mem_alloc(16), 0
    for value, function in itertools.product(VALUES, functions):
        try:
            expected = struct.pack("<" + letter, truth(value) if letter == "?" else value)
        except (struct.error, OverflowError, TypeError, ValueError):
            with pytest.raises(cuda.LogicError, match=r"^parameter #1 \(0-based\) of the prepared call is .*, expected a"):
                function.prepared_call((1, 1), (1, 1, 1), out, value)
            continue
        function.prepared_call((1, 1), (1, 1, 1), out, value)
        cuda.Context.synchronize()
        assert cuda.from_device(out, 16, np.uint8)[8 : 8 + size].tobytes() == expected, shown(value)
        compared += 1
    assert compared > 20


def test_halves_of_plain_calls_are_rounded_once(fake):
    function, out = kernel(".f16 a"), cuda.mem_alloc(16)
    for value in (1 + 2**-11, 1 + 2**-11 + 2**-40, 65519.99999, 2**-25 * (1 + 2**-40), -(2**-25), float("inf")):
        function(out, value, block=1)
        cuda.Context.synchronize()
        assert cuda.from_device(out, 16, np.uint8)[8:10].tobytes() == struct.pack("<e", value)


@pytest.mark.parametrize(("words", "wrong"), [(".f16 a", 65520.0), (".f32 a", 1e39), (".f32 a", 10**39), (".align 8 .b8 a[8]", 1e39j)])
def test_numbers_that_would_become_infinite_are_refused(fake, words, wrong):
    with pytest.raises(cuda.LogicError, match=r"parameter #1 \(0-based\) of kernel fakecuda_parameters has \d bytes, and .* does not fit in there"):
        kernel(words)(cuda.mem_alloc(16), wrong, block=1)


@pytest.mark.parametrize(("letter", "parts"), [("F", "<ff"), ("D", "<dd")])
def test_complex_numbers_are_two(fake, letter, parts):
    size = struct.calcsize(parts)
    function, out = kernel(f".align {size // 2} .b8 a[{size}]").prepare("P" + letter), cuda.mem_alloc(8 + size)
    for value in (1.5 - 2j, 3, 2.5, True, np.complex64(1j), np.float32(0.5), np.array(1 + 1j)):
        function.prepared_call((1, 1), (1, 1, 1), out, value)
        cuda.Context.synchronize()
        number = complex(value)
        assert cuda.from_device(out, 8 + size, np.uint8)[8:].tobytes() == struct.pack(parts, number.real, number.imag)
    for wrong in ("1j", None, [1], object(), gpuarray.zeros(1, np.complex64), cuda.mem_alloc(8)):
        with pytest.raises(cuda.LogicError, match=r"^parameter #1 \(0-based\) .*, expected a number$"):
            function.prepared_call((1, 1), (1, 1, 1), out, wrong)
    if letter == "F":
        with pytest.raises(cuda.LogicError, match="is 1e[+]?39j, expected a number from -3.40"):
            function.prepared_call((1, 1), (1, 1, 1), out, 1e39j)


@pytest.mark.parametrize("letter", "?bBhHiIqefdFD")
def test_what_is_on_the_device_is_no_number(fake, letter):
    """Nor is it copied to look for one; an address is a number where one of 64 bits is asked for."""
    size = np.dtype(letter).itemsize
    function, out = kernel(f".align {min(size, 8)} .b8 a[{size}]").prepare("P" + letter), cuda.mem_alloc(32)
    array, memory, texture = gpuarray.zeros(1, np.float32), cuda.mem_alloc(8), cuda.TextureObject(cuda.np_to_array(np.zeros((4, 8), np.float32), "C"))

    class Holder(cuda.PointerHolderBase):
        def get_pointer(self):
            return 1 << 40

    fake("reset")
    for wrong in (array, memory, texture, Holder()):
        if wrong is array or letter not in "iIqQ" or size < 8:
            with pytest.raises(cuda.LogicError, match=r"^parameter #1 \(0-based\) of the prepared call is .*, expected a"):
                function.prepared_call((1, 1), (1, 1, 1), out, wrong)
    assert fake.count("cuMemcpyDtoH_v2") == fake.count("cuMemcpyDtoHAsync_v2") == fake.count("cuLaunchKernel") == 0


def test_an_array_of_one_managed_number_is_that_number(fake):
    managed = cuda.managed_zeros(1, np.complex64)
    managed[0] = 1.5
    function, out = kernel(".align 8 .b8 a[8]").prepare("PF"), cuda.mem_alloc(16)
    function.prepared_call((1, 1), (1, 1, 1), out, managed[0])
    cuda.Context.synchronize()
    assert cuda.from_device(out, 16, np.uint8)[8:].tobytes() == struct.pack("<ff", 1.5, 0)
    try:
        function.prepared_call((1, 1), (1, 1, 1), out, managed)
    except cuda.LogicError as error:
        # Newer versions of NumPy make no number of it.
        assert "expected a number" in str(error)
    cuda.Context.synchronize()
    assert cuda.from_device(out, 16, np.uint8)[8:].tobytes() == struct.pack("<ff", 1.5, 0)


@pytest.mark.parametrize("wrong", [1.5, np.float64(2), 1j, True, False])
def test_a_number_with_a_fraction_is_no_address(fake, wrong):
    function, out = kernel(".b64 a").prepare("PP"), cuda.mem_alloc(16)
    with pytest.raises(cuda.LogicError, match=r"^parameter #1 \(0-based\) of the prepared call is .*, expected an address$"):
        function.prepared_call((1, 1), (1, 1, 1), out, wrong)
    function.prepared_call((1, 1), (1, 1, 1), out, Number.SEVEN)
    cuda.Context.synchronize()
    assert cuda.from_device(out, 16, np.uint8)[8] == 7


def test_types_say_their_size(fake):
    function = kernel(".f32 a")
    for wrong in ("f4,f4", np.longdouble, np.dtype("V8")):
        with pytest.raises(cuda.LogicError, match=r"^prepare: parameter #1 \(0-based\) of kernel fakecuda_parameters has 4 bytes, and its type \d+"):
            function.prepare(["P", wrong])
    for wrong in (str, "datetime64[s]", "S4", np.dtype("V0")):
        with pytest.raises(TypeError, match=r"^prepare: #1 \(0-based\) of the types is .*, which is no type of an argument"):
            function.prepare(["P", wrong])


def test_what_was_said_counts_where_the_driver_tells_no_sizes(fake, python, tmp_path):
    older = tmp_path / "libcuda.so.1"
    name = b"\0cuFuncGetParamInfo\0"
    older.write_bytes(Path(os.environ["ULIB_CUDA_DRIVER"]).read_bytes().replace(name, name.replace(b"Info", b"Lore")))
    # What may be in a string is no PTX that is understood.
    hidden = [entry(words).replace(".visible", '"" .visible') for words in (".align 8 .b8 x[4000]", ".u64 x")]
    done = python(
        f"""
import numpy as np
import uLib.cuda.driver as cuda
def kernel(text, types):
    function = cuda.module_from_buffer(text).get_function("fakecuda_parameters")
    assert function.parameters is None
    return function.prepare(types)
out, memory = cuda.mem_alloc(4096), cuda.mem_alloc(8)
struct = kernel({hidden[0]!r}, "P4000s")
address = kernel({hidden[1]!r}, "PP")
for function, wrong in [(struct, b"1"), (struct, np.float32(1)), (struct, np.zeros(3)), (struct, memory), (address, np.int32(-4)), (address, np.float32(1))]:
    try:
        function.prepared_call((1, 1), (1, 1, 1), out, wrong)
    except cuda.LogicError as error:
        print(error)
struct.prepared_call((1, 1), (1, 1, 1), out, bytes(range(250)) * 16)
cuda.Context.synchronize()
assert cuda.from_device(out, 4008, np.uint8)[8:].tobytes() == bytes(range(250)) * 16
for value in (memory, int(memory), np.uint64(int(memory))):
    address.prepared_call((1, 1), (1, 1, 1), out, value)
    cuda.Context.synchronize()
    assert cuda.from_device(out, 16, np.uint8)[8:].view(np.uint64)[0] == int(memory)
""",
        ULIB_CUDA_DRIVER=str(older),
    )
    said = done.stdout.splitlines()
    assert [line.partition(" has ")[2] for line in said] == [
        *("1 bytes, and its type 4000", "4 bytes, and its type 4000", "24 bytes, and its type 4000", "8 bytes, and its type 4000"),
        *("4 bytes, and its type 8", "4 bytes, and its type 8"),
    ]
    assert all(line.startswith("parameter #1 (0-based) of the prepared call") for line in said)


def test_a_capture_that_begins_within_a_launch_keeps_its_arguments(fake, python):
    """The first one of the process."""
    done = python(
        f"""
import gc, weakref
import uLib.cuda.driver as cuda
class Foreign:
    __cuda_array_interface__ = {{"data": (1 << 40, False), "shape": (2,), "typestr": "<f4", "version": 3}}
class Reference:
    def _use(self, stream=None):
        if not begun:
            begun.append(capture.__enter__())
begun = []
out, stream = cuda.mem_alloc(16), cuda.Stream(1)
capture = stream.capture()
function = cuda.module_from_buffer({entry(".u64 a")!r}).get_function("fakecuda_parameters").prepare("PP", texrefs=[Reference()])
foreign = Foreign()
known = weakref.ref(foreign)
function.prepared_async_call((1, 1), (1, 1, 1), stream, out, foreign)
capture.__exit__(None, None, None)
del foreign
gc.collect()
print(known() is not None)
begun.clear()
capture = None
gc.collect()
print(known() is not None)
"""
    )
    assert done.stdout.split() == ["True", "False"]


@pytest.mark.parametrize("said", ["P", "Q", "q", [np.intp], [np.uint64]], ids=str)
def test_memory_is_kept_whatever_its_address_is_said_to_be(fake, said):
    """A block of a pool while the stream has not begun; and as long as a graph has it."""
    fake("deferred 1")
    stream, other, pool = cuda.Stream(1), cuda.Stream(1), cuda.DeviceMemoryPool()
    function, block = kernel().prepare(said), pool.allocate(8)
    function.prepared_async_call((1, 1), (1, 1, 1), stream, block)
    del block
    again = pool.allocate(8, other)
    cuda.memset_d8_async(again, 6, 8, other)
    other.synchronize()
    stream.synchronize()
    assert (cuda.from_device(again, 8, np.uint8) == 6).all()
    out = cuda.mem_alloc(8)
    with stream.capture() as graph:
        function.prepared_async_call((1, 1), (1, 1, 1), stream, out)
    held = fake("live_memory")
    del out
    gc.collect()
    assert fake("live_memory") == held
    graph.instantiate().launch(stream)
    stream.synchronize()
    del graph
    gc.collect()
    assert fake("live_memory") < held


@pytest.mark.parametrize("said", ["P", "Q", "q", [np.intp], [np.uint64]], ids=str)
def test_a_texture_is_destroyed_behind_the_launch_whatever_it_is_said_to_be(fake, said):
    fake("deferred 1")
    stream = cuda.Stream(1)
    function = kernel(".u64 a").prepare("P" + said if isinstance(said, str) else ["P", *said])
    out, texture = cuda.mem_alloc(16), cuda.TextureObject(cuda.np_to_array(np.zeros((4, 8), np.float32), "C"))
    handle = int(texture)
    function.prepared_async_call((1, 1), (1, 1, 1), stream, out, texture)
    assert not stream.is_done()
    destroyed = fake.count("cuTexObjectDestroy")
    del texture
    gc.collect()
    assert stream.is_done() and fake.count("cuTexObjectDestroy") == destroyed + 1
    assert cuda.from_device(out, 2, np.uint64)[1] == handle
