"""Runs programs of ``cuda_programs.py`` with every call of the driver failing in turn: ``python cuda_fault_runner.py NAME CODE ...``.

Prints for each program and status how many calls it makes and how many of the failures were raised.
"""

from __future__ import annotations

import builtins
import ctypes
import gc
import os
import re
import sys

import uLib
import uLib.cuda.driver as cuda
from cuda_names import EXCEPTIONS
from cuda_programs import PROGRAMS

KINDS = """memory pinned registered streams events modules pools graphs arrays mipmapped_arrays textures surfaces graphics
links""".split()
# What a call of these was to end goes on when it fails, which is the driver's doing and said in the report of errors.
ENDS = re.compile(r"cu\w*(Destroy|Free|Unload|Unregister|Close|Release|Disable|Unmap|EndCapture)")

# An object that the driver did not destroy stays, with what it reads, if it does.
STAYS = re.compile(r"cu((Tex|Surf)Object|(Mipmapped)?Array)Destroy")
READERS = {"textures", "surfaces"}
ARRAYS = {"arrays", "mipmapped_arrays"}
READ = {"arrays", "mipmapped_arrays", "allocations", "allocation_bytes", "managed_allocations", "graphics"}

control = ctypes.CDLL(os.environ["ULIB_FAKE_DRIVER"]).fakecuda_control
control.restype = ctypes.c_int64


def fake(command: str) -> int:
    answer: int = control(command.encode())
    assert answer != -1, command
    return answer


def settle() -> None:
    """Gives back what is kept for later, and what could not be given back before."""
    while True:
        try:
            cuda.Context.pop()
        except cuda.LogicError:
            break
    gc.collect()
    for ordinal in (0, 1):
        block = uLib.FloatCollection([0])
        block.SetPreferredDevice(f"Device:{ordinal}")
        block.ReleaseDevice()
        with cuda.Device(ordinal).retain_primary_context():
            cuda.Context.synchronize()
            cuda.mem_alloc(1).free()
    assert cuda.Context.get_current() is None or cuda.Context.get_device().ordinal == 0


def left() -> dict[str, int]:
    return {kind: fake(f"live_{kind}") for kind in KINDS}


def errors() -> list[str]:
    """What could not be raised."""
    return [text for ordinal in (0, 1) for text in uLib.device.errors(ordinal)]


def fits(error: Exception, code: int) -> bool:
    """Whether an exception is one for this status."""
    if code == 2:
        return isinstance(error, cuda.MemoryError) and isinstance(error, builtins.MemoryError)
    expected = getattr(cuda, EXCEPTIONS[code])
    return type(error) is expected and error.code == code and error.call.startswith("cu") and error.call in str(error)


def run(name: str, code: int) -> None:
    program = PROGRAMS[name]
    program()
    settle()
    fake("reset")
    program()
    calls = fake("count *")
    settle()
    objects, before = cuda.live_objects(), left()
    raised = allowed = 0
    for nth in range(1, calls + 1):
        where = f"{name}, call {nth} of {calls}, status {code}"
        fake(f"fail *:{nth}:{code}")
        error = None
        try:
            program()
        except Exception as caught:
            error = caught
            assert fits(error, code), f"{where}: {error!r}"
        fake("fail none")
        words = []
        if error is not None:
            raised += 1
            words.append(str(error))
        error = None
        settle()
        words += errors()
        if nth % 8 == 0 or nth == calls:
            program()
            settle()
            assert errors() == [], where
        stays = STAYS.search("".join(words)) is not None
        allowed += bool(any(ENDS.search(text) for text in words)) + stays
        now = left()
        more = {kind: now[kind] - before[kind] for kind in KINDS if now[kind] != before[kind]}
        assert all(number >= 0 for number in more.values()) and sum(more.values()) <= allowed, f"{where}: {more} {words}"
        known = cuda.live_objects()
        if stays:
            grown = {kind for kind in known if known[kind] > objects[kind]}
            whole = len(grown & READERS) == 1 and grown <= READERS | READ
            assert whole or (len(grown) == 1 and grown <= ARRAYS), f"{where}: {grown} {words}"
            objects = {kind: known[kind] if kind in grown else number for kind, number in objects.items()}
        assert known == objects, f"{where}: {known} {objects} {words}"
        assert fake("faults") == 0, f"{where}: {words}"
    print(name, code, calls, raised)


gc.freeze()
if "EGL" in os.environ:
    ctypes.CDLL(os.environ["EGL"]).stand_in(1, 0)
for name in sys.argv[2:]:
    run(name, int(sys.argv[1]))
