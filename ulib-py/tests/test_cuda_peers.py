"""Two devices: copies between them, the one's kernels on the other's memory, and what belongs to which.

The software driver has two; of real cards, those of one machine.
"""

import numpy as np
import pytest
import uLib
import uLib.cuda.driver as cuda
from device_kernels import kernel
from uLib.cuda import compiler, gpuarray

ADD_ONE = "__global__ void add_one(int *a, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) a[i] += 1; }"


def cube(*shape):
    return np.arange(np.prod(shape), dtype=np.int16).reshape(shape)


@pytest.fixture
def other(second):
    """The context of the second device, not pushed."""
    return cuda.Device(second).retain_primary_context()


@pytest.fixture
def access(other):
    """The first device may touch the second one's memory."""
    if not cuda.Device(0).can_access_peer(cuda.Device(1)):
        pytest.skip("these two devices are no peers")
    with cuda.Device(0).enable_peer_access(cuda.Device(1)):
        yield


@pytest.mark.parametrize("contexts", [False, True])
@pytest.mark.parametrize("later", [False, True])
def test_memory_is_copied_with_and_without_contexts(other, contexts, later):
    """PyCUDA ends the process without contexts, and ignores them otherwise."""
    want = cube(50)
    source = cuda.to_device(want)
    with other:
        target = cuda.mem_alloc_like(want)
    arguments = [target, source, want.nbytes]
    if contexts:
        arguments += [other, cuda.Device(0).retain_primary_context()]
    (cuda.memcpy_peer_async if later else cuda.memcpy_peer)(*arguments)
    assert (cuda.from_device_like(target, want) == want).all()
    # And by address alone.
    cuda.memset_d8(target, 0, want.nbytes)
    cuda.memcpy_peer(int(target), int(source), want.nbytes)
    assert (cuda.from_device_like(target, want) == want).all()
    wrong = [target, source, want.nbytes, cuda.Device(0).retain_primary_context()]
    with pytest.raises(cuda.LogicError, match="dest is on device 1, its context on device 0"):
        cuda.memcpy_peer(*wrong)


def test_one_call_copies_once(fake, other):
    source = cuda.to_device(cube(50))
    with other:
        target = cuda.mem_alloc(100)
    fake("reset")
    cuda.memcpy_peer(target, source, 100)
    assert fake.count("cuMemcpyPeerAsync") == 1


@pytest.mark.parametrize("contexts", [False, True])
def test_slices_are_copied(other, contexts):
    volume = cube(3, 4, 5)
    source = cuda.to_device(volume)
    with other:
        target = cuda.mem_alloc_like(volume)
    copy = cuda.Memcpy3DPeer()
    copy.set_src_device(source)
    copy.set_dst_device(target)
    if contexts:
        copy.set_src_context(cuda.Device(0).retain_primary_context())
        copy.set_dst_context(other)
    copy.src_pitch = copy.dst_pitch = copy.width_in_bytes = 10
    copy.src_height = copy.dst_height = copy.height = 4
    copy.depth = 3
    copy()
    assert (cuda.from_device_like(target, volume) == volume).all()


def test_plain_copies_cross_devices(other):
    """`memcpy_dtod` takes addresses of any device."""
    want = cube(1000)
    source = cuda.to_device(want)
    with other:
        target = cuda.mem_alloc_like(want)
    cuda.memcpy_dtod(target, source, want.nbytes)
    assert (cuda.from_device_like(target, want) == want).all()


def test_every_allocation_is_of_the_context_s_device(other):
    with other:
        plain, pitched = cuda.mem_alloc(100), cuda.mem_alloc_pitch(100, 3, 4)[0]
        pool = cuda.DeviceMemoryPool()
        pooled = pool.allocate(100)
        array = gpuarray.to_gpu(cube(7))
    again = pool.allocate(100)
    for memory in (plain, pitched, pooled, again, array.gpudata):
        assert cuda.mem_get_pointer_attributes(memory)["device"] == 1
    assert cuda.mem_get_pointer_attributes(cuda.mem_alloc(100))["device"] == 0
    assert (array.get() == cube(7)).all(), "read without its context"


def test_kernels_run_on_the_device_of_their_module(real, other):
    want = np.arange(1000, dtype=np.int32)
    with other:
        function = compiler.SourceModule(ADD_ONE).get_function("add_one")
        there = cuda.to_device(want)
        function(there, np.int32(1000), block=(256, 1, 1), grid=(4, 1))
        assert (cuda.from_device_like(there, want) == want + 1).all()
    # Nothing pushed: the function knows its device.
    function(there, np.int32(1000), block=(256, 1, 1), grid=(4, 1))
    assert (cuda.from_device_like(there, want) == want + 2).all()
    stream = cuda.Stream()
    with pytest.raises(cuda.LogicError, match="are different devices"):
        function(there, np.int32(1000), block=(256, 1, 1), grid=(4, 1), stream=stream)


def test_memory_of_a_device_that_is_not_reached_is_refused(fake, other):
    with other:
        there = cuda.mem_alloc(64)
    function = kernel(".u64 there")
    prepared = function.prepare("PP").prepared_call
    here = cuda.mem_alloc(64)
    calls = [lambda: function(here, there, block=(1, 1, 1)), lambda: prepared((1, 1), (1, 1, 1), here, there)]
    for call in calls:
        with pytest.raises(cuda.LogicError, match="^launch: memory of Device 1: .*, to which Device: .* has no peer access$"):
            call()
    with cuda.Device(0).enable_peer_access(cuda.Device(1)):
        for call in calls:
            call()
    with pytest.raises(cuda.LogicError, match="no peer access"):
        calls[0]()


def test_a_kernel_touches_a_peer_s_memory(real, other, access):
    want = np.arange(1000, dtype=np.int32)
    with other:
        there = cuda.to_device(want)
    function = compiler.SourceModule(ADD_ONE).get_function("add_one")
    function(np.uint64(int(there)), np.int32(1000), block=(256, 1, 1), grid=(4, 1))
    cuda.Context.synchronize()
    assert (cuda.from_device_like(there, want) == want + 1).all()


def test_managed_memory_goes_from_device_to_device(real, other):
    shared = cuda.managed_zeros(100_000, np.int32)
    for context in (cuda.Device(0).retain_primary_context(), other):
        with context:
            function = compiler.SourceModule(ADD_ONE).get_function("add_one")
            function(shared, np.int32(shared.size), block=(256, 1, 1), grid=(391, 1))
            cuda.Context.synchronize()
    assert (shared == 2).all()


def test_a_field_moves_between_devices(second):
    want = np.arange(60_000, dtype=np.float32)
    numbers = uLib.FloatCollection(want)
    for ordinal in (0, second, 0):
        assert numbers.SetPreferredDevice(f"Device:{ordinal}") is True
        assert uLib.device.held(ordinal)[1] >= 1
        assert numbers.Sum() == want.sum(dtype=np.float64)
    assert (np.asarray(numbers) == want).all()
