"""Graphs of `uLib.cuda`: captured, launched, changed, and what keeps what they use."""

import gc
import threading
import weakref

import pytest
import uLib
import uLib.cuda.driver as cuda


def first(memory):
    """The first byte of device memory."""
    host = bytearray(1)
    cuda.memcpy_dtoh(host, memory)
    return host[0]


def filling(stream, memory, *values):
    """A graph that fills the memory with these bytes, one after another."""
    with stream.capture() as graph:
        for value in values:
            cuda.memset_d8_async(memory, value, 64, stream)
    return graph


@pytest.fixture
def memory(gpu):
    memory = cuda.mem_alloc(64)
    cuda.memset_d8(memory, 1, 64)
    return memory


def test_captured_work_runs_when_the_graph_is_launched(stream, memory):
    capture = stream.capture()
    assert isinstance(capture, cuda.Capture)
    with capture as graph:
        assert stream.is_capturing and isinstance(graph, cuda.Graph)
        cuda.memset_d8_async(memory, 2, 64, stream)
        cuda.memset_d8_async(memory, 3, 64, stream)
        with pytest.raises(cuda.LogicError, match="captured"):
            stream.synchronize()
        with pytest.raises(cuda.LogicError, match="not ended"):
            graph.instantiate()
    assert not stream.is_capturing
    assert first(memory) == 1, "nothing has run"
    assert graph.node_count == 2 and graph.handle
    with graph.instantiate() as ready:
        assert ready.handle and isinstance(ready, cuda.GraphExec)
        for _ in range(3):
            cuda.memset_d8_async(memory, 9, 64, stream)
            ready.launch(stream)
            stream.synchronize()
            assert first(memory) == 3
        ready.launch()
        ready.synchronize()
    with pytest.raises(cuda.LogicError, match="closed"):
        ready.launch(stream)
    ready.close()


def test_a_graph_takes_the_place_of_another(stream, memory):
    other = cuda.mem_alloc(64)
    ready = filling(stream, memory, 5).instantiate()
    ready.update(filling(stream, other, 6))
    ready.launch(stream)
    stream.synchronize()
    assert (first(memory), first(other)) == (1, 6)
    with pytest.raises(cuda.LogicError, match="cannot take the place"):
        ready.update(filling(stream, other, 7, 8))
    ready.launch(stream)
    stream.synchronize()
    assert first(other) == 6


def test_a_block_left_by_an_exception_leaves_no_graph(stream, memory):
    before = cuda.live_objects()
    with pytest.raises(ZeroDivisionError):
        with stream.capture() as graph:
            cuda.memset_d8_async(memory, 2, 64, stream)
            1 / 0
    assert not stream.is_capturing
    for call in (graph.instantiate, lambda: graph.node_count):
        with pytest.raises(cuda.LogicError, match="closed"):
            call()
    assert cuda.live_objects()["graphs"] == before["graphs"]
    assert first(memory) == 1


def test_a_capture_is_entered_once(stream):
    capture = stream.capture()
    with pytest.raises(cuda.LogicError, match="not been entered"):
        capture.__exit__(None, None, None)
    with capture:
        with pytest.raises(cuda.LogicError, match="already"):
            capture.__enter__()
        with pytest.raises(cuda.LogicError, match="captured already"):
            stream.capture().__enter__()
        with pytest.raises(cuda.LogicError, match="the question would spoil that"):
            _ = stream.flags
    with pytest.raises(cuda.LogicError, match="already"):
        capture.__enter__()


def test_default_streams_are_not_captured(gpu):
    for stream in (cuda.Stream.legacy(), cuda.Stream.from_handle(0)):
        with pytest.raises(cuda.LogicError, match="the default stream cannot be captured"):
            with stream.capture():
                pass


def test_other_threads_go_on_during_a_capture(stream, memory):
    outcome = []

    def work():
        own = cuda.Stream(1)
        piece = cuda.mem_alloc(1 << 16)
        cuda.memset_d8_async(piece, 7, 1 << 16, own)
        own.synchronize()
        outcome.append(cuda.Event().record(own).synchronize().query())
        piece.free()

    with stream.capture() as graph:
        cuda.memset_d8_async(memory, 2, 64, stream)
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        # And this one may allocate.
        cuda.mem_alloc(64).free()
    assert outcome == [True]
    ready = graph.instantiate()
    ready.launch(stream)
    stream.synchronize()
    assert first(memory) == 2


def test_memory_lives_as_long_as_a_graph_that_uses_it(stream):
    before = cuda.live_objects()["allocation_bytes"]
    memory = cuda.mem_alloc(64)
    graph = filling(stream, memory, 5)
    del memory
    gc.collect()
    ready = graph.instantiate()
    del graph
    gc.collect()
    assert cuda.live_objects()["allocation_bytes"] == before + 64
    ready.launch(stream)
    stream.synchronize()
    del ready
    gc.collect()
    assert cuda.live_objects()["allocation_bytes"] == before


class Bytes(bytearray):
    """With weak references."""


def test_host_bytes_live_as_long_as_a_graph_that_reads_them(stream, memory):
    host = Bytes(b"\7" * 64)
    gone = weakref.ref(host)
    with stream.capture() as graph:
        cuda.memcpy_htod_async(memory, host, stream)
    del host
    gc.collect()
    with graph.instantiate() as ready:
        graph.close()
        assert gone() is not None
        ready.launch(stream)
        stream.synchronize()
        assert first(memory) == 7
        gone()[:] = b"\10" * 64
        ready.launch(stream)
        stream.synchronize()
        assert first(memory) == 8
    gc.collect()
    assert gone() is None


def test_callbacks_are_refused_in_a_capture(stream):
    with stream.capture():
        with pytest.raises(cuda.LogicError, match="captured"):
            stream.add_callback(print)


def test_operations_of_objects_become_part_of_the_graph(stream):
    block = uLib.FloatCollection([1.0, 2.0, 3.0])
    assert block.SetPreferredDevice("Device")
    block.Scale(1.0)
    with stream.capture() as graph:
        block.Scale(2.0)
    assert graph.node_count >= 1
    ready = graph.instantiate()
    ready.launch(stream)
    ready.launch(stream)
    ready.synchronize()
    assert list(block) == [4.0, 8.0, 12.0]


def value_at(memory):
    """The second parameter that the kernel has written."""
    host = bytearray(16)
    cuda.memcpy_dtoh(host, memory)
    return int.from_bytes(host[8:], "little")


def test_kernels_of_a_graph_get_other_arguments(write):
    stream = cuda.Stream(1)
    memory, other = cuda.mem_alloc(64), cuda.mem_alloc(64)
    with stream.capture() as graph:
        cuda.memset_d8_async(memory, 0, 64, stream)
        write(memory, 5, block=(1, 1, 1), stream=stream)
    assert graph.node_kinds == ["fill", "kernel"]
    ready = graph.instantiate()
    ready.launch(stream)
    stream.synchronize()
    assert value_at(memory) == 5
    ready.set_kernel(1, write, other, 6, block=1, grid=(2, 1))
    ready.launch(stream)
    stream.synchronize()
    assert (value_at(memory), value_at(other)) == (0, 6)
    for wrong, message in [
        (lambda: ready.set_kernel(2, write, other, 6, block=1), "node is 2"),
        (lambda: ready.set_kernel(1, write, other, block=1), "fakecuda_parameters"),
        (lambda: ready.set_kernel(1, write, other, 6, block=5000), "block"),
        (lambda: ready.set_kernel(0, write, other, 6, block=1), "node is 0, a node of the kind Fill, expected a launch of a kernel"),
    ]:
        with pytest.raises(cuda.LogicError, match=message):
            wrong()
    ready.launch(stream)
    stream.synchronize()
    assert value_at(other) == 6


def test_what_kernels_of_a_graph_use_lives_as_long_as_it(write):
    stream = cuda.Stream(1)
    before = cuda.live_objects()["allocation_bytes"]
    memory, later = cuda.mem_alloc(64), cuda.mem_alloc(128)
    with stream.capture() as graph:
        write(memory, 5, block=1, stream=stream)
    ready = graph.instantiate()
    del graph
    memory.free()
    del memory
    gc.collect()
    assert cuda.live_objects()["allocation_bytes"] == before + 64 + 128
    ready.launch(stream)
    ready.set_kernel(0, write, later, 6, block=1)
    del later
    gc.collect()
    ready.launch(stream)
    stream.synchronize()
    assert cuda.live_objects()["allocation_bytes"] == before + 128
    ready.close()
    gc.collect()
    assert cuda.live_objects()["allocation_bytes"] == before


def test_twenty_kernels_compiled_here(real):
    import numpy
    from uLib.cuda.compiler import SourceModule

    add = SourceModule("__global__ void add(float *x, float y) { x[threadIdx.x] += y; }").get_function("add")
    stream = cuda.Stream(1)
    memory = cuda.to_device(numpy.zeros(32, numpy.float32))
    with stream.capture() as graph:
        for number in range(20):
            add(memory, numpy.float32(number), block=(32, 1, 1), stream=stream)
    assert graph.node_kinds == ["kernel"] * 20
    ready = graph.instantiate()
    ready.launch(stream)
    ready.set_kernel(0, add, memory, numpy.float32(1000), block=(32, 1, 1))
    ready.launch(stream)
    stream.synchronize()
    assert (cuda.from_device(memory, (32,), numpy.float32) == 2 * 190 + 1000).all()


def test_graphs_go_on_any_thread_and_in_any_order(stream, memory):
    before = cuda.live_objects()
    graph = filling(stream, memory, 5)
    ready = [graph.instantiate(), graph.instantiate(), graph]
    ready[0].launch(stream)
    del graph
    thread = threading.Thread(target=ready.clear)
    thread.start()
    thread.join()
    assert cuda.live_objects() == before
    stream.close()
    assert first(memory) == 5


def test_the_process_ends_well_with_graphs(python, gpu):
    done = python(
        """
import uLib.cuda.driver as cuda
stream, memory = cuda.Stream(1), cuda.mem_alloc(64)
with stream.capture() as graph:
    cuda.memset_d8_async(memory, 1, 64, stream)
ready = [graph.instantiate()]
ready[0].launch(stream)
ready.append(ready)
open_one = cuda.Stream(1).capture()
open_one.__enter__()
print("done")
"""
    )
    assert (done.stdout, done.stderr) == ("done\n", "")


def test_an_error_at_any_call_leaves_nothing(fake, small_heap):
    def program():
        with cuda.Device(0).make_context():
            stream, event = cuda.Stream(1), cuda.Event()
            memory = cuda.mem_alloc(64)
            with stream.capture() as graph:
                cuda.memset_d8_async(memory, 5, 64, stream)
            with graph, graph.instantiate() as ready:
                ready.launch(stream)
                ready.update(graph)
            event.record(stream).synchronize()
            cuda.Context.synchronize()
            cuda.Context.detach(cuda.Context.get_current())

    def run():
        try:
            program()
        except cuda.Error:
            return 1
        finally:
            # A failed pop leaves the context where it is.
            try:
                while True:
                    cuda.Context.pop()
            except cuda.LogicError:
                pass
        return 0

    run()
    before = cuda.live_objects()
    calls = fake.count()
    run()
    calls = fake.count() - calls
    failed = 0
    for nth in range(1, calls + 1):
        fake(f"fail *:{nth}:999")
        failed += run()
        fake("fail none")
        run()
        gc.collect()
        assert cuda.live_objects() == before, nth
    assert failed > calls / 3
    assert fake("faults") == 0
