"""Calls of the driver are made without the interpreter: one may wait for a lock of the driver's that a thread holds which waits for the
interpreter, as compute-sanitizer does that looks at the Python program from within a launch."""

import os
from pathlib import Path

import opengl_stand_in

# These look at what belongs to the thread or never changes. (`test_9` of `test_cuda_reasons.py` shows that others do wait.)
QUICK = {
    "cuCtxGetCurrent",
    "cuCtxGetDevice",
    "cuCtxSetCurrent",
    "cuGetErrorName",
    "cuGetErrorString",
    "cuThreadExchangeStreamCaptureMode",
}
# The collector of garbage, which holds the interpreter, asks whether a graph is still running.
ASKED_BY_THE_COLLECTOR = {"cuEventQuery", "cuStreamIsCapturing", "cuStreamQuery"}


def held(python, code, **environment):
    """The entries that are called with the interpreter by a program."""
    folders = [str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    done = python(code, PYTHONPATH=os.pathsep.join(folders), FAKECUDA_INTERPRETER="1", **environment)
    said = [line.split() for line in done.stderr.splitlines()]
    assert all(words[0] == "fakecuda:" and words[2:] == ["with", "the", "interpreter"] for words in said), done.stderr
    return {words[1] for words in said} - QUICK


def test_a_call_with_the_interpreter_is_seen(fake, python):
    found = held(
        python,
        """
import ctypes, os
driver = ctypes.PyDLL(os.environ["ULIB_FAKE_DRIVER"])
driver.cuInit(0)
driver.cuCtxSynchronize()
ctypes.CDLL(os.environ["ULIB_FAKE_DRIVER"]).cuStreamSynchronize(None)
""",
    )
    assert found == {"cuInit", "cuCtxSynchronize"}


def test_programs_call_the_driver_without_the_interpreter(fake, python, tmp_path):
    library = opengl_stand_in.build(tmp_path)
    found = held(
        python,
        """
import ctypes, gc, os
from cuda_programs import PROGRAMS
if "EGL" in os.environ:
    ctypes.CDLL(os.environ["EGL"]).stand_in(1, 0)
for name, program in PROGRAMS.items():
    if name != "opengl" or "EGL" in os.environ:
        program()
    gc.collect()
""",
        EGL=library and str(library),
    )
    assert found <= ASKED_BY_THE_COLLECTOR


def test_objects_of_every_kind_are_made_and_end_without_the_interpreter(fake, python):
    found = held(
        python,
        """
from cuda_objects import KINDS
for maker, use in KINDS.values():
    made = maker()
    del made
    # Where several are alive, the first to go does not end what they share.
    made = [maker() for _ in range(2)]
    while made:
        made.pop()
""",
    )
    assert found == set()


def test_what_is_freed_while_a_copy_uses_it_ends_without_the_interpreter(fake, python):
    found = held(
        python,
        """
import ctypes, os, threading, time
import numpy as np
import uLib.cuda.driver as cuda
control = ctypes.CDLL(os.environ["ULIB_FAKE_DRIVER"]).fakecuda_control
host = np.zeros((1024, 256), np.float32)
memory, array, pooled = cuda.mem_alloc(host.nbytes), cuda.np_to_array(host, "C"), cuda.DeviceMemoryPool().allocate(host.nbytes)
rows = cuda.Memcpy2D()
rows.set_src_host(host)
rows.set_dst_array(array)
rows.src_pitch = rows.width_in_bytes = 1024
rows.height = 1024
control(b"bandwidth %d" % (10 * host.nbytes))
copies = [
    (memory, lambda: cuda.memcpy_htod(memory, host)),
    (pooled, lambda: cuda.memcpy_dtoh(host, pooled)),
    (array, lambda: array.copy_to(host)),
]
for freed, copy in copies:
    thread = threading.Thread(target=copy)
    thread.start()
    time.sleep(0.03)
    assert thread.is_alive()
    freed.free()
    thread.join()
control(b"bandwidth 0")
# The description is the last that has the array.
del array, copies, freed, copy
rows()
del rows
assert cuda.live_objects()["arrays"] == 0
""",
    )
    assert found == set()


def test_arrays_of_objects_end_without_the_interpreter(fake, python):
    """Whatever is made of them for other libraries is the last that has their memory."""
    found = held(
        python,
        """
import gc
import uLib
from uLib.cuda import gpuarray
for lend in (
    lambda it: it.__dlpack__(),
    lambda it: it.__dlpack__(max_version=(1, 0), dl_device=(1, 0), copy=True),
    lambda it: it.__dlpack__(max_version=(1, 0), dl_device=(2, 1), copy=True),
    lambda it: it.DeviceView(),
    lambda it: gpuarray.from_dlpack(it),
    lambda it: it.__cuda_array_interface__,
):
    for order in ("object first", "array first"):
        made = uLib.FloatCollection([1, 2, 3])
        assert made.SetPreferredDevice("Device")
        lent = lend(made)
        both = [lent, made] if order == "object first" else [made, lent]
        del made, lent
        while both:
            both.pop()
            gc.collect()
""",
    )
    assert found == set()
