"""Threads, the interpreter lock, and Ctrl-C."""

import gc
import os
import signal
import sys
import threading
import time

import numpy as np
import pytest
import uLib


def run_all(work, count=8):
    errors = []
    barrier = threading.Barrier(count)

    def body(index):
        try:
            barrier.wait()
            work(index)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=body, args=(index,)) for index in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive(), "deadlock"
    assert not errors, errors


def test_eight_readers_cause_one_download(gpu):
    image = uLib.VoxImage(64, 64, 64)
    image.SetValues(np.arange(64**3))
    image.SetPreferredDevice("Device")
    image.Scale(1)
    before = image.Transfers.downloads
    seen = []

    def read(index):
        seen.append(float(np.asarray(image)[1000 + index]))

    run_all(read)
    assert sorted(seen) == [1000.0 + i for i in range(8)]
    assert image.Transfers.downloads == before + 1


def test_mixed_use_from_many_threads():
    image = uLib.VoxImage(16, 16, 16)
    image.SetPreferredDevice("Device")

    def work(index):
        for step in range(30):
            image.SetValue(index, step)
            assert image.GetValue(index) == step
            kind = (index + step) % 5
            if kind == 0:
                image.Update()
            elif kind == 1:
                image.Sum(axis=0)
            elif kind == 2:
                image.GetDataLocation(), image.IsDeviceResident(), repr(image)
            elif kind == 3:
                image.GetValues()
            elif image.CanUseDevice():
                image.DeviceView().Close()

    run_all(work)
    assert [image.GetValue(i) for i in range(8)] == [29] * 8


def test_resizes_and_reads_from_many_threads():
    table = uLib.EventTable("a,b")

    def work(index):
        for step in range(50):
            table.AddRow((index, step))
            assert len(table) >= step

    run_all(work)
    assert table.Rows == 400
    assert table.Column("b").Sum() == 8 * sum(range(50))


def test_the_interpreter_runs_while_a_copy_does(fake):
    image = uLib.VoxImage(128, 128, 64)  # 8 MiB
    fake(f"bandwidth {32 << 20}")  # a quarter of a second
    ticks = 0
    done = threading.Event()

    def copy():
        image.SetPreferredDevice("Device")
        done.set()

    thread = threading.Thread(target=copy)
    thread.start()
    while not done.is_set():
        ticks += 1
        time.sleep(0.001)
    thread.join()
    assert ticks > 5, "the copy held the interpreter"
    assert image.IsDeviceResident()


def test_questions_during_a_copy_wait_for_it_without_a_deadlock(fake):
    image = uLib.VoxImage(256, 256, 64)  # 32 MiB
    fake(f"bandwidth {64 << 20}")  # half a second
    thread = threading.Thread(target=image.SetPreferredDevice, args=("Device",))
    thread.start()
    time.sleep(0.05)
    answers = [
        image.GetPreferredDevice(),
        image.IsDeviceResident(),
        image.GetDataLocation(),
        image.GetValue(0),
        repr(image),
        len(image),
    ]
    thread.join(60)
    assert not thread.is_alive()
    assert answers[0] == "Device" and answers[3] == 0 and answers[5] == 256 * 256 * 64
    assert image.IsDeviceResident()


@pytest.mark.parametrize("direction", ["up", "down"])
def test_ctrl_c_during_a_long_copy(fake, direction):
    image = uLib.VoxImage(256, 256, 64)  # 32 MiB, by the staging ring
    image.Fill(3)
    if direction == "down":
        image.SetPreferredDevice("Device")
        image.Scale(2)
    fake(f"bandwidth {16 << 20}")  # two seconds
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        if direction == "up":
            image.SetPreferredDevice("Device")
        else:
            image.GetValues()
    timer.join()
    fake("bandwidth 0")
    assert image.GetPreferredDevice() == "Device"
    assert image.GetValue(7) == (6 if direction == "down" else 3), "nothing is lost"
    assert image.Update() is True and image.IsDeviceResident()


def test_a_signal_handler_that_uses_the_object_gets_an_error_not_a_deadlock(fake):
    image = uLib.VoxImage(256, 256, 64)
    fake(f"bandwidth {32 << 20}")
    found = []

    def handler(number, frame):
        try:
            found.append(image.GetValue(0))
        except BufferError as error:
            found.append(error)

    old = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        assert image.SetPreferredDevice("Device") is True
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
    assert len(found) == 1 and isinstance(found[0], BufferError)


def test_exceptions_of_handlers_reach_the_caller(fake):
    class Stop(Exception):
        pass

    def handler(number, frame):
        raise Stop("enough")

    image = uLib.VoxImage(256, 256, 64)
    fake(f"bandwidth {16 << 20}")
    old = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(Stop, match="enough"):
            image.SetPreferredDevice("Device")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
    fake("bandwidth 0")
    assert image.Update() is True


class Stop(Exception):
    """What a program's own signal handler raises."""


def stop(number, frame):
    raise Stop("enough")


READS = {
    "asarray": np.asarray,
    "array": np.array,
    "sum": np.sum,
    "add": lambda item: np.add(item, 1),
    "asarray of a type": lambda item: np.asarray(item, dtype=np.float64),
    "__array__": lambda item: item.__array__(),
    "__array_interface__": lambda item: item.__array_interface__,
    "memoryview": memoryview,
    "GetValues": lambda item: item.GetValues(),
    "iteration": iter,
}
LARGE = {
    "image": lambda: uLib.VoxImage(256, 256, 64),
    "grid": lambda: uLib.VoxImage(256, 256, 64).Grid(),
    "field": lambda: uLib.VoxImage(256, 256, 64).Value,
    "table": lambda: uLib.EventTable("a,b", 1 << 21),
}


@pytest.fixture
def alarm():
    """Raises Stop in this thread after a while."""
    old = signal.signal(signal.SIGALRM, stop)
    yield lambda: signal.setitimer(signal.ITIMER_REAL, 0.2)
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, old)


def on_the_device_only(item, fake):
    item.SetPreferredDevice("Device")
    item.Fill(2)
    fake(f"bandwidth {32 << 20}")  # a second
    return item


@pytest.mark.parametrize("read", READS.values(), ids=list(READS))
@pytest.mark.parametrize("make", LARGE.values(), ids=list(LARGE))
def test_no_way_of_reading_swallows_an_exception(fake, alarm, read, make):
    item = on_the_device_only(make(), fake)
    before = item.Transfers.downloads
    alarm()
    with pytest.raises(Stop):
        read(item)
    assert item.Transfers.downloads == before, "it was fetched in a second try"
    fake("bandwidth 0")
    read(item)
    assert np.asarray(item).max() == 2


def test_an_exception_that_arrived_is_not_raised_again(fake, alarm):
    item = on_the_device_only(LARGE["image"](), fake)
    alarm()
    with pytest.raises(Stop):
        memoryview(item)
    fake("bandwidth 0")
    assert item.__array_interface__["typestr"] == "<f4"
    assert np.asarray(item)[5] == 2


def test_an_exception_that_arrives_in_a_call_of_the_driver_layer_stays_what_it_is(fake, alarm):
    from uLib.cuda import driver

    memory, rows = driver.mem_alloc(64), driver.Memcpy2D()
    for call in (
        lambda item: driver.memcpy_htod(memory, item),
        lambda item: driver.memcpy_htod_async(memory, item),
        driver.module_from_buffer,
        lambda item: driver.Linker().add_data(item, driver.jit_input_type.PTX, "item"),
        rows.set_src_host,
    ):
        item = on_the_device_only(LARGE["image"](), fake)
        alarm()
        with pytest.raises(Stop):
            call(item)
        fake("bandwidth 0")


@pytest.mark.parametrize("make", LARGE.values(), ids=list(LARGE))
def test_an_exception_that_arrived_keeps_nothing(fake, alarm, make):
    from uLib.cuda import driver

    def interrupted():
        item = on_the_device_only(make(), fake)
        alarm()
        with pytest.raises(Stop):
            memoryview(item)
        fake("bandwidth 0")

    before = driver.live_objects()["allocation_bytes"]
    interrupted()
    gc.collect()
    assert driver.live_objects()["allocation_bytes"] == before


def test_switching_threads_often():
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        test_mixed_use_from_many_threads()
    finally:
        sys.setswitchinterval(interval)


@pytest.mark.parametrize("target_on", ["Host", "Device"])
def test_copying_from_an_object_that_another_thread_moves(gpu, target_on):
    source, target = uLib.FloatCollection(range(1000)), uLib.FloatCollection(1000)
    target.SetPreferredDevice(target_on)
    stop = threading.Event()

    def move():
        step = 0
        while not stop.is_set():
            source.SetPreferredDevice(("Device", "Host")[step % 2])
            source.ReleaseDevice()
            step += 1

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    thread = threading.Thread(target=move)
    thread.start()
    try:
        for _ in range(200):
            target.Fill(0)
            target.SetValues(source)
            np.testing.assert_array_equal(np.asarray(target), range(1000))
    finally:
        stop.set()
        thread.join()
        sys.setswitchinterval(interval)
    assert not source.IsShared()


@pytest.mark.parametrize("work", ["Sum()", "Sum(axis=0)", "Fill(2)", "Scale(2)"])
def test_a_forked_child_computes_without_the_threads_of_its_parent(python, work):
    done = python(
        f"""
import os, uLib
table = uLib.EventTable("a,b,c", rows=300_000)
table.Fill(1)
table.{work}
child = os.fork()
if child == 0:
    table.{work}
    os._exit(0 if table.Sum() > 0 else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
""",
        timeout=60,
        ULIB_CUDA_DRIVER="none",
    )
    assert done.stdout == "0\n"


def test_without_new_threads_the_work_is_done_by_one(python):
    done = python(
        """
import resource, uLib
values = uLib.FloatCollection(3_000_000)
values.Fill  # loaded before the limit
size = int(open("/proc/self/statm").read().split()[0]) * 4096
resource.setrlimit(resource.RLIMIT_AS, (size + (1 << 20), -1))
values.Fill(2)
values.Scale(2)
print(values.Sum())
""",
        ULIB_CUDA_DRIVER="none",
    )
    assert done.stdout == "12000000.0\n"


@pytest.mark.parametrize("asked", [{}, {"max_version": (1, 0)}, {"dl_device": (2, 0)}, {"dl_device": (1, 0)}], ids=str)
def test_dlpack_of_an_object_that_another_thread_moves(gpu, asked):
    """Where the numbers are may change between any two looks: with locks that change hands all the time, it does."""
    image = uLib.VoxImage(4, 4, 4)
    done = threading.Event()

    def move():
        while not done.is_set():
            image.SetPreferredDevice("Device")
            image.SetPreferredDevice("Host")

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    movers = [threading.Thread(target=move) for _ in range(2)]
    for mover in movers:
        mover.start()
    try:
        for _ in range(1500):
            image.__dlpack__(**asked)
    finally:
        done.set()
        for mover in movers:
            mover.join(60)
        sys.setswitchinterval(interval)


SIGNAL_WHILE_AN_OPERATION_WAITS = """
import ctypes, os, signal, sys, threading, time, uLib
control = ctypes.CDLL(os.environ["ULIB_FAKE_DRIVER"]).fakecuda_control
objects = [uLib.VoxImage(256, 256, 64) for _ in range(2)]
for each in objects:
    each.Fill(1)
a, b = objects if {first} else objects[::-1]
third = uLib.VoxImage(4, 4, 4)
control(b"bandwidth %d" % (32 << 20))
found, other = [], threading.Thread(target=lambda: b.{work})
def handler(number, frame):
    if not found:
        other.start()
        time.sleep(0.1)      # it holds b, waits for a, and we hold a
        found.append(third.GetValue(5))
        for use in ({use}):
            try:
                found.append(use())
            except (BufferError, ValueError) as error:  # ValueError: of another shape
                found.append(str(error))
signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.2)
a.SetPreferredDevice("Device")
control(b"bandwidth 0")
other.join(60)
assert not other.is_alive()
print(found)
"""
USES = (
    "lambda: b.GetValue(0), lambda: b.SetValue(0, 3), lambda: third.Add(b), lambda: b.Add(third), lambda: third.Dot(b),"
    "b.GetDataLocation, lambda: b.SetPreferredDevice('Device'), b.DeviceView, lambda: memoryview(b), b.__dlpack__, b.GetValues"
)


@pytest.mark.parametrize("work", ["Add(a)", "Dot(a)", "SetValues(a)"])
def test_a_signal_handler_does_not_wait_for_who_waits_for_this_thread(fake, python, work):
    told = [
        python(SIGNAL_WHILE_AN_OPERATION_WAITS.format(first=first, work=work, use=USES), timeout=60).stdout
        for first in (True, False)
    ]
    assert all(text.startswith("[0.0, ") for text in told), "an object that nobody uses is at hand"
    if work != "SetValues(a)":
        # Of one of the two the lock is taken first.
        assert any("in use by another thread, for which a signal handler" in text for text in told)
