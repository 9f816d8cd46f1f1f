"""Captures of `uLib.cuda`: how they end, what they refuse, and what they leave alone."""

import gc
import threading

import numpy as np
import pytest
import uLib
import uLib.cuda.driver as cuda
from test_cuda_graph_owners import counts, settled
from test_cuda_graphs import value_at


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
        with pytest.raises(cuda.LogicError, match="^GraphExec.launch.* the stream is being captured"):
            ready.launch(stream)
        cuda.memset_d8_async(memory, 8, 64, stream)
    assert outer.node_kinds == ["fill"]
    ready.launch(stream)
    outer.instantiate().launch(stream)
    stream.synchronize()
    assert (cuda.from_device(memory, 64, np.uint8) == 8).all()


# The default stream beside captures of streams that it waits for


DEFAULT = {
    "memset_d8": lambda memory: cuda.memset_d8(memory, 1, 64),
    "memset_d8_async": lambda memory: cuda.memset_d8_async(memory, 1, 64),
    "memcpy_dtod": lambda memory: cuda.memcpy_dtod(int(memory) + 32, memory, 32),
    "memcpy_htod": lambda memory: cuda.memcpy_htod(memory, b"1234"),
    "from_device": lambda memory: cuda.from_device(memory, 4, np.uint8),
    "Event.record": lambda memory: cuda.Event().record(),
    "Stream.synchronize": lambda memory: cuda.Stream.legacy().synchronize(),
}


@pytest.mark.parametrize("call", DEFAULT.values(), ids=DEFAULT)
@pytest.mark.parametrize("elsewhere", [False, True])
def test_work_in_the_default_stream_leaves_captures_alone(gpu, call, elsewhere):
    stream, memory, other = cuda.Stream(), cuda.mem_alloc(64), cuda.mem_alloc(64)
    errors = []

    def work():
        try:
            call(other)
        except cuda.LogicError as error:
            errors.append(str(error))

    with stream.capture() as graph:
        cuda.memset_d8_async(memory, 5, 64, stream)
        if elsewhere:
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
        else:
            work()
    assert len(errors) == 1
    assert "is being captured into a graph" in errors[0]
    assert "upload" not in errors[0] and "download" not in errors[0]
    assert "CUDA_ERROR" not in errors[0]
    graph.instantiate().launch(stream)
    stream.synchronize()
    assert (cuda.from_device(memory, 64, np.uint8) == 5).all()
    call(other)


def test_launches_in_the_default_stream_leave_captures_alone(write):
    stream, memory, other = cuda.Stream(), cuda.mem_alloc(64), cuda.mem_alloc(64)
    with stream.capture() as graph:
        write(memory, 5, block=(1, 1, 1), stream=stream)
        with pytest.raises(cuda.LogicError, match="fakecuda_parameters: launch: not possible now"):
            write(other, 6, block=(1, 1, 1))
    graph.instantiate().launch(stream)
    assert value_at(memory) == 5


def test_no_capture_is_spoilt_by_what_was_checked_before_it_began(gpu):
    uLib.device.errors()
    pool, memory = cuda.StreamMemoryPool(), cuda.mem_alloc(64)
    over, wrong, ended = threading.Event(), [], []

    def capture():
        stream, mine = cuda.Stream(), cuda.mem_alloc(64)
        try:
            for _ in range(300):
                with stream.capture() as graph:
                    cuda.memset_d8_async(mine, 1, 64, stream)
                ended.append(graph.node_count)
        except cuda.Error as error:
            wrong.append(error)
        over.set()

    def use(call):
        while not over.is_set():
            try:
                call()
            except cuda.LogicError as error:
                if "not possible now" not in str(error):
                    wrong.append(error)

    calls = [
        lambda: cuda.memcpy_htod(memory, b"1234"),
        lambda: cuda.from_device(memory, 4, np.uint8),
        lambda: pool.allocate(64).free(),
    ]
    threads = [threading.Thread(target=capture)]
    threads += [threading.Thread(target=use, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert ended == [1] * 300
    cuda.Context.synchronize()
    assert pool.used_bytes == 0
    assert uLib.device.errors() == []
