"""Cycles through native objects of `uLib.cuda`, which the collector of garbage finds."""

import gc
import weakref

import numpy as np
import pytest
import uLib
import uLib.cuda.driver as cuda
from device_kernels import kernel
from test_cuda_graph_owners import Foreign
from test_cuda_texture_launches import PTX
from uLib.cuda import gpuarray


class Owner:
    """Something of the program."""


class Bytes(bytearray):
    pass


class Array(np.ndarray):
    pass


class Texels(cuda.Array):
    pass


class Holder(cuda.PointerHolderBase):
    def get_pointer(self):
        return 0


class Pool(cuda.DeviceMemoryPool):
    pass


class BorrowedStream(Owner):
    def __init__(self):
        self.stream = cuda.Stream(1)

    def __cuda_stream__(self):
        return 0, self.stream.handle


def texels():
    descr = cuda.ArrayDescriptor()
    descr.width, descr.height, descr.format, descr.num_channels = 8, 6, cuda.array_format.FLOAT, 1
    return Texels(descr)


def linker():
    owner = Owner()
    owner.linker = cuda.Linker(message_handler=lambda *_: owner)
    return owner


def module():
    loaded = cuda.module_from_buffer(PTX.encode())
    loaded.get_texref("tex").module = loaded
    return loaded


def function():
    reference = cuda.TextureReference()
    reference.function = cuda.module_from_buffer(PTX.encode()).get_function("fakecuda_parameters")
    reference.function.param_set_texref(reference)
    return reference


def function_of_a_reference():
    loaded = cuda.module_from_buffer(PTX.encode())
    reference = loaded.get_texref("tex")
    reference.function = loaded.get_function("fakecuda_parameters")
    return reference.function


def stream():
    owner = BorrowedStream()
    owner.made = cuda.Stream(owner)
    return owner


def stream_by_handle():
    owner = BorrowedStream()
    owner.made = cuda.Stream.from_handle(owner)
    return owner


def stream_of_objects():
    owner = BorrowedStream()
    owner.made = uLib.device.Stream(owner)
    return owner


def registration():
    array = cuda.aligned_zeros(5000, np.int8).view(Array)
    array.memory = cuda.register_host_memory(array).base
    return array


def rows_of_an_array():
    array = texels()
    array.copy = cuda.Memcpy2D()
    array.copy.set_src_array(array)
    return array


def rows_of_a_host():
    array = np.zeros((6, 8), np.float32).view(Array)
    array.copy = cuda.Memcpy3D()
    array.copy.set_dst_host(array)
    return array


def rows_of_memory():
    memory = Foreign(64)
    memory.copy = cuda.Memcpy3DPeer()
    memory.copy.set_src_device(memory)
    return memory


def texture():
    memory = Foreign(64)
    memory.texture = cuda.TextureObject(memory)
    return memory


def texture_of_memory():
    memory = Foreign(64)
    memory.texture = cuda.TextureObject(memory, format=cuda.array_format.FLOAT, width=16)
    return memory


def array_of_another():
    memory = Foreign(64)
    memory.array = gpuarray.GPUArray((16,), np.float32, gpudata=memory, base=memory)[4:]
    return memory


def reference():
    memory = Foreign(64)
    memory.reference = cuda.TextureReference()
    memory.reference.set_address(memory, 64)
    return memory


def holder():
    made = Holder()
    made.me = made
    return made


def pool():
    made = Pool()
    made.array = gpuarray.empty((10,), np.uint8, allocator=made.allocate)
    return made


def view():
    array = gpuarray.empty((10,), np.uint8)
    array.view = array[5:]
    return array


def capture_in_progress():
    owner = Foreign(64)
    stream = cuda.Stream(1)
    owner.capture = stream.capture()
    owner.capture.__enter__()
    cuda.memset_d8_async(owner, 1, 64, stream)
    return owner


def graph():
    host, stream = Bytes(64), cuda.Stream(1)
    memory = cuda.mem_alloc(64)
    with stream.capture() as host.graph:
        cuda.memcpy_htod_async(memory, host, stream)
    return host


def ready(keeps_graph=True):
    memory, stream = Foreign(64), cuda.Stream(1)
    with stream.capture() as graph:
        cuda.memset_d8_async(memory, 1, 64, stream)
    memory.ready = graph.instantiate(), graph if keeps_graph else None
    memory.ready[0].launch(stream)
    stream.synchronize()
    return memory


def ready_alone():
    return ready(keeps_graph=False)


def updated():
    memory, stream = Foreign(64), cuda.Stream(1)
    ready = None
    for _ in range(3):
        with stream.capture() as graph:
            cuda.memset_d8_async(memory, 1, 64, stream)
        if ready is None:
            ready = graph.instantiate()
        else:
            ready.update(graph)
    memory.ready = ready
    return memory


MAKERS = [
    linker, module, function, function_of_a_reference, stream, stream_by_handle, stream_of_objects, registration, rows_of_an_array,
    rows_of_a_host, rows_of_memory, texture, texture_of_memory, array_of_another, reference, holder, pool, view, capture_in_progress, graph, ready, ready_alone, updated,
]  # fmt: skip


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_cycles_are_collected(gpu, make):
    make()
    gc.collect()
    before = cuda.live_objects()
    uLib.device.errors()
    gone = weakref.ref(make())
    gc.collect()
    assert gone() is None
    assert cuda.live_objects() == before
    assert uLib.device.errors() == []


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_what_is_in_use_is_not_collected(gpu, make):
    made = make()
    alive = weakref.ref(made)
    gc.collect()
    assert alive() is made
    kept = vars(made).copy() if hasattr(made, "__dict__") else {}
    gc.collect()
    assert all(getattr(made, name) is value for name, value in kept.items())


def test_arguments_of_kernels_are_collected_with_their_graph(fake, write):
    stream = cuda.Stream(1)
    gc.collect()
    before = cuda.live_objects()
    one, other = Foreign(64), Foreign(64)
    with stream.capture() as graph:
        write(one, 5, block=1, stream=stream)
    one.ready = other.ready = graph.instantiate()
    one.ready.set_kernel(0, write, other, 6, block=1)
    gone = [weakref.ref(one), weakref.ref(other)]
    del one
    gc.collect()
    assert [one() is None for one in gone] == [False, False], "the graph may be made ready anew"
    del graph
    gc.collect()
    assert [one() is None for one in gone] == [True, False]
    # A launch that is not done needs its arguments, whatever else has become of them.
    fake("deferred 1")
    other.ready.launch(stream)
    del other
    stream.synchronize()
    gc.collect()
    assert gone[1]() is None
    assert cuda.live_objects() == before
    fake("deferred 0")
    assert fake("faults") == 0


def test_a_borrowed_stream_in_use_outlives_the_cycle(gpu):
    owner = BorrowedStream()
    owner.made = cuda.Stream(owner)
    memory = cuda.mem_alloc(64)
    cuda.memset_d8_async(memory, 1, 64, owner.made)
    gone = weakref.ref(owner)
    del owner
    gc.collect()
    assert gone() is not None, "the memory remembers the stream"
    memory.free()
    gc.collect()
    assert gone() is None


def test_a_texture_in_use_outlives_the_cycle(fake):
    """The launch keeps the texture and its memory, until it is done."""
    memory, out = Foreign(64), cuda.mem_alloc(16)
    memory.texture = cuda.TextureObject(memory)
    function = kernel(".u64 t")
    fake("deferred 1")
    stream = cuda.Stream(1)
    function(out, memory.texture, block=1, stream=stream)
    gone = weakref.ref(memory)
    del memory
    gc.collect()
    assert gone() is not None
    stream.synchronize()
    gone().texture.close()
    gc.collect()
    assert gone() is None
    fake("deferred 0")
    assert fake("faults") == 0
