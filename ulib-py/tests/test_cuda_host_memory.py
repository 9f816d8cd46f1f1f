"""Host memory of `uLib.cuda.driver`: page-locked, aligned and registered, all as NumPy arrays."""

import gc

import numpy as np
import pytest
import uLib.cuda.driver as cuda

KINDS = ["pagelocked", "aligned"]


def maker(kind, name):
    return getattr(cuda, f"{kind}_{name}")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(), 5, (3, 4), [2, 3, 4], (0, 7), np.int64(6)])
def test_arrays_have_the_shape_type_and_order_that_is_asked_for(gpu, kind, order, shape):
    like = np.zeros(shape, np.int16, order)
    for array in (maker(kind, "empty")(shape, np.int16, order), maker(kind, "zeros")(shape, "i2", order=order)):
        assert type(array) is np.ndarray
        assert array.shape == like.shape and array.dtype == like.dtype
        # Arrays of no elements have the strides of their maker.
        assert array.strides == like.strides or like.size == 0
        assert array.flags.writeable and (array == 0).all()
    array = maker(kind, "zeros_like")(like)
    assert array.shape == like.shape and array.dtype == like.dtype and (array == 0).all()
    array = maker(kind, "empty_like")(like)
    assert array.dtype == like.dtype and (array.strides == like.strides or like.size == 0)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_contiguous_in_no_order_has_no_like(gpu, kind):
    gaps = np.zeros((4, 4, 4))[::2, ::2]
    for name in ("empty_like", "zeros_like"):
        with pytest.raises(ValueError, match="could not detect array order"):
            maker(kind, name)(gaps)


def test_arrays_take_the_order_of_others(gpu):
    given = np.asfortranarray(np.ones((4, 5), np.float32))
    for like in (cuda.pagelocked_empty_like, cuda.pagelocked_zeros_like, cuda.aligned_empty_like, cuda.aligned_zeros_like):
        array = like(given)
        assert array.strides == (4, 16) and array.dtype == np.float32
        array[:] = given
        assert array.sum() == 20
        if like in (cuda.pagelocked_zeros_like, cuda.aligned_zeros_like):
            assert (like(given[:2].copy()) == 0).all()
    assert cuda.aligned_empty_like(given, 1 << 14).ctypes.data % (1 << 14) == 0
    assert cuda.pagelocked_empty_like(given, cuda.host_alloc_flags.PORTABLE).base.get_flags() & 1


@pytest.mark.parametrize("kind", KINDS)
def test_mistakes_are_named(gpu, kind):
    empty = maker(kind, "empty")
    with pytest.raises(ValueError, match="order is 'A'"):
        empty(3, np.int8, "A")
    with pytest.raises(ValueError, match="negative length"):
        empty((3, -1), np.int8)
    with pytest.raises(TypeError, match="Python objects"):
        empty(3, object)
    with pytest.raises(TypeError):
        empty(2.5, np.int8)


@pytest.mark.parametrize(("kind", "cls"), [("pagelocked", "HostAllocation"), ("aligned", "AlignedHostAllocation")])
def test_the_base_is_the_allocation_and_views_keep_it(gpu, kind, cls):
    array = maker(kind, "empty")((100, 10), np.float32)
    array[:] = np.arange(1000).reshape(100, 10)
    base = array.base
    assert isinstance(base, getattr(cuda, cls)) and isinstance(base, cuda.HostPointer)
    assert base.size == 4000
    view = array[50:, ::3].T
    base.free()
    with pytest.raises(cuda.LogicError, match=r"HostAllocation.free: the \w+HostAllocation has been freed$"):
        base.free()
    del array, base
    gc.collect()
    assert (view == np.arange(1000, dtype=np.float32).reshape(100, 10)[50:, ::3].T).all()


def test_page_locked_memory_goes_with_its_last_array(fake):
    array = cuda.pagelocked_empty(100, np.int8)
    combined = cuda.pagelocked_empty(100, np.int8, mem_flags=cuda.host_alloc_flags.WRITECOMBINED)
    assert (fake("live_registered"), fake("live_pinned")) == (1, 1)
    view, other = array[5:], combined[5:]
    del array, combined
    assert (fake("live_registered"), fake("live_pinned")) == (1, 1)
    del view, other
    assert (fake("live_registered"), fake("live_pinned")) == (0, 0)
    allocation = cuda.PagelockedHostAllocation(10)
    allocation.free()
    assert fake("live_registered") == 0


def test_flags_are_those_that_were_asked_for(gpu):
    flags = cuda.host_alloc_flags
    for asked in (0, flags.PORTABLE, flags.DEVICEMAP | flags.PORTABLE, flags.WRITECOMBINED):
        array = cuda.pagelocked_zeros(10, np.int32, mem_flags=asked)
        assert array.base.get_flags() == asked
        assert (array == 0).all()
    with pytest.raises(cuda.LogicError, match="PagelockedHostAllocation: mem_flags is 0x8, expected a combination"):
        cuda.pagelocked_empty(10, np.int32, mem_flags=8)


def test_devices_reach_mapped_memory(gpu):
    array = cuda.pagelocked_empty(10, np.int32, mem_flags=cuda.host_alloc_flags.DEVICEMAP)
    pointer = array.base.get_device_pointer()
    want = np.arange(10, dtype=np.int32)
    cuda.memcpy_htod(pointer, want)
    assert (array == want).all()
    with pytest.raises(cuda.LogicError):
        cuda.aligned_empty(10, np.int32).base.get_device_pointer()


@pytest.mark.parametrize("alignment", [1, 64, 4096, 1 << 20])
def test_aligned_memory_starts_where_it_should(alignment):
    array = cuda.aligned_empty((7, 11), np.complex128, alignment=alignment)
    assert array.ctypes.data % alignment == 0
    like = cuda.aligned_zeros_like(array, alignment=alignment)
    assert like.ctypes.data % alignment == 0 and (like == 0).all()


@pytest.mark.parametrize("alignment", [0, 3, 100, -1])
def test_alignments_are_powers_of_two(alignment):
    with pytest.raises(cuda.LogicError, match="AlignedHostAllocation"):
        cuda.aligned_empty(10, np.int8, alignment=alignment)


def test_a_copy_on_a_stream_keeps_page_locked_memory_until_it_has_run(fake):
    stream = cuda.Stream(cuda.stream_flags.NON_BLOCKING)
    array = cuda.pagelocked_empty(500, np.float32)
    array[:] = want = np.arange(500, dtype=np.float32)
    allocation = cuda.mem_alloc_like(array)
    fake("deferred 1")
    cuda.memcpy_htod_async(allocation, array, stream)
    del array
    gc.collect()
    assert fake("live_registered") == 1
    stream.synchronize()
    assert fake("live_registered") == 0
    assert (cuda.from_device_like(allocation, want) == want).all()


def test_registered_memory_is_an_array_of_the_same_bytes(gpu):
    array = cuda.aligned_zeros((64, 64), np.float32)
    registered = cuda.register_host_memory(array, flags=cuda.mem_host_register_flags.DEVICEMAP)
    assert type(registered) is np.ndarray
    assert registered.ctypes.data == array.ctypes.data and registered.shape == array.shape
    base = registered.base
    assert isinstance(base, cuda.RegisteredHostMemory) and isinstance(base, cuda.HostPointer)
    assert base.base is array
    registered[0, 0] = 5
    assert array[0, 0] == 5
    assert cuda.mem_get_pointer_attributes(array.ctypes.data)["memory_type"] == "host"
    cuda.memcpy_htod(base.get_device_pointer(), np.full(4, 3, np.float32))
    assert (array[0, :4] == 3).all()
    with pytest.raises(cuda.LogicError):
        cuda.register_host_memory(array)
    base.unregister()
    assert cuda.mem_get_pointer_attributes(array.ctypes.data) is None
    with pytest.raises(cuda.LogicError, match="^RegisteredHostMemory.unregister: the RegisteredHostMemory has been unregistered"):
        base.unregister()
    registered[0, 1] = 7
    assert array[0, 1] == 7


def test_registered_memory_ends_with_its_block_or_its_last_array(fake):
    array = np.asfortranarray(np.ones((100, 50)))
    with cuda.RegisteredHostMemory(array) as registered:
        assert registered.size == array.nbytes and fake("live_registered") == 1
    assert fake("live_registered") == 0
    again = cuda.register_host_memory(array)
    assert again.flags.f_contiguous and (again == 1).all()
    view = again[3:]
    del again
    assert fake("live_registered") == 1
    del view
    assert fake("live_registered") == 0
    with cuda.register_host_memory(array).base as base:
        base.unregister()


def test_what_cannot_be_registered_is_named(gpu):
    with pytest.raises(ValueError, match="could not detect array order"):
        cuda.register_host_memory(np.zeros((10, 10))[::2, ::2])
    with pytest.raises(cuda.LogicError, match="at least one byte"):
        cuda.register_host_memory(np.zeros(0))
    with pytest.raises(cuda.LogicError, match="flags is 0x10"):
        cuda.register_host_memory(np.zeros(1), flags=16)
    constant = np.zeros(10)
    constant.flags.writeable = False
    with pytest.raises(cuda.LogicError, match="ary is read-only"):
        cuda.register_host_memory(constant)


@pytest.mark.parametrize("kind", ["kept", "cycle", "registered"])
def test_the_process_ends_well_with_arrays_in_use(gpu, python, kind):
    done = python(
        f"""
import numpy as np
import uLib.cuda.driver as cuda
array = cuda.pagelocked_empty(1000, np.int8)
combined = cuda.pagelocked_empty(1000, np.int8, mem_flags=4)
if {kind!r} == "cycle":
    cycle = [array, combined]
    cycle.append(cycle)
    del array, combined, cycle
elif {kind!r} == "registered":
    registered = cuda.register_host_memory(np.zeros(5000))
print("done")
"""
    )
    assert (done.stdout, done.stderr) == ("done\n", "")


def test_what_the_driver_does_not_let_go_of_is_kept_and_can_be_tried_again(fake):
    base = cuda.register_host_memory(np.zeros(5000)).base
    fake("fail cuMemHostUnregister:1:999")
    with pytest.raises(cuda.Error):
        base.unregister()
    assert fake("live_registered") >= 1
    base.unregister()
    with pytest.raises(cuda.LogicError, match="^RegisteredHostMemory.unregister: the RegisteredHostMemory has been unregistered"):
        base.unregister()
    # Dropped instead, the array is nobody's again: its pages cannot be given to another one.
    array = np.zeros(5000)
    address, kept = array.ctypes.data, fake("live_registered")
    base = cuda.register_host_memory(array).base
    fake("fail cuMemHostUnregister:1+:999")
    del array, base
    gc.collect()
    fake("fail none")
    assert fake("live_registered") == kept + 1
    others = [np.zeros(5000) for _ in range(50)]
    assert all(abs(other.ctypes.data - address) >= 40000 for other in others)


def test_any_call_may_fail_without_a_leak(fake, in_turn):
    def script():
        array = cuda.pagelocked_zeros(100, np.int8)
        combined = cuda.pagelocked_zeros(100, np.int8, mem_flags=4)
        array.base.get_device_pointer()
        combined[:] = array
        cuda.register_host_memory(np.zeros(5000)).base.unregister()

    script()
    fake("reset")
    script()
    calls, failures = fake.count(), 0
    for nth in in_turn(calls):
        fake(f"fail *:{nth}:999")
        before = (fake("live_registered"), fake("live_pinned"))
        try:
            script()
        except cuda.Error:
            failures += 1
        fake("fail none")
        gc.collect()
        # What the driver does not let go of stays, once.
        after = (fake("live_registered"), fake("live_pinned"))
        assert sum(after) - sum(before) <= 1, f"call {nth} of {calls}"
    assert failures > len(in_turn(calls)) // 4
