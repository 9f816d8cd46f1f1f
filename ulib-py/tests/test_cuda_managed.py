"""Managed memory of `uLib.cuda.driver`: arrays that host and device share."""

import gc

import numpy as np
import pytest
import uLib.cuda.driver as cuda
from uLib.device import Stream


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(), 5, (3, 4), [2, 3, 4], (0, 7)])
def test_the_default_works(gpu, shape, order):
    """With PyCUDA, the default of mem_flags is one that the driver refuses."""
    like = np.zeros(shape, np.int16, order)
    array = cuda.managed_empty(shape, np.int16, order)
    assert type(array) is np.ndarray
    assert array.shape == like.shape and (array.strides == like.strides or like.size == 0)
    assert isinstance(array.base, cuda.ManagedAllocation) and isinstance(array.base, cuda.DeviceAllocation)
    for zeros in (cuda.managed_zeros(shape, "i2", order=order), cuda.managed_zeros_like(like)):
        assert zeros.shape == like.shape and zeros.dtype == like.dtype and (zeros == 0).all()
    assert cuda.managed_empty_like(like).shape == like.shape


def test_flags_are_those_of_attachment(gpu):
    flags = cuda.mem_attach_flags
    for mem_flags in (0, flags.GLOBAL, flags.HOST):
        assert (cuda.managed_zeros(3, np.int8, mem_flags=mem_flags) == 0).all()
    for mem_flags in (3, 8):
        with pytest.raises(cuda.LogicError, match=f"mem_flags is {mem_flags}, expected one of mem_attach_flags"):
            cuda.managed_empty(3, np.int8, mem_flags=mem_flags)
    with pytest.raises(cuda.LogicError, match="Single"):
        cuda.managed_empty(3, np.int8, mem_flags=flags.SINGLE)
    with pytest.raises(ValueError, match="could not detect array order"):
        cuda.managed_empty_like(np.zeros((4, 4))[::2, ::2])


def test_host_and_device_see_the_same_bytes(gpu):
    array = cuda.managed_empty((10, 10), np.float32)
    want = np.arange(100, dtype=np.float32).reshape(10, 10)
    array[:] = want
    pointer = array.base.get_device_pointer()
    assert pointer == int(array.base) == array.ctypes.data
    assert (cuda.from_device(pointer, (10, 10), np.float32) == want).all()
    assert (cuda.from_device(array.base, (10, 10), np.float32) == want).all()
    cuda.memset_d32(array.base, 0, 10)
    cuda.memcpy_htod(array.base.get_device_pointer() + 40, np.full(10, 3, np.float32))
    cuda.mem_get_pointer_attributes(pointer)
    cuda.memcpy_dtoh(np.empty(1, np.int8), pointer)
    assert (array[0] == 0).all() and (array[1] == 3).all() and (array[2:] == want[2:]).all()


def test_an_array_or_a_view_of_it_is_a_place_on_the_device(gpu):
    array = cuda.managed_zeros((10, 10), np.float32)
    cuda.memcpy_htod(array[3], np.full(10, 5, np.float32))
    cuda.memset_d32(array[4:6], 0x3F800000, 20)
    cuda.from_device(array, 1, np.int8)
    assert (array[3] == 5).all() and (array[4:6] == 1).all() and (array[:3] == 0).all() and (array[6:] == 0).all()
    with pytest.raises(cuda.LogicError, match="44 bytes exceed the 40 bytes of dest"):
        cuda.memset_d32(array[9], 0, 11)
    with pytest.raises(cuda.LogicError, match="which is no device memory"):
        cuda.memset_d32(np.zeros(10), 0, 1)
    assert cuda.mem_get_pointer_attributes(array[7])["memory_type"] == "managed"


def test_the_memory_goes_with_its_last_array(fake):
    array = cuda.managed_empty(100, np.int8)
    array[:] = 7
    view = array[10:]
    base = array.base
    base.free()
    with pytest.raises(cuda.LogicError, match="freed"):
        base.free()
    with pytest.raises(cuda.LogicError, match="freed"):
        int(base)
    base.close()
    del array, base
    gc.collect()
    assert fake("live_pinned") == 1 and (view == 7).all()
    del view
    assert fake("live_pinned") == 0
    with cuda.ManagedAllocation(10) as allocation:
        assert fake("live_pinned") == 1 and allocation.size == 10
    assert fake("live_pinned") == 0


def test_it_is_attached_prefetched_and_advised(gpu):
    array, stream = cuda.managed_zeros(5000, np.int8), Stream()
    base = array.base
    base.attach(cuda.mem_attach_flags.SINGLE, stream)
    stream.Synchronize()
    base.attach(cuda.mem_attach_flags.GLOBAL)
    with pytest.raises(cuda.LogicError, match="attach: mem_flags is 0"):
        base.attach(0)
    for advice in ("read_mostly", "preferred_location", "accessed_by"):
        base.advise(advice, 0)
        base.advise("unset_" + advice, 0)
    base.advise("preferred_location", None)
    with pytest.raises(cuda.LogicError, match='advice is "seldom"'):
        base.advise("seldom")
    base.prefetch(0, stream)
    base.prefetch(cuda.Device(0), offset=10, size=100)
    base.prefetch(None)
    stream.Synchronize()
    with pytest.raises(cuda.LogicError, match="prefetch: offset 4000 and size"):
        base.prefetch(0, offset=4000, size=1001)
    with pytest.raises(cuda.LogicError, match="prefetch: 'everywhere' is no device"):
        base.prefetch("everywhere")
    with pytest.raises(cuda.LogicError, match="ordinal|device"):
        base.prefetch(99)
    assert (array == 0).all()


@pytest.mark.parametrize("kind", ["kept", "cycle", "view"])
def test_the_process_ends_well_with_arrays_in_use(gpu, python, kind):
    done = python(
        f"""
import numpy as np
import uLib.cuda.driver as cuda
array = cuda.managed_zeros(1000, np.int8)
if {kind!r} == "cycle":
    cycle = [array]
    cycle.append(cycle)
    del array, cycle
elif {kind!r} == "view":
    array = array[5:]
print("done")
"""
    )
    assert (done.stdout, done.stderr) == ("done\n", "")


def test_any_call_may_fail_without_a_leak(fake):
    def script():
        array, stream = cuda.managed_zeros(100, np.int8), Stream()
        array.base.attach(1, stream)
        array.base.prefetch(0, stream)
        cuda.memset_d8_async(array.base, 1, 100, stream)
        stream.Synchronize()

    script()
    fake("reset")
    script()
    calls, failures, kept = fake.count(), 0, 0
    for nth in range(1, calls + 1):
        fake(f"fail *:{nth}:999")
        try:
            script()
        except (cuda.Error, RuntimeError):
            failures += 1
        fake("fail none")
        gc.collect()
        cuda.mem_alloc(1).free()
        # What the driver refuses to take back when an object goes stays, and is on record.
        assert fake("live_pinned") - kept <= 1, f"call {nth} of {calls}"
        kept = fake("live_pinned")
    assert failures > calls // 4 and kept <= 3


@pytest.mark.parametrize("dtype", ["S3", "U2", "V3", np.dtype([("a", "S2"), ("b", "i4")]), "M8[s]"], ids=str)
@pytest.mark.parametrize("order", ["C", "F"])
def test_zeros_of_every_type_are_zero_bytes(gpu, dtype, order):
    like = np.empty((2, 3), dtype, order)
    for zeros in (cuda.managed_zeros((2, 3), dtype, order), cuda.managed_zeros_like(like)):
        assert zeros.dtype == like.dtype and zeros.strides == like.strides and zeros.tobytes() == bytes(like.nbytes)
