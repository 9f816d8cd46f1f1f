"""Texture and surface references in captures: what launches of graphs, and launches beside them, find in the program's variable."""

import gc

import numpy as np
import pytest
import uLib.cuda.driver as cuda
from device_arrays import plane
from test_cuda_texture_launches import PTX, held_in
from test_cuda_texture_references import Program


class Reader:
    """What launches find in a variable, copied out in the order of their stream."""

    def __init__(self, program):
        self.program = program
        self.out = cuda.to_device(np.zeros(1, np.uint64))

    def launch(self, stream):
        """Stands for a kernel that reads the variable: as a node of a graph, where the stream is captured."""
        cuda.memcpy_dtod_async(self.out, self.program.memory, 8, stream)

    def found(self):
        cuda.Context.synchronize()
        return int(cuda.from_device(self.out, 1, np.uint64)[0])


@pytest.fixture
def program(gpu):
    return Program()


@pytest.fixture
def reader(program):
    return Reader(program)


def captured(reference, reader, stream):
    with stream.capture() as graph:
        reference._use(stream)
        reader.launch(stream)
    return graph


def plainly(reference, reader, stream):
    reference._use(stream)
    reader.launch(stream)
    return reader.found()


@pytest.fixture(params=["texture", "surface"])
def reference(request, program):
    made = program.texref() if request.param == "texture" else program.surfref()
    made.set_array(plane(surface=request.param == "surface"))
    return made


def test_a_launch_after_a_capture_finds_its_own(reference, program, reader, stream):
    graph = captured(reference, reader, stream)
    assert program.held() == 0, "nothing has run"
    first = reference._object.handle
    assert plainly(reference, reader, stream) == first
    other = cuda.Stream(1)
    assert plainly(reference, reader, other) == first
    assert graph.node_kinds == ["fill", "fill", "copy"]


def test_graphs_and_launches_beside_them_find_their_own(reference, program, reader, stream):
    graph = captured(reference, reader, stream)
    first = reference._object.handle
    ready = graph.instantiate()
    reference.set_array(plane(surface=True))
    other = cuda.Stream(1)
    for _ in range(3):
        for on in (stream, other):
            second = plainly(reference, reader, on)
            assert second == reference._object.handle != first
            ready.launch(on)
            assert reader.found() == first
            assert plainly(reference, reader, stream) == second


def test_a_graph_of_what_was_written_before_writes_it_again(reference, program, reader, stream):
    first = plainly(reference, reader, stream)
    ready = captured(reference, reader, stream).instantiate()
    reference.set_array(plane(surface=True))
    assert plainly(reference, reader, stream) != first
    ready.launch(stream)
    assert reader.found() == first


def test_an_abandoned_capture_leaves_nothing(reference, program, reader, stream):
    first = plainly(reference, reader, stream)
    reference.set_array(plane(surface=True))
    with pytest.raises(ZeroDivisionError):
        with stream.capture():
            reference._use(stream)
            1 / 0
    assert program.held() == first
    assert plainly(reference, reader, stream) == reference._object.handle != first
    assert reference._graphs == []


def test_captures_keep_what_was_bound(reference, program, reader, stream):
    gc.collect()
    before = cuda.live_objects()
    array = plane(surface=True)
    reference.set_array(array)
    graph = captured(reference, reader, stream)
    first = reference._object.handle
    reference.set_array(plane(surface=True))
    reference._use(stream)
    array.free()
    del array
    gc.collect()
    # That of the graph, and that of the reference.
    assert cuda.live_objects()["arrays"] == before["arrays"] + 1
    ready = graph.instantiate()
    ready.launch(stream)
    reader.launch(stream)
    assert reader.found() == first
    ready.close()
    graph.close()
    del graph, ready
    gc.collect()
    reference._use(stream)
    now = cuda.live_objects()
    assert (now["arrays"], now["textures"] + now["surfaces"]) == (before["arrays"], before["textures"] + before["surfaces"] + 1)


def test_memory_that_was_bound_is_kept_when_it_is_freed(program, reader, stream):
    gc.collect()
    before = cuda.live_objects()["allocation_bytes"]
    reference = program.texref()
    memory = cuda.to_device(np.arange(1024, dtype=np.float32))
    for address, offset in ((memory, False), (int(memory) + 8, True)):
        reference.set_address(address, 64, allow_offset=offset)
        reference._keep = memory
        graph = captured(reference, reader, stream)
    memory.free()
    del memory, address
    reference.set_array(plane())
    reference._use(stream)
    gc.collect()
    assert cuda.live_objects()["allocation_bytes"] == before + 4096
    graph.instantiate().launch(stream)
    stream.synchronize()
    del graph
    gc.collect()
    assert cuda.live_objects()["allocation_bytes"] == before


def test_a_capture_writes_what_it_has_not_written(reference, reader, stream):
    with stream.capture() as graph:
        for _ in range(3):
            reference._use(stream)
            reader.launch(stream)
        reference.set_array(plane(surface=True))
        reference._use(stream)
        reader.launch(stream)
    assert graph.node_kinds == ["fill", "fill", "copy", "copy", "copy", "fill", "fill", "copy"]
    graph.instantiate().launch(stream)
    assert reader.found() == reference._object.handle


def test_no_more_is_written_when_the_graphs_are_gone(reference, program, reader, stream, fake):
    graph = captured(reference, reader, stream)
    graph.instantiate().launch(stream)
    plainly(reference, reader, stream)
    del graph
    gc.collect()
    plainly(reference, reader, stream)
    fills = fake.count("cuMemsetD32Async")
    for _ in range(3):
        plainly(reference, reader, stream)
    assert fake.count("cuMemsetD32Async") == fills


def test_launches_of_a_module_are_captured_with_their_references(fake):
    module = cuda.module_from_buffer(PTX.encode())
    stream, out = cuda.Stream(1), cuda.mem_alloc(64)
    tex, kernel = module.get_texref("tex"), module.get_function("fakecuda_parameters")
    tex.set_array(plane())
    with stream.capture() as graph:
        kernel(out, np.uint64(5), block=1, stream=stream, texrefs=[tex])
    assert held_in(module, "tex") == 0
    assert graph.node_kinds == ["fill", "fill", "kernel"]
    first = tex._object.handle
    ready = graph.instantiate()
    tex.set_array(plane())
    kernel(out, np.uint64(5), block=1, stream=stream)
    cuda.Context.synchronize()
    assert held_in(module, "tex") == tex._object.handle != first
    ready.launch(stream)
    stream.synchronize()
    assert held_in(module, "tex") == first
    kernel(out, np.uint64(5), block=1, texrefs=[tex])
    cuda.Context.synchronize()
    assert held_in(module, "tex") == tex._object.handle


def test_kernels_of_graphs_read_what_was_bound(real):
    from uLib.cuda.compiler import SourceModule

    module = SourceModule(
        "texture<float, 2> tex;\n__global__ void read(float *out) { out[threadIdx.x] = tex2D(tex, threadIdx.x, 0); }"
    )
    tex, read = module.get_texref("tex"), module.get_function("read")
    stream, out = cuda.Stream(1), cuda.mem_alloc(32)

    def bind(value):
        cuda.matrix_to_texref(np.full((2, 8), value, np.float32), tex, "C")

    def found():
        stream.synchronize()
        return set(cuda.from_device(out, 8, np.float32))

    bind(3)
    with stream.capture() as graph:
        read(out, block=(8, 1, 1), stream=stream, texrefs=[tex])
    ready = graph.instantiate()
    bind(4)
    for _ in range(3):
        read(out, block=(8, 1, 1), stream=stream, texrefs=[tex])
        assert found() == {4}
        ready.launch(stream)
        assert found() == {3}
