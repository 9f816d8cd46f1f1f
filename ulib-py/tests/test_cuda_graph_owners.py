"""What graphs of `uLib.cuda` keep: whatever their work uses, freed by name or not, and what replaced work used."""

import gc
import weakref

import numpy as np
import pytest
import uLib
import uLib.cuda.driver as cuda
from test_cuda_graphs import value_at
from uLib.cuda import gpuarray


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
