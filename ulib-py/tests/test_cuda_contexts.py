"""Contexts of `uLib.cuda`: the stack, what other libraries see of it, threads, and the end of the process."""

import gc
import threading

import pytest
import uLib
import uLib.cuda.driver as cuda
from uLib.cuda import tools

Context = cuda.Context


@pytest.fixture(autouse=True)
def nothing_is_left():
    """Every test leaves the stack as it found it."""
    yield
    gc.collect()
    with pytest.raises(cuda.Error):
        Context.pop()


def in_thread(work):
    """Runs it on a thread of its own, and passes on what it returns or raises."""
    outcome = []

    def run():
        try:
            outcome.append((work(), None))
        except BaseException as error:
            outcome.append((None, error))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    value, error = outcome[0]
    if error is not None:
        raise error
    return value


def test_made_contexts_are_current_until_popped(gpu):
    first = cuda.Device(0).make_context()
    assert Context.get_current() == first
    assert Context.get_device() == cuda.Device(0)
    second = cuda.Device(0).make_context()
    assert second == first and hash(second) == hash(first), "both are the primary context"
    assert second.handle == first.handle != 0
    Context.pop()
    assert Context.get_current() == first
    first.pop()
    assert first != 0


def test_one_pop_too_many_is_an_error(gpu):
    context = cuda.Device(0).make_context()
    Context.pop()
    with pytest.raises(cuda.LogicError, match="Context.pop: this thread has no context on its stack"):
        Context.pop()
    context.push()
    context.pop()


def test_a_detached_context_is_of_no_use_any_more(gpu):
    below = cuda.Device(0).make_context()
    context = cuda.Device(0).make_context()
    context.detach()
    assert Context.get_current() == below
    with pytest.raises(cuda.LogicError, match="detached already"):
        context.detach()
    with pytest.raises(cuda.LogicError, match="has been detached"):
        context.push()
    assert "detached" in repr(context) and "detached" not in repr(below)
    below.pop()


def test_a_context_detached_in_the_middle_is_passed_over(gpu):
    device = cuda.Device(0)
    bottom, middle, top = (device.make_context() for _ in range(3))
    middle.detach()
    assert Context.get_current() == top
    top.pop()
    bottom.pop()


def test_with_blocks_push_and_pop(gpu):
    context = cuda.Device(0).retain_primary_context()
    with context as entered:
        assert entered is context
        with context:
            pass
        assert Context.get_current() == context
    with pytest.raises(ZeroDivisionError):
        with context:
            1 / 0
    with pytest.raises(cuda.LogicError, match="no more"):
        with context:
            context.pop()


def test_with_blocks_end_in_any_order(gpu):
    one, other = (cuda.Device(0).retain_primary_context() for _ in range(2))
    one.__enter__()
    other.__enter__()
    one.__exit__(None, None, None)
    assert Context.get_current() == other
    other.__exit__(None, None, None)


def test_pushed_contexts_are_on_the_driver_s_own_stack(fake):
    def work():
        context = cuda.Device(1).make_context()
        assert fake.count("cuCtxPushCurrent_v2") == 1
        context.pop()
        assert fake.count("cuCtxPopCurrent_v2") == 1

    fake("reset")
    in_thread(work)


def test_the_device_of_a_call_is_that_of_the_context(second):
    with cuda.Device(1).retain_primary_context():
        assert Context.get_device() == cuda.Device(1)
        with cuda.Device(0).retain_primary_context():
            assert Context.get_device() == cuda.Device(0)
        assert Context.get_device() == cuda.Device(1)
    assert in_thread(Context.get_device) == cuda.Device(0), "the default one"


def test_what_another_library_makes_current_is_adopted(python, gpu):
    done = python(
        """
import ctypes, os, threading
import uLib.cuda.driver as cuda

driver = ctypes.CDLL(os.environ.get("ULIB_CUDA_DRIVER", "libcuda.so.1"))
def call(name, *arguments):
    assert getattr(driver, name)(*arguments) == 0, name

def work():
    assert cuda.Context.get_current() is None
    # A context that is not the primary one, as a program with the driver's own interface makes it.
    foreign = ctypes.c_void_p()
    call("cuCtxCreate_v2", ctypes.byref(foreign), 0, 0)
    adopted = cuda.Context.get_current()
    assert adopted.handle == foreign.value
    assert cuda.Context.get_device() == cuda.Device(0)
    cuda.Context.synchronize()
    primary = cuda.Device(0).make_context()
    assert cuda.Context.get_current() == primary != adopted
    primary.pop()
    assert cuda.Context.get_current() == adopted
    with adopted:
        assert cuda.Context.get_current() == adopted
        cuda.mem_get_info()
    call("cuCtxDestroy_v2", foreign)
    assert cuda.Context.get_current() is None

thread = threading.Thread(target=work)
thread.start()
thread.join()
cuda.init()
print("adopted")
"""
    )
    assert done.stdout == "adopted\n" and not done.stderr


def test_what_another_library_pushes_is_not_popped(python, gpu):
    done = python(
        """
import ctypes, os
import uLib.cuda.driver as cuda

driver = ctypes.CDLL(os.environ.get("ULIB_CUDA_DRIVER", "libcuda.so.1"))
context = cuda.Device(0).make_context()
theirs = ctypes.c_void_p()
assert driver.cuCtxCreate_v2(ctypes.byref(theirs), 0, 0) == 0
context.pop()
current = ctypes.c_void_p()
assert driver.cuCtxGetCurrent(ctypes.byref(current)) == 0
assert current.value == theirs.value
print(cuda.Context.get_current().handle == theirs.value)
"""
    )
    assert done.stdout == "True\n"


def test_attach_refers_to_what_is_current(gpu):
    context = cuda.Device(0).make_context()
    again = Context.attach()
    assert again == context
    again.detach()
    assert Context.get_current() == context
    context.pop()
    assert Context.attach().handle != 0
    with pytest.raises(cuda.LogicError, match="flags is 1"):
        Context.attach(1)


def test_limits_cache_and_the_rest(gpu):
    context = cuda.Device(0).make_context()
    before = Context.get_limit(cuda.limit.STACK_SIZE)
    Context.set_limit(cuda.limit.STACK_SIZE, 2048)
    assert Context.get_limit(cuda.limit.STACK_SIZE) == 2048
    Context.set_limit(cuda.limit.STACK_SIZE, before)
    with pytest.raises(cuda.LogicError, match="cuCtxGetLimit"):
        Context.get_limit(1000)
    preferred = Context.get_cache_config()
    assert isinstance(preferred, cuda.func_cache)
    Context.set_cache_config(cuda.func_cache.PREFER_L1)
    Context.set_cache_config(preferred)
    assert Context.get_shared_config() is cuda.shared_config.DEFAULT_BANK_SIZE
    Context.set_shared_config(cuda.shared_config.FOUR_BYTE_BANK_SIZE)
    with pytest.raises(cuda.LogicError, match="17"):
        Context.set_shared_config(17)
    assert context.get_api_version() > 0
    Context.synchronize()
    context.pop()


def test_flags_are_those_of_the_primary_context(fake):
    context = cuda.Device(1).make_context(cuda.ctx_flags.SCHED_BLOCKING_SYNC)
    assert fake.count("cuDevicePrimaryCtxSetFlags_v2") == 1
    context.pop()
    cuda.Device(1).make_context(0).pop()
    assert fake.count("cuDevicePrimaryCtxSetFlags_v2") == 1


def test_access_to_a_peer_by_contexts(second):
    peer = cuda.Device(1).retain_primary_context()
    with cuda.Device(0).retain_primary_context():
        Context.enable_peer_access(peer)
        with pytest.raises(cuda.LogicError, match="enabled already"):
            Context.enable_peer_access(peer)
        Context.disable_peer_access(peer)
        with pytest.raises(cuda.LogicError, match="not enabled"):
            Context.disable_peer_access(peer)
        with pytest.raises(cuda.LogicError, match="flags"):
            Context.enable_peer_access(peer, 1)


def test_stacks_are_the_threads_own(gpu):
    context = cuda.Device(0).make_context()

    def other():
        with pytest.raises(cuda.LogicError):
            Context.pop()
        context.push()
        assert Context.get_current() == context
        context.pop()

    in_thread(other)
    assert Context.get_current() == context
    context.pop()


def test_a_context_detached_on_another_thread_is_passed_over_here(gpu):
    context = cuda.Device(0).make_context()
    in_thread(context.detach)
    with pytest.raises(cuda.LogicError, match="no context"):
        Context.pop()


def test_errors_of_the_driver_leave_both_stacks_alike(fake):
    context = cuda.Device(0).retain_primary_context()
    fake("fail cuCtxPushCurrent_v2:1:999")
    with pytest.raises(cuda.Error, match="cuCtxPushCurrent"):
        context.push()
    with pytest.raises(cuda.LogicError, match="no context"):
        Context.pop()
    context.push()
    fake("fail cuCtxPopCurrent_v2:1:999")
    with pytest.raises(cuda.Error, match="cuCtxPopCurrent"):
        Context.pop()
    assert Context.get_current() == context
    Context.pop()


@pytest.mark.parametrize(
    "left",
    [
        "cuda.Device(0).make_context()",
        "contexts = [cuda.Device(0).make_context() for _ in range(5)]",
        "import uLib.cuda.autoinit",
        "import uLib.cuda.autoprimaryctx",
        "c = [cuda.Device(0).make_context()]; c.append(c)",
        "t = threading.Thread(target=lambda: cuda.Device(0).make_context()); t.start(); t.join()",
        "threading.Thread(target=lambda: (cuda.Device(0).make_context(), time.sleep(60)), daemon=True).start()",
    ],
)
def test_the_process_ends_well_whatever_is_on_the_stack(python, gpu, left):
    done = python(f"import threading, time\nimport uLib.cuda.driver as cuda\n{left}\nprint('done')")
    assert (done.stdout, done.stderr) == ("done\n", "")


def test_a_forked_child_gets_an_error_and_ends_well(python, gpu):
    done = python(
        """
import os, sys
import uLib.cuda.driver as cuda
context = cuda.Device(0).make_context()
if os.fork() == 0:
    for call in (cuda.Context.pop, context.push, cuda.Context.synchronize, cuda.mem_get_info):
        try:
            call()
        except cuda.RuntimeError as error:
            assert "fork" in str(error), error
        else:
            os._exit(3)
    os._exit(0)
_, status = os.wait()
context.pop()
print(os.waitstatus_to_exitcode(status))
"""
    )
    assert done.stdout == "0\n"


def test_autoinit_makes_the_default_device_current(python, gpu):
    done = python(
        """
import uLib.cuda.autoinit as autoinit
import uLib.cuda.driver as cuda
assert cuda.Context.get_current() == autoinit.context
assert autoinit.device == cuda.Device(0)
import uLib.cuda.autoprimaryctx as primary
assert primary.context == autoinit.context
cuda.Context.pop()
cuda.Context.pop()
try:
    cuda.Context.pop()
except cuda.LogicError:
    print("popped")
"""
    )
    assert (done.stdout, done.stderr) == ("popped\n", "")


def test_the_default_device_is_chosen_from_outside(python, fake, tmp_path):
    program = """
import warnings
import uLib.cuda.driver as cuda
from uLib.cuda import tools
warnings.simplefilter("ignore")
print(cuda.Context.get_device().ordinal, tools.get_default_device(1).ordinal, tools.make_default_context().handle != 0)
"""
    assert python(program, HOME=str(tmp_path)).stdout == "0 1 True\n"
    assert python(program, HOME=str(tmp_path), CUDA_DEVICE="1").stdout == "1 1 True\n"
    (tmp_path / ".cuda_device").write_text("1\n")
    assert python(program, HOME=str(tmp_path)).stdout == "1 1 True\n"
    wrong = python(program, check=False, HOME=str(tmp_path), CUDA_DEVICE="best")
    assert "CUDA_DEVICE" in wrong.stderr and "best" in wrong.stderr


def test_the_default_context_is_made_as_asked(gpu):
    made = []

    def maker(device):
        made.append(device)
        return device.make_context()

    context = tools.make_default_context(maker)
    assert made == [Context.get_device()]
    context.pop()
    with pytest.warns(DeprecationWarning):
        assert tools.get_default_device() == made[0]


def test_results_are_remembered_for_each_device(fake):
    calls = []

    @tools.context_dependent_memoize
    def build(number, *, scale=1):
        """Builds."""
        calls.append(number)
        return number * scale

    assert build.__name__ == "build"
    with cuda.Device(0).retain_primary_context():
        assert build(2) == build(2) == 2
        assert build(2, scale=3) == 6
    assert calls == [2, 2]
    with cuda.Device(1).retain_primary_context():
        assert build(2) == 2
    assert calls == [2, 2, 2]
    tools.clear_context_caches()
    build(2)
    assert calls == [2, 2, 2, 2]
    assert len(tools.context_dependent_memoized_functions) >= 1


def test_tests_get_a_context_of_their_own(gpu):
    @tools.mark_cuda_test
    def inner(number, *, fail=False):
        assert Context.get_current().handle
        if fail:
            raise ZeroDivisionError
        return number

    assert inner.__name__ == "inner"
    assert inner(7) == 7
    with pytest.raises(ZeroDivisionError):
        inner(7, fail=True)
    contexts = list(tools.init_cuda_context_fixture())
    assert len(contexts) == 1 and isinstance(contexts[0], Context)


def test_versions_and_switches(gpu):
    assert cuda.get_version() == (13, 0, 0)
    cuda.init()
    cuda.set_debugging()
    assert cuda.CUDA_DEBUGGING is True
    cuda.set_debugging(False)
    assert cuda.CUDA_DEBUGGING is False
    assert cuda.have_gl_ext() in (True, False)
    with pytest.warns(DeprecationWarning, match="profiler"):
        cuda.initialize_profiler("config", "output", cuda.profiler_output_mode.CSV)


def test_a_profiler_can_be_told(real):
    cuda.start_profiler()
    cuda.stop_profiler()


def test_a_driver_without_a_profiler_says_so(fake):
    with pytest.raises(cuda.RuntimeError, match="cuProfilerStart"):
        cuda.start_profiler()
    with pytest.raises(cuda.RuntimeError, match="cuProfilerStop"):
        cuda.stop_profiler()


def test_without_a_driver_everything_says_why(nodriver):
    for call in (cuda.Device.count, lambda: cuda.Device(0), Context.get_current, Context.synchronize):
        with pytest.raises(cuda.RuntimeError, match="ULIB_CUDA_DRIVER"):
            call()
