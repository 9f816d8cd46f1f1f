"""Device memory of `uLib.cuda.driver`: allocations, copies, fills, and what the driver knows about addresses."""

import gc
import threading

import numpy as np
import pytest
import uLib.cuda.driver as cuda
from uLib.device import Stream


class Named:
    """An object with the one attribute by which a stream or a place is found."""

    def __init__(self, **attributes):
        self.__dict__.update(attributes)


def numbers(count, dtype=np.float32):
    return (np.arange(count) * 7 % 251).astype(dtype)


def test_an_allocation_is_the_integer_of_its_address_until_it_is_freed(gpu):
    allocation = cuda.mem_alloc(1000)
    address = int(allocation)
    assert address != 0 and address % 256 == 0
    assert allocation.__index__() == address
    assert allocation.size == 1000
    assert repr(allocation) == f"<uLib.cuda.driver.DeviceAllocation of 1000 bytes at {address:#x}>"
    allocation.free()
    for use in (allocation.free, allocation.__int__, allocation.__index__, lambda: cuda.memset_d8(allocation, 0, 1)):
        with pytest.raises(cuda.LogicError, match=": the DeviceAllocation has been freed$"):
            use()
    allocation.close()
    assert "freed" in repr(allocation)


def test_an_allocation_ends_with_its_block(gpu):
    with cuda.mem_alloc(64) as allocation:
        assert int(allocation)
    with pytest.raises(cuda.LogicError, match="freed"):
        int(allocation)


@pytest.mark.parametrize("bytes", [0, -1, 2**63, 2**200])
def test_sizes_that_are_none_are_refused(gpu, bytes):
    with pytest.raises(cuda.LogicError, match="mem_alloc"):
        cuda.mem_alloc(bytes)


def test_too_much_is_a_memory_error_with_both_counts(gpu):
    _, total = cuda.mem_get_info()
    with pytest.raises(cuda.MemoryError) as raised:
        cuda.mem_alloc(1 << 48)
    assert isinstance(raised.value, MemoryError)
    assert raised.value.needs == 1 << 48
    assert 0 < raised.value.free <= total


def test_garbage_is_collected_before_memory_is_given_up(fake):
    """An allocation in a cycle is freed by the collector alone."""
    fake("memory_limit 3000000")
    gc.collect()
    gc.disable()
    try:
        cycle = [cuda.mem_alloc(2_000_000)]
        cycle.append(cycle)
        del cycle
        assert cuda.mem_alloc(2_000_000).size == 2_000_000
    finally:
        gc.enable()


def test_memory_is_freed_by_whoever_holds_it_last_on_any_thread(fake):
    allocations = [cuda.mem_alloc(100) for _ in range(20)]
    assert fake("live_memory") == 20
    half, rest = allocations[:10], allocations[10:]
    del allocations

    def drop():
        half.clear()
        for allocation in rest:
            allocation.free()

    thread = threading.Thread(target=drop)
    thread.start()
    thread.join()
    assert fake("live_memory") == 0


def test_two_threads_free_one_allocation_once(gpu):
    for _ in range(20):
        allocation, outcomes = cuda.mem_alloc(10), []

        def free(allocation=allocation, outcomes=outcomes):
            try:
                allocation.free()
                outcomes.append("freed")
            except cuda.LogicError:
                outcomes.append("too late")

        threads = [threading.Thread(target=free) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(outcomes) == ["freed", "too late"]


@pytest.mark.parametrize("dtype", [np.int8, np.float16, np.float32, np.complex128])
@pytest.mark.parametrize("count", [1, 7, 100_003])
def test_bytes_go_there_and_come_back(gpu, dtype, count):
    there = numbers(count, dtype)
    allocation = cuda.mem_alloc_like(there)
    assert allocation.size == there.nbytes
    cuda.memcpy_htod(allocation, there)
    back = np.zeros_like(there)
    cuda.memcpy_dtoh(back, allocation)
    assert (back == there).all()


def test_large_copies_go_through_the_ring_of_pinned_buffers(gpu):
    there = numbers(3_000_000)
    allocation = cuda.to_device(there)
    assert (cuda.from_device(allocation, there.shape, there.dtype) == there).all()


@pytest.mark.parametrize("source", [b"bytes of any kind!", bytearray(b"0123456789"), memoryview(b"view"), np.arange(5)])
def test_anything_with_a_buffer_is_a_source(gpu, source):
    allocation = cuda.to_device(source)
    want = bytes(memoryview(source).cast("B"))
    back = bytearray(len(want))
    cuda.memcpy_dtoh(back, allocation)
    assert bytes(back) == want


def test_arrays_come_back_in_the_order_that_is_asked_for(gpu):
    array = np.asfortranarray(np.arange(12, dtype=np.int32).reshape(3, 4))
    allocation = cuda.to_device(array)
    like = cuda.from_device_like(allocation, array)
    assert like.flags.f_contiguous and (like == array).all()
    plain = cuda.from_device(allocation, (4, 3), np.int32, order="C")
    assert (plain == array.T).all()
    assert cuda.from_device(allocation, 12, np.int32).shape == (12,)
    with pytest.raises(ValueError, match="order is 'A', expected 'C' or 'F'"):
        cuda.from_device(allocation, 12, np.int32, order="A")
    with pytest.raises(ValueError, match="could not detect array order"):
        cuda.from_device_like(allocation, array[::2, ::2])
    with pytest.raises(TypeError, match="Python objects"):
        cuda.from_device(allocation, 1, object)


def test_no_bytes_at_all_are_copied_without_complaint(gpu):
    nothing = np.empty(0, np.float32)
    allocation = cuda.to_device(nothing)
    cuda.memcpy_htod(allocation, nothing)
    cuda.memcpy_dtoh(nothing, allocation)
    cuda.memcpy_htod_async(allocation, nothing)
    cuda.memcpy_dtod(allocation, allocation, 0)
    cuda.memset_d32(allocation, 1, 0)
    assert cuda.from_device(allocation, (0, 3), np.int8).shape == (0, 3)


def places(allocation):
    """The same memory in all the ways in which it can be named."""
    address = int(allocation)

    class Holder(cuda.PointerHolderBase):
        def get_pointer(self):
            return address

    interface = {"shape": (2, 5), "typestr": "<f4", "data": (address, False), "version": 3}
    return [
        allocation,
        address,
        np.uint64(address),
        Holder(),
        Named(gpudata=allocation),
        Named(gpudata=address),
        Named(__cuda_array_interface__=interface),
        Named(__cuda_array_interface__={**interface, "strides": (20, 4)}),
        Named(__cuda_array_interface__={**interface, "strides": (4, 8)}),
    ]


def test_a_place_is_an_allocation_an_integer_or_an_array(gpu):
    allocation, want = cuda.mem_alloc(40), numbers(10)
    for place in places(allocation):
        cuda.memset_d8(allocation, 0, 40)
        cuda.memcpy_htod(place, want)
        back = np.zeros_like(want)
        cuda.memcpy_dtoh(back, place)
        assert (back == want).all(), place


def test_what_is_no_place_is_named(gpu):
    array = numbers(3)
    for place in (None, "text", True, 1.5, array, Named()):
        with pytest.raises(cuda.LogicError, match="memcpy_htod: dest is .* which is no device memory"):
            cuda.memcpy_htod(place, array)
    with pytest.raises(cuda.LogicError, match="memcpy_htod: dest is -1, which is no address"):
        cuda.memcpy_htod(-1, array)
    gaps = Named(__cuda_array_interface__={"version": 3, "shape": (4,), "typestr": "<f4", "data": (512, False), "strides": (8,)})
    with pytest.raises(cuda.LogicError, match="dest is an array with gaps"):
        cuda.memcpy_htod(gaps, array)
    with pytest.raises(NotImplementedError):
        int(cuda.PointerHolderBase())


def test_host_bytes_are_contiguous_and_writable_where_they_are_written(gpu):
    allocation, array = cuda.mem_alloc(400), np.zeros((10, 10), np.int8)
    with pytest.raises(cuda.LogicError, match="memcpy_htod: src is not contiguous"):
        cuda.memcpy_htod(allocation, array[:, ::2])
    with pytest.raises(cuda.LogicError, match="memcpy_dtoh_async: dest is not contiguous"):
        cuda.memcpy_dtoh_async(array[:, :5], allocation)
    with pytest.raises(cuda.LogicError, match="memcpy_dtoh: dest is read-only"):
        cuda.memcpy_dtoh(b"constant", allocation)
    with pytest.raises(cuda.LogicError, match="src is <class 'int'>, which has no buffer of bytes"):
        cuda.memcpy_htod(allocation, 7)


def test_bounds_are_checked(gpu):
    small, large = cuda.mem_alloc(10), cuda.mem_alloc(20)
    eleven = np.zeros(11, np.int8)
    calls = [
        (lambda: cuda.memcpy_htod(small, eleven), "memcpy_htod: 11 bytes exceed the 10 bytes of dest"),
        (lambda: cuda.memcpy_htod_async(small, eleven), "memcpy_htod_async: 11 bytes exceed the 10 bytes of dest"),
        (lambda: cuda.memcpy_dtoh(eleven, small), "memcpy_dtoh: 11 bytes exceed the 10 bytes of src"),
        (lambda: cuda.memcpy_dtod(large, small, 11), "memcpy_dtod: 11 bytes exceed the 10 bytes of src"),
        (lambda: cuda.memcpy_dtod_async(small, large, 11), "memcpy_dtod_async: 11 bytes exceed the 10 bytes of dest"),
        (lambda: cuda.memset_d8(small, 0, 11), "memset_d8: 11 bytes exceed the 10 bytes of dest"),
        (lambda: cuda.memset_d32_async(small, 0, 3), "memset_d32_async: 12 bytes exceed the 10 bytes of dest"),
        (lambda: cuda.memset_d2d8(small, 8, 0, 3, 2), "memset_d2d8: 11 bytes exceed the 10 bytes of dest"),
        (lambda: cuda.memset_d2d16(small, 2, 0, 2, 2), "pitch is 2, expected at least the 4 bytes of a row"),
        (lambda: cuda.memcpy_dtod(small, large, -1), "memcpy_dtod: -1 is no number of bytes"),
    ]
    for call, message in calls:
        with pytest.raises(cuda.LogicError, match=message):
            call()


def test_the_driver_checks_addresses_that_are_not_ours(fake):
    """Emulated: on a card whose device reaches all memory of the host, what is nowhere is found out by a fault."""
    with pytest.raises(cuda.LogicError) as raised:
        cuda.memcpy_htod(0xDEAD0000, numbers(3))
    assert raised.value.code == 1


def test_memory_is_copied_on_the_device(gpu):
    want = numbers(1000)
    first, second = cuda.to_device(want), cuda.mem_alloc_like(want)
    cuda.memcpy_dtod(second, first, want.nbytes)
    assert (cuda.from_device_like(second, want) == want).all()
    cuda.memset_d8(second, 0, want.nbytes)
    cuda.memcpy_dtod_async(int(second), first, 40, stream=None)
    assert (cuda.from_device(second, 20, np.float32) == [*want[:10], *[0] * 10]).all()


@pytest.mark.parametrize(("bits", "dtype"), [(8, np.uint8), (16, np.uint16), (32, np.uint32)])
@pytest.mark.parametrize("later", [False, True])
def test_fills_of_every_width(gpu, bits, dtype, later):
    size, value = bits // 8, 0xA1B2C3D4 & (2**bits - 1)
    allocation = cuda.mem_alloc(64)
    fill = getattr(cuda, f"memset_d{bits}{'_async' if later else ''}")
    rows = getattr(cuda, f"memset_d2d{bits}{'_async' if later else ''}")
    arguments = (Stream(),) if later else ()
    cuda.memset_d8(allocation, 0, 64)
    fill(allocation, value, 5, *arguments)
    want = np.zeros(64 // size, dtype)
    want[:5] = value
    assert (cuda.from_device(allocation, 64 // size, dtype) == want).all()
    cuda.memset_d8(allocation, 0, 64)
    rows(allocation, 16, value, 2, 3, *arguments)
    want = np.zeros((4, 16 // size), dtype)
    want[:3, :2] = value
    assert (cuda.from_device(allocation, (4, 16 // size), dtype) == want).all()
    with pytest.raises(cuda.LogicError, match=f"data is {2**bits}, which is more than {bits} bits hold"):
        fill(allocation, 2**bits, 1)


def test_work_on_a_stream_is_in_its_order_and_is_waited_for(fake):
    """With deferred streams nothing runs before somebody waits for it."""
    stream, want = Stream(), numbers(500)
    allocation = cuda.mem_alloc_like(want)
    fake("deferred 1")
    cuda.memset_d8_async(allocation, 1, want.nbytes, stream)
    cuda.memcpy_htod_async(allocation, want, stream)
    # The default stream is not ordered with this one: that the memory was used there is remembered.
    back = np.zeros_like(want)
    cuda.memcpy_dtoh(back, allocation)
    assert (back == want).all()
    assert fake("faults") == 0


def test_memory_that_is_freed_outlives_the_work_on_it(fake):
    stream, want = Stream(), numbers(500)
    allocation = cuda.mem_alloc_like(want)
    fake("deferred 1")
    cuda.memset_d32_async(allocation, 5, 500, stream)
    del allocation
    stream.Synchronize()
    assert fake("faults") == 0
    assert fake("live_memory") == 0


@pytest.mark.parametrize("kind", ["ours", "protocol", "handle", "ptr", "integer", "none"])
def test_streams_of_anybody(gpu, kind):
    ours = Stream()
    stream = {
        "ours": ours,
        "protocol": Named(__cuda_stream__=lambda: (0, ours.ptr)),
        "handle": Named(handle=ours.ptr),
        "ptr": Named(ptr=ours.ptr),
        "integer": ours.ptr,
        "none": None,
    }[kind]
    want = numbers(100)
    allocation, back = cuda.mem_alloc_like(want), np.zeros(100, np.float32)
    cuda.memcpy_htod_async(allocation, want, stream)
    cuda.memcpy_dtoh_async(back, allocation, stream=stream)
    ours.Synchronize()
    allocation.free()
    assert (back == want).all()


def test_what_is_no_stream_is_named(gpu):
    with pytest.raises(TypeError, match="memset_d8_async: str is neither a handle nor an object with"):
        cuda.memset_d8_async(cuda.mem_alloc(8), 0, 8, "stream")


def test_pitched_memory_has_room_for_all_rows(gpu):
    allocation, pitch = cuda.mem_alloc_pitch(100, 30, 4)
    assert pitch >= 100 and pitch % 4 == 0
    assert allocation.size == pitch * 30
    cuda.memset_d2d8(allocation, pitch, 7, 100, 30)
    rows = cuda.from_device(allocation, (30, pitch), np.uint8)
    assert (rows[:, :100] == 7).all()
    with pytest.raises(cuda.LogicError, match="allocate_pitched: extent is 0 bytes by 3 rows"):
        cuda.mem_alloc_pitch(0, 3, 4)
    with pytest.raises(cuda.LogicError):
        cuda.mem_alloc_pitch(10, 3, 5)


def test_what_the_driver_knows_about_an_address(gpu):
    allocation = cuda.mem_alloc(5000)
    base, size = cuda.mem_get_address_range(int(allocation) + 77)
    assert base == int(allocation) and size >= 5000
    known = cuda.mem_get_pointer_attributes(int(allocation) + 77)
    assert (known["memory_type"], known["device"], known["base"]) == ("device", 0, int(allocation))
    assert known["size"] == size and known["host_pointer"] is None
    assert known["device_pointer"] == int(allocation) + 77
    assert known["buffer_id"] != cuda.mem_get_pointer_attributes(cuda.mem_alloc(8))["buffer_id"]
    assert cuda.mem_get_pointer_attributes(numbers(3).ctypes.data) is None
    with pytest.raises(cuda.LogicError, match="address is 0x1000, expected one in memory that the driver knows"):
        cuda.mem_get_address_range(0x1000)


def test_a_buffer_of_an_allocation_keeps_it(gpu):
    allocation = cuda.mem_alloc(100)
    view = allocation.as_buffer(40, 8)
    assert view.nbytes == 40 and not view.readonly
    assert np.frombuffer(view, np.uint8).ctypes.data == int(allocation) + 8
    with pytest.raises(cuda.LogicError, match="as_buffer: 93 bytes at offset 8 exceed the 100 bytes"):
        allocation.as_buffer(93, 8)
    with pytest.raises(cuda.LogicError, match="as_buffer: -1 is no number of bytes"):
        allocation.as_buffer(-1)
    address = int(allocation)
    allocation.free()
    # The view is still there, and with it the memory.
    assert cuda.mem_get_address_range(address)[0] == address
    del view


@pytest.mark.parametrize("order", ["del module", "keep", "cycle", "thread"])
def test_the_process_ends_well_with_memory_in_use(gpu, python, order):
    done = python(
        f"""
import threading, numpy as np
import uLib.cuda.driver as cuda
from uLib.device import Stream
stream = Stream()
allocation, view = cuda.mem_alloc(1000), cuda.mem_alloc(10).as_buffer(10)
host = np.zeros(1000, np.int8)
cuda.memcpy_htod_async(allocation, host, stream)
if {order!r} == "del module":
    del cuda
elif {order!r} == "cycle":
    cycle = [allocation, stream, host]
    cycle.append(cycle)
    del cycle, stream
elif {order!r} == "thread":
    threading.Thread(target=lambda held=allocation: threading.Event().wait(0.2), daemon=True).start()
print("done")
"""
    )
    assert (done.stdout, done.stderr) == ("done\n", "")


def script():
    stream, want = Stream(), numbers(300)
    allocation = cuda.mem_alloc_like(want)
    rows, pitch = cuda.mem_alloc_pitch(100, 4, 4)
    cuda.memset_d2d8_async(rows, pitch, 3, 100, 4, stream)
    cuda.memcpy_htod_async(allocation, want, stream)
    cuda.memcpy_dtod(rows, allocation, 200)
    back = np.zeros_like(want)
    cuda.memcpy_dtoh_async(back, allocation, stream)
    stream.Synchronize()
    cuda.memcpy_htod(allocation, back)
    allocation.free()


def test_any_call_may_fail_without_a_leak(fake, in_turn):
    script()
    fake("reset")
    script()
    calls = fake.count()
    failures = 0
    for nth in in_turn(calls):
        fake(f"fail *:{nth}:999")
        try:
            script()
        except (cuda.Error, RuntimeError):
            failures += 1
        fake("fail none")
        gc.collect()
        # Whatever could not be freed at once is freed by the next allocation.
        cuda.mem_alloc(1).free()
        assert fake("live_memory") == 0, f"call {nth} of {calls}"
    assert failures > len(in_turn(calls)) // 4


def test_objects_that_name_themselves_have_an_end(gpu):
    class Endless:
        gpudata = property(lambda self: self)

    with pytest.raises(cuda.LogicError, match="which is no device memory"):
        cuda.memcpy_htod(Endless(), b"abcd")


def test_arrays_of_objects_are_refused(gpu):
    allocation, objects = cuda.mem_alloc(16), np.array([None, 1], object)
    for call in (
        lambda: cuda.memcpy_htod(allocation, objects),
        lambda: cuda.memcpy_dtoh(objects, allocation),
        lambda: cuda.register_host_memory(objects),
    ):
        with pytest.raises(cuda.LogicError, match="holds Python objects"):
            call()


def test_a_view_is_in_use_until_the_work_on_it_is_done(fake):
    from uLib.cuda import gpuarray

    fake("deferred 1")
    pool, stream = cuda.DeviceMemoryPool(), cuda.Stream(1)
    out = gpuarray.zeros(90, "f8")
    whole = gpuarray.to_gpu(np.arange(100.0), pool.allocate)
    view = whole[10:]
    del whole
    cuda.memcpy_dtod_async(out, view, 720, stream)
    del view
    gc.collect()
    other = gpuarray.to_gpu(np.full(100, -1.0), pool.allocate)
    stream.synchronize()
    assert (out.get() == np.arange(10.0, 100.0)).all()
    assert (other.get() == -1).all()


def test_scalars_and_arrays_of_no_dimensions_have_bytes(gpu):
    allocation = cuda.mem_alloc(8)
    for given in (np.array(3.5), np.float64(3.5), np.array(3.5)[()]):
        cuda.memset_d8(allocation, 0, 8)
        cuda.memcpy_htod(allocation, given)
        got = np.zeros((), np.float64)
        cuda.memcpy_dtoh(got, allocation)
        assert got == 3.5
    assert cuda.from_device(cuda.to_device(np.int32(7)), (), np.int32) == 7
