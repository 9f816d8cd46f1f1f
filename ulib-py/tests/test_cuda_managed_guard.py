"""``ULIB_MANAGED_GUARD=1``: a touch of managed memory between a launch and the wait for it ends the program with a message."""

import signal

import pytest

START = """
import ctypes, sys
import numpy as np
import uLib.cuda.driver as cuda

HEAD = ".version 7.0\\n.target sm_60\\n.address_size 64\\n"
STORE = HEAD + '''.visible .entry store(.param .u64 to)
{
    .reg .b64 %a;
    .reg .b32 %v;
    ld.param.u64 %a, [to];
    mov.u32 %v, 7;
    st.global.u32 [%a], %v;
    ret;
}
'''
PARAMETERS = HEAD + ".visible .entry fakecuda_parameters(\\n.param .u64 to,\\n.param .u64 x)\\n{\\n    ret;\\n}\\n"
kernel = lambda text, name: cuda.module_from_buffer(text).get_function(name)
unmanaged = cuda.mem_alloc(16)
# On a card it does nothing; the software driver's writes its parameters to the first.
parameters = kernel(PARAMETERS, "fakecuda_parameters")
nothing = lambda **how: parameters(unmanaged, np.int64(0), **how)
array = cuda.managed_zeros(1000, np.int64)
other = cuda.managed_zeros(3, np.int64)
array[5] = 3
one = dict(block=(1, 1, 1))
def passed(*what):
    print(*what, flush=True)
"""

# Work of the software driver runs no earlier than somebody waits.
DEFERRED = """
import os
ctypes.CDLL(os.environ["ULIB_FAKE_DRIVER"]).fakecuda_control(b"deferred 1")
"""


@pytest.fixture
def guarded(gpu, python):
    def run(code, value="1"):
        return python(START + code, check=False, ULIB_MANAGED_GUARD=value)

    return run


def fails(done, name, touched):
    """The process died of the line `touched`, and says why."""
    assert done.returncode == -signal.SIGSEGV, (done.returncode, done.stdout, done.stderr)
    message = next(line for line in done.stderr.splitlines() if line.startswith("uLib: "))
    assert f"while {name}" in message and message.endswith("may still run; synchronise first")
    program = (START + touched.code).splitlines()
    assert f'line {program.index(touched.line) + 1} in <module>' in done.stderr, done.stderr
    assert "after" not in done.stdout
    return message


class Touch:
    """A program that launches, and a line that must not be reached alive."""

    def __init__(self, before, line):
        self.line = line
        self.code = f"{before}\npassed('before')\n{line}\npassed('after')\n"


@pytest.mark.parametrize(
    "line", ["array[7] = 1", "x = array[999]", "array.sum()", "other[0] = 1", "bytes(array[-1:])"]
)
def test_a_touch_before_the_wait_ends_the_program_with_a_message(guarded, line):
    touch = Touch("nothing(grid=(2, 1, 1), **one)", line)
    done = guarded(touch.code)
    message = fails(done, "kernel fakecuda_parameters<<<(2, 1, 1), (1, 1, 1)>>>", touch)
    assert done.stdout == "before\n"
    address = int(message.split(" at ")[1].split()[0], 16)
    assert address > 4096


@pytest.mark.parametrize(
    "wait",
    [
        "cuda.Context.synchronize()",
        "stream.synchronize()",
        "event.synchronize()",
        "cuda.memcpy_dtoh(np.zeros(1, np.int32), memory)",
        "later.wait_for_event(event); later.synchronize()",
        "while not stream.is_done(): pass",
    ],
)
def test_after_a_wait_that_covers_it_the_memory_is_open(guarded, wait):
    code = f"""
stream, later = cuda.Stream(), cuda.Stream()
memory = cuda.mem_alloc(4)
for round in range(3):
    nothing(stream=stream, **one)
    event = cuda.Event().record(stream)
    {wait}
    array[0] += 1
    assert array[5] == 3 and other[0] == 0
passed(array[0])
"""
    done = guarded(code)
    assert (done.returncode, done.stdout) == (0, "3\n"), done.stderr


def test_zeros_are_made_beside_a_kernel(guarded):
    """They wait for it themselves."""
    done = guarded("nothing(**one)\nfresh = cuda.managed_zeros(10, np.int64)\npassed(fresh.sum())\n")
    assert (done.returncode, done.stdout) == (0, "0\n"), done.stderr


def test_a_wait_for_something_else_does_not_open_it(guarded, fake):
    touch = Touch(
        DEFERRED + "stream, later = cuda.Stream(), cuda.Stream()\nnothing(stream=stream, **one)\nlater.synchronize()", "array[0] = 1"
    )
    fails(guarded(touch.code), "kernel fakecuda_parameters<<<", touch)


def test_what_runs_later_reaches_the_memory(guarded, fake):
    code = DEFERRED + """
parameters(array, np.int64(41), **one)
parameters(array[10:], np.int64(42), **one)
cuda.Context.synchronize()
passed(array[1], array[11], array[0] == array.ctypes.data)
"""
    done = guarded(code)
    assert (done.returncode, done.stdout) == (0, "41 42 True\n"), done.stderr
    touch = Touch(code.split("cuda.Context")[0], "array[0]")
    fails(guarded(touch.code), "kernel fakecuda_parameters", touch)


def test_a_kernel_of_the_card_reaches_the_memory(guarded, real):
    code = """
store = kernel(STORE, "store")
for n in range(3):
    array[20 * n] = 0
    store(array[20 * n:], **one)
    cuda.Context.synchronize()
    assert array[20 * n] == 7
big = cuda.managed_zeros(1 << 22, np.int64)
store(big[1 << 21:], **one)
cuda.Context.synchronize()
passed(big[1 << 21], big.sum())
"""
    done = guarded(code)
    assert (done.returncode, done.stdout) == (0, "7 7\n"), done.stderr


def test_copies_by_the_driver_reach_closed_memory(guarded):
    code = """
memory = cuda.mem_alloc(8000)
nothing(**one)
cuda.memcpy_htod_async(memory, array, cuda.Stream())
nothing(**one)
cuda.memcpy_htod(memory, array)
array[5] = 0
cuda.memcpy_dtoh(array, memory)
passed(array[5])
"""
    done = guarded(code)
    assert (done.returncode, done.stdout) == (0, "3\n"), done.stderr


def test_what_is_attached_elsewhere_is_left_open(guarded):
    code = """
flags = cuda.mem_attach_flags
stream, another = cuda.Stream(), cuda.Stream()
host = cuda.managed_zeros(10, np.int64, mem_flags=flags.HOST)
single = cuda.managed_zeros(10, np.int64)
single.base.attach(flags.SINGLE, stream)
nothing(stream=another, **one)
host[0] = single[0] = 1
passed("before")
nothing(stream=stream, **one)
host[0] = 2
"""
    done = guarded(code + "passed('open')")
    assert (done.returncode, done.stdout) == (0, "before\nopen\n"), done.stderr
    touch = Touch(code, "single[0]")
    fails(guarded(touch.code), "kernel fakecuda_parameters", touch)


def test_a_graph_closes_it_when_it_is_launched(guarded):
    before = """
stream = cuda.Stream()
with stream.capture() as graph:
    nothing(stream=stream, **one)
array[0] = 1
exec = graph.instantiate()
array[0] = 2
exec.launch(stream)
"""
    touch = Touch(before, "array[0] = 3")
    fails(guarded(touch.code), "a graph on stream", touch)
    done = guarded(before + "stream.synchronize()\npassed(array[0])")
    assert (done.returncode, done.stdout) == (0, "2\n"), done.stderr


def test_freed_memory_is_guarded_no_more_and_its_place_is_taken_again(guarded):
    code = """
for n in range(50):
    new = cuda.managed_zeros(n + 1, np.int8)
    nothing(**one)
    if n % 2:
        cuda.Context.synchronize()
        assert new[n] == 0
    new.base.free()
    del new
    cuda.Context.synchronize()
nothing(**one)
fresh = cuda.managed_empty(3, np.int8)
passed("before")
fresh[0] = 1
"""
    done = guarded(code)
    assert (done.returncode, done.stdout) == (-signal.SIGSEGV, "before\n"), done.stderr
    assert "uLib: the host touched managed memory" in done.stderr


def test_other_faults_are_what_they_were(guarded):
    for code in ("ctypes.string_at(8)", "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"):
        done = guarded(f"nothing(**one)\n{code}")
        assert done.returncode == -signal.SIGSEGV
        assert "uLib:" not in done.stderr and "Segmentation fault" in done.stderr
    handled = """
import os, signal
signal.signal(signal.SIGSEGV, lambda *_: passed("handled"))
import faulthandler
again = cuda.managed_zeros(1, np.int8)
os.kill(os.getpid(), signal.SIGSEGV)
passed("alive")
"""
    done = guarded(handled)
    assert (done.returncode, done.stdout) == (0, "handled\nalive\n"), done.stderr


@pytest.mark.parametrize("value", [None, "", "0"])
def test_without_the_variable_nothing_changes(guarded, value):
    code = """
import faulthandler
nothing(**one)
array[0] = 1
passed(array[0], faulthandler.is_enabled(), cuda.mem_get_address_range(int(array.base)) == (int(array.base), 8000))
"""
    done = guarded(code, value)
    assert (done.returncode, done.stdout) == (0, "1 False True\n"), done.stderr


def test_threads_that_launch_and_wait_for_themselves_meet_no_fault(guarded):
    code = """
import threading
failures, given = [], []
for k in range(4):
    given.append((cuda.Stream(), cuda.managed_zeros(100, np.int64)))
    given[k][1].base.attach(cuda.mem_attach_flags.SINGLE, given[k][0])
def work(k):
    try:
        stream, mine = given[k]
        for n in range(200):
            nothing(stream=stream, **one)
            stream.synchronize()
            mine[k] += 1
        if mine[k] != 200:
            failures.append(mine[k])
    except Exception as error:
        failures.append(error)
threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
[t.start() for t in threads]; [t.join() for t in threads]
passed(failures)
"""
    done = guarded(code)
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr
