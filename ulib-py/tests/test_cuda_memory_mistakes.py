"""What the calls about memory say of mistakes: the operation, the argument and its value, before anything is done."""

import functools
import gc
import types

import numpy as np
import pytest
import uLib.cuda.driver as cuda
import uLib.cuda.tools as tools
from uLib.cuda import gpuarray

HUGE = 1 << 70

NUMBERS = [
    (lambda n: cuda.memset_d8(0, n, 1), "memset_d8: data is"),
    (lambda n: cuda.memset_d2d16_async(0, 2, n, 1, 1), "memset_d2d16_async: data is"),
    (lambda n: cuda.mem_alloc_pitch(4, 4, n), "mem_alloc_pitch: access_size is"),
    (lambda n: cuda.PagelockedHostAllocation(10, n), "PagelockedHostAllocation: mem_flags is"),
    (lambda n: cuda.ManagedAllocation(10, n), "ManagedAllocation: mem_flags is"),
    (lambda n: cuda.register_host_memory(np.zeros(4), n), "register_host_memory: flags is"),
    (lambda n: cuda.PageLockedAllocator(n), "PageLockedAllocator: flags is"),
    (lambda n: cuda.IPCMemoryHandle(bytes(64), n), "IPCMemoryHandle: flags is"),
    (lambda n: tools.DeviceMemoryPool(limit=n), "DeviceMemoryPool: limit is"),
    (lambda n: setattr(tools.DeviceMemoryPool(), "limit", n), "DeviceMemoryPool: limit is"),
    (lambda n: tools.DeviceMemoryPool.bin_number(n), "bin_number: size is"),
    (lambda n: tools.DeviceMemoryPool.alloc_size(n), "alloc_size: there is no bin"),
    (lambda n: tools.PageLockedMemoryPool.bin_number(n), "bin_number: size is"),
    (lambda n: tools.PageLockedMemoryPool.alloc_size(n), "alloc_size: there is no bin"),
    (lambda n: tools.bitlog2(n), "bitlog2: n is"),
    (lambda n: cuda.StreamMemoryPool(n), "StreamMemoryPool: release_threshold is"),
    (lambda n: setattr(cuda.Memcpy2D(), "height", n), "Memcpy2D: height is"),
    (lambda n: setattr(cuda.Memcpy3D(), "src_z", n), "Memcpy3D: src_z is"),
    (lambda n: setattr(cuda.Memcpy3DPeer(), "dst_lod", n), "Memcpy3DPeer: dst_lod is"),
    (lambda n: setattr(cuda.Memcpy3D(), "dst_memory_type", n), "Memcpy3D: dst_memory_type is"),
]


@pytest.mark.parametrize(("call", "message"), NUMBERS, ids=[message for _, message in NUMBERS])
@pytest.mark.parametrize("number", [-1, HUGE])
def test_numbers_without_room_are_named(call, message, number):
    with pytest.raises(cuda.LogicError, match=f"{message} {number}"):
        call(number)


@pytest.mark.parametrize("method", ["prefetch", "advise"])
def test_ranges_of_managed_memory_are_named(gpu, method):
    memory = cuda.managed_zeros(10, np.int8).base
    first = "read_mostly" if method == "advise" else None
    call = getattr(memory, method)
    for offset, size, words in [
        (-1, None, "offset -1 are"),
        (11, None, "offset 11 are"),
        (5, 6, "offset 5 and size 6 are"),
        (5, -1, "offset 5 and size -1 are"),
        (HUGE, HUGE, f"offset {HUGE} and size {HUGE} are"),
    ]:
        with pytest.raises(cuda.LogicError, match=f"^ManagedAllocation.{method}: {words} not within the 10 bytes"):
            call(first, offset=offset, size=size)


def test_what_is_no_array_is_named(gpu):
    for make in (cuda.pagelocked_empty_like, cuda.pagelocked_zeros_like, cuda.aligned_empty_like, cuda.aligned_zeros_like,
                 cuda.managed_empty_like, cuda.managed_zeros_like, cuda.register_host_memory):
        with pytest.raises(TypeError, match=f"^{make.__name__}: 5 is no array of NumPy: it has no shape"):
            make(5)
        with pytest.raises(ValueError, match=f"^{make.__name__}: could not detect array order"):
            make(np.zeros((4, 4))[::2, ::2])
        if make is not cuda.register_host_memory:
            with pytest.raises(TypeError, match=f"^{make.__name__}: elements of object are Python objects"):
                make(np.array([None]))
    with pytest.raises(TypeError, match=r"^from_device_like: \[1, 2\] is no array of NumPy: it has no shape"):
        cuda.from_device_like(0, [1, 2])
    for handler in (cuda.In, cuda.Out, cuda.InOut, cuda.mem_alloc_like):
        call = handler if handler is cuda.mem_alloc_like else lambda ary: handler(ary).get_device_alloc()
        with pytest.raises(TypeError, match=rf"^{handler.__name__}: 5 is no array: it has no number of bytes \(nbytes\)"):
            call(5)
        with pytest.raises(TypeError, match=f"^{handler.__name__}: nbytes is 'many'"):
            call(types.SimpleNamespace(nbytes="many"))
    with pytest.raises(TypeError, match="to_device: int has no buffer"):
        cuda.to_device(5)
    for shape in (2.5, "ab", (3, "x"), None):
        with pytest.raises(TypeError, match="^pagelocked_empty: shape is .*: '(str|NoneType|float|object)' object cannot be"):
            cuda.pagelocked_empty(shape, np.int8)


def test_arrays_that_cannot_be_made_name_who_makes_them(gpu):
    allocation = cuda.mem_alloc(16)
    makers = [getattr(cuda, f"{kind}_{what}") for kind in ("pagelocked", "aligned", "managed") for what in ("empty", "zeros")]
    makers += [tools.PageLockedMemoryPool().allocate]
    for op, make in [(make.__name__, make) for make in makers] + [("from_device", functools.partial(cuda.from_device, allocation))]:
        for args, error, words in (
            ((None, np.int8), TypeError, "shape is None: 'NoneType' object cannot be"),
            ((-1, np.int8), ValueError, r"shape \(-1,\) has a negative length"),
            ((HUGE, np.int64), ValueError, f"shape .{HUGE},. of int64 has more bytes than memory"),
            ((4, object), TypeError, "elements of object are Python objects"),
            ((4, "nonsense"), TypeError, "dtype is 'nonsense'"),
            ((4, np.int8, "A"), ValueError, "order is 'A', expected 'C' or 'F'"),
        ):
            with pytest.raises(error, match=f"^{op}: {words}"):
                make(*args)


def test_dates_are_bytes_like_others(gpu):
    dates = np.array(["2020-01-01", "2021-02-03"], "M8[s]")
    mixed = np.ones(2, [("a", "i4"), ("b", "M8[D]")])
    for given in (dates, mixed, dates[0], np.asfortranarray(np.tile(dates, (3, 1)))):
        memory = cuda.to_device(given)
        found = cuda.from_device_like(memory, np.asarray(given))
        assert found.dtype == given.dtype and (found == given).all()


def test_advice_is_whole(gpu):
    memory, gaps = cuda.mem_alloc(64), np.zeros(8, np.float32)[::2]
    for call, words in (
        (lambda: cuda.memcpy_htod(memory, gaps), r"src is not contiguous \(shape \[4\], strides \[8\]\); copy it first: numpy.ascontiguousarray\(src\)"),
        (lambda: cuda.memcpy_dtoh(gaps, memory), "dest is not contiguous .*; copy to a contiguous array, and from there to this one"),
        (lambda: cuda.memcpy_dtoh(np.zeros(2, "f4"), gpuarray.zeros(4, "f4")[::2]), r"src is an array with gaps; use one without, such as its copy\(\)"),
        (lambda: gpuarray.to_gpu(np.zeros(3, ">f4")), r"kernels cannot read; convert them with a.astype\(a.dtype.newbyteorder\('='\)\)"),
    ):  # fmt: skip
        with pytest.raises((cuda.LogicError, TypeError), match=f"{words}$"):
            call()


def test_what_is_known_to_be_wrong_does_not_reach_the_driver(gpu):
    memory = cuda.mem_alloc(64)
    address = int(memory)
    for call, words in (
        (lambda: cuda.mem_alloc_pitch(16, 3, 5), "mem_alloc_pitch: access_size is 5, expected 4, 8 or 16"),
        (lambda: cuda.memset_d32(address + 2, 1, 1), f"memset_d32: dest is {address + 2:#x}, expected an address at a multiple of 4 bytes"),
        (lambda: cuda.memset_d16_async(address + 1, 1, 1), f"memset_d16_async: dest is {address + 1:#x}, .* multiple of 2 bytes"),
        (lambda: cuda.memset_d2d16(address, 3, 1, 1, 2), "memset_d2d16: pitch is 3, expected a multiple of the 2 bytes"),
        (lambda: cuda.AlignedHostAllocation(64, 1 << 62), f"AlignedHostAllocation: alignment is {1 << 62}: out of host memory"),
    ):
        with pytest.raises(cuda.Error, match=f"^{words}"):
            call()


def test_what_the_driver_refuses_names_the_call_and_the_place(fake):
    memory, host = cuda.mem_alloc(16), np.zeros(16, np.uint8)
    row = cuda.np_to_array(np.zeros((1, 4), np.float32), "C")
    rows = dict(width_in_bytes=4, height=2, src_pitch=4, dst_pitch=4)
    slices = dict(rows, depth=2, src_height=2, dst_height=2)
    for call, words in (
        (lambda: cuda.memcpy_dtoh(host, 12345), "memcpy_dtoh: src 0x3039"),
        (lambda: cuda.memcpy_dtoh_async(host, 12345), "memcpy_dtoh_async: src 0x3039"),
        (lambda: cuda.memcpy_htod(12345, host), "memcpy_htod: dest 0x3039"),
        (lambda: cuda.memcpy_htod_async(12345, host), "memcpy_htod_async: dest 0x3039"),
        (lambda: cuda.memcpy_dtod(memory, 12345, 4), f"memcpy_dtod: src 0x3039, dest {int(memory):#x}"),
        (lambda: cuda.memset_d8(12345, 0, 1), "memset_d8: dest 0x3039"),
        (lambda: cuda.memcpy_dtoa(row, 0, 12345, 16), "memcpy_dtoa: src 0x3039"),
        (lambda: cuda.memcpy_atod(12345, row, 0, 16), "memcpy_atod: dest 0x3039"),
        (lambda: row.copy_from(12345), "Array.copy_from: source 0x3039"),
        (lambda: row.copy_to(12345), "Array.copy_to: dest 0x3039"),
        (described(cuda.Memcpy2D, host, 12345, **rows), "Memcpy2D"),
        (described(cuda.Memcpy3D, host, 12345, **slices), "Memcpy3D"),
        (described(cuda.Memcpy3DPeer, host, 12345, **slices), "Memcpy3DPeer"),
    ):
        with pytest.raises(cuda.LogicError, match=f"^{words}: cuMem.*CUDA_ERROR_INVALID_VALUE") as raised:
            call()
        assert raised.value.code == 1


def test_a_copy_takes_arrays_only_where_it_says_so(gpu):
    class Lies:
        handle = 12345

    for copy in (cuda.Memcpy2D(), cuda.Memcpy3D(), cuda.Memcpy3DPeer()):
        for name in ("set_src_array", "set_dst_array"):
            for wrong in (Lies(), 5, None, np.zeros(4), cuda.Stream(), cuda.mem_alloc(4)):
                with pytest.raises(cuda.LogicError, match=f"{name}: .* is no Array"):
                    getattr(copy, name)(wrong)


def descriptor():
    descr = cuda.ArrayDescriptor()
    descr.width, descr.height, descr.num_channels, descr.format = 8, 4, 1, cuda.array_format.FLOAT
    return descr


def described(cls, host, memory, **fields):
    copy = cls()
    copy.set_src_host(host)
    copy.set_dst_device(memory)
    for name, value in fields.items():
        setattr(copy, name, value)
    return copy


@pytest.mark.parametrize("cls", [cuda.Memcpy2D, cuda.Memcpy3D, cuda.Memcpy3DPeer])
def test_memory_types_that_do_not_fit_the_place_are_refused(gpu, cls):
    host, memory, array = np.zeros((4, 8), np.float32), cuda.mem_alloc(128), cuda.Array(descriptor())
    fits = {"host memory": (1, 4), "device memory": (2, 4), "an Array": (3,)}
    for side, what in (("src", "the source"), ("dst", "the destination")):
        for place, setter, given in (("host memory", "host", host), ("device memory", "device", memory), ("an Array", "array", array)):
            for kind in (0, 1, 2, 3, 4, 12):
                copy = described(cls, host, memory, width_in_bytes=32, height=4, src_pitch=32, dst_pitch=32)
                getattr(copy, f"set_{side}_{setter}")(given)
                if cls is not cuda.Memcpy2D:
                    copy.depth, copy.src_height, copy.dst_height = 1, 4, 4
                setattr(copy, f"{side}_memory_type", kind)
                if kind in fits[place]:
                    continue
                words = f"^{cls.__name__}: the memory type of {what} is {kind}, and it is {place}, of type {fits[place][0]}$"
                for stream in ((), (cuda.Stream.legacy(),)):
                    with pytest.raises(cuda.LogicError, match=words):
                        copy(*stream)


def test_copies_of_arrays_say_what_does_not_fit(fake):
    row, host, memory = cuda.np_to_array(np.zeros((1, 4), np.float32), "C"), np.zeros(16, np.uint8), cuda.mem_alloc(16)
    for call, name in (
        (lambda: row.copy_from(host[:15]), "Array.copy_from"),
        (lambda: row.copy_to(host[:15]), "Array.copy_to"),
        (lambda: row.copy_from(cuda.mem_alloc(15)), "Array.copy_from"),
        (lambda: cuda.memcpy_htoa(row, 1, host), "memcpy_htoa"),
        (lambda: cuda.memcpy_atoh(host, row, 4), "memcpy_atoh"),
        (lambda: cuda.memcpy_dtoa(row, 4, memory, 16), "memcpy_dtoa"),
        (lambda: cuda.memcpy_atod(memory, row, 4, 16), "memcpy_atod"),
        (lambda: cuda.memcpy_atoa(row, 4, row, 0, 16), "memcpy_atoa"),
    ):
        with pytest.raises(cuda.LogicError, match=f"^{name}: "):
            call()
    for call, name in (
        (lambda: row.copy_from(host), "Array.copy_from"),
        (lambda: row.copy_to(host), "Array.copy_to"),
        (lambda: cuda.memcpy_htoa(row, 0, host), "memcpy_htoa"),
        (lambda: cuda.memcpy_atoh(host, row, 0), "memcpy_atoh"),
        (lambda: cuda.memcpy_atoa(row, 8, row, 0, 8), "memcpy_atoa"),
    ):
        fake("fail cuMemcpy3DAsync_v2:1:1")
        with pytest.raises(cuda.LogicError, match=f"^{name}: cuMemcpy3DAsync_v2: "):
            call()
        fake("fail none")
        call()


def test_pitches_and_heights_are_refused_by_name_before_the_driver_is_called(fake):
    host, memory = np.zeros(1000, np.uint8), cuda.mem_alloc(1000)
    rows = dict(width_in_bytes=10, height=3, src_pitch=10, dst_pitch=16)
    slices = dict(rows, depth=2, src_height=3, dst_height=4)
    before = fake.count()
    for cls, good, bad, words in [
        (cuda.Memcpy2D, rows, {"src_pitch": 9}, "the pitch of the source is 9, expected at least the 10 bytes of a row"),
        (cuda.Memcpy2D, rows, {"dst_pitch": 0}, "the pitch of the destination is 0"),
        (cuda.Memcpy2D, rows, {"src_x_in_bytes": 1}, "the pitch of the source is 10, expected at least the 11 bytes"),
        (cuda.Memcpy2D, rows, {"dst_y": 60}, "998 bytes exceed|1002 bytes exceed the 1000 bytes of the destination"),
        (cuda.Memcpy3D, slices, {"src_height": 2}, "the height of the source is 2, expected at least the 3 rows of a slice"),
        (cuda.Memcpy3D, slices, {"dst_height": 3, "dst_y": 1}, "the height of the destination is 3, expected at least the 4"),
        (cuda.Memcpy3D, slices, {"src_z": 2**63}, "the source reaches beyond every address"),
        (cuda.Memcpy3DPeer, slices, {"dst_pitch": 3}, "the pitch of the destination is 3"),
    ]:
        copy = described(cls, host, memory, **good)
        for name, value in bad.items():
            setattr(copy, name, value)
        for stream in ((), (cuda.Stream.legacy(),)):
            with pytest.raises(cuda.LogicError, match=words):
                copy(*stream)
    assert fake.count("cuMemcpy2DAsync_v2") + fake.count("cuMemcpy3DAsync_v2") + fake.count("cuMemcpy2DUnaligned_v2") == 0
    assert before <= fake.count()
    described(cuda.Memcpy2D, host, memory, **rows)()
    described(cuda.Memcpy3D, host, memory, **slices)()


def test_blocks_of_arrays_are_refused_by_name(gpu):
    descriptor = cuda.ArrayDescriptor()
    descriptor.width, descriptor.height = 8, 4
    descriptor.format, descriptor.num_channels = cuda.array_format.FLOAT, 1
    array, host = cuda.Array(descriptor), np.zeros((8, 16), np.float32)
    for fields, words in [
        (dict(dst_y=2), "3 rows from 2 exceed the 4 of the destination"),
        (dict(width_in_bytes=36), "36 bytes of a row from 0 exceed the 32 of the destination"),
    ]:
        copy = cuda.Memcpy2D()
        copy.set_src_host(host)
        copy.set_dst_array(array)
        copy.width_in_bytes, copy.height, copy.src_pitch = 32, 3, 64
        copy(aligned=True)
        for name, value in fields.items():
            setattr(copy, name, value)
        with pytest.raises(cuda.LogicError, match=words):
            copy(aligned=True)


def test_the_memory_that_is_missing_is_named(fake):
    managed = cuda.ManagedAllocation(10)
    managed.free()
    for call in (managed.free, managed.get_device_pointer, lambda: cuda.memset_d8(managed, 0, 1)):
        with pytest.raises(cuda.LogicError, match=": the ManagedAllocation has been freed$"):
            call()
    pooled = tools.DeviceMemoryPool().allocate(4)
    pooled.free()
    with pytest.raises(cuda.LogicError, match=": the PooledDeviceAllocation has been freed$"):
        int(pooled)
    for flags, call in [(0, "cuMemHostRegister_v2"), (cuda.host_alloc_flags.WRITECOMBINED, "cuMemHostAlloc")]:
        fake(f"fail {call}:1+:2")
        with pytest.raises(cuda.MemoryError, match="out of host memory to page-lock: needs 4096 bytes"):
            cuda.pagelocked_empty(10, np.int8, mem_flags=flags)
        fake("fail none")


def test_a_wrong_handle_of_a_stream_is_not_remembered(fake):
    allocation, host = cuda.mem_alloc(16), np.zeros(16, np.uint8)
    wrong = 0xDEAD0
    for call in (
        lambda: cuda.memset_d8_async(allocation, 0, 16, wrong),
        lambda: cuda.memcpy_htod_async(allocation, host, wrong),
        lambda: cuda.memcpy_dtoh_async(host, allocation, wrong),
        lambda: cuda.memcpy_dtod_async(allocation, int(allocation), 16, wrong),
        lambda: tools.DeviceMemoryPool().allocate(16, wrong),
    ):
        with pytest.raises(cuda.LogicError, match="CUDA_ERROR_INVALID_HANDLE"):
            call()
    cuda.memset_d8(allocation, 7, 16)
    cuda.memcpy_dtoh(host, allocation)
    assert (host == 7).all()
    allocation.free()
    gc.collect()
    assert fake("live_memory") == 0


def test_blocks_of_page_locked_pools_tell_their_flags(gpu):
    flags = cuda.host_alloc_flags.PORTABLE | cuda.host_alloc_flags.DEVICEMAP
    array = tools.PageLockedMemoryPool(tools.PageLockedAllocator(flags)).allocate((4,), np.int8)
    assert array.base.get_flags() == flags
    assert tools.PageLockedMemoryPool().allocate((4,), np.int8).base.get_flags() == 0
    with pytest.raises(cuda.LogicError, match="PageLockedAllocator: flags is 0x8, expected a combination"):
        tools.PageLockedAllocator(8)
    array.base.free()
    with pytest.raises(cuda.LogicError, match="freed"):
        array.base.get_flags()


def test_a_question_about_an_address_makes_no_context(python, fake):
    code = """
import ctypes, os
import numpy as np
import uLib.cuda.driver as cuda
lib = ctypes.CDLL(os.environ["ULIB_FAKE_DRIVER"])
lib.fakecuda_control.restype = ctypes.c_int64
retained = lambda: lib.fakecuda_control(b"count cuDevicePrimaryCtxRetain")
array = np.zeros(4)
assert cuda.mem_get_pointer_attributes(array.ctypes.data) is None
assert retained() == 0
allocation = cuda.mem_alloc(16)
assert retained() == 1
assert cuda.mem_get_pointer_attributes(allocation)["size"] == 16
assert cuda.mem_get_pointer_attributes(array.ctypes.data) is None
assert retained() == 1
"""
    python(code)


def test_peaks_do_not_count_what_could_not_be_had(fake):
    pool = tools.DeviceMemoryPool()
    block = pool.allocate(1000)
    fake("memory_limit 100000")
    with pytest.raises(cuda.MemoryError):
        pool.allocate(1 << 20)
    fake("memory_limit none")
    counts = pool.statistics()
    assert counts["peak_managed_bytes"] == counts["managed_bytes"] == 1023
    assert counts["peak_active_bytes"] == 1000
    block.free()


INTERRUPTED = """
import ctypes, os, signal, sys, threading, time
import numpy as np
import uLib.cuda.driver as cuda
lib = ctypes.CDLL(os.environ["ULIB_FAKE_DRIVER"])
size = 160 << 20
memory = cuda.mem_alloc(size)
{setup}
lib.fakecuda_control(b"bandwidth 100000000")
signal.signal(signal.SIGINT, signal.default_int_handler)
threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
begin = time.monotonic()
try:
    {copy}
    print("done")
except KeyboardInterrupt:
    print("stopped" if time.monotonic() - begin < 1.1 else "late")
lib.fakecuda_control(b"bandwidth 0")
cuda.memset_d8(memory, 3, size)
host[:] = 0
cuda.memcpy_dtoh(host, memory)
assert host.reshape(-1)[0] == host.reshape(-1)[-1] == 3
"""
ROWS = """
copy = cuda.{cls}()
copy.{host_side}_host(host)
copy.{device_side}_device(memory)
copy.width_in_bytes = copy.src_pitch = copy.dst_pitch = 1 << 20
copy.height = 160
"""
PACKED, LOCKED = "host = np.zeros(size, np.uint8)", "host = cuda.pagelocked_zeros(size, np.uint8)"


def rows(cls, upload):
    sides = dict(zip(("host_side", "device_side"), ("set_src", "set_dst") if upload else ("set_dst", "set_src")))
    text = PACKED + ROWS.format(cls=cls, **sides)
    return text if cls == "Memcpy2D" else text + "copy.height = copy.src_height = copy.dst_height = 10; copy.depth = 16\n"


@pytest.mark.parametrize(
    ("setup", "copy"),
    [
        (LOCKED, "cuda.memcpy_htod(memory, host)"),
        (LOCKED, "cuda.memcpy_dtoh(host, memory)"),
        (PACKED, "cuda.memcpy_htod(memory, host)"),
        (PACKED, "cuda.memcpy_dtoh(host, memory)"),
        (rows("Memcpy2D", True), "copy()"),
        (rows("Memcpy2D", False), "copy(aligned=True)"),
        (rows("Memcpy3D", True), "copy()"),
        (rows("Memcpy3D", False), "copy()"),
        (rows("Memcpy3DPeer", True), "copy()"),
    ],
)
def test_control_c_stops_a_long_copy(fake, python, setup, copy):
    done = python(INTERRUPTED.format(setup=setup, copy=copy))
    assert done.stdout == "stopped\n", done.stderr


@pytest.mark.parametrize("cls", [cuda.Memcpy2D, cuda.Memcpy3D, cuda.Memcpy3DPeer])
@pytest.mark.parametrize("width", [1, 999, 5 << 20])
def test_a_copy_in_pieces_is_the_whole_copy(gpu, cls, width):
    height, depth = (3, 5) if width > 999 else (2003, 11 if width > 1 else 3)
    if cls is cuda.Memcpy2D:
        depth = 1
    pitch, rows = width + 13, height + 2
    random = np.random.default_rng(width)
    host = random.integers(0, 256, (depth, rows, pitch), np.uint8)
    back = np.zeros_like(host)
    memory = cuda.mem_alloc(host.nbytes)
    cuda.memset_d8(memory, 9, host.nbytes)
    for into, source in ((memory, host), (back, memory)):
        copy = cls()
        (copy.set_dst_device if into is memory else copy.set_dst_host)(into)
        (copy.set_src_host if into is memory else copy.set_src_device)(source)
        copy.width_in_bytes, copy.height = width, height
        copy.src_pitch = copy.dst_pitch = pitch
        copy.src_x_in_bytes = copy.dst_x_in_bytes = 5
        copy.src_y = copy.dst_y = 1
        if cls is not cuda.Memcpy2D:
            copy.depth, copy.src_height, copy.dst_height = depth, rows, rows
        copy()
    want = np.zeros_like(host)
    part = (slice(None), slice(1, 1 + height), slice(5, 5 + width))
    want[part] = host[part]
    assert (back == want).all()
