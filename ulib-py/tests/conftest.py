"""Modes of the suite, and the fixtures that need one.

The mode follows from the environment that the tests are started in:

| mode | set by | what runs |
|---|---|---|
| nodriver | ``ULIB_CUDA_DRIVER=none``, or no GPU here | everything that needs no device |
| fake | ``ULIB_CUDA_DRIVER`` and ``ULIB_FAKE_DRIVER`` name the software driver | placement, protocols, faults (emulated) |
| real | ``ULIB_TEST_DRIVER=real`` | placement and protocols on the card, and the consumer libraries |

With ``ULIB_REQUIRE_CUDA=1`` a test that would be skipped for the lack of a card or a consumer fails instead.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator

import numpy
import pytest

if not hasattr(numpy, "row_stack"):
    # numba releases of today still use the name that NumPy 2.5 removed.
    numpy.row_stack = numpy.vstack  # type: ignore[attr-defined]

# A suite started in the background inherits an ignored SIGINT, and Python then installs no handler.
signal.signal(signal.SIGINT, signal.default_int_handler)

FAKE_LIBRARY = os.environ.get("ULIB_FAKE_DRIVER")


def current_mode() -> str:
    if os.environ.get("ULIB_TEST_DRIVER") == "real":
        return "real"
    if FAKE_LIBRARY and os.environ.get("ULIB_CUDA_DRIVER") == FAKE_LIBRARY:
        return "fake"
    return "nodriver"


MODE = current_mode()
REQUIRE_CUDA = os.environ.get("ULIB_REQUIRE_CUDA") == "1"

# JAX would take three quarters of the card for itself.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

if MODE == "nodriver":
    # Also on a machine that has a GPU: this mode is about not having one.
    os.environ["ULIB_CUDA_DRIVER"] = "none"


def skip_or_fail(reason: str) -> None:
    """Skips, or fails where a skip would hide that the card was not tested."""
    if REQUIRE_CUDA:
        pytest.fail(f"ULIB_REQUIRE_CUDA=1, but: {reason}")
    pytest.skip(reason)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "real: needs a GPU, its driver and the consumer library named in the test")


def pytest_collection_finish() -> None:
    settle()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests that draw go first. On a card that is required, tests about other machines are not part of the run, so that no skip is
    left."""
    # After these tests, in which kernels fault, OpenGL drew nothing on a card in processes that use CUDA, too (docs/from-pycuda.md, the
    # last of what to mind).
    drawing = {"test_cuda_gl.py", "test_example_slice.py"}
    items.sort(key=lambda item: item.path.name not in drawing)
    if not REQUIRE_CUDA:
        return
    import uLib

    others = {"fake", "nodriver"} if uLib.device.count() > 1 else {"fake", "nodriver", "second"}
    elsewhere = [item for item in items if others & set(getattr(item, "fixturenames", ()))]
    config.hook.pytest_deselected(items=elsewhere)
    items[:] = [item for item in items if item not in elsewhere]


def pytest_report_header(config: pytest.Config) -> str:
    emulated = " (emulated: nothing here says anything about a real card)" if MODE == "fake" else ""
    return f"uLib mode: {MODE}{emulated}"


@pytest.fixture
def mode() -> str:
    return MODE


@pytest.fixture
def gpu() -> None:
    """A device, the software driver's or a real one."""
    if MODE == "nodriver":
        pytest.skip("no device in this mode; the modes fake and real run it")
    import uLib

    reason = uLib.device.unavailable_reason()
    if reason is not None:
        skip_or_fail(reason)


@pytest.fixture
def second(gpu: None) -> int:
    """The ordinal of a second device, as the software driver has one and some machines."""
    import uLib

    if uLib.device.count() < 2:
        pytest.skip("needs two devices")
    return 1


@pytest.fixture(params=["Host", "Device"])
def place(request: pytest.FixtureRequest) -> str:
    """Where the objects of a test prefer to be."""
    if request.param == "Device":
        request.getfixturevalue("gpu")
    where: str = request.param
    return where


@pytest.fixture
def quiet() -> Iterator[None]:
    """Without NumPy's warnings about what it divides by and what overflows."""
    with numpy.errstate(all="ignore"):
        yield


@pytest.fixture
def nodriver() -> None:
    if MODE != "nodriver":
        pytest.skip("about a machine without a driver; the mode nodriver runs it")


@pytest.fixture
def real() -> None:
    """A real card."""
    if MODE != "real":
        if REQUIRE_CUDA:
            pytest.fail("ULIB_REQUIRE_CUDA=1 without ULIB_TEST_DRIVER=real")
        pytest.skip("needs a real card (ULIB_TEST_DRIVER=real)")


@pytest.fixture
def nvrtc() -> None:
    """The CUDA compiler; it needs no device."""
    from uLib.cuda import compiler, driver

    try:
        compiler.compile("", arch="compute_75", cache_dir=False)
    except driver.RuntimeError as error:
        skip_or_fail(str(error))


@pytest.fixture
def consumer(real: None) -> Callable[[str], object]:
    """Imports a consumer library, skipping with the reason when it cannot be used."""

    def load(name: str) -> object:
        try:
            return importlib.import_module(name)
        except ImportError as error:
            skip_or_fail(f"{name} cannot be imported: {error}")

    return load


class Fake:
    """Control of the software driver that is loaded in this process."""

    def __init__(self, path: str) -> None:
        self._library = ctypes.CDLL(path)
        self._library.fakecuda_control.restype = ctypes.c_int64
        self._library.fakecuda_control.argtypes = [ctypes.c_char_p]

    def __call__(self, command: str) -> int:
        answer: int = self._library.fakecuda_control(command.encode())
        assert answer != -1, f"the software driver does not understand {command!r}"
        return answer

    def count(self, call: str = "*") -> int:
        return self(f"count {call}")


def give_cached_memory_back() -> None:
    """What earlier tests left in the pool could serve an allocation that a test expects to fail."""
    import uLib

    gc.collect()
    for ordinal in range(uLib.device.count()):
        block = uLib.FloatCollection([0])
        block.SetPreferredDevice(f"Device:{ordinal}")
        block.ReleaseDevice()


@pytest.fixture
def fake() -> Iterator[Fake]:
    if MODE != "fake" or FAKE_LIBRARY is None:
        pytest.skip("needs the software driver (ULIB_FAKE_DRIVER)")
    control = Fake(FAKE_LIBRARY)
    control("reset")
    give_cached_memory_back()
    # That was counted, too.
    control("reset")
    yield control
    control("reset")


@pytest.fixture
def stream(gpu: None) -> object:
    """A stream beside the default one."""
    from uLib.cuda import driver

    return driver.Stream(driver.stream_flags.NON_BLOCKING)


@pytest.fixture
def write(fake: Fake) -> object:
    """A kernel of the software driver that writes its two parameters, an address and 64 bits, to that address."""
    from device_kernels import kernel

    return kernel(".u64 value")


def settle() -> None:
    """Lets collections look at what is made from now on only, and not at all libraries and tests, which takes longer than most tests."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()


# Not empty when a test has hidden from collections what was alive in it: it is garbage by now.
frozen: list[bool] = []


@pytest.fixture(autouse=True)
def as_if_first() -> Iterator[None]:
    """Every test begins without the garbage of those before it, which holds memory and graphs and would go at some time within it, and
    without contexts, of which it leaves none."""
    if frozen:
        frozen.clear()
        settle()
    elif MODE != "nodriver":
        gc.collect()
    yield
    left = popped_contexts()
    assert left == 0, f"{left} contexts are left current"


def popped_contexts() -> int:
    """Takes what is left from this thread's stack of contexts, and answers how many there were."""
    driver = sys.modules.get("uLib.cuda.driver")
    popped = 0
    while driver is not None and MODE != "nodriver":
        try:
            driver.Context.pop()
        except driver.LogicError:
            break
        popped += 1
    return popped


@pytest.fixture
def small_heap() -> Iterator[None]:
    """For tests that collect garbage all the time, after others that have imported more."""
    settle()
    yield
    frozen.append(True)


@pytest.fixture
def in_turn(small_heap: None) -> Callable[[int], range]:
    """Which of so many calls fail in turn: every third, all with ULIB_TEST_FULL=1. (`test_cuda_faults.py` leaves none out.)"""
    return lambda calls: range(1, calls + 1, 1 if os.environ.get("ULIB_TEST_FULL") else 3)


def run_python(
    code: str, *, check: bool = True, timeout: float = 120, **environment: str | None
) -> subprocess.CompletedProcess[str]:
    """Runs a program in a process of its own; a variable set to None is removed."""
    env = dict(os.environ)
    for name, value in environment.items():
        if value is None:
            env.pop(name, None)
        else:
            env[name] = value
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=timeout)
    if check:
        assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


@pytest.fixture
def python() -> Callable[..., subprocess.CompletedProcess[str]]:
    return run_python
