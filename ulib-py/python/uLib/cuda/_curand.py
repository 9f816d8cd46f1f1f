"""The tables of quasirandom generators, out of the cuRAND library, which is opened when it is first asked."""

from __future__ import annotations

import ctypes
import operator
from typing import Any

from ._enums import direction_vector_set
from ._errors import LogicError, RuntimeError
from ._native import curand_library_file

__all__ = ["_get_direction_vectors", "_get_scramble_constants32", "_get_scramble_constants64", "get_curand_version"]

DIMENSIONS = 20000
"""How many dimensions the tables have."""


_opened: ctypes.CDLL | None = None


def _library() -> ctypes.CDLL:
    global _opened
    if _opened is None:
        from . import compiler  # noqa: F401  (says where NVIDIA's Python packages are)

        path = curand_library_file()
        try:
            _opened = ctypes.CDLL(str(path))
        except OSError as error:
            raise RuntimeError(f"cuRAND cannot be loaded: {error}") from error
    return _opened


def _call(name: str, *arguments: Any) -> None:
    try:
        entry = getattr(_library(), name)
    except AttributeError as error:
        raise RuntimeError(f"the cuRAND library lacks {name}") from error
    status = entry(*arguments)
    if status:
        raise RuntimeError(f"{name} failed with status {status}")


def get_curand_version() -> tuple[int, int, int]:
    """The version of the cuRAND library: major, minor, patch."""
    number = ctypes.c_int()
    _call("curandGetVersion", ctypes.byref(number))
    return number.value // 1000, number.value // 100 % 10, number.value % 100


def _get_direction_vectors(set: Any, dst: Any, count: int) -> None:
    """Writes the direction vectors of ``count`` dimensions into ``dst``: 32 numbers of 32 bits each, or 64 of 64.

    ``set`` is a ``direction_vector_set``. Behind the last of the 20000 dimensions the first one follows.
    """
    which = direction_vector_set(set) if isinstance(set, int) else None
    if which is None or which.name is None:
        raise LogicError(f"_get_direction_vectors: set is {set!r}, expected a direction_vector_set")
    wide = which in (direction_vector_set.VECTOR_64, direction_vector_set.SCRAMBLED_VECTOR_64)
    entry, bits = ("curandGetDirectionVectors64", 64) if wide else ("curandGetDirectionVectors32", 32)
    _copy("_get_direction_vectors", entry, bits * bits // 8, dst, count, int(which))


def _get_scramble_constants32(dst: Any, count: int) -> None:
    """Writes the scramble constants of ``count`` dimensions, of 32 bits each, into ``dst``."""
    _copy("_get_scramble_constants32", "curandGetScrambleConstants32", 4, dst, count)


def _get_scramble_constants64(dst: Any, count: int) -> None:
    """Writes the scramble constants of ``count`` dimensions, of 64 bits each, into ``dst``."""
    _copy("_get_scramble_constants64", "curandGetScrambleConstants64", 8, dst, count)


def _copy(op: str, entry: str, size: int, dst: Any, count: int, *before: int) -> None:
    """Copies ``count`` pieces of ``size`` bytes of a table, again and again if it has fewer."""
    count = operator.index(count)
    if count < 0:
        raise LogicError(f"{op}: count is {count}, expected 0 or more")
    try:
        room = memoryview(dst).cast("B")
    except (TypeError, ValueError, BufferError) as error:
        raise TypeError(f"{op}: dst is {type(dst).__name__}, expected a contiguous array of the host") from error
    if room.readonly:
        raise LogicError(f"{op}: dst is read-only")
    if room.nbytes < count * size:
        raise LogicError(f"{op}: dst has {room.nbytes} bytes, and {count} dimensions need {count * size}")
    table = ctypes.c_void_p()
    _call(entry, ctypes.byref(table), *before)
    whole = DIMENSIONS * size
    source = memoryview((ctypes.c_ubyte * whole).from_address(table.value or 0)).cast("B")
    for at in range(0, count * size, whole):
        part = min(whole, count * size - at)
        room[at : at + part] = source[:part]
