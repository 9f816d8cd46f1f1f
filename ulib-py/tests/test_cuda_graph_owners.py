"""What graphs of `uLib.cuda` keep: whatever their work uses, freed by name or not; what replaced work used; ends of captures."""

import gc
import threading
import weakref

import numpy as np
import pytest
import uLib
import uLib.cuda.driver as cuda
from test_cuda_graphs import WRITE, value_at
from uLib.cuda import gpuarray


@pytest.fixture
def stream(gpu):
    return cuda.Stream(cuda.stream_flags.NON_BLOCKING)


@pytest.fixture
def write(fake):
    """A kernel of the software driver that writes its parameters to where the first one says."""
    return cuda.module_from_buffer(WRITE.encode()).get_function("fakecuda_parameters")


class Foreign:
    """An array of another library."""

    def __init__(self, bytes):
        self.memory = cuda.mem_alloc(bytes)
        self.__cuda_array_interface__ = {
            "version": 3,
            "shape": (bytes,),
            "typestr": "|u1",
            "data": (int(self.memory), False),
            "strides": None,
            "stream": None,
        }


class Holder(cuda.PointerHolderBase):
    """An address of memory that it keeps."""

    def __init__(self, bytes):
        super().__init__()
        self.memory = cuda.mem_alloc(bytes)

    def get_pointer(self):
        return int(self.memory)


def managed():
    array = cuda.managed_zeros(64, np.uint8)
    return array, array.base.free


def view():
    array = gpuarray.empty((128,), np.uint8)
    return array[64:], array.gpudata.free


def pooled():
    block = cuda.DeviceMemoryPool().allocate(64)
    return block, block.free


def allocation():
    memory = cuda.mem_alloc(64)
    return memory, memory.close


def foreign():
    return Foreign(64), lambda: None


def holder():
    return Holder(64), lambda: None


PLACES = [managed, view, pooled, allocation, foreign, holder]


def counts():
    gc.collect()
    return cuda.live_objects()


def settled(before):
    now = counts()
    return {name: (count, now[name]) for name, count in before.items() if now[name] != count}


@pytest.mark.parametrize("make", PLACES, ids=lambda make: make.__name__)
def test_memory_of_copies_lives_as_long_as_the_graph(stream, make):
    source, out = cuda.to_device(np.arange(64, dtype=np.uint8)), cuda.mem_alloc(64)
    before = counts()
    place, free = make()
    with stream.capture() as graph:
        cuda.memset_d8_async(place, 9, 64, stream)
        cuda.memcpy_dtod_async(place, source, 32, stream)
        cuda.memcpy_dtod_async(out, place, 64, stream)
    free()
    del place, free
    gc.collect()
    ready = graph.instantiate()
    del graph
    for _ in range(2):
        # What is freed early would be given out again, and written by the graph.
        others = [cuda.mem_alloc(64) for _ in range(4)] + [cuda.mem_alloc(128)]
        for other in others:
            cuda.memset_d8(other, 1, 64)
        ready.launch(stream)
        stream.synchronize()
        assert (cuda.from_device(out, 64, np.uint8) == np.r_[np.arange(32), [9] * 32]).all()
        for other in others:
            assert (cuda.from_device(other, 64, np.uint8) == 1).all()
    del ready, others, other
    assert settled(before) == {}


def test_arrays_and_hosts_of_copies_of_rows_live_as_long_as_the_graph(stream):
    source, out = cuda.to_device(np.arange(48, dtype=np.float32)), cuda.mem_alloc(192)
    before = counts()
    array = cuda.np_to_array(np.zeros((6, 8), np.float32), "C")
    host = cuda.pagelocked_empty((6, 8), np.float32)
    into, back, home = cuda.Memcpy2D(), cuda.Memcpy3D(), cuda.Memcpy2D()
    into.set_src_device(source)
    into.set_dst_array(array)
    into.src_pitch = into.width_in_bytes = 32
    into.height = 6
    back.set_src_array(array)
    back.set_dst_device(out)
    back.dst_pitch = back.width_in_bytes = 32
    back.height = back.dst_height = 6
    back.depth = 1
    home.set_src_array(array)
    home.set_dst_host(host)
    home.dst_pitch = home.width_in_bytes = 32
    home.height = 6
    with stream.capture() as graph:
        into(stream)
        back(stream)
        home(stream)
    gone = weakref.ref(host)
    array.free()
    host.base.free()
    del array, into, back, home, host
    gc.collect()
    assert cuda.live_objects()["arrays"] == before["arrays"] + 1
    ready = graph.instantiate()
    del graph
    ready.launch(stream)
    stream.synchronize()
    assert (cuda.from_device(out, 48, np.float32) == np.arange(48)).all()
    assert (gone() == np.arange(48).reshape(6, 8)).all()
    del ready
    assert settled(before) == {}


def test_an_array_of_a_copy_that_runs_is_freed_after_it(stream):
    before = counts()["arrays"]
    array = cuda.np_to_array(np.zeros((6, 8), np.float32), "C")
    source = cuda.mem_alloc(192)
    copy = cuda.Memcpy2D()
    copy.set_src_device(source)
    copy.set_dst_array(array)
    copy.src_pitch = copy.width_in_bytes = 32
    copy.height = 6
    copy(stream)
    array.free()
    del copy
    stream.synchronize()
    gc.collect()
    assert cuda.live_objects()["arrays"] == before
    uLib.device.errors()


def texture():
    made = cuda.TextureObject(cuda.np_to_array(np.zeros((6, 8), np.float32), "C"))
    return made, "textures", made.handle


def surface():
    made = cuda.SurfaceObject(cuda.np_to_array(np.zeros((6, 8), np.float32), "C", True))
    return made, "surfaces", made.handle


@pytest.mark.parametrize("make", [texture, surface])
@pytest.mark.parametrize("end", ["free", "close", "__exit__"])
@pytest.mark.parametrize("within", [False, True])
def test_objects_that_kernels_of_a_graph_use_live_as_long_as_it(write, make, end, within):
    stream, out = cuda.Stream(1), cuda.mem_alloc(64)
    before = counts()
    made, kind, handle = make()
    with stream.capture() as graph:
        write(out, made, block=1, stream=stream)
        if within:
            getattr(made, end)()
    if not within:
        getattr(made, end)()
    with pytest.raises(cuda.LogicError, match="freed"):
        made.handle
    del made
    gc.collect()
    assert cuda.live_objects()[kind] == before[kind] + 1
    ready = graph.instantiate()
    ready.launch(stream)
    stream.synchronize()
    assert value_at(out) == handle
    del graph
    ready.set_kernel(0, write, out, 6, block=1)
    assert settled(before) == {"graph_execs": (before["graph_execs"], before["graph_execs"] + 1)} or (
        cuda.live_objects()[kind] == before[kind]
    )
    ready.close()
    assert settled(before) == {}


def test_objects_that_kernels_use_are_destroyed_after_them(write, fake):
    stream, out = cuda.Stream(1), cuda.mem_alloc(64)
    made, kind, handle = texture()
    fake("deferred 1")
    write(out, made, block=1, stream=stream)
    made.free()
    fake("deferred 0")
    stream.synchronize()
    assert value_at(out) == handle
    assert fake("faults") == 0


def test_arguments_of_a_graph_live_as_long_as_it(write):
    stream, out = cuda.Stream(1), cuda.mem_alloc(64)
    for make in PLACES:
        before = counts()
        place, free = make()
        with stream.capture() as graph:
            write(place, 77, block=1, stream=stream)
            cuda.memcpy_dtod_async(out, place, 16, stream)
        free()
        del place, free
        ready = graph.instantiate()
        del graph
        gc.collect()
        others = [cuda.mem_alloc(64) for _ in range(4)]
        ready.launch(stream)
        stream.synchronize()
        assert value_at(out) == 77
        del ready, others
        assert settled(before) == {}, make.__name__


def test_replaced_arguments_go_after_their_last_launch(write, fake):
    stream, out = cuda.Stream(1), cuda.mem_alloc(64)
    foreign = [Foreign(64) for _ in range(4)]
    gone = [weakref.ref(one) for one in foreign]

    def alive():
        gc.collect()
        return [one() is not None for one in gone]

    with stream.capture() as graph:
        write(foreign[0], 1, block=1, stream=stream)
        write(foreign[1], 1, block=1, stream=stream)
    ready = graph.instantiate()
    ready.set_kernel(0, write, foreign[2], 2, block=1)
    foreign.pop(2)
    del foreign[:2]
    assert alive() == [True] * 4, "the graph may be made ready anew"
    del graph
    assert alive() == [False, True, True, True]
    fake("deferred 1")
    ready.launch(stream)
    ready.set_kernel(0, write, out, 3, block=1)
    assert alive() == [False, True, True, True], "the launch has not run"
    stream.synchronize()
    assert alive() == [False, True, False, True]
    for number in range(50):
        ready.set_kernel(0, write, Foreign(64), number, block=1)
    ready.set_kernel(1, write, foreign[0], 4, block=1)
    with pytest.raises(cuda.LogicError):
        ready.set_kernel(1, write, out, block=1)
    del foreign[:]
    assert alive() == [False, False, False, True]
    ready.launch(stream)
    ready.close()
    assert alive() == [False] * 4
    fake("deferred 0")
    assert fake("faults") == 0


def test_an_update_lets_the_arguments_before_go(write):
    stream = cuda.Stream(1)
    foreign = [Foreign(64) for _ in range(2)]
    gone = [weakref.ref(one) for one in foreign]
    graphs = []
    for one in foreign:
        with stream.capture() as graph:
            write(one, 1, block=1, stream=stream)
        graphs.append(graph)
    del foreign, one, graph
    ready = graphs[0].instantiate()
    ready.update(graphs[1])
    del graphs
    gc.collect()
    assert [one() is None for one in gone] == [True, False]
    ready.launch(stream)
    stream.synchronize()
    del ready
    assert gone[1]() is None


def test_blocks_of_operations_live_as_long_as_the_graph(stream):
    block = uLib.FloatCollection([1.0, 2.0, 3.0])
    assert block.SetPreferredDevice("Device")
    block.Scale(1.0)
    before = counts()["allocations"]
    with stream.capture() as graph:
        block.Scale(2.0)
    ready = graph.instantiate()
    del graph, block
    assert counts()["allocations"] == before
    # What were given out again would be scaled, too.
    others = [uLib.FloatCollection([1.0, 1.0, 1.0]) for _ in range(5)]
    for other in others:
        assert other.SetPreferredDevice("Device")
        other.Scale(1.0)
    ready.launch(stream)
    stream.synchronize()
    assert all(list(other) == [1.0, 1.0, 1.0] for other in others)
    del others, other, ready
    assert counts()["allocations"] == before - 1


# The ends of captures


def abandon_here(capture):
    capture.clear()
    gc.collect()


def abandon_elsewhere(capture):
    thread = threading.Thread(target=abandon_here, args=(capture,))
    thread.start()
    thread.join()


@pytest.mark.parametrize("abandon", [abandon_here, abandon_elsewhere])
@pytest.mark.parametrize("flags", [0, 1])
def test_a_capture_that_goes_without_its_end_leaves_nothing(gpu, abandon, flags):
    uLib.device.errors()
    stream, memory = cuda.Stream(flags), cuda.mem_alloc(64)
    cuda.memset_d8(memory, 1, 64)
    before = counts()
    capture = [stream.capture()]
    graph = capture[0].__enter__()
    cuda.memset_d8_async(memory, 2, 64, stream)
    abandon(capture)
    assert not stream.is_capturing
    for call in (graph.instantiate, lambda: graph.node_count, lambda: graph.handle):
        with pytest.raises(cuda.LogicError, match="without the end of its block"):
            call()
    cuda.Context.synchronize()
    cuda.memset_d8(memory, 3, 64)
    assert (cuda.from_device(memory, 64, np.uint8) == 3).all()
    del graph
    assert settled(before) == {}
    assert uLib.device.errors() == []


@pytest.mark.parametrize("abandon", [abandon_here, abandon_elsewhere])
def test_operations_do_not_use_the_stream_of_an_abandoned_capture(stream, abandon):
    block = uLib.FloatCollection([1.0, 2.0])
    assert block.SetPreferredDevice("Device")
    block.Scale(1.0)
    capture = [stream.capture()]
    capture[0].__enter__()
    abandon(capture)
    made = []

    def elsewhere(done, begun):
        with stream.capture() as graph:
            begun.set()
            done.wait()
        made.append(graph)

    done, begun = threading.Event(), threading.Event()
    thread = threading.Thread(target=elsewhere, args=(done, begun))
    thread.start()
    begun.wait()
    block.Scale(2.0)
    done.set()
    thread.join()
    assert made[0].node_count == 0
    assert list(block) == [2.0, 4.0]


def test_a_capture_is_left_on_another_thread(stream):
    memory = cuda.mem_alloc(64)
    capture = stream.capture()
    graph = capture.__enter__()
    cuda.memset_d8_async(memory, 7, 64, stream)
    thread = threading.Thread(target=capture.__exit__, args=(None, None, None))
    thread.start()
    thread.join()
    graph.instantiate().launch(stream)
    stream.synchronize()
    assert (cuda.from_device(memory, 64, np.uint8) == 7).all()


def test_what_is_closed_within_a_capture_stays_closed(stream):
    memory = cuda.mem_alloc(64)
    before = counts()
    with stream.capture() as graph:
        cuda.memset_d8_async(memory, 7, 64, stream)
        graph.close()
    with pytest.raises(cuda.LogicError, match="closed"):
        graph.instantiate()
    assert cuda.live_objects()["graphs"] == before["graphs"]
    other = cuda.Stream(1)
    with other.capture() as graph:
        cuda.memset_d8_async(memory, 8, 64, other)
        other.close()
        with pytest.raises(cuda.LogicError, match="closed"):
            cuda.memset_d8_async(memory, 9, 64, other)
    with pytest.raises(cuda.LogicError, match="closed"):
        other.synchronize()
    assert graph.node_kinds == ["fill"]
    graph.instantiate().launch(stream)
    stream.synchronize()
    assert (cuda.from_device(memory, 64, np.uint8) == 8).all()
    del graph
    assert settled(before) == {}


# What a capture refuses


def test_the_whole_device_is_not_waited_for_during_a_capture(stream):
    memory = cuda.mem_alloc(64)
    with stream.capture() as graph:
        cuda.memset_d8_async(memory, 7, 64, stream)
        for _ in range(2):
            with pytest.raises(cuda.LogicError, match="captured"):
                cuda.Context.synchronize()
    assert graph.node_count == 1
    cuda.Context.synchronize()


@pytest.mark.parametrize("flags", [0, 1])
def test_calls_that_wait_for_their_kernel_are_refused(write, flags):
    stream, out = cuda.Stream(flags), cuda.mem_alloc(64)
    array = np.zeros(2, np.uint64)
    write.prepare("PQ")
    with stream.capture() as graph:
        for handler in (cuda.In(array), cuda.Out(array), cuda.InOut(array)):
            with pytest.raises(cuda.LogicError, match="In, Out and InOut"):
                write(handler, 5, block=1, stream=stream)
        with pytest.raises(cuda.LogicError, match="time_kernel"):
            write(out, 5, block=1, stream=stream, time_kernel=True)
        if flags == 0:
            # The default stream waits for the captured one.
            with pytest.raises(cuda.LogicError, match="prepared_timed_call"):
                write.prepared_timed_call((1, 1), (1, 1, 1), out, 5)
            with pytest.raises(cuda.LogicError, match="In, Out and InOut"):
                write(cuda.In(array), 5, block=1)
        write(out, 6, block=1, stream=stream)
    assert graph.node_kinds == ["kernel"], "nothing of what was refused is there"
    graph.instantiate().launch(stream)
    stream.synchronize()
    assert value_at(out) == 6


def test_kernels_are_not_tuned_during_a_capture(stream):
    from uLib.cuda.autotune import Autotuner

    tuner = Autotuner("__global__ void nothing() {}", "nothing", {"N": [1, 2]}, cache_dir=False)
    with stream.capture():
        with pytest.raises(cuda.LogicError, match="cannot be tuned while a stream is being captured"):
            tuner.tune(lambda function, parameters: function(block=1), stream=stream)


@pytest.mark.parametrize("flags", [0, 1])
@pytest.mark.parametrize("make", [cuda.DeviceMemoryPool, cuda.StreamMemoryPool])
def test_fresh_blocks_of_pools_are_used_in_every_capture(gpu, flags, make):
    one, other = cuda.Stream(flags), cuda.Stream(flags)
    pool = make()
    with one.capture() as first, other.capture() as second:
        blocks = [pool.allocate(64, one), pool.allocate(64, other), pool.allocate(64)]
        for block in blocks:
            for on in (other, one):
                cuda.memset_d8_async(block, 5, 64, on)
    assert first.node_count == second.node_count == 3
    for graph in (first, second):
        graph.instantiate().launch(one)
    one.synchronize()
    for block in blocks:
        assert (cuda.from_device(block, 64, np.uint8) == 5).all()


def test_blocks_in_use_are_waited_for(gpu):
    one, other, pool = cuda.Stream(0), cuda.Stream(0), cuda.DeviceMemoryPool()
    block, second = pool.allocate(64), pool.allocate(64)
    cuda.memset_d8(block, 1, 64)
    cuda.memset_d8_async(second, 1, 64, other)
    with one.capture() as graph, other.capture():
        for used in (block, second):
            cuda.memset_d8_async(used, 2, 64, one)
    assert graph.node_count == 2
    for used in (block, second):
        assert (cuda.from_device(used, 64, np.uint8) == 1).all()
    graph.instantiate().launch(one)
    for used in (block, second):
        assert (cuda.from_device(used, 64, np.uint8) == 2).all()


def test_a_graph_is_not_launched_into_a_capture_which_goes_on(stream):
    memory = cuda.mem_alloc(64)
    with stream.capture() as inner:
        cuda.memset_d8_async(memory, 7, 64, stream)
    ready = inner.instantiate()
    with stream.capture() as outer:
        with pytest.raises(cuda.LogicError, match="GraphExec::launch.* the stream is being captured"):
            ready.launch(stream)
        cuda.memset_d8_async(memory, 8, 64, stream)
    assert outer.node_kinds == ["fill"]
    ready.launch(stream)
    outer.instantiate().launch(stream)
    stream.synchronize()
    assert (cuda.from_device(memory, 64, np.uint8) == 8).all()
