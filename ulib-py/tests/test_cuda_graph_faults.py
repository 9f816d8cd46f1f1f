"""Graphs under attack: an error at every call of the driver, and threads that capture, launch, change and abandon at once."""

import gc
import random
import threading

import numpy as np
import pytest
import uLib
import uLib.cuda.driver as cuda
from device_arrays import plane
from test_cuda_graph_owners import Foreign, Holder
from test_cuda_texture_launches import PTX


def everything(kernel, module, then=lambda: None):
    """Captures whatever can be captured, frees it by name, launches it, changes it, and abandons a capture."""
    stream, other, memory = cuda.Stream(0), cuda.Stream(1), cuda.mem_alloc(256)
    cuda.memset_d8(memory, 1, 256)
    cuda.memset_d8_async(memory, 2, 256, other)
    array, host = plane(surface=True), cuda.pagelocked_empty((6, 8), np.float32)
    texture, surface = cuda.TextureObject(array), cuda.SurfaceObject(array)
    managed, pool = cuda.managed_zeros(64, np.uint8), cuda.DeviceMemoryPool()
    tex = module.get_texref("tex")
    tex.set_array(array)
    copy = cuda.Memcpy2D()
    copy.set_src_array(array)
    copy.set_dst_host(host)
    copy.dst_pitch = copy.width_in_bytes = 32
    copy.height = 6
    foreign, holder = Foreign(64), Holder(64)
    with stream.capture() as graph:
        cuda.memset_d8_async(memory, 3, 256, stream)
        copy(stream)
        kernel(memory, texture, block=1, stream=stream)
        kernel(managed, surface, block=1, stream=stream, texrefs=[tex])
        block = pool.allocate(64, stream)
        cuda.memcpy_dtod_async(block, memory, 64, stream)
        cuda.memcpy_htod_async(foreign, bytearray(64), stream)
        cuda.memset_d8_async(holder, 1, 64, stream)
        texture.free()
        block.free()
    for freed in (memory, surface, array, managed.base, host.base):
        freed.free()
    del managed, host, foreign, holder, copy
    with graph, graph.instantiate() as ready:
        ready.launch(stream)
        node = graph.node_kinds.index("kernel")
        ready.set_kernel(node, kernel, Foreign(64), 7, block=1)
        ready.launch(other)
        ready.update(graph)
        ready.launch(stream)
        ready.set_kernel(node, kernel, Foreign(64), 8, block=1)
        ready.synchronize()
    abandoned = stream.capture()
    abandoned.__enter__()
    then()
    del abandoned
    stream.synchronize()


@pytest.fixture
def programs(write):
    return write, cuda.module_from_buffer(PTX.encode())


def outcome(*program):
    try:
        everything(*program)
    except (cuda.Error, MemoryError):
        return 1
    return 0


@pytest.mark.parametrize("deferred", [0, 1])
def test_an_error_at_any_call_leaves_nothing_and_harms_nothing(fake, small_heap, programs, deferred):
    fake(f"deferred {deferred}")
    assert outcome(*programs) == 0
    assert outcome(*programs) == 0
    gc.collect()
    before = cuda.live_objects()
    calls = fake.count()
    assert outcome(*programs) == 0
    calls = fake.count() - calls
    assert calls > 300
    failed = mistakes = 0
    # Not all of them, which takes minutes; another part in each mode.
    step = 31 + deferred
    for nth in range(1, calls + 1, step):
        fake(f"fail *:{nth}:999")
        failed += outcome(*programs)
        fake("fail none")
        gc.collect()
        assert outcome(*programs) == 0, nth
        cuda.Context.synchronize()
        gc.collect()
        if "ObjectDestroy" in "".join(uLib.device.errors()):
            # An object that the driver did not destroy stays, with what it reads.
            before = cuda.live_objects()
        assert cuda.live_objects() == before, nth
        assert fake("faults") == mistakes, nth
    assert failed * step > calls / 3


def test_threads_that_capture_at_once(gpu, small_heap):
    uLib.device.errors()
    gc.collect()
    before = cuda.live_objects()
    failures = []

    def work(number):
        choice = random.Random(number)
        try:
            stream, pool, shared = cuda.Stream(1), cuda.DeviceMemoryPool(), cuda.mem_alloc(64)
            ready = []
            for _ in range(15):
                memory = pool.allocate(64) if choice.random() < 0.5 else cuda.mem_alloc(64)
                value = choice.randrange(256)
                capture = stream.capture()
                graph = capture.__enter__()
                cuda.memset_d8_async(memory, value, 64, stream)
                cuda.memcpy_dtod_async(shared, memory, 64, stream)
                if choice.random() < 0.2:
                    thread = threading.Thread(target=capture.__exit__, args=(None, None, None))
                    thread.start()
                    thread.join()
                elif choice.random() < 0.2:
                    del capture
                    with pytest.raises(cuda.LogicError, match="without the end"):
                        graph.instantiate()
                    continue
                else:
                    capture.__exit__()
                if choice.random() < 0.5:
                    memory.free()
                made = graph.instantiate()
                if ready and choice.random() < 0.5:
                    ready[-1].update(graph)
                    made = ready[-1]
                ready.append(made)
                made.launch(stream)
                assert (cuda.from_device(shared, 64, np.uint8) == value).all() or not stream.synchronize()
                stream.synchronize()
                assert (cuda.from_device(shared, 64, np.uint8) == value).all()
                if choice.random() < 0.3:
                    ready.clear()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        gc.collect()
    for thread in threads:
        thread.join()
    assert failures == []
    del threads
    gc.collect()
    assert cuda.live_objects() == before
    assert uLib.device.errors() == []


def test_threads_that_capture_blocking_streams_and_use_the_default_one(gpu):
    """Captures that begin at once do not spoil each other."""
    failures = []

    def work(number):
        try:
            stream, memory = cuda.Stream(0), cuda.mem_alloc(64)
            for value in range(30):
                with stream.capture() as graph:
                    cuda.memset_d8_async(memory, value, 64, stream)
                assert graph.node_count == 1
                graph.instantiate().launch(stream)
                stream.synchronize()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_threads_that_capture_and_give_memory_up(gpu):
    """What was used in one stream is freed by whichever thread allocates next, beside captures that begin in that stream."""
    failures = []

    def work(number):
        try:
            stream = cuda.Stream(1)
            for value in range(150):
                with stream.capture() as graph:
                    memory = cuda.mem_alloc(64)
                    cuda.memset_d8_async(memory, value, 64, stream)
                ready = graph.instantiate()
                ready.launch(stream)
                assert (cuda.from_device(memory, 64, np.uint8) == value).all()
                del ready, graph
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_a_graph_is_launched_and_changed_by_threads(programs, fake):
    kernel, _ = programs
    stream, out = cuda.Stream(1), cuda.mem_alloc(64)
    with stream.capture() as graph:
        kernel(out, 0, block=1, stream=stream)
    ready = graph.instantiate()
    del graph
    failures = []

    def work(number):
        try:
            own = cuda.Stream(1)
            for value in range(50):
                ready.set_kernel(0, kernel, Foreign(64), value, block=1)
                ready.launch(own)
                if value % 7 == number:
                    ready.synchronize()
        except BaseException as error:
            failures.append(error)

    fake("deferred 1")
    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    ready.close()
    fake("deferred 0")
    assert fake("faults") == 0
