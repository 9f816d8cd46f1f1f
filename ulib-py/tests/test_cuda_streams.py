"""Streams and events of `uLib.cuda`, calls of the host, and the report of what is left."""

import gc
import subprocess
import sys
import threading
import time

import pytest
import uLib
import uLib.cuda.driver as cuda


def test_streams_are_of_a_kind_and_a_priority(gpu):
    stream = cuda.Stream()
    assert stream.flags == cuda.stream_flags.DEFAULT and stream.handle > 2
    least, greatest = cuda.Stream.priority_range()
    urgent = cuda.Stream(cuda.stream_flags.NON_BLOCKING, priority=greatest)
    assert (urgent.flags, urgent.priority) == (1, greatest)
    assert cuda.Stream(1, least + 100).priority == least
    assert urgent.device == cuda.Device(0)
    for flags in (7, -1):
        with pytest.raises(cuda.LogicError, match=f"flags is {flags}"):
            cuda.Stream(flags)


def test_streams_are_made_on_the_current_device(second):
    with cuda.Device(1).retain_primary_context():
        stream, event = cuda.Stream(), cuda.Event()
    assert stream.device == cuda.Device(1)
    event.record(stream)
    stream.synchronize()


def test_work_is_done_when_waited_for(gpu):
    stream = cuda.Stream()
    memory = cuda.mem_alloc(64)
    cuda.memset_d8_async(memory, 5, 64, stream)
    stream.synchronize()
    assert stream.is_done()
    host = bytearray(64)
    cuda.memcpy_dtoh(host, memory)
    assert host == b"\5" * 64


def test_work_is_pending_until_then(fake):
    fake("deferred 1")
    stream, other = cuda.Stream(), cuda.Stream(1)
    memory = cuda.mem_alloc(64)
    cuda.memset_d8_async(memory, 5, 64, stream)
    assert not stream.is_done()
    cuda.memset_d8_async(memory, 6, 64, stream)
    event = cuda.Event().record(stream)
    assert not event.query()
    cuda.memset_d8_async(memory, 7, 64, stream)
    other.wait_for_event(event)
    assert event.synchronize() is event
    assert event.query()
    assert not stream.is_done()


def test_events_measure(gpu):
    stream = cuda.Stream()
    start, end = cuda.Event(), cuda.Event()
    assert start.record(stream) is start
    memory = cuda.mem_alloc(1 << 20)
    cuda.memset_d8_async(memory, 5, 1 << 20, stream)
    end.record(stream).synchronize()
    elapsed = end.time_since(start)
    assert elapsed >= 0
    assert start.time_till(end) == pytest.approx(elapsed)
    assert cuda.Event().record().synchronize().query()
    with pytest.raises(cuda.LogicError, match="cuEventElapsedTime"):
        end.time_since(cuda.Event(cuda.event_flags.DISABLE_TIMING).record())
    with pytest.raises(cuda.LogicError, match="cuEventCreate"):
        cuda.Event(1000)


def test_the_default_streams(gpu):
    legacy, own = cuda.Stream.legacy(), cuda.Stream.per_thread()
    assert (legacy.handle, own.handle) == (0, 2)
    assert legacy == cuda.Stream.legacy() != own
    legacy.synchronize()
    own.synchronize()
    cuda.Event().record(own).synchronize()


class Foreign:
    """A stream of another library."""

    def __init__(self, stream):
        self.stream = stream

    def __cuda_stream__(self):
        return 0, self.stream.handle


def test_streams_of_other_libraries_are_wrapped_and_kept(gpu):
    owner = Foreign(cuda.Stream(1))
    wrapped = cuda.Stream(owner)
    assert wrapped == owner.stream and hash(wrapped) == hash(owner.stream)
    assert wrapped.flags == 1
    kept = sys.getrefcount(owner)
    del wrapped
    gc.collect()
    assert sys.getrefcount(owner) == kept - 1
    assert cuda.Stream.from_handle(owner) == owner.stream
    assert cuda.Stream.from_handle(owner.stream.handle, cuda.Device(0)) == owner.stream
    assert cuda.Stream(uLib.device.Stream()).handle > 2
    assert uLib.device.Stream(owner.stream).ptr == owner.stream.handle
    owner.stream.synchronize()
    for wrong in ("stream", 1.5, object()):
        with pytest.raises(TypeError, match="neither a handle nor"):
            cuda.Stream(wrong)
    with pytest.raises(cuda.LogicError, match="-1"):
        cuda.Stream.from_handle(-1)


def test_with_blocks_say_which_stream_objects_use(fake):
    stream = cuda.Stream(1)
    block = uLib.FloatCollection([1.0, 2.0])
    with stream as entered:
        assert entered is stream
        assert block.SetPreferredDevice("Device")
    with pytest.raises(RuntimeError, match="not been entered"):
        stream.__exit__(None, None, None)


def test_closed_streams_and_events_say_so(gpu):
    stream, event = cuda.Stream(), cuda.Event()
    with event:
        event.record(stream)
    stream.close()
    stream.close()
    event.close()
    for call in (stream.synchronize, stream.is_done, lambda: stream.handle, stream.__enter__, lambda: event.record()):
        with pytest.raises(cuda.LogicError, match="closed"):
            call()
    assert "closed" in repr(stream) and "closed" in repr(event)
    with pytest.raises(cuda.LogicError, match="closed"):
        cuda.Stream().wait_for_event(event)


def test_anything_is_freed_on_any_thread(gpu):
    before = cuda.live_objects()
    uLib.device.errors()
    made = [cuda.Stream(), cuda.Event(), cuda.Stream(1)]
    made.append(cuda.Event().record(made[0]))
    thread = threading.Thread(target=made.clear)
    thread.start()
    thread.join()
    after = cuda.live_objects()
    assert [after[kind] for kind in ("streams", "events")] == [before[kind] for kind in ("streams", "events")]
    assert uLib.device.errors() == []


def test_objects_outlive_their_context(gpu):
    context = cuda.Device(0).make_context()
    stream, event = cuda.Stream(), cuda.Event()
    context.detach()
    del context
    gc.collect()
    event.record(stream).synchronize()
    assert stream.is_done()


def test_the_report_counts_what_is_left(gpu):
    before = cuda.live_objects()
    assert set(before) >= {"streams", "events", "modules", "graphs", "graph_execs", "allocations", "allocation_bytes"}
    stream, events, memory = cuda.Stream(), [cuda.Event() for _ in range(3)], cuda.mem_alloc(1000)
    now = cuda.live_objects()
    assert now["streams"] == before["streams"] + 1
    assert now["events"] == before["events"] + 3
    assert now["allocations"] == before["allocations"] + 1
    assert now["allocation_bytes"] == before["allocation_bytes"] + 1000
    del stream, events
    memory.free()
    assert cuda.live_objects() == before


def test_the_report_opens_no_driver(python):
    done = python(
        """
import uLib.cuda.driver as cuda
assert set(cuda.live_objects().values()) == {0}
assert "libcuda" not in open("/proc/self/maps").read().replace("libcudart", "")
print("closed")
""",
        ULIB_CUDA_DRIVER=None,
    )
    assert done.stdout == "closed\n"


def test_the_host_is_called_back(gpu):
    calls, done = [], threading.Event()
    stream = cuda.Stream()

    def note(number):
        calls.append((number, threading.get_ident()))
        # It may use the driver, and wait.
        stream.synchronize()
        if number == 4:
            done.set()

    for number in range(5):
        stream.add_callback(lambda number=number: note(number))
    stream.synchronize()
    assert done.wait(20)
    assert [number for number, _ in calls] == [0, 1, 2, 3, 4]
    assert threading.get_ident() not in {thread for _, thread in calls}


def test_the_host_is_not_called_before_the_work_is_done(fake):
    fake("deferred 1")
    done = threading.Event()
    stream = cuda.Stream()
    stream.add_callback(done.set)
    assert not done.wait(0.05)
    stream.synchronize()
    assert done.wait(20)


def test_a_stream_is_synchronised_before_its_callback_is_over(gpu):
    stream, go_on, done = cuda.Stream(1), threading.Event(), threading.Event()

    def callback():
        go_on.wait(60)
        done.set()

    stream.add_callback(callback)
    stream.synchronize()
    assert stream.is_done() and not done.is_set()
    go_on.set()
    assert done.wait(60)


def test_what_a_callback_raises_is_reported(gpu, monkeypatch):
    raised, done = [], threading.Event()

    def hook(unraisable):
        raised.append(unraisable.exc_value)
        done.set()

    monkeypatch.setattr(sys, "unraisablehook", hook)
    stream = cuda.Stream()

    def fail():
        raise ValueError("on purpose")

    stream.add_callback(fail)
    stream.synchronize()
    assert done.wait(20)
    assert str(raised[0]) == "on purpose"


def test_callbacks_are_let_go(gpu):
    class Marker:
        def __call__(self):
            pass

    import weakref

    marker = Marker()
    gone = weakref.ref(marker)
    stream = cuda.Stream()
    stream.add_callback(marker)
    del marker
    stream.synchronize()
    deadline = time.monotonic() + 20
    while gone() is not None and time.monotonic() < deadline:
        time.sleep(0.001)
    assert gone() is None


def test_a_refused_callback_is_let_go(fake):
    stream = cuda.Stream()
    fake("fail cuLaunchHostFunc:1:999")
    callback = [].copy
    with pytest.raises(cuda.Error, match="cuLaunchHostFunc"):
        stream.add_callback(callback)
    with pytest.raises(TypeError, match="called"):
        stream.add_callback(7)


def test_the_process_ends_well_with_callbacks(python, gpu):
    done = python(
        """
import time
import uLib.cuda.driver as cuda
stream = cuda.Stream()
for number in range(200):
    stream.add_callback(lambda: time.sleep(0.0005))
stream.synchronize()
stream.add_callback(lambda: print("called"))
stream.synchronize()
"""
    )
    assert (done.stdout, done.stderr) == ("called\n", "")


@pytest.mark.parametrize("program", ["cuda.Stream(); s = cuda.Stream(); e = cuda.Event().record(s)", "c = [cuda.Event(), cuda.Stream()]; c.append(c)"])
def test_the_process_ends_well_with_streams_and_events(python, gpu, program):
    done = python(f"import uLib.cuda.driver as cuda\n{program}\nprint('done')")
    assert (done.stdout, done.stderr) == ("done\n", "")


SHARED = cuda.event_flags.INTERPROCESS | cuda.event_flags.DISABLE_TIMING


def test_an_event_of_another_process(python, gpu):
    event = cuda.Event(SHARED)
    handle = event.ipc_handle()
    assert isinstance(handle, bytearray) and len(handle) == 64
    event.record().synchronize()
    done = python(
        f"""
import uLib.cuda.driver as cuda
event = cuda.Event.from_ipc_handle(bytearray.fromhex("{handle.hex()}"))
event.synchronize()
cuda.Stream().wait_for_event(event)
print(event.query())
"""
    )
    assert done.stdout == "True\n"


def test_wrong_handles_of_events(gpu):
    with pytest.raises(cuda.LogicError, match="63 bytes"):
        cuda.Event.from_ipc_handle(bytearray(63))
    with pytest.raises(cuda.LogicError, match="cuIpcGetEventHandle"):
        cuda.Event().ipc_handle()


def test_an_asynchronous_failure_names_the_launch(real):
    source = """
import numpy, uLib.cuda.driver as cuda
from uLib.cuda.compiler import SourceModule
wreck = SourceModule("__global__ void wreck(int *p) { *p = 1; }").get_function("wreck")
try:
    wreck(numpy.intp(16), block=(32, 1, 1), grid=(2, 1))
    cuda.Context.synchronize()
except cuda.Error as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, timeout=300)
    assert "most likely caused by wreck<<<(2, 1, 1), (32, 1, 1)>>>" in done.stdout, done.stderr


def test_events_without_a_time_say_which_and_why(gpu):
    start, end = cuda.Event(), cuda.Event()
    start.record().synchronize()
    with pytest.raises(cuda.LogicError, match="the event that is counted to was never recorded: .*INVALID_HANDLE"):
        start.time_till(end)
    end = cuda.Event(cuda.event_flags.DISABLE_TIMING).record().synchronize()
    with pytest.raises(cuda.LogicError, match="the event that is counted from was made without a clock: .*INVALID_HANDLE"):
        start.time_since(end)
