"""Objects of every kind: in any order of their ends, on threads, in the collector, at the exit of the process, and in forked children."""

import gc
import os
import random
import sys
import threading
from pathlib import Path

import pytest
import uLib
import uLib.cuda.driver as cuda
from cuda_objects import KINDS
from cuda_programs import kernel

BEGIN = """
import atexit, gc, os, random, signal, sys, threading, time
import uLib.cuda.driver as cuda
from cuda_objects import KINDS
made = {name: maker() for name, (maker, _) in KINDS.items()}
for stream in (made["stream"], cuda.Stream.legacy()):
    cuda.memset_d8_async(made["memory"], 1, 1000, stream)
"""


def run(python, code, **how):
    """A program that finds the modules of the tests. Of forks beside threads, which newer Pythons warn of, it may make some."""
    folders = [str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    how |= {"PYTHONPATH": os.pathsep.join(folders), "PYTHONWARNINGS": "ignore::DeprecationWarning"}
    return python(BEGIN + code, timeout=60, **how)


EXITS = {
    "globals": "",
    "a global of another module": "sys.made = made; del made",
    "a cycle": "made['itself'] = made; del made",
    "cycles that the collector is not allowed to see": "gc.disable(); made = [[it] for it in made.values()]\nfor it in made: it.append(it)",
    "objects with methods that end them": """
class Holder:
    def __init__(self, it): self.it = it; self.me = self
    def __del__(self): del self.it
made = [Holder(it) for it in made.values()]
""",
    "a function at exit": "atexit.register(made.clear)",
    "a function at exit that uses them": """
def last():
    cuda.memset_d8(made["memory"], 2, 10)
    made["stream"].synchronize()
    made.clear()
atexit.register(last)
""",
    "a local variable of a thread that sleeps": """
def hold(mine):
    time.sleep(60)
threading.Thread(target=hold, args=(made,), daemon=True).start()
del made
""",
    "a thread's own storage": """
local = threading.local()
def work():
    local.made = {name: maker() for name, (maker, _) in KINDS.items() if name != "open capture"}
    made.clear()
thread = threading.Thread(target=work); thread.start(); thread.join()
""",
    "threads at work": """
def work(number):
    choice = random.Random(number)
    stream, memory = cuda.Stream(1), cuda.mem_alloc(1000)
    makers = [maker for name, (maker, _) in KINDS.items() if name != "open capture"]
    while True:
        it = choice.choice(makers)()
        cuda.memset_d8_async(memory, 1, 1000, stream)
        choice.random() < 0.1 and stream.synchronize()
for number in range(3):
    threading.Thread(target=work, args=(number,), daemon=True).start()
time.sleep(0.2)
""",
    "threads that wait for the driver": """
def work():
    while True:
        made["stream"].synchronize()
        cuda.Context.synchronize()
made.pop("open capture").__exit__(None, None, None)
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.1)
""",
    "callbacks that are due": """
for number in range(50):
    made["stream"].add_callback(lambda: time.sleep(0.001))
made["stream"].add_callback(lambda: made.clear())
""",
    "a callback that runs": """
begun = threading.Event()
def late():
    begun.set()
    time.sleep(0.3)
    memory = cuda.mem_alloc(10)
    cuda.memset_d8(memory, 1, 10)
    print("called")
made["stream"].add_callback(late)
made["stream"].synchronize()
begun.wait()
""",
    "callbacks that a thread goes on to ask for": """
def work():
    stream = cuda.Stream(1)
    while True:
        stream.add_callback(lambda: None)
        cuda.Event().record(stream).synchronize()
threading.Thread(target=work, daemon=True).start()
time.sleep(0.1)
""",
    "an exception": "made['error'] = None\ntry:\n    made['stream'].wait_for_event(7)\nexcept TypeError as error:\n    made['error'] = error",
    "an early exit": "sys.exit(0)",
}


@pytest.mark.parametrize("left", EXITS)
def test_the_process_ends_well_with_everything_alive(gpu, python, left):
    done = run(python, EXITS[left])
    assert (done.stdout, done.stderr) == ("called\n" if left == "a callback that runs" else "", "")


def test_a_callback_that_ends_the_process_is_reported(gpu, python):
    done = run(
        python,
        """
def leave():
    raise SystemExit(3)
made["stream"].add_callback(leave)
made["stream"].synchronize()
""",
    )
    assert "SystemExit: 3" in done.stderr and "Traceback" in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="no fork there")
def test_a_forked_child_is_told_so_by_every_object_and_ends(gpu, python):
    """The child ends as a process of its own does: with all destructors."""
    done = run(
        python,
        """
made["open capture"].__exit__(None, None, None)
child = os.fork()
if child == 0:
    signal.alarm(30)
    wrong = []
    for name, (_, use) in KINDS.items():
        if name == "open capture":
            continue
        try:
            use(made[name])
        except cuda.RuntimeError as error:
            if "fork" not in str(error):
                wrong.append((name, str(error)))
        except BaseException as error:
            wrong.append((name, repr(error)))
        else:
            wrong.append((name, "nothing"))
    for call in (cuda.Device.count, lambda: cuda.mem_alloc(4), cuda.Stream, cuda.Event, cuda.Context.synchronize):
        try:
            call()
        except cuda.RuntimeError as error:
            if "fork" not in str(error):
                wrong.append(str(error))
        else:
            wrong.append(call)
    for name in list(made):
        if name.startswith("a"):
            del made[name]
    gc.collect()
    print(wrong)
    sys.exit(5)
code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
cuda.memset_d8(made["memory"], 3, 1000)
made["stream"].synchronize()
print(code, made["array of the device"].get().sum())
""",
    )
    assert (done.stdout, done.stderr) == ("[]\n5 0.0\n", "")


@pytest.mark.skipif(sys.platform == "win32", reason="no fork there")
def test_children_that_are_forked_while_threads_work_end(gpu, python):
    done = run(
        python,
        """
made.pop("open capture").__exit__(None, None, None)
stop = threading.Event()
def work():
    stream = cuda.Stream(1)
    while not stop.is_set():
        cuda.memset_d8_async(made["memory"], 1, 1000, stream)
        stream.add_callback(lambda: None)
        stream.synchronize()
        [maker() for name, (maker, _) in KINDS.items() if name != "open capture"]
threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads:
    thread.start()
codes = []
for turn in range(8):
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        try:
            cuda.memset_d8(made["memory"], 2, 10)
        except cuda.RuntimeError as error:
            os._exit(0 if "fork" in str(error) and not made.clear() else 1)
        os._exit(2)
    codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
stop.set()
for thread in threads:
    thread.join()
print(codes)
""",
    )
    assert (done.stdout, done.stderr) == (f"{[0] * 8}\n", "")


def test_what_is_collected_during_a_capture_does_not_spoil_it(gpu):
    uLib.device.errors()
    made = [maker() for name, (maker, _) in KINDS.items() if name != "open capture"]
    made.append(made)
    stream, memory = cuda.Stream(1), cuda.mem_alloc(64)
    cuda.memset_d8(memory, 1, 64)
    with stream.capture() as graph:
        del made
        gc.collect()
        cuda.memset_d8_async(memory, 2, 64, stream)
    with graph.instantiate() as ready:
        ready.launch(stream)
        ready.synchronize()
    assert bytes(cuda.from_device(memory, 64, "u1")) == b"\2" * 64
    assert uLib.device.errors() == []


@pytest.mark.parametrize("seed", range(3))
def test_everything_goes_in_any_order_while_others_launch(gpu, seed):
    # What is made once is made before the count.
    for maker, _ in KINDS.values():
        it = maker()
        if isinstance(it, cuda.Capture):
            it.__exit__(None, None, None)
        del it
    gc.collect()
    cuda.Context.synchronize()
    before = cuda.live_objects()
    uLib.device.errors()
    failures, stop = [], threading.Event()

    def launching():
        try:
            function, stream, out = kernel().prepare("PQ"), cuda.Stream(1), cuda.mem_alloc(64)
            number = 0
            while not stop.is_set():
                function.prepared_async_call((1, 1), (1, 1, 1), stream, out, number)
                function(out, number, block=(1, 1, 1), stream=stream)
                number += 1
                if number % 16 == 0:
                    stream.synchronize()
        except BaseException as error:
            failures.append(("launching", error))

    def making(number):
        try:
            choice, names, name = random.Random(1000 * seed + number), list(KINDS), None
            things = []
            for _ in range(40):
                name = choice.choice(names)
                thing = KINDS[name][0]()
                if name == "open capture":
                    # It is ended where it was begun.
                    thing.__exit__(None, None, None)
                things.append([thing, things] if choice.random() < 0.3 else thing)
                if choice.random() < 0.4:
                    things.pop(choice.randrange(len(things)))
                if choice.random() < 0.05:
                    gc.collect()
            choice.shuffle(things)
            if choice.random() < 0.5:
                while things:
                    things.pop()
        except BaseException as error:
            failures.append((name, error))

    launchers = [threading.Thread(target=launching) for _ in range(2)]
    makers = [threading.Thread(target=making, args=(number,)) for number in range(3)]
    for thread in launchers + makers:
        thread.start()
    for thread in makers:
        thread.join()
    stop.set()
    for thread in launchers:
        thread.join()
    assert failures == []
    gc.collect()
    cuda.Context.synchronize()
    # What was waiting for its work goes with the next allocation.
    cuda.mem_alloc(1).free()
    gc.collect()
    assert cuda.live_objects() == before
    assert uLib.device.errors() == []


def test_that_leaves_nothing_with_the_driver(fake):
    kinds = "memory pinned registered streams modules pools graphs arrays mipmapped_arrays textures surfaces links"
    before = {kind: fake(f"live_{kind}") for kind in kinds.split()}
    test_everything_goes_in_any_order_while_others_launch(None, 99)
    assert {kind: fake(f"live_{kind}") for kind in kinds.split()} == before
    assert fake("faults") == 0
