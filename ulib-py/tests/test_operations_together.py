"""Operations beside threads, signals, forks and handlers of the log."""

import logging
import os
import signal
import sys
import threading
import time

import numpy as np
import pytest
import uLib
from making import preferring


def run_all(*works):
    errors = []
    barrier = threading.Barrier(len(works))

    def body(work):
        try:
            barrier.wait()
            work()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=body, args=(work,), daemon=True) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive(), "deadlock"
    assert not errors, errors


def test_two_threads_that_add_each_to_the_other(place):
    one, two, three = (preferring(uLib.FloatCollection([1] * 1000), place) for _ in range(3))
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)

    def repeat(work):
        def body():
            for _ in range(60):
                work()

        return body

    try:
        run_all(
            repeat(lambda: one.Add(two)),
            repeat(lambda: two.Add(one)),
            repeat(lambda: three.Fma(one, two)),
            repeat(lambda: one.Clamp(two, 1e9, out=three)),
            repeat(lambda: two.Maximum(three, out=one)),
            repeat(lambda: one.Add(one)),
            repeat(lambda: (one.Fill(1), two.Fill(1), three.GetValues(), repr(one), len(two))),
        )
    finally:
        sys.setswitchinterval(interval)


def test_each_change_is_whole():
    """Two threads that add to one target lose nothing."""
    target, one = uLib.FloatCollection([0] * 5000), uLib.FloatCollection([1] * 5000)

    def work():
        for _ in range(50):
            target.Add(one)

    run_all(work, work, work)
    assert set(target) == {150.0}


def test_no_lock_is_left_after_an_error():
    one, two = uLib.FloatCollection([1] * 10), uLib.FloatCollection([1] * 10)
    short = uLib.FloatCollection(3)
    for bad in (lambda: one.Add(short), lambda: one.Fma(two, short), lambda: one.Add(two, out=short), lambda: one.Clamp(2, 1)):
        with pytest.raises(ValueError):
            bad()
    with one.HostView():
        for bad in (lambda: one.Add(two), lambda: two.Add(one), lambda: two.Sqrt(out=one)):
            with pytest.raises(BufferError):
                bad()
    run_all(lambda: one.Add(two), lambda: two.Add(one), lambda: short.Add(1))
    assert list(short) == [1, 1, 1]


def test_the_interpreter_runs_meanwhile(fake):
    """The numbers go to the device by a slow bus, and another thread runs."""
    item, other = uLib.VoxImage(128, 128, 64), uLib.VoxImage(128, 128, 64)
    for each in (item, other):
        each.SetPreferredDevice("Device")
        each.SetValues(np.ones(128 * 128 * 64))
    fake(f"bandwidth {64 << 20}")
    done = threading.Event()
    ticks = 0

    def work():
        item.Add(other)
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    while not done.is_set():
        ticks += 1
        time.sleep(0.001)
    thread.join()
    fake("bandwidth 0")
    assert ticks > 5, "the operation held the interpreter"
    assert item.GetValue(5) == 2


def test_ctrl_c_during_an_operation(fake):
    item, other = (preferring(uLib.VoxImage(256, 256, 64), "Device") for _ in range(2))
    other.Fill(2)
    item.SetValues(np.ones(256 * 256 * 64, np.float32))
    fake(f"bandwidth {16 << 20}")  # two seconds
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        item.Add(other)
    timer.join()
    fake("bandwidth 0")
    run_all(lambda: item.Fill(1), lambda: other.Fill(2))
    item.Add(other)
    assert item.GetValue(7) == 3, "no lock is left"


def test_a_forked_child_operates(python):
    done = python(
        """
import os, uLib
one, two = uLib.FloatCollection(300_000), uLib.FloatCollection(300_000)
one.Fill(1), two.Fill(2)
one.Add(two)
child = os.fork()
if child == 0:
    two.Add(one)
    os._exit(0 if two.GetValue(7) == 5 else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
""",
        timeout=60,
        ULIB_CUDA_DRIVER="none",
    )
    assert done.stdout == "0\n"


def test_the_log_says_where_after_all_objects_are_let_go(caplog):
    one, two = uLib.FloatCollection([1] * 10), uLib.FloatCollection([1] * 10)

    class Uses(logging.Handler):
        def emit(self, record):
            said.append((record.getMessage(), one.GetValue(0), two.GetValue(0)))

    said, handler, log = [], Uses(), logging.getLogger("ulib.placement")
    log.addHandler(handler)
    log.setLevel(logging.DEBUG)
    try:
        one.Add(two)
        with pytest.raises(ValueError):
            one.Add(uLib.FloatCollection(3))
    finally:
        log.setLevel(logging.NOTSET)
        log.removeHandler(handler)
    assert said and said[0][0].startswith("add: Host") and said[0][1:] == (2, 1)
