"""`uLib.device`: returns and sentences."""

import numpy as np
import pytest
import uLib
from uLib import device


def test_without_a_driver(nodriver):
    assert device.available() is False
    assert isinstance(device.unavailable_reason(), str)
    assert device.count() == 0
    assert device.name() is None and device.name(3) is None
    assert device.memory_info() == (0, 0) and device.held() == (0, 0) and device.held(0) == (0, 0)
    assert device.describe() == f"no GPU: {device.unavailable_reason()}"
    assert device.kernels_available() is False
    assert device.kernels_unavailable_reason() == device.unavailable_reason()
    assert device.errors() == []


def test_the_first_sentence(python, tmp_path):
    """A machine with no driver library at all, wherever this runs: the loader finds nothing by the names it tries."""
    done = python("from uLib import device; print(device.unavailable_reason())", ULIB_CUDA_DRIVER=None)
    if done.stdout.strip() != "None":
        assert done.stdout.strip() == "no NVIDIA driver library: libcuda.so.1"


def test_with_a_device(gpu):
    assert device.available() is True and device.unavailable_reason() is None
    assert device.count() >= 1
    name = device.name()
    assert isinstance(name, str) and name
    free, total = device.memory_info()
    assert 0 < free <= total
    assert device.held() == device.held(0) or device.count() > 1
    line = device.describe()
    assert name in line and "uLib holds" in line and "\n" not in line
    image = uLib.VoxImage(32, 32, 32)
    before = device.held()
    image.SetPreferredDevice("Device")
    assert device.held() == (before[0] + 262144, before[1] + 1)


def test_locations_of_other_things():
    assert device.location(np.zeros(3)) == "Host"
    assert device.is_device_resident(np.zeros(3)) is False
    assert device.location(b"abc") == "Host"
    for helper in (device.location, device.is_device_resident):
        with pytest.raises(TypeError, match="int"):
            helper(5)
    assert device.array_info(np.zeros(3)) is None and device.as_array(np.zeros(3)) is None
    np.testing.assert_array_equal(device.as_array(np.arange(2), copy_to_host=True), [0, 1])
    assert device.as_array(object(), copy_to_host=True) is None


def test_as_array_to_the_host_is_one_bulk_copy():
    image = uLib.VoxImage(4, 4, 4)
    image.SetValues(np.arange(64))
    image.SetPreferredDevice("Device")
    before = image.Transfers
    a = device.as_array(image, copy_to_host=True)
    assert isinstance(a, np.ndarray) and a.flags.owndata and a.flags.writeable
    np.testing.assert_array_equal(a, np.arange(64))
    assert image.Transfers.downloads - before.downloads <= 1


def test_as_array_says_when_no_library_can_take_it(gpu, python):
    done = python(
        """
import sys
for library in ("numba", "cupy", "torch"):
    sys.modules[library] = None  # not installed
import uLib
image = uLib.VoxImage(2, 2, 2)
image.SetPreferredDevice("Device")
try:
    print(uLib.device.as_array(image))
except RuntimeError as error:
    print(error)
print(image.IsShared())
image.SetPreferredDevice("Host")
print(uLib.device.as_array(image))
"""
    )
    sentence, shared, absent = done.stdout.splitlines()
    assert "neither numba nor CuPy nor PyTorch" in sentence
    assert (shared, absent) == ("False", "None")


def test_kernels_available_names_unknown_compilers():
    for ask in (device.kernels_available, device.kernels_unavailable_reason):
        with pytest.raises(ValueError, match="nvcc"):
            ask("nvcc")


def test_kernels_available_says_what_is_missing(gpu, mode, monkeypatch):
    from uLib import _compilers

    monkeypatch.setattr(_compilers, "_answers", {})
    monkeypatch.setattr(_compilers, "installed", lambda: [])
    assert device.kernels_available() is False
    assert "neither numba-cuda nor CuPy" in device.kernels_unavailable_reason()
    assert device.kernels_unavailable_reason("cupy") == "cupy is not installed"


@pytest.mark.parametrize(
    ("error", "names"),
    [
        (
            "No supported GPU compute capabilities found. Please check your cudatoolkit version",
            ["libcudart", "CUDA_HOME", "LD_LIBRARY_PATH"],
        ),
        ("libNVVM cannot be found. Do `conda install cudatoolkit`", ["libNVVM", "CUDA_HOME"]),
        ("libnvrtc.so.12: cannot open shared object file", ["NVRTC", "CUDA_HOME", "LD_LIBRARY_PATH"]),
        ("something else", ["something else"]),
    ],
)
def test_kernels_unavailable_reason_names_the_cause(gpu, monkeypatch, error, names):
    from uLib import _compilers

    def fails():
        raise RuntimeError(error)

    def works():
        pass

    monkeypatch.delenv("CUDA_HOME", raising=False)
    monkeypatch.setattr(_compilers, "_answers", {})
    monkeypatch.setattr(_compilers, "installed", lambda: ["numba", "cupy"])
    monkeypatch.setitem(_compilers.PROBES, "numba", fails)
    monkeypatch.setitem(_compilers.PROBES, "cupy", works)
    reason = device.kernels_unavailable_reason()
    assert reason.startswith("numba: ")
    for name in names:
        assert name in reason
    assert device.kernels_available() is False, "never admits a snippet that fails"
    assert device.kernels_available("cupy") is True


# Every question of the module, what it answers without a usable GPU, and whether it says why.
SILENT = """
from uLib import device
def questions():
    reason = device.unavailable_reason()
    assert isinstance(reason, str) and reason, reason
    assert device.available() is False
    assert device.describe() == f"no GPU: {reason}", device.describe()
    assert device.memory_info() == (0, 0) and device.memory_info(0) == (0, 0)
    assert device.name() is None or isinstance(device.name(), str)
    assert isinstance(device.count(), int)
    held, alone = device.held(), device.held(0)
    assert held == alone and len(held) == 2, (held, alone)
    assert isinstance(device.errors(), list)
    assert device.kernels_available() is False and device.kernels_unavailable_reason() == reason
    assert device.kernels_unavailable_reason("numba") == reason
    image = uLib.VoxImage(2, 2, 2)
    assert device.location(image) == "Host" and device.is_device_resident(image) is False
    assert device.array_info(image) is None and device.as_array(image) is None
    return reason
"""


def test_questions_in_a_forked_child_are_answered(fake, python):
    done = python(
        """
import os, sys, traceback, uLib
"""
        + SILENT
        + """
image = uLib.VoxImage(4, 4, 4)
image.SetPreferredDevice("Device")
assert device.available() and device.held()[1] == 1
if os.fork() == 0:
    try:
        assert "fork" in questions()
        assert device.count() == 0 and device.name() is None and device.held() == (0, 0)
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(7)
assert os.waitstatus_to_exitcode(os.wait()[1]) == 7
assert device.available() and device.held()[1] == 1
print("parent")
"""
    )
    assert done.stdout == "parent\n"


@pytest.mark.parametrize(
    ("fault", "used"),
    [
        ("break 0 700", True),
        ("fail cuMemGetInfo_v2:1+:999", True),
        ("fail cuMemGetInfo_v2:1+:999", False),
        ("fail *:1+:719", True),
        ("fail *:1+:719", False),
        ("fail cuDevicePrimaryCtxRetain:1+:2", False),
    ],
)
def test_questions_to_a_broken_card_are_answered(fake, python, fault, used):
    done = python(
        """
import ctypes, os, uLib
control = ctypes.CDLL(os.environ["ULIB_FAKE_DRIVER"]).fakecuda_control
"""
        + SILENT
        + f"""
device.count()
if {used}:
    image = uLib.VoxImage(4, 4, 4)
    image.SetPreferredDevice("Device")
    assert device.available()
control(b"{fault}")
questions()
print("answered")
"""
    )
    assert done.stdout == "answered\n"
