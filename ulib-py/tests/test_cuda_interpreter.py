"""Calls of the driver are made without the interpreter: one may wait for a lock of the driver's that a thread holds which waits for the
interpreter, as compute-sanitizer does that looks at the Python program from within a launch."""

import os
from pathlib import Path

import opengl_stand_in
import pytest

# Where programs find the modules of the tests.
FOLDERS = os.pathsep.join([str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])])
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
    done = python(code, PYTHONPATH=FOLDERS, FAKECUDA_INTERPRETER="1", **environment)
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


def test_what_programs_end_within_a_call_ends_without_the_interpreter(fake, python):
    """In what a call asks of its arguments, or calls in the end, the program may free what the call uses, and raise."""
    found = held(
        python,
        """
import numpy as np
import uLib.cuda.driver as cuda
from cuda_programs import SECOND, SOURCE, kernel
from uLib.cuda._native import keep_in_capture
function, host = kernel(), np.zeros((4, 8), np.float32)

class Ends:
    def __init__(self, *them):
        self.them = them
    @property
    def gpudata(self):
        for it in self.them:
            it.close()
        raise KeyError("of the program")

class EndsBefore(cuda.In):
    def pre_call(self, stream):
        for it in self.them:
            it.close()
        raise KeyError("of the program")

def raises(call, error=KeyError):
    try:
        call()
    except error:
        return
    raise AssertionError(call)

def handler(*told):
    raise KeyError("of the program")

def array():
    return cuda.np_to_array(host, "C", True)

def texture():
    it = array()
    return cuda.TextureObject(it), it

def surface():
    it = array()
    return cuda.SurfaceObject(it), it

with cuda.Stream(1) as stream:
    stream.close()
raises(lambda: cuda.module_from_buffer(SOURCE, message_handler=handler))
linker = cuda.Linker(handler)
linker.add_data(SECOND.encode(), cuda.jit_input_type.PTX, "second.ptx")
raises(linker.link_module)
for make in (texture, surface):
    them = make()
    raises(lambda: function(them[0], Ends(*them), block=(1, 1, 1)))
    them, before = make(), EndsBefore(host)
    before.them = them
    raises(lambda: function(them[0], before, block=(1, 1, 1)))
stream = cuda.Stream(1)
raises(lambda: array().copy_from(Ends(stream), stream=stream))
stream = cuda.Stream(1)
raises(lambda: function.prepare("PQ").prepared_async_call((1, 1), (1, 1, 1), stream, Ends(stream), 1))

class EndsWithoutMemory(Ends):
    @property
    def gpudata(self):
        for it in self.them:
            it.close()
        raise MemoryError("of the program")

memory = cuda.mem_alloc(64)
raises(lambda: keep_in_capture(cuda.Stream(1), [memory, EndsWithoutMemory(memory)]), MemoryError)

class Fresh:
    @property
    def gpudata(self):
        return cuda.mem_alloc(64)

raises(lambda: cuda.TextureObject(Fresh(), format=cuda.array_format.FLOAT, height=3), cuda.LogicError)
stream = cuda.Stream(1)
for pool in (cuda.DeviceMemoryPool(), cuda.StreamMemoryPool()):
    pool.allocate(100, stream.handle).free()
""",
    )
    assert found == set()


def test_first_calls_of_a_process_are_without_the_interpreter(fake, python):
    for first in (
        "raises(lambda: cuda.memcpy_htod(object(), b'1'))",
        "copy = cuda.Memcpy2D(); copy.set_src_host(host); copy.set_dst_host(host.copy()); copy.width_in_bytes, copy.height = 8, 1; copy()",
        "copy = cuda.Memcpy3DPeer(); copy.set_src_host(host); copy.set_dst_host(host.copy()); copy.width_in_bytes, copy.height, copy.depth = 8, 1, 1; raises(copy)",
        "raises(lambda: cuda.TextureObject(12345, format=cuda.array_format.FLOAT))",
        "cuda.mem_alloc(4)",
        "cuda.Stream()",
        "cuda.Device(0).name()",
    ):
        code = """
import numpy as np
import uLib.cuda.driver as cuda
host = np.zeros(8, np.uint8)
def raises(call):
    try:
        call()
    except cuda.Error:
        pass
"""
        assert held(python, code + first) == set(), first


def test_objects_that_are_closed_while_threads_use_them_end_without_the_interpreter(fake, python):
    found = held(
        python,
        """
import threading, time
import uLib.cuda.driver as cuda
from cuda_objects import _graph
from cuda_programs import kernel
function, out = kernel().prepare("PQ"), cuda.mem_alloc(16)
uses = {
    cuda.Stream: [
        lambda it: it.synchronize(), lambda it: it.is_done(), lambda it: it.priority, lambda it: it.wait_for_event(cuda.Event()),
        lambda it: function.prepared_async_call((1, 1), (1, 1, 1), it, out, 1), lambda it: cuda.memset_d8_async(out, 1, 16, it),
    ],
    cuda.Event: [lambda it: it.synchronize(), lambda it: it.query(), lambda it: it.record()],
    _graph: [lambda it: it.node_count, lambda it: it.node_kinds, lambda it: it.instantiate()],
}
for make, calls in uses.items():
    for call in calls:
        until = time.monotonic() + 0.2
        while time.monotonic() < until:
            it = make()
            def use():
                try:
                    for _ in range(5):
                        call(it)
                except cuda.Error:
                    pass  # It has been closed.
            thread = threading.Thread(target=use)
            thread.start()
            it.close()
            thread.join()
""",
    )
    assert found == set()


@pytest.mark.parametrize("within", ["nothing", "a handler of messages", "a callback of a stream"])
@pytest.mark.parametrize("what", ["gpuarray.zeros(12, np.float32)", "uLib.FloatCollection([1, 2])"])
def test_a_deleter_may_be_called_without_the_interpreter(gpu, python, what, within):
    """As the protocol says; ctypes gives the interpreter up for the call, also within a call of ours."""
    done = python(
        f"""
import ctypes, threading
import numpy as np
import uLib
import uLib.cuda.driver as cuda
from cuda_programs import SOURCE
from uLib.cuda import gpuarray
cuda.Stream()
api = ctypes.pythonapi
api.PyCapsule_GetPointer.restype = ctypes.c_void_p
api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
api.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]
made = {what}
if isinstance(made, uLib.FloatCollection):
    assert made.SetPreferredDevice("Device")
capsule, name = made.__dlpack__(), b"used_dltensor"
del made
tensor = api.PyCapsule_GetPointer(capsule, b"dltensor")
api.PyCapsule_SetName(capsule, name)
delete = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(ctypes.c_void_p.from_address(tensor + 56).value)
before, called = cuda.live_objects()["allocations"], threading.Event()
def end(*told):
    delete(tensor)
    called.set()
within = {within!r}
if within == "nothing":
    end()
elif within == "a handler of messages":
    cuda.module_from_buffer(SOURCE, message_handler=end)
else:
    stream = cuda.Stream(1)
    stream.add_callback(end)
    stream.synchronize()
assert called.wait(30)
print(before, cuda.live_objects()["allocations"])
""",
        PYTHONPATH=FOLDERS,
    )
    before, after = map(int, done.stdout.split())
    assert after == before - 1 and done.stderr == ""
