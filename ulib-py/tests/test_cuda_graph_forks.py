"""Captures of `uLib.cuda` that other streams join, events of captures, and memory that captures share."""

import gc
import threading
import weakref

import numpy as np
import pytest
import uLib
import uLib.cuda.driver as cuda
from test_cuda_graphs import first, value_at


@pytest.fixture
def streams(gpu):
    return cuda.Stream(1), cuda.Stream(1)


def after(stream, other):
    """Lets a stream wait for what is in another one now."""
    stream.wait_for_event(cuda.Event(cuda.event_flags.DISABLE_TIMING).record(other))


def test_a_stream_that_waits_for_a_captured_one_is_captured_with_it(streams):
    origin, fork = streams
    one, two = cuda.mem_alloc(64), cuda.mem_alloc(64)
    cuda.memset_d8(one, 1, 64)
    cuda.memset_d8(two, 1, 64)
    with origin.capture() as graph:
        cuda.memset_d8_async(one, 2, 64, origin)
        assert not fork.is_capturing
        after(fork, origin)
        assert fork.is_capturing
        with pytest.raises(cuda.LogicError, match="captured"):
            fork.synchronize()
        with pytest.raises(cuda.LogicError, match="captured already"):
            fork.capture().__enter__()
        cuda.memset_d8_async(two, 3, 64, fork)
        cuda.memset_d8_async(one, 4, 64, origin)
        after(origin, fork)
        cuda.memcpy_dtod_async(one, two, 32, origin)
    assert not fork.is_capturing
    assert graph.node_kinds == ["fill", "fill", "fill", "copy"]
    assert (first(one), first(two)) == (1, 1)
    ready = graph.instantiate()
    for on in (fork, origin, None):
        cuda.memset_d8(two, 9, 64)
        ready.launch(on)
        assert (cuda.from_device(one, 64, np.uint8) == [3] * 32 + [4] * 32).all()
        assert first(two) == 3


def test_a_fork_that_is_not_waited_for_is_an_error(streams):
    origin, fork = streams
    uLib.device.errors()
    memory = cuda.mem_alloc(64)
    cuda.memset_d8(memory, 1, 64)
    gc.collect()
    before = cuda.live_objects()
    with pytest.raises(cuda.LogicError, match="another stream that became part of the capture has work"):
        with origin.capture() as graph:
            after(fork, origin)
            cuda.memset_d8_async(memory, 2, 64, fork)
    for stream in streams:
        assert not stream.is_capturing
        stream.synchronize()
    with pytest.raises(cuda.LogicError):
        graph.instantiate()
    del graph
    gc.collect()
    assert cuda.live_objects() == before
    assert first(memory) == 1
    for stream in streams:
        cuda.memset_d8_async(memory, 3, 64, stream)
        stream.synchronize()
    assert first(memory) == 3
    assert uLib.device.errors() == []


class Bytes(bytearray):
    """With weak references."""


def test_what_a_fork_uses_lives_as_long_as_the_graph(streams):
    origin, fork = streams
    out = cuda.mem_alloc(64)
    gc.collect()
    before = cuda.live_objects()
    host, between = Bytes(b"\7" * 64), cuda.mem_alloc(64)
    gone = weakref.ref(host)
    with origin.capture() as graph:
        after(fork, origin)
        cuda.memcpy_htod_async(between, host, fork)
        cuda.memcpy_dtod_async(out, between, 64, fork)
        after(origin, fork)
        between.free()
    del host, between
    ready = graph.instantiate()
    del graph
    gc.collect()
    assert gone() is not None
    assert cuda.live_objects()["allocations"] == before["allocations"] + 1
    others = [cuda.mem_alloc(64) for _ in range(4)]
    for other in others:
        cuda.memset_d8(other, 1, 64)
    ready.launch(origin)
    origin.synchronize()
    assert first(out) == 7
    assert [first(other) for other in others] == [1] * 4
    del ready, others, other
    gc.collect()
    assert gone() is None
    assert cuda.live_objects() == before


def test_a_fork_that_is_closed_within_the_capture(streams):
    origin, memory = streams[0], cuda.mem_alloc(64)
    with origin.capture() as graph:
        fork = cuda.Stream(1)
        after(fork, origin)
        cuda.memset_d8_async(memory, 5, 64, fork)
        after(origin, fork)
        fork.close()
        del fork
    graph.instantiate().launch(origin)
    origin.synchronize()
    assert first(memory) == 5


def test_kernels_of_a_fork_get_other_arguments(write):
    origin, fork = cuda.Stream(1), cuda.Stream(1)
    one, two, three = (cuda.mem_alloc(64) for _ in range(3))
    with origin.capture() as graph:
        after(fork, origin)
        write(one, 5, block=1, stream=origin)
        write(two, 6, block=1, stream=fork)
        after(origin, fork)
        cuda.memcpy_dtod_async(two, one, 8, origin)
    assert graph.node_kinds == ["kernel", "kernel", "copy"]
    two.free()
    ready = graph.instantiate()
    ready.set_kernel(1, write, three, 7, block=1)
    ready.launch(origin)
    origin.synchronize()
    assert (value_at(one), value_at(three)) == (5, 7)


def test_an_event_of_a_capture_stands_for_nothing_outside(streams):
    stream, other = streams
    memory = cuda.mem_alloc(64)
    outside, event = cuda.Event().record(stream), cuda.Event()
    calls = [
        event.query,
        event.synchronize,
        lambda: event.time_since(outside),
        lambda: event.time_till(outside),
        lambda: outside.time_till(event),
    ]

    def refused():
        for call in calls:
            with pytest.raises(cuda.LogicError, match="stands for a point of the graph, and for nothing outside"):
                call()

    with stream.capture() as graph:
        cuda.memset_d8_async(memory, 5, 64, stream)
        event.record(stream)
        refused()
    assert graph.node_count == 1, "the questions have not spoilt the capture"
    refused()
    with pytest.raises(cuda.LogicError, match="stands for a point of the graph"):
        other.wait_for_event(event)
    graph.instantiate().launch(stream)
    refused()
    event.record(stream).synchronize()
    assert event.query() and outside.time_till(event) >= 0
    other.wait_for_event(event)
    other.synchronize()


def test_a_capture_does_not_wait_for_work_outside(streams):
    one, other = streams
    memory, outside = cuda.mem_alloc(64), cuda.Event().record(other)
    with one.capture() as graph, other.capture() as second:
        cuda.memset_d8_async(memory, 5, 64, one)
        with pytest.raises(cuda.LogicError, match="cannot wait for work outside it"):
            one.wait_for_event(outside)
        event = cuda.Event().record(one)
        with pytest.raises(cuda.LogicError, match="another graph"):
            other.wait_for_event(event)
        with pytest.raises(cuda.LogicError, match="the default stream"):
            cuda.Stream.legacy().wait_for_event(event)
    assert (graph.node_count, second.node_count) == (1, 0)


@pytest.mark.parametrize("flags", [0, 1])
def test_captures_of_many_threads_share_memory(gpu, flags):
    memory, errors, done = cuda.mem_alloc(64), [], []
    cuda.memset_d8(memory, 9, 64)
    begin = threading.Barrier(4)

    def work(number):
        stream = cuda.Stream(flags)
        begin.wait()
        try:
            for turn in range(100):
                with stream.capture() as graph:
                    cuda.memset_d8_async(memory, number, 64, stream)
                if turn % 10 == 0:
                    graph.instantiate().launch(stream)
                done.append(graph.node_count)
        except cuda.Error as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == [] and done == [1] * 400
    cuda.Context.synchronize()
    assert first(memory) < 4


def test_a_launch_is_a_use_on_the_stream_where_it_is_launched(write, fake):
    captured, launching, later = cuda.Stream(1), cuda.Stream(1), cuda.Stream(1)
    memory, other, out = cuda.mem_alloc(64), cuda.mem_alloc(64), cuda.mem_alloc(64)
    with captured.capture() as graph:
        write(memory, 5, block=1, stream=captured)
        cuda.memcpy_dtod_async(out, memory, 16, captured)
    ready = graph.instantiate()
    fake("deferred 1")
    ready.launch(launching)
    # Copies come after what uses the memory, whichever stream that is in.
    assert value_at(out) == 5
    for used, node_is_changed in [(memory, False), (other, True)]:
        if node_is_changed:
            ready.set_kernel(0, write, other, 6, block=1)
        ready.launch(launching)
        cuda.memset_d8_async(used, 1, 64, later)
        later.synchronize()
        launching.synchronize()
        assert (cuda.from_device(used, 64, np.uint8) == 1).all()
    fake("deferred 0")
    assert fake("faults") == 0
