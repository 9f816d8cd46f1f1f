"""A driver that is missing, broken, out of memory or forked; on the software driver."""

import os
import pickle
from pathlib import Path

import numpy as np
import pytest
import uLib

ILLEGAL_ADDRESS = 700


def without_symbols(folder, *names):
    """A copy of the software driver in which ``dlsym`` does not find these names."""
    library = Path(os.environ["ULIB_FAKE_DRIVER"]).read_bytes()
    for name in names:
        wanted = b"\0" + name.encode() + b"\0"
        assert wanted in library, name
        library = library.replace(wanted, b"\0" + b"-" + name.encode()[1:] + b"\0")
    copy = folder / "libolder.so"
    copy.write_bytes(library)
    return str(copy)


def test_reasons_for_absence(fake, python, tmp_path):
    code = """
import uLib
image = uLib.VoxImage(2, 2, 2)
assert image.SetPreferredDevice("Device") is False
assert not hasattr(image, "__cuda_array_interface__")
assert image.GetDataLocation() == f"Host ({uLib.device.unavailable_reason()})"
image.SetValue(0, 3)
assert image.Sum() == 3
print(uLib.device.unavailable_reason())
"""
    for environment, words in [
        ({"ULIB_CUDA_DRIVER": "none"}, ["ULIB_CUDA_DRIVER"]),
        ({"ULIB_CUDA_DRIVER": "/nowhere/libcuda.so"}, ["/nowhere/libcuda.so"]),
        ({"ULIB_CUDA_DRIVER": __file__}, [__file__]),
        ({"FAKECUDA_INIT": "34"}, ["stub"]),
        ({"FAKECUDA_INIT": "999"}, ["999"]),
        ({"FAKECUDA_INIT": "4711"}, ["4711"]),
        ({"FAKECUDA_DEVICES": "0"}, ["GPU"]),
        ({"ULIB_CUDA_DRIVER": without_symbols(tmp_path, "cuMemAlloc_v2")}, ["cuMemAlloc_v2"]),
    ]:
        reason = python(code, **environment).stdout.strip()
        for word in words:
            assert word in reason, (environment, reason)


def test_a_driver_without_newer_symbols_still_works(fake, python, tmp_path):
    code = """
import uLib
image = uLib.VoxImage(8, 8, 8)
image.Fill(1)
assert image.SetPreferredDevice("Device"), image.GetDataLocation()
image.Scale(2)
print(image.Sum(), image.GetValue(5))
"""
    names = ["cuMemAllocAsync", "cuMemFreeAsync", "cuMemPoolCreate", "cuMemAllocFromPoolAsync", "cuDeviceGetUuid_v2"]
    older = without_symbols(tmp_path, *names)
    assert python(code, ULIB_CUDA_DRIVER=older).stdout == "1024.0 2.0\n"


def test_out_of_memory_stays_on_the_host_with_both_counts(fake):
    image = uLib.VoxImage(16, 16, 16)
    image.Fill(1)
    fake("memory_limit 1000")
    assert image.SetPreferredDevice("Device") is False
    sentence = image.GetDataLocation()
    assert sentence.startswith("Host (out of device memory: needs 32768 bytes") and "free" in sentence
    assert not hasattr(image, "__cuda_array_interface__") and image.Sum() == 4096
    assert image.__dlpack_device__() == (1, 0) and np.from_dlpack(image).sum() == 4096
    with pytest.raises(uLib.OutOfMemoryError) as caught:
        image.DeviceView()
    assert caught.value.needs == 32768 and isinstance(caught.value, MemoryError)
    twin = pickle.loads(pickle.dumps(image))
    assert twin.GetPreferredDevice() == "Device" and twin.Sum() == 4096
    fake("memory_limit none")
    assert image.Update() is True and image.IsDeviceResident()


def test_larger_than_the_card(fake):
    """The software driver's card has 1 GiB. test_consumers.py has the test for a real one, which is filled first."""
    image = uLib.VoxImage(1024, 1024, 160)  # 1.25 GiB of voxels
    assert image.SetPreferredDevice("Device") is False
    assert "out of device memory: needs 1342177280 bytes" in image.GetDataLocation()


def test_a_broken_context_is_raised_with_the_drivers_words(fake, python):
    done = python(
        f"""
import ctypes, os, uLib
control = ctypes.CDLL(os.environ["ULIB_FAKE_DRIVER"]).fakecuda_control
image = uLib.VoxImage(4, 4, 4)
image.Fill(3)
image.SetPreferredDevice("Device")
image.Scale(2)
view = image.DeviceView()
control(b"break 0 {ILLEGAL_ADDRESS}")
import numpy
def raises(act):
    try:
        act()
    except uLib.DriverError as error:
        assert error.code == {ILLEGAL_ADDRESS}, error.code
        assert error.call.startswith("cu") and error.call in str(error), str(error)
        assert "CUDA_ERROR_ILLEGAL_ADDRESS" in str(error), str(error)
    else:
        raise AssertionError(act)
raises(lambda: image.GetValue(0))
raises(lambda: image.Sum())
raises(lambda: numpy.asarray(image))
raises(lambda: memoryview(image))
raises(lambda: image.__array__())
raises(lambda: image.__array_interface__)
try:
    assert hasattr(image, "__cuda_array_interface__"), "a fault disguised as an absent attribute"
except uLib.DriverError:
    pass
raises(lambda: numpy.from_dlpack(image, device="cpu"))
raises(lambda: image.SetValue(0, 1))
raises(image.ReleaseDevice)
del view, image
print("alive", uLib.device.errors() is not None)
"""
    )
    assert done.stdout == "alive True\n"


def test_every_call_failing_in_turn_leaves_the_numbers_or_an_error(fake):
    """The n-th driver call fails, for every n of a small program: an exception or the right numbers, never others."""

    def program():
        image = uLib.VoxImage(4, 4, 4)
        image.SetValues(np.arange(64))
        image.SetPreferredDevice("Device")
        image.Scale(2)
        total = image.Sum()
        value = image.GetValue(5)
        table = uLib.EventTable("a", rows=2)
        table.SetPreferredDevice("Device")
        table.SetValue(1, 0, 4)
        table.Update()
        return total, value, table.Sum(), image.ReleaseDevice()

    program()
    before = fake.count()
    program()
    calls = fake.count() - before
    assert calls > 10
    expected = (4032.0, 10.0, 4.0, True)
    raised = 0
    for n in range(1, calls + 1):
        fake("reset")
        fake(f"fail *:{n}:{ILLEGAL_ADDRESS if n % 2 else 4711}")
        try:
            found = program()
        except (uLib.DriverError, uLib.DeviceUnavailableError) as error:
            raised += 1
            assert "cu" in str(error)
        else:
            assert found == expected, n
        fake("fail none")
        uLib.device.errors()
    assert raised > calls // 4
    fake("reset")
    assert program() == expected


def test_unknown_status_codes_are_printed_as_numbers(fake):
    image = uLib.VoxImage(4, 4, 4)
    fake("fail *:1+:4711")
    with pytest.raises(uLib.DriverError, match="4711") as caught:
        image.SetPreferredDevice("Device")
        image.Sum()
    assert caught.value.code == 4711


@pytest.mark.parametrize("elsewhere", ["Device:1", "Device:7"])
def test_dlpack_of_numbers_that_could_not_leave_another_device(fake, elsewhere, python):
    """In a process of its own: there the second device is used for the first time, and that fails."""
    done = python(
        f"""
import ctypes, os, uLib
control = ctypes.CDLL(os.environ["ULIB_FAKE_DRIVER"]).fakecuda_control
image = uLib.VoxImage(4, 4, 4)
image.SetPreferredDevice("Device")
image.Fill(3)
control(b"fail *:1+:4711")
try:
    image.SetPreferredDevice({elsewhere!r})
except uLib.DriverError as error:
    print(error.code)
control(b"fail none")
print(image.GetDataLocation(), image.IsDeviceResident())
print(image.__dlpack_device__())
import numpy
print(numpy.from_dlpack(image).sum())
"""
    )
    assert done.stdout.splitlines() == [
        "4711",
        "Device: Fake GPU 0 False",
        "(1, 0)",  # not a device that has nothing and cannot be used
        "192.0",
    ]


def test_fork_before_use(fake, python):
    done = python(
        """
import os, uLib
image = uLib.VoxImage(4, 4, 4)
child = os.fork()
if child == 0:
    assert image.SetPreferredDevice("Device") and image.Sum() == 0
    os._exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
assert image.SetPreferredDevice("Device")
print("parent")
"""
    )
    assert done.stdout == "parent\n"


def test_fork_after_use(fake, python):
    done = python(
        """
import os, sys, traceback, uLib, numpy
both, gone = uLib.VoxImage(4, 4, 4), uLib.VoxImage(4, 4, 4)
for image in (both, gone):
    image.Fill(2)
    image.SetPreferredDevice("Device")
gone.Fill(3)                  # newer on the device
both.GetValue(0)              # in sync
view = gone.DeviceView()
child = os.fork()
if child == 0:
    try:
        assert both.GetValue(5) == 2 and numpy.asarray(both).sum() == 128
        assert not hasattr(both, "__cuda_array_interface__")
        # No pointer to the device can be had here.
        assert both.__dlpack_device__() == gone.__dlpack_device__() == (1, 0)
        assert numpy.from_dlpack(both).sum() == 128
        for act in (lambda: numpy.from_dlpack(gone), lambda: gone.GetValue(0), lambda: numpy.asarray(gone), gone.DeviceView, lambda: gone.Sum()):
            try:
                act()
            except uLib.ForkedError:
                pass
            else:
                raise AssertionError(act)
        both.SetValue(0, 9)
        assert both.Sum() == 128 + 7
        del both, gone, view, image
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    sys.stdout.flush()
    os._exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
view.Close()
assert gone.GetValue(0) == 3 and both.Sum() == 128
print("parent")
"""
    )
    assert done.stdout == "parent\n"


def test_fork_while_another_thread_is_at_work(python):
    done = python(
        """
import os, signal, threading, uLib
image = uLib.VoxImage(160, 160, 160)
stop = threading.Event()
def work():
    while not stop.is_set():
        image.Fill(1)
worker = threading.Thread(target=work, daemon=True)
worker.start()
for turn in range(10):
    child = os.fork()
    if child == 0:
        signal.alarm(30)      # ends a child that waits for a thread that is not there
        for act in (lambda: image.GetValue(0), lambda: image.SetValue(0, 2), lambda: image.Sum(), image.GetDataLocation):
            try:
                act()
            except uLib.ForkedError:
                pass
        del image
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
stop.set()
worker.join()
assert image.GetValue(0) == 1
print("parent")
"""
    )
    assert done.stdout == "parent\n"


def test_exit_with_everything_alive(python, gpu):
    done = python(
        """
import uLib
keep = []
for _ in range(3):
    image = uLib.VoxImage(8, 8, 8)
    image.SetPreferredDevice("Device")
    keep += [image, image.DeviceView(), image.Grid(), image.__dlpack__(), memoryview(uLib.FloatCollection(3))]
print(len(keep))
"""
    )
    assert done.stdout == "15\n" and done.stderr == ""
