"""Launches: sizes, streams, copying arguments, prepared calls, threads."""

import gc
import itertools
import struct
import threading

import numpy as np
import pytest
import uLib.cuda.driver as cuda
from device_kernels import NOTHING, entry, kernel, sent
from uLib.cuda.driver import In, InOut, Out


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


def test_a_block_that_changes_is_read_again(fake):
    class Size:
        now = 8

        def __index__(self):
            return self.now

    size, out = Size(), cuda.mem_alloc(8)
    changing, listed, same, rest = (size, 1, 1), [8, 1, 1], (8, 1, 1), (2048, 1, 1)
    function = cuda.module_from_buffer(entry()).get_function("fakecuda_parameters")
    for block in (changing, changing, same, same, listed, listed, same):
        function(out, block=block)
    size.now = listed[0] = 4096
    for block, shown in ((changing, 4096), (same, None), (listed, 4096), (same, None), (rest, 2048), (rest, 2048)):
        if shown is None:
            function(out, block=block)
            continue
        with pytest.raises(cuda.LogicError, match=f"block.x is {shown}"):
            function(out, block=block)
        with pytest.raises(cuda.LogicError, match=f"grid.y is {1 << 17}"):
            function(out, block=(1, 1, 1), grid=(1, 1 << 17))
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


@pytest.mark.parametrize("handler", [Out, InOut])
@pytest.mark.parametrize(
    "bad",
    [np.zeros(4, "u8")[::2], np.zeros(2, object), np.frombuffer(bytes(16), "u8"), memoryview(bytes(16))],
    ids=["gaps", "objects", "read-only", "bytes"],
)
def test_what_cannot_be_written_is_refused_before_the_kernel_runs(fake, handler, bad):
    function, memory = kernel(".u64 a"), cuda.mem_alloc(16)
    before = fake.count("cuLaunchKernel")
    with pytest.raises(cuda.LogicError, match=f"^{handler.__name__}: the array (is|holds)"):
        function(memory, handler(bad), block=(1, 1, 1))
    assert fake.count("cuLaunchKernel") == before


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
    for wrong in ("1.5", b"1.5", np.str_("1.5"), None):
        with pytest.raises(cuda.LogicError, match=r"parameter #1 \(0-based\) .*, expected a number"):
            function.prepared_call((1, 1), (1, 1, 1), out, wrong, 3, 3, 4.0)
    for wrong in (1.9, np.float32(3.7), "12", None):
        with pytest.raises(cuda.LogicError, match=r"parameter #2 \(0-based\) .*, expected an integer"):
            function.prepared_call((1, 1), (1, 1, 1), out, 1.5, wrong, 3, 4.0)
    function.prepare("PfIQd")
    with pytest.raises(cuda.LogicError, match="is -1, expected an integer from 0 to 4294967295"):
        function.prepared_call((1, 1), (1, 1, 1), out, 1.5, -1, 3, 4.0)
    for wrong in (np.int64(1 << 40), np.int64(-1), np.int32(-5), np.array(1 << 33), np.uint64(1 << 32)):
        with pytest.raises(cuda.LogicError, match="expected an integer from 0 to 4294967295"):
            function.prepared_call((1, 1), (1, 1, 1), out, 1.5, wrong, 3, 4.0)
    function.prepared_call((1, 1), (1, 1, 1), out, 1.5, np.int64((1 << 32) - 1), np.array(3), 4.0)
    with pytest.raises(cuda.LogicError, match="takes 5 arguments, and 2 types are given"):
        function.prepare("Pf")
    with pytest.raises(cuda.LogicError, match=r"parameter #1 \(0-based\) .* has 4 bytes, and its type 8"):
        function.prepare("PdiPd")
    with pytest.raises(cuda.LogicError, match=r"#1 \(0-based\) .* is a floating-point number of 4 bytes, and its type an integer of 4 bytes"):
        function.prepare("PIiPd")
    with pytest.raises(cuda.LogicError, match=r"#4 \(0-based\) .* is a floating-point number of 8 bytes, and its type an integer"):
        function.prepare("PfiPP")
    with pytest.raises(ValueError, match="'x' is no type"):
        function.prepare("Pxxxx")
    fresh = kernel(".f32 a")
    with pytest.raises(cuda.LogicError, match="prepare was not called"):
        fresh.prepared_call((1, 1), (1, 1, 1), out, 1)
    with pytest.raises(cuda.LogicError, match="In, Out and InOut copy arrays of the host, which only a plain call does"):
        fresh.prepare("Pf").prepared_call((1, 1), (1, 1, 1), In(np.zeros(3)), 1.0)


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


def test_an_array_may_get_its_allocation_late(fake):
    """Objects of one class with it and without: the memory of the one is noted as used nevertheless."""

    class Late:
        def __init__(self, address):
            self.__cuda_array_interface__ = {"data": (address, False), "shape": (2,), "typestr": "<f4", "version": 3}

    function = cuda.module_from_buffer(entry()).get_function("fakecuda_parameters")
    block, pool = cuda.mem_alloc(8), cuda.DeviceMemoryPool()
    busy, other = cuda.Stream(cuda.stream_flags.NON_BLOCKING), cuda.Stream(cuda.stream_flags.NON_BLOCKING)
    for _ in range(3):
        function(Late(int(block)), block=(1, 1, 1), stream=busy)
    late = Late(int(block))
    late.gpudata = pool.allocate(8)
    function(late, block=(1, 1, 1), stream=busy)
    before = fake.count("cuStreamWaitEvent")
    cuda.memset_d8_async(late.gpudata, 0, 8, other)
    assert fake.count("cuStreamWaitEvent") == before + 1


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


def test_strings_of_types(fake):
    three = kernel(".u32 a", ".u32 b", ".u32 c")
    three.prepare("P3I").prepared_call((1, 1), (1, 1, 1), cuda.mem_alloc(20), 1, 2, 3)
    three.prepare("P 2I I")
    struct_of_12 = kernel(".align 4 .b8 s[12]")
    struct_of_12.prepare("P12s").prepared_call((1, 1), (1, 1, 1), cuda.mem_alloc(20), np.arange(3, dtype=np.int32))
    memory, got = cuda.mem_alloc(20), np.empty(20, np.uint8)
    struct_of_12.prepared_call((1, 1), (1, 1, 1), memory, struct.pack("<3i", 5, -6, 7))
    cuda.memcpy_dtoh(got, memory)
    assert struct.unpack("<3i", got[8:]) == (5, -6, 7)
    for wrong in (b"", bytes(11), bytes(13)):
        with pytest.raises(cuda.LogicError, match=rf"#1 \(0-based\) .* has 12 bytes, and the void given for it {len(wrong)}"):
            struct_of_12.prepared_call((1, 1), (1, 1, 1), memory, wrong)
    struct_of_12.prepare("Ps")
    cuda.Context.synchronize()
    for types, message in (
        ("PI4", 'no letter follows 4 in "PI4"'),
        ("P0I", "0 is no number of arguments"),
        ("P99999999999999999999I", "99999999999999999999 is no number of arguments"),
        ("P5000I", "5000 is no number of arguments"),
        ("P4 I", "' ' is no type"),
        ("<PIII", "'<' is no type"),
        ("PIIé", "'é' is no type"),
        ("P2I", "takes 4 arguments, and 3 types are given"),
    ):
        with pytest.raises(ValueError, match=message):
            three.prepare(types)
    with pytest.raises(cuda.LogicError, match="has 12 bytes, and its type 8"):
        struct_of_12.prepare("P8s")
    with pytest.raises(TypeError, match="prepare: the types are 5, expected a string or a list"):
        three.prepare(5)
    for wrong in (1, None, "nonsense", np.zeros(1)):
        with pytest.raises(TypeError, match=r"^prepare: #1 \(0-based\) of the types is .*, which is no type of an argument"):
            three.prepare(["P", wrong, "I", "I"])


@pytest.mark.parametrize(
    ("letter", "words", "least", "most"),
    [
        ("b", ".s8", -(2**7), 2**7 - 1),
        ("B", ".u8", 0, 2**8 - 1),
        ("H", ".u16", 0, 2**16 - 1),
        ("i", ".s32", -(2**31), 2**31 - 1),
        ("I", ".u32", 0, 2**32 - 1),
        ("q", ".s64", -(2**63), 2**63 - 1),
        ("Q", ".u64", 0, 2**64 - 1),
    ],
)
def test_prepared_integers_fit_the_letter(fake, letter, words, least, most):
    """Not only the size of the parameter: one too large for a signed number would be turned over."""
    function = kernel(f"{words} a").prepare("P" + letter)
    size = np.dtype(letter).itemsize
    for value in (least, most, np.array(least, letter)[()], np.array(most, letter)[()]):
        out = cuda.mem_alloc(16)
        function.prepared_call((1, 1), (1, 1, 1), out, value)
        cuda.Context.synchronize()
        got = cuda.from_device(out, 16, np.uint8)[8 : 8 + size]
        assert got.view(letter)[0] == value
    for wrong in (least - 1, most + 1, 2**70, -(2**70)):
        with pytest.raises(cuda.LogicError, match=f"#1 .* is {wrong}, expected an integer from {least} to {most}"):
            function.prepared_call((1, 1), (1, 1, 1), out, wrong)


@pytest.mark.parametrize("types", [itertools.repeat("P"), itertools.repeat(np.float32), "4096P" * 50_000, ["P"] * 5000])
def test_no_kernel_takes_types_without_an_end(fake, types):
    with pytest.raises(ValueError, match="prepare: more than 4096 types"):
        kernel().prepare(types)


def test_references_without_an_end_are_refused(fake):
    reference = cuda.TextureReference()
    with pytest.raises(cuda.LogicError, match="launch: texrefs has more than 4096 references"):
        kernel().prepare("P", texrefs=itertools.repeat(reference))


@pytest.mark.parametrize("truth", [1, 0, np.True_, np.False_, "yes", None])
def test_flags_of_a_call_are_anything(fake, truth):
    function, out = kernel(), cuda.mem_alloc(8)
    seconds = function(out, block=1, time_kernel=truth, cooperative=truth)
    assert (seconds is not None) == bool(truth)


def test_arguments_that_are_packed_already(fake):
    function = kernel(".u8 a", ".f64 b")
    out = cuda.mem_alloc(24)
    packed = struct.pack("QBxxxxxxxd", int(out), 7, 1.5)
    for buf in (packed, bytearray(packed), np.frombuffer(packed, np.uint8)):
        function._launch_kernel((1, 1), (1, 1, 1), buf, 0, None)
        cuda.Context.synchronize()
        got = np.zeros(24, np.uint8)
        cuda.memcpy_dtoh(got, out)
        assert got[8] == 7 and struct.unpack("d", got[16:]) == (1.5,)
    with pytest.raises(cuda.LogicError, match="launch: buf has 23 bytes, and the arguments of kernel fakecuda_parameters 24"):
        function._launch_kernel((1, 1), (1, 1, 1), packed[:23], 0, None)
    for length in (0, 8, 25, 32, 1000):
        with pytest.raises(cuda.LogicError, match=f"launch: buf has {length} bytes, and the arguments of kernel fakecuda_parameters 24"):
            function._launch_kernel((1, 1), (1, 1, 1), (packed + bytes(1000))[:length], 0, None)
    # A struct of C ends where the next one may begin.
    short = kernel(".u32 a")
    for length, fits in ((11, False), (12, True), (13, False), (16, True), (17, False), (24, False)):
        buf = struct.pack("QI", int(out), 9).ljust(24, b"\0")[:length]
        if fits:
            short._launch_kernel((1, 1), (1, 1, 1), buf, 0, None)
            continue
        with pytest.raises(cuda.LogicError, match=f"launch: buf has {length} bytes, and the arguments of kernel fakecuda_parameters 12"):
            short._launch_kernel((1, 1), (1, 1, 1), buf, 0, None)
    nothing = cuda.module_from_buffer(NOTHING.encode()).get_function("nothing")
    with pytest.raises(cuda.LogicError, match="launch: buf has 8 bytes, and the arguments of kernel nothing 0"):
        nothing._launch_kernel((1, 1), (1, 1, 1), bytes(8), 0, None)
    with pytest.raises(TypeError, match="launch: buf is 5, expected bytes"):
        function._launch_kernel((1, 1), (1, 1, 1), 5, 0, None)


def test_a_block_for_calls_that_say_none(fake):
    function = kernel()
    out = cuda.mem_alloc(8)
    with pytest.raises(ValueError, match="must specify block size"):
        function(out)
    function._set_block_shape(32, 2, 1)
    function(out)
    cuda.Context.synchronize()
    function._set_block_shape(4096, 1, 1)
    with pytest.raises(cuda.LogicError, match="block.x is 4096"):
        function(out)
    for wrong in ((), (1, 2, 3, 4), ("a",), (-1,)):
        with pytest.raises((TypeError, cuda.LogicError), match="block"):
            function._set_block_shape(*wrong)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda f, out: f(out, block=(1, 1, 1), texrefs=[5]), TypeError, "launch: texrefs holds 5, expected references"),
        (lambda f, out: f(out, block=(1, 1, 1), texrefs=5), TypeError, "launch: texrefs is 5, expected references"),
        (lambda f, out: f.prepare("P", texrefs=[None]), TypeError, "launch: texrefs holds None"),
        (lambda f, out: f.param_set_texref("tex"), TypeError, "the texture reference is 'tex'"),
        (lambda f, out: f.prepare("P").prepared_call(1, 1, out, shared_size=-1), cuda.LogicError, "shared is -1"),
        (lambda f, out: f.prepare("P").prepared_call(1, 1, out, shared_size=2**40), cuda.LogicError, "shared is 1099511627776"),
        (lambda f, out: f.set_attribute(8, 2**31), cuda.LogicError, "value is 2147483648, which is more than 32 bits hold"),
        (lambda f, out: f.get_attribute("regs"), TypeError, "Function.get_attribute: attribute is 'regs', expected a number"),
        (lambda f, out: f.get_attribute(-1), cuda.LogicError, "Function.get_attribute: attribute is -1"),
        (lambda f, out: f.get_attribute(9999), cuda.LogicError, "Function.get_attribute: attribute 9999"),
        (lambda f, out: f.set_attribute(9999, 0), cuda.LogicError, "Function.set_attribute: attribute 9999, value 0"),
        (lambda f, out: f.set_cache_config(99), cuda.LogicError, "Function.set_cache_config: config is 99, which is no func_cache"),
        (lambda f, out: f.prepare("P").prepared_call(1, 1, out, shared_size=1.5), TypeError, "prepared_call: shared_size is 1.5"),
        (lambda f, out: f(out, block=1, shared=np.array([16])), TypeError, r"launch: shared is array\(\[16\]\)"),
        (lambda f, out: f._launch_kernel(1, 1, "x" * 8, 0, None), TypeError, "launch: buf is 'xxxxxxxx', expected bytes"),
        (lambda f, out: f.max_active_blocks_per_multiprocessor(32, 1.5), TypeError, "dynamic_smem_size is 1.5"),
        (lambda f, out: f.max_potential_block_size(0, 1.5), TypeError, "max_potential_block_size: block_size_limit is 1.5"),
        (lambda f, out: f.max_active_blocks_per_multiprocessor(-1), cuda.LogicError, "block_size is -1"),
        (lambda f, out: f.max_potential_block_size(2**70), cuda.LogicError, "dynamic_smem_size is"),
        (lambda f, out: f.max_potential_block_size(0, -5), cuda.LogicError, "block_size_limit is -5"),
        (lambda f, out: cuda.module_from_buffer(5), TypeError, "module_from_buffer: buffer is 5, expected bytes"),
        (lambda f, out: cuda.module_from_buffer(NOTHING, [5]), TypeError, "options: 5 is no pair"),
        (lambda f, out: cuda.module_from_buffer(NOTHING, 5), TypeError, "options: 5 is no pair"),
        (lambda f, out: cuda.module_from_buffer(NOTHING, [(1, "x")]), TypeError, "is no pair of a jit_option and a number"),
        (lambda f, out: cuda.module_from_buffer(NOTHING, [(-1, 0)]), cuda.LogicError, "options: -1 is no jit_option"),
        (lambda f, out: cuda.module_from_buffer(NOTHING, [(0, -1)]), cuda.LogicError, "options: -1 is no value"),
        (lambda f, out: cuda.Linker().add_data([], cuda.jit_input_type.PTX), TypeError, r"Linker.add_data: data is \[\]"),
        (lambda f, out: cuda.Linker().add_data(NOTHING, "ptx"), TypeError, "'ptx' is no jit_input_type"),
    ],
)
def test_wrong_calls_are_named(fake, call, error, message):
    with pytest.raises(error, match=message):
        call(kernel(), cuda.mem_alloc(8))
    assert fake.count("cuLaunchKernel") == 0


def test_what_an_object_raises_stays(fake):
    class Broken:
        def __iter__(self):
            raise KeyError("broken")

    function = kernel()
    with pytest.raises(KeyError, match="broken"):
        function.prepare(Broken())
    with pytest.raises(KeyError, match="broken"):
        function(cuda.mem_alloc(8), block=(1, 1, 1), texrefs=Broken())
